# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The rules for the changes that export-kernel makes to files of this tree for the kernel's tree:
each function takes a text and returns the changed text."""
import os
import re
import sys

sys.dont_write_bytecode = True
import csource
from exporting import ExportError

ROOM = "drivers/infiniband/sw/rnic_sw"
PAGES = "Documentation/infiniband/rnic_sw"
TESTS = "tools/testing/selftests/rdma/rnic_sw"
SCTP_MODULE = "iw_sctp_ddp"
CAST = re.compile(r"\((?:struct )?\w+ \*+\)")


def map_path(path):
    """Return the path that a file of this tree has in the kernel's tree."""
    for here, there in (("compat/", ""), ("include/ddp/", f"{ROOM}/ddp/"), ("drivers/rnic_sw/", f"{ROOM}/"),
                        ("drivers/", f"{ROOM}/"), ("Documentation/", f"{PAGES}/"),
                        ("tools/testing/selftests/rnic_sw/", f"{TESTS}/"),
                        ("tools/testing/rawpeer/", f"{TESTS}/rawpeer/"),
                        ("tools/wireshark/", f"{TESTS}/rawpeer/")):
        if path.startswith(here):
            return there + path[len(here):]
    return path


def replace_pattern(text, pattern, new):
    text, n = re.subn(pattern, new, text, flags=re.M)
    if not n:
        raise ExportError(f"a rule does not match: no {pattern}")
    return text


# Macros --------------------------------------------------------------------

def read_macros(text):
    """Return the macros of a header, {name: (parameters or None, lines of the body)}. The header
    may otherwise have only comments, includes and a guard."""
    macros = {}
    text = csource.strip_comments(text).replace("\\\n", "\x01")
    for line in text.splitlines():
        m = re.match(r"#define (\w+)(?:\(([^)]*)\))?[\s\x01]*(.*)", line)
        if m and not m[1].startswith("_COMPAT_"):
            params = None if m[2] is None else re.split(r"\s*,\s*", m[2])
            macros[m[1]] = params, [p.strip() for p in m[3].split("\x01") if p.strip()]
        elif line.strip() and not re.match(r"#\s*(include|define|ifndef _COMPAT_|endif)", line):
            raise ExportError(f"the kernel does not have what compat/ replaces: {line.strip()}")
    return macros


def find_end_of_parentheses(text, at):
    """Return the position after the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    raise ExportError("a parenthesis is not closed")


def split_arguments(text):
    """Split arguments at commas outside parentheses: "a, f(b, c)" gives ["a", "f(b, c)"]."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def is_simple_expression(text):
    """Check whether an expression (a name, members, calls) needs no parentheses."""
    m = re.match(r"&?[A-Za-z_]\w*", text)
    at = m.end() if m else -1
    while 0 <= at < len(text):
        m = re.compile(r"(?:->|\.)\w+").match(text, at)
        if text[at] == "(":
            at = find_end_of_parentheses(text, at)
        else:
            at = m.end() if m else -1
    return at == len(text)


def strip_outer_parentheses(text):
    """Return @text without outer parentheses, if it is simple and so needs them only in a macro."""
    if text.startswith("(") and find_end_of_parentheses(text, 0) == len(text):
        inner = text[1:-1]
        cast = CAST.match(inner)
        if is_simple_expression(inner[cast.end() if cast else 0:]):
            return inner
    return text


def substitute_arguments(params, body, args):
    """Return @body with the arguments. All are replaced at once: an argument may contain the
    name of another parameter."""
    given = dict(zip(params, args))

    def get_argument(m):
        arg = given[m[1] or m[2]]
        return f"({arg})" if m[1] and not is_simple_expression(arg) else arg

    names = "|".join(params)
    # match "(param)" including its parentheses only if no word precedes, because "f(param)" is a
    # call
    return strip_outer_parentheses(re.sub(rf"(?<!\w)\(({names})\)|\b({names})\b", get_argument, body))


def _expand_line_macro(text, name, lines):
    """Replace a macro that is alone on a line with the lines of its body."""
    return re.sub(rf"^([ \t]*){name}\n",
                  lambda m: "".join(f"{m[1]}{line}\n" for line in lines), text, flags=re.M)


