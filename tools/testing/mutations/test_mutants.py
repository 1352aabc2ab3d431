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


def made_of(body, kind=None):
    """Return the bodies that the mutants of a function with this body have."""
    text = f"static int f(int a, int b)\n{{ {body} }}\n"
    found = [mutants.broken(text, m) for m in mutants.mutants(text) if kind in (None, m.kind)]
    return [t[t.index("{") + 2:-3] for t in found]


class Mutants(unittest.TestCase):
    def test_operators(self):
        self.assertEqual(made_of("return a <= b;"), ["return a < b;", "return a > b;"])
        self.assertEqual(made_of("return a && !b;"), ["return a || !b;", "return a && b;"])
        self.assertEqual(made_of("return a->b - c;"), ["return a->b + c;"])
        self.assertEqual(made_of("a++;"), ["a--;"])

    def test_signs_are_no_operators(self):
        self.assertEqual(made_of("return -a;"), [])
        self.assertEqual(made_of("return *a;"), [])
        self.assertEqual(made_of("g(&a);", "operator"), [])

    def test_constants(self):
        self.assertEqual(made_of("return 0;"), ["return 1;"])
        self.assertEqual(made_of("return 1;"), ["return 2;", "return 0;"])
        self.assertEqual(made_of("return 0xffUL;"), ["return 0x100UL;"])
        self.assertEqual(made_of("return true;"), ["return false;"])

    def test_conditions(self):
        self.assertEqual(made_of("if (a) return b;"), ["if (!(a)) return b;"])
        self.assertEqual(made_of("while (g(a)) ;", "condition"), ["while (!(g(a))) ;"])

    def test_statements(self):
        self.assertEqual(made_of("g(a);\n"), [";\n"])
        self.assertEqual(made_of("a->g[b].h(a,\n\tb);", "statement"), [";\n"])
        self.assertEqual(made_of("a->b = b;"), [";"])
        self.assertEqual(made_of("if (a == b) g(); else h();", "statement"),
                         ["if (a == b) ; else h();", "if (a == b) g(); else ;"])
        self.assertEqual(made_of("for (a = b; a; g(a)) ;", "statement"), [])

    def test_arguments(self):
        self.assertEqual(made_of("g(a, b(a, a), c);", "arguments"),
                         ["g(b(a, a), a, c);", "g(a, c, b(a, a));"])
        self.assertEqual(made_of('g(&a, b, "c");', "arguments"), [])

    def test_what_is_left_alone(self):
        self.assertEqual(made_of('/* a < 1 */ h("1 + 1", \'1\');', "constant"), [])
        self.assertEqual(made_of("trace_g(a + 1);"), [])
        self.assertEqual(made_of("smp_mb();"), [])
        self.assertEqual(made_of("WARN_ON_ONCE(a);"), [])
        self.assertEqual(made_of("min(a, b);", "arguments"), [])
        self.assertEqual(mutants.mutants("#define A(b) ((b) + 1)\nstatic int a = 1;\n"), [])

    def test_draw(self):
        texts = {f"{d}/{f}.c": "int f(int a)\n{\n\tif (a < 1)\n\t\tg(a, 2);\n\treturn 3;\n}\n"
                 for d in "xy" for f in "ab"}
        one = list(mutants.draw(1, texts))
        self.assertEqual(one, list(mutants.draw(1, dict(reversed(texts.items())))))
        self.assertNotEqual(one, list(mutants.draw(2, texts)))
        self.assertEqual(len(one), sum(len(mutants.mutants(t)) for t in texts.values()))
        self.assertEqual([path[0] for path, _ in itertools.islice(one, 6)], list("xyxyxy"))

    def test_draw_of_what_stays(self):
        texts = {"x/a.c": "int f(int a)\n{\n\treturn a + 1 < 2 * a;\n}\n",
                 "x/b.c": "int g(int a)\n{\n\treturn 3;\n}\n"}
        before = [mutants.in_words(texts[p], m) for p, m in mutants.draw(1, texts) if p == "x/a.c"]
        texts["x/b.c"] += "int h(int a)\n{\n\treturn a == 4;\n}\n"
        texts["x/a.c"] = "\n" + texts["x/a.c"]
        after = [mutants.in_words(texts[p], m) for p, m in mutants.draw(1, texts) if p == "x/a.c"]
        self.assertEqual(before, after)

    def test_words(self):
        text = "int f(int a)\n{\n\treturn  a +\n\t\t1;\n}\n"
        plus, _ = mutants.mutants(text)[:2]
        self.assertEqual(mutants.in_words(text, plus), ("return a +", "return a -"))
        self.assertIn("-\treturn  a +\n+\treturn  a -\n", mutants.diff("f.c", text, plus))


if __name__ == "__main__":
    unittest.main()
