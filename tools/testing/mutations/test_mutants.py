#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that mutants.py makes the expected mutants of C, and draws the same ones with the same
seed."""
import itertools
import sys
import unittest

sys.dont_write_bytecode = True
try:
    import mutants
except ImportError:
    print("mutations: needs pygments: apt-get install python3-pygments")
    sys.exit(1)


def mutate_body(body, kind=None):
    """Return the bodies that the mutants of a function with this body have."""
    text = f"static int f(int a, int b)\n{{ {body} }}\n"
    found = [mutants.apply_mutant(text, m) for m in mutants.find_mutants(text) if kind in (None,
                                                                                           m.kind)]
    return [t[t.index("{") + 2:-3] for t in found]


class Mutants(unittest.TestCase):
    def test_operators_are_replaced(self):
        self.assertEqual(mutate_body("return a <= b;"), ["return a < b;", "return a > b;"])
        self.assertEqual(mutate_body("return a && !b;"), ["return a || !b;", "return a && b;"])
        self.assertEqual(mutate_body("return a->b - c;"), ["return a->b + c;"])
        self.assertEqual(mutate_body("a++;"), ["a--;"])

    def test_unary_operators_are_not_replaced(self):
        self.assertEqual(mutate_body("return -a;"), [])
        self.assertEqual(mutate_body("return *a;"), [])
        self.assertEqual(mutate_body("g(&a);", "operator"), [])

    def test_constants_are_changed(self):
        self.assertEqual(mutate_body("return 0;"), ["return 1;"])
        self.assertEqual(mutate_body("return 1;"), ["return 2;", "return 0;"])
        self.assertEqual(mutate_body("return 0xffUL;"), ["return 0x100UL;"])
        self.assertEqual(mutate_body("return true;"), ["return false;"])

    def test_conditions_are_negated(self):
        self.assertEqual(mutate_body("if (a) return b;"), ["if (!(a)) return b;"])
        self.assertEqual(mutate_body("while (g(a)) ;", "condition"), ["while (!(g(a))) ;"])

    def test_statements_are_removed(self):
        self.assertEqual(mutate_body("g(a);\n"), [";\n"])
        self.assertEqual(mutate_body("a->g[b].h(a,\n\tb);", "statement"), [";\n"])
        self.assertEqual(mutate_body("a->b = b;"), [";"])
        self.assertEqual(mutate_body("if (a == b) g(); else h();", "statement"),
                         ["if (a == b) ; else h();", "if (a == b) g(); else ;"])
        self.assertEqual(mutate_body("for (a = b; a; g(a)) ;", "statement"), [])

    def test_arguments_are_swapped(self):
        self.assertEqual(mutate_body("g(a, b(a, a), c);", "arguments"),
                         ["g(b(a, a), a, c);", "g(a, c, b(a, a));"])
        self.assertEqual(mutate_body('g(&a, b, "c");', "arguments"), [])

    def test_excluded_code_is_unchanged(self):
        self.assertEqual(mutate_body('/* a < 1 */ h("1 + 1", \'1\');', "constant"), [])
        self.assertEqual(mutate_body("trace_g(a + 1);"), [])
        self.assertEqual(mutate_body("smp_mb();"), [])
        self.assertEqual(mutate_body("WARN_ON_ONCE(a);"), [])
        self.assertEqual(mutate_body("min(a, b);", "arguments"), [])
        self.assertEqual(mutants.find_mutants("#define A(b) ((b) + 1)\nstatic int a = 1;\n"), [])

    def test_draw_is_repeatable(self):
        texts = {f"{d}/{f}.c": "int f(int a)\n{\n\tif (a < 1)\n\t\tg(a, 2);\n\treturn 3;\n}\n"
                 for d in "xy" for f in "ab"}
        one = list(mutants.draw_mutants(1, texts))
        self.assertEqual(one, list(mutants.draw_mutants(1, dict(reversed(texts.items())))))
        self.assertNotEqual(one, list(mutants.draw_mutants(2, texts)))
        self.assertEqual(len(one), sum(len(mutants.find_mutants(t)) for t in texts.values()))
        self.assertEqual([path[0] for path, _ in itertools.islice(one, 6)], list("xyxyxy"))

    def test_draw_survives_changes_elsewhere(self):
        texts = {"x/a.c": "int f(int a)\n{\n\treturn a + 1 < 2 * a;\n}\n",
                 "x/b.c": "int g(int a)\n{\n\treturn 3;\n}\n"}
        before = [mutants.get_changed_lines(texts[p], m) for p,
                  m in mutants.draw_mutants(1, texts) if p == "x/a.c"]
        texts["x/b.c"] += "int h(int a)\n{\n\treturn a == 4;\n}\n"
        texts["x/a.c"] = "\n" + texts["x/a.c"]
        after = [mutants.get_changed_lines(texts[p], m) for p,
                 m in mutants.draw_mutants(1, texts) if p == "x/a.c"]
        self.assertEqual(before, after)

    def test_changed_lines_are_returned(self):
        text = "int f(int a)\n{\n\treturn  a +\n\t\t1;\n}\n"
        plus, _ = mutants.find_mutants(text)[:2]
        self.assertEqual(mutants.get_changed_lines(text, plus), ("return a +", "return a -"))
        self.assertIn("-\treturn  a +\n+\treturn  a -\n", mutants.format_diff("f.c", text, plus))


if __name__ == "__main__":
    unittest.main()