def _expand_word_macro(text, name, params, body):
    at = 0
    while m := re.compile(rf"\b{name}\b").search(text, at):
        end, new = m.end(), strip_outer_parentheses(body)
        if params is not None:
            end = find_end_of_parentheses(text, m.end())
            new = substitute_arguments(params, body, split_arguments(text[m.end() + 1:end - 1]))
        if text[:m.start()].rstrip(" \t").endswith("\n") and text[end] == ";":
            if not new:
                # the macro is empty because this kernel does not have the struct member: remove the
                # line
                text = text[:text.rindex("\n", 0, m.start())] + text[end + 1:]
                continue
            if new[0] == "(":
                new = new[1:-1]
        text = text[:m.start()] + new + text[end:]
        at = m.start() + len(new)
    return text


def expand_macros(text, macros):
    # a body may use other macros
    for _ in range(3):
        for name, (params, lines) in macros.items():
            if params is None:
                text = _expand_line_macro(text, name, lines)
            text = _expand_word_macro(text, name, params, " ".join(lines))
    return text


# Includes ------------------------------------------------------------------

def _insert_includes(lines, new):
    """Add includes to the "" includes, or as a block after the <> includes."""
    for i, line in enumerate(lines):
        if line.startswith('#include "'):
            end = i
            while lines[end].startswith('#include "'):
                end += 1
            return lines[:i] + sorted(new + lines[i:end]) + lines[end:]
    last = next(i for i, line in enumerate(lines) if line.startswith("#include <"))
    while lines[last + 1].startswith("#include <"):
        last += 1
    return lines[:last + 1] + [""] + new + lines[last + 1:]


def make_includes_relative(text, there):
    """Make includes relative to the file @there: <ddp/x.h> becomes "../ddp/x.h"."""
    found, first = [], None
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if m := re.match(r"#include <ddp/(\w+\.h)>", line):
            first = i if first is None else first
            found.append(f'#include "{os.path.relpath(f"{ROOM}/ddp/{m[1]}", os.path.dirname(there))}"')
    if not found:
        return text
    rest = [line for line in lines if not line.startswith("#include <ddp/")]
    if any(line.startswith("#include") and "define_trace" not in line for line in rest):
        rest = _insert_includes(rest, found)
    else:
        rest[first:first] = found
    return re.sub(r"\n{3,}", "\n\n", "\n".join(rest))


# Modules -------------------------------------------------------------------

EXPORT = re.compile(r"^EXPORT_SYMBOL_GPL\((\w+)\);\n", re.M)


def restrict_exports(text, names):
    """Keep the exports of @names, for the SCTP module only, and remove the others."""
    def restrict(m):
        return f'EXPORT_SYMBOL_FOR_MODULES({m[1]}, "{SCTP_MODULE}");\n' if m[1] in names else ""

    text = EXPORT.sub(restrict, text)
    if "EXPORT_SYMBOL" not in text:
        text = re.sub(r"#include <linux/export.h>\n\n?", "", text)
    return text


def move_exports_to_definitions(text, names):
    """Move the exports that a module.c has for a pure file to the function definitions."""
    done = set()
    for name in names:
        head = re.search(rf"^\w[^;\n]*\b{name}\([^;{{]*\n{{\n", text, re.M)
        if head:
            end = text.index("\n}\n", head.end() - 2) + 3
            text = f"{text[:end]}EXPORT_SYMBOL_GPL({name});\n{text[end:]}"
            done.add(name)
    if done:
        text = text.replace("#include", "#include <linux/export.h>\n\n#include", 1)
    return text, done


def remove_module_lines(text):
    """Return a test without MODULE_ lines: in the kernel's tree it is part of the module."""
    return re.sub(r"\n+(?:MODULE_\w+\(.*\);\n)+\Z", "\n", text)


# Words ---------------------------------------------------------------------

def replace_driver_id(text):
    text = re.sub(r"#define RNIC_SW_DRIVER_ID.*\n", "", text)
    text = re.sub(r"\(\(enum rdma_driver_id\)RNIC_SW_DRIVER_ID\)|\(enum rdma_driver_id\)RNIC_SW_DRIVER_ID",
                  "RDMA_DRIVER_RNIC_SW", text)
    return text.replace("RNIC_SW_DRIVER_ID", "RDMA_DRIVER_RNIC_SW")


def add_driver_id(text):
    """Return the kernel's ib_user_ioctl_verbs.h with the new driver ID at the end."""
    return replace_pattern(text, r"(enum rdma_driver_id \{\n(?:.*\n)*?)(\};)", r"\1\tRDMA_DRIVER_RNIC_SW,\n\2")


