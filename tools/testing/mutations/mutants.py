# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Make mutants of C files, each with one changed token, condition or call, and draw some of them at
random, from a seed. Pygments finds the tokens."""
import collections
import difflib
import hashlib
import re

from pygments.lexers.c_cpp import CLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

Token = collections.namedtuple("Token", "at text kind")
# text[start:end] is replaced by new
Mutant = collections.namedtuple("Mutant", "start end new kind")

OPERATORS = sorted("""<<= >>= -> ++ -- << >> <= >= == != && || += -= *= /= %=
    &= |= ^=""".split(), key=len, reverse=True)
BECOMES = {
    "<": ("<=", ">="), ">": (">=", "<="), "<=": ("<", ">"), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "&": ("|",), "|": ("&",),
    "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
    "++": ("--",), "--": ("++",), "<<": (">>",), ">>": ("<<",), "!": ("",),
}
UNARY = {"!", "++", "--"}
ASSIGNS = {"=", "+=", "-=", "|=", "&=", "<<=", ">>="}
NUMBER = re.compile(r"(0[xX])?([0-9a-fA-F]+)([uUlL]*)")
CLOSES = {"(": ")", "[": "]", "{": "}"}
# Functions whose result does not depend on the order of their arguments
EITHER = {"min", "max", "memcmp"}
# Calls that are not changed: those that only log or check, and memory ordering, which the litmus
# tests check
ASIDE = re.compile(r"(trace_|pr_|lockdep_|might_|MODULE_|smp_)\w*|"
                   r"BUILD_BUG_ON|static_assert|barrier")


def tokenize_code(text):
    """Return the tokens that the compiler sees, without preprocessor lines. An operator of several
    characters is one token."""
    found = []
    for at, kind, piece in CLexer(stripnl=False).get_tokens_unprocessed(text):
        if kind in Comment or not piece.strip():
            continue
        last = found[-1] if found else None
        if (kind in Operator and last and last.kind in Operator and
                last.at + len(last.text) == at and last.text + piece in OPERATORS):
            found[-1] = Token(last.at, last.text + piece, kind)
        else:
            found.append(Token(at, piece, kind))
    return found


class File:
    """The tokens of a file; for each opening bracket the closing one, and for each token the
    brackets around it."""

    def __init__(self, text):
        self.text, self.all = text, tokenize_code(text)
        self.closer, self.depth = {}, []
        opened = []
        for i, token in enumerate(self.all):
            if opened and token.text == CLOSES[self.all[opened[-1]].text]:
                self.closer[opened.pop()] = i
            self.depth.append("".join(self.all[o].text for o in opened))
            if token.text in CLOSES:
                opened.append(i)

    def get_text(self, i):
        return self.all[i].text if 0 <= i < len(self.all) else ""

    def is_name(self, i):
        return 0 <= i < len(self.all) and self.all[i].kind in Name

    def is_call(self, i):
        return self.is_name(i) and self.get_text(i + 1) == "(" and i + 1 in self.closer

    def get_span(self, i, j):
        return self.all[i].at, self.all[j].at + len(self.all[j].text)

    def find_protected_tokens(self):
        """Return the tokens that are not to be changed."""
        out = set()
        for i, token in enumerate(self.all):
            if self.is_call(i) and ASIDE.fullmatch(token.text):
                out.update(range(i, self.closer[i + 1] + 1))
        return out


def _find_operator_mutants(file, i):
    token = file.all[i]
    before = file.all[i - 1] if i else None
    if token.kind not in Operator or not before:
        return
    binary = (before.kind in Name or before.kind in Number or
              before.kind in String or before.text in (")", "]"))
    if binary or token.text in UNARY:
        for new in BECOMES.get(token.text, ()):
            yield Mutant(*file.get_span(i, i), new, "operator")


def _find_constant_mutants(file, i):
    text = file.get_text(i)
    if text in ("true", "false"):
        yield Mutant(*file.get_span(i, i), "false" if text == "true" else "true", "constant")
    match = file.all[i].kind in Number and NUMBER.fullmatch(text)
    if not match:
        return
    base = 16 if match[1] else 10
    value = int(match[2], base)
    for other in (value + 1, 0) if value == 1 else (value + 1,):
        digits = f"{match[1]}{other:x}" if match[1] else str(other)
        yield Mutant(*file.get_span(i, i), digits + match[3], "constant")


def _find_condition_mutants(file, i):
    if (file.all[i].kind in Keyword and file.get_text(i) in ("if", "while") and
            i + 1 in file.closer):
        start, end = file.get_span(i + 1, file.closer[i + 1])
        yield Mutant(start, end, f"(!{file.text[start:end]})", "condition")


def _find_statement_mutants(file, i):
    """Yield a mutant without a call or an assignment."""
    if not file.is_name(i) or file.get_text(i - 1) not in ("{", "}", ";", ")", "else", ":"):
        return
    if file.get_text(i).startswith("WARN_ON"):
        return
    if "(" in file.depth[i] or "[" in file.depth[i]:
        return
    end = i + 1
    while file.get_text(end) in ("->", ".", "["):
        end = file.closer.get(end, end + 1) + 1
    if file.get_text(end) == "(":
        end = file.closer.get(end, end) + 1
    elif file.get_text(end) in ASSIGNS:
        while file.get_text(end) not in (";", ""):
            end = file.closer.get(end, end) + 1
    if end > i + 1 and file.get_text(end) == ";":
        start, stop = file.get_span(i, end)
        yield Mutant(start, stop, ";" + "\n" * file.text.count("\n", start, stop), "statement")


def _classify_argument(argument):
    """Return the sort of an argument. Swapping arguments of different sorts would not compile."""
    return argument[0] if argument[0] in '&"' else re.match("struct |NULL|", argument)[0]


def _find_argument_mutants(file, i):
    """Yield mutants with two adjacent arguments swapped."""
    if not file.is_call(i) or file.get_text(i) in EITHER:
        return
    starts, at, last = [i + 2], i + 2, file.closer[i + 1]
    while at < last:
        if file.get_text(at) == ",":
            starts.append(at + 1)
        at = file.closer.get(at, at) + 1
    starts.append(last + 1)
    for a, b, c in zip(starts, starts[1:], starts[2:]):
        one, two = file.get_span(a, b - 2), file.get_span(b, c - 2)
        first, second = file.text[slice(*one)], file.text[slice(*two)]
        if first != second and _classify_argument(first) == _classify_argument(second):
            yield Mutant(one[0], two[1], second + file.text[one[1]:two[0]] + first, "arguments")


def find_mutants(text):
    """Return all mutants of a file, in file order."""
    file = File(text)
    aside = file.find_protected_tokens()
    found = []
    for i, depth in enumerate(file.depth):
        if "{" in depth and i not in aside:
            for kind in (_find_operator_mutants, _find_constant_mutants, _find_condition_mutants,
                         _find_statement_mutants, _find_argument_mutants):
                found += kind(file, i)
    return found


def apply_mutant(text, mutant):
    return text[:mutant.start] + mutant.new + text[mutant.end:]


def get_mutated_function(text, mutant):
    """Return the text from the end of the previous function to the end of the changed one: the
    changed function, with the comments above it."""
    first = text.rfind("\n}", 0, mutant.start) + 1
    last = text.find("\n}", mutant.end)
    return text[first:mutant.start] + mutant.new + text[mutant.end:last]


def _draw_lots(seed, path, text):
    """Yield (lot, path, Mutant). The lot depends on the changed line, not on its position, so
    that changes of other lines do not affect the draw."""
    seen = collections.Counter()
    for mutant in find_mutants(text):
        what = (path, *get_changed_lines(text, mutant))
        seen[what] += 1
        lot = hashlib.sha256("\0".join((str(seed), *what, str(seen[what]))).encode()).digest()
        yield lot, path, mutant


def draw_mutants(seed, texts):
    """Yield (path, Mutant), one of each directory in turn, until none are left. texts: {path:
    text}. A longer draw begins with the same mutants."""
    piles = collections.defaultdict(list)
    for path, text in texts.items():
        piles[path.rpartition("/")[0]] += _draw_lots(seed, path, text)
    for pile in piles.values():
        pile.sort(reverse=True)
    while any(piles.values()):
        for directory in sorted(piles):
            if piles[directory]:
                yield piles[directory].pop()[1:]


def format_diff(path, text, mutant):
    return "".join(difflib.unified_diff(
        text.splitlines(True), apply_mutant(text, mutant).splitlines(True), "a/" + path, "b/" +
        path))


def get_changed_lines(text, mutant):
    """Return the lines before and after the change, independent of their position."""
    first = text.rfind("\n", 0, mutant.start) + 1
    last = text.find("\n", mutant.end)
    now = text[first:mutant.start] + mutant.new + text[mutant.end:last]
    return " ".join(text[first:last].split()), " ".join(now.split())