def map_paths_in_code(text):
    text = re.sub(r"\bdrivers/(ddp|mpa|sctp_ddp)/", r"\1/", text)
    text = text.replace("drivers/rnic_sw/", "")
    return re.sub(r"\bDocumentation/(\w+\.rst)", rf"{PAGES}/\1", text)


def map_paths_in_page(text):
    text = re.sub(r"\bdrivers/(ddp|mpa|sctp_ddp)\b", rf"{ROOM}/\1", text)
    text = re.sub(r"<(ddp/\w+\.h)>", r"\1", text)
    return text.replace("drivers/rnic_sw", ROOM)


def remove_setting_paths(text):
    """Remove the sysfs file after a setting's name: only compat/ has these files."""
    return re.sub(r"\s\(``(?:llp|mpa)/\w+``\)", "", text)


def set_trace_path(text, there):
    return text.replace("#define TRACE_INCLUDE_PATH .\n",
                        f"#define TRACE_INCLUDE_PATH ../../{os.path.dirname(there)}\n")


def use_typed_allocations(text):
    """kzalloc(sizeof(*p), gfp) -> kzalloc_obj(*p, gfp), and arrays likewise."""
    def new(m):
        args = split_arguments(text[m.end():find_end_of_parentheses(text, m.end() - 1) - 1])
        sized = [re.fullmatch(r"sizeof\((.*)\)", a) for a in args]
        kind = {"kzalloc": "kzalloc_obj", "kmalloc": "kmalloc_obj"}.get(m[1])
        if kind and sized[0]:
            return f"{kind}({sized[0][1]}, {args[1]})"
        kind = {"kcalloc": "kzalloc_objs", "kvcalloc": "kvzalloc_objs"}.get(m[1])
        if kind and sized[1]:
            return f"{kind}({sized[1][1]}, {args[0]}, {args[2]})"
        return None

    for m in reversed(list(re.finditer(r"\b(k[mz]alloc|kv?calloc)\(", text))):
        call = new(m)
        if call:
            text = _insert_call(text[:m.start()], call, text[find_end_of_parentheses(text, m.end() - 1):])
    return text


def _insert_call(before, call, after):
    """Insert a call, broken into two lines if the line would be too long."""
    line = before[before.rfind("\n") + 1:].expandtabs(8)
    if len(line + call) < 80:
        return before + call + after
    name, rest = call.split("(", 1)
    args = split_arguments(rest[:-1])
    at = len(line) + len(name) + 1
    indent = "\t" * (at // 8) + " " * (at % 8)
    return f"{before}{name}({', '.join(args[:-1])},\n{indent}{args[-1]}){after}"


# Pages ---------------------------------------------------------------------

def apply_tree_comments(text, whose="the kernel's"):
    """Apply the comments ".. in the kernel's tree:": the text of the comment, which may be
    empty, replaces the paragraph before it. A paragraph that ends in "::" is replaced together
    with its literal block."""
    def new(m):
        said = re.sub(rf"^{m['in']}   ", m["in"], m["said"], flags=re.M)
        return said and "\n" + said

    return re.sub(rf"\n(?P<old>(?:(?:[^\n]+\n)*[^\n]*::\n\n)?(?:[^\n]+\n)+)\n(?P<in> *)\.\. in {whose} tree:\n"
                  r"(?P<said>(?:(?P=in)   [^\n]+\n)*)", new, text)


def convert_page(text, pages):
    """Return a page in the form that it has in the kernel's tree. @pages: the names of the exported
    pages."""
    text = remove_dead_links(apply_tree_comments(text), pages)
    return remove_setting_paths(replace_driver_id(map_paths_in_page(text)))


def remove_dead_links(text, pages):
    """Remove the sentences that link to a page that is not exported."""
    dead = re.compile(rf":doc:`(?!(?:{'|'.join(sorted(pages))})`)")
    paragraphs = [_remove_dead_sentences(p,
                                         dead) if dead.search(p) else p for p in text.split("\n\n")]
    return "\n\n".join(p for p in paragraphs if p.strip() or p == "\n")


def _remove_dead_sentences(paragraph, dead):
    """Return the paragraph without the sentences that contain such a link."""
    if re.search(r"^ *===", paragraph, re.M):
        raise ExportError(f"a table links to a page that is not exported: {dead.search(paragraph)[0]}")
    pieces = re.split(r"(?<=\.)(\s+)", paragraph)
    while at := [i for i in range(0, len(pieces), 2) if dead.search(pieces[i])]:
        # remove the sentence and the white space before it; for the first sentence, the white space
        # after it
        first = max(at[0] - 1, 0)
        del pieces[first:first + 2]
    return "".join(pieces)


# Older kernels -------------------------------------------------------------

# The words may be on two lines, also of a comment. A page may name the version of a
# measurement: "in Linux 7.3".
_OLDER = [words.replace(" ", r"[\s*]+") for words in (
    r"\b(?:older|old|earlier|previous|newer|recent) kernels?\b",
    r"\b(?:older|newer|earlier|later) (?:versions? of )?Linux\b", r"\bpre-v?[2-9]\.\d",
    r"\b(?:some|certain|several|most|other) kernels\b", r"\bkernels (?:have|that|which)\b",
    r"\b(?:before|since|until|from|after|than|as of|prior to) (?:Linux|kernels?) v?\d",
    r"\bkernels? (?:before|since|until|prior to|older|up to)\b",
    r"\b(?:before|since|until|starting with|from) (?:v?[2-9]\.\d+\b(?! m?s\b)|20[12]\d\b(?! (?:octet|byte)s))",
    r"\b(?:Linux|kernels?) ?[<>]=? ?v?\d", r"\bup to (?:Linux|kernels?) v?\d",
    r"\(Linux v?\d", r"\bLinux v?\d[\d.]* (?:and|or) (?:newer|later|older|up)\b")]
OLDER_PAGE = re.compile("|".join(_OLDER), re.I)
OLDER_CODE = re.compile("|".join([*_OLDER, r"\bLinux v?\d"]), re.I)


def find_mentions_of_other_kernels(text, page):
    """Return [(line, words)] that mention other kernel versions than the one that has the text."""
    return [(text.count("\n", 0, m.start()) + 1, " ".join(m[0].replace("*", " ").split()))
            for m in (OLDER_PAGE if page else OLDER_CODE).finditer(text)]


# Selftests -----------------------------------------------------------------

def convert_selftest(text, name, staying):
    """Return a selftest for the kernel's tree. The files @staying are not exported, no provider
    is built there, and the raw peer is in a subdirectory of the tests."""
    if name == "Makefile":
        return convert_tests_makefile(text, staying)
    if name == "lib.sh":
        text = replace_pattern(text, r"^\tlocal build=.*build-provider\n", "")
        text = replace_pattern(text, r'^\t\[ -x "\$build" \] \|\| (t_skip_all .*)\n\teval .*\n',
                               r"\t\1\n")
        text = replace_pattern(text, "Use the provider of this tree, unless another provider is named or installed",
                               "Use the provider that is installed or named")
    if name == "wire.py":
        text = replace_pattern(text, r"^    build = .*build-provider.*\n    if not .*\n    (    ktap.skip_all.*\n)(?:    .*\n)+",
                               r"\1")
        text = replace_pattern(text, r'^for place in .*\n    if .*\n.*\n        break\nelse:\n.*\n', "sys.path.insert(0, HERE)\n")
    if name == "config":
        text = replace_pattern(text, r"(?=^CONFIG_RDMA_SIW=)", "CONFIG_RDMA_RNIC_SW=m\nCONFIG_RDMA_RNIC_SW_SCTP=m\n")
    if name == "dissector.py":
        text = replace_pattern(text, r'"\.\.", "\.\.", "wireshark", (?="sctp-tshark")', "")
    text = text.replace("$T_DIR/../../rawpeer", "$T_DIR/rawpeer").replace("tools/wireshark", "rawpeer")
    return text.replace("tools/testing/rawpeer", "rawpeer")


def convert_tests_makefile(text, staying):
    programs = [f[:-2] for f in staying if f.endswith(".c")]
    for file in staying + programs + [f"{p}.so" for p in programs]:
        text = re.sub(rf"^\w+ \+?:?= {re.escape(file)}\n", "", text, flags=re.M)
    text = replace_pattern(text, r"; \./run runs .*\n# .*", ".")
    text = replace_pattern(text, r"; scripts/machines runs it$", "")
    # remove a heading without lines below it
    text = re.sub(r"\n{3,}", "\n\n", replace_pattern(text, r"(?<=\n\n)# .*\n(?=\n)", ""))
    text = replace_pattern(text, r"(?<=^TEST_FILES \+= lib\n)", "TEST_FILES += rawpeer\n")
    return replace_pattern(text, r"^ifneq \(\$\(wildcard \.\./lib\.mk\).*\n((?:.*\n)*?)else\n(?:.*\n)*?endif\n",
                           lambda m: m[1].replace("../lib.mk", "../../lib.mk"))
