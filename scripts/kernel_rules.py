# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What export-kernel does to a text of this tree so that it stands in the
kernel's: each function is one rule, from text to text."""
import os
import re
import sys

sys.dont_write_bytecode = True
import csource
from exporting import NotDone

ROOM = "drivers/infiniband/sw/rnic_sw"
PAGES = "Documentation/infiniband/rnic_sw"
TESTS = "tools/testing/selftests/rdma/rnic_sw"
SCTP_MODULE = "iw_sctp_ddp"
CAST = re.compile(r"\((?:struct )?\w+ \*+\)")


def place(path):
    """Where a file of this tree stands in the kernel's."""
    for here, there in (("compat/", ""), ("include/ddp/", f"{ROOM}/ddp/"), ("drivers/rnic_sw/", f"{ROOM}/"),
                        ("drivers/", f"{ROOM}/"), ("Documentation/", f"{PAGES}/"),
                        ("tools/testing/selftests/rnic_sw/", f"{TESTS}/"),
                        ("tools/testing/rawpeer/", f"{TESTS}/rawpeer/"),
                        ("tools/wireshark/", f"{TESTS}/rawpeer/")):
        if path.startswith(here):
            return there + path[len(here):]
    return path


def replaced(text, pattern, new):
    text, n = re.subn(pattern, new, text, flags=re.M)
    if not n:
        raise NotDone(f"a rule does not fit: there is no {pattern}")
    return text


# Macros --------------------------------------------------------------------

def definitions(text):
    """The macros of a header, {name: (parameters or None, lines of the body)};
    it may have nothing else but comments, includes and a guard."""
    macros = {}
    text = csource.without_comments(text).replace("\\\n", "\x01")
    for line in text.splitlines():
        m = re.match(r"#define (\w+)(?:\(([^)]*)\))?[\s\x01]*(.*)", line)
        if m and not m[1].startswith("_COMPAT_"):
            params = None if m[2] is None else re.split(r"\s*,\s*", m[2])
            macros[m[1]] = params, [p.strip() for p in m[3].split("\x01") if p.strip()]
        elif line.strip() and not re.match(r"#\s*(include|define|ifndef _COMPAT_|endif)", line):
            raise NotDone(f"what compat/ stands in for is not in this kernel: {line.strip()}")
    return macros


def closing(text, at):
    """Behind the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    raise NotDone("a parenthesis stays open")


def arguments(text):
    """"a, f(b, c)" -> ["a", "f(b, c)"]"""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def simple(text):
    """A name, its members, what it points to, calls: nothing needs parentheses."""
    m = re.match(r"&?[A-Za-z_]\w*", text)
    at = m.end() if m else -1
    while 0 <= at < len(text):
        m = re.compile(r"(?:->|\.)\w+").match(text, at)
        if text[at] == "(":
            at = closing(text, at)
        else:
            at = m.end() if m else -1
    return at == len(text)


def bare(text):
    """Without the parentheses that only a macro needs."""
    if text.startswith("(") and closing(text, 0) == len(text):
        inner = text[1:-1]
        cast = CAST.match(inner)
        if simple(inner[cast.end() if cast else 0:]):
            return inner
    return text


def applied(params, body, args):
    """All at once: an argument may have a word that is another parameter."""
    given = dict(zip(params, args))

    def new(m):
        arg = given[m[1] or m[2]]
        return f"({arg})" if m[1] and not simple(arg) else arg

    names = "|".join(params)
    # those of a call are no parentheses round a parameter
    return bare(re.sub(rf"(?<!\w)\(({names})\)|\b({names})\b", new, body))


def _expand_lines(text, name, lines):
    """A macro that is a line of its own becomes the lines of its body."""
    return re.sub(rf"^([ \t]*){name}\n",
                  lambda m: "".join(f"{m[1]}{line}\n" for line in lines), text, flags=re.M)


def _expand_words(text, name, params, body):
    at = 0
    while m := re.compile(rf"\b{name}\b").search(text, at):
        end, new = m.end(), bare(body)
        if params is not None:
            end = closing(text, m.end())
            new = applied(params, body, arguments(text[m.end() + 1:end - 1]))
        if text[:m.start()].rstrip(" \t").endswith("\n") and text[end] == ";":
            if not new:
                # a member that this kernel does without
                text = text[:text.rindex("\n", 0, m.start())] + text[end + 1:]
                continue
            if new[0] == "(":
                new = new[1:-1]
        text = text[:m.start()] + new + text[end:]
        at = m.start() + len(new)
    return text


def expand(text, macros):
    # a body may name others
    for _ in range(3):
        for name, (params, lines) in macros.items():
            if params is None:
                text = _expand_lines(text, name, lines)
            text = _expand_words(text, name, params, " ".join(lines))
    return text


# Includes ------------------------------------------------------------------

def _insert_includes(lines, new):
    """Among the "" includes, or as a block behind the <> ones."""
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


def relative_includes(text, there):
    """<ddp/x.h> -> "../ddp/x.h", seen from the file @there."""
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


def exports(text, names):
    """Of what is exported only @names, and to SCTP's module alone."""
    def new(m):
        return f'EXPORT_SYMBOL_FOR_MODULES({m[1]}, "{SCTP_MODULE}");\n' if m[1] in names else ""

    text = EXPORT.sub(new, text)
    if "EXPORT_SYMBOL" not in text:
        text = re.sub(r"#include <linux/export.h>\n\n?", "", text)
    return text


def at_definitions(text, names):
    """What a module.c exports for a pure file stands behind its functions."""
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


def without_module_lines(text):
    """Of a test, which is a part of the module here."""
    return re.sub(r"\n+(?:MODULE_\w+\(.*\);\n)+\Z", "\n", text)


# Words ---------------------------------------------------------------------

def driver_id(text):
    text = re.sub(r"#define RNIC_SW_DRIVER_ID.*\n", "", text)
    text = re.sub(r"\(\(enum rdma_driver_id\)RNIC_SW_DRIVER_ID\)|\(enum rdma_driver_id\)RNIC_SW_DRIVER_ID",
                  "RDMA_DRIVER_RNIC_SW", text)
    return text.replace("RNIC_SW_DRIVER_ID", "RDMA_DRIVER_RNIC_SW")


def driver_ids(text):
    """The kernel's ib_user_ioctl_verbs.h, with ours behind the last."""
    return replaced(text, r"(enum rdma_driver_id \{\n(?:.*\n)*?)(\};)", r"\1\tRDMA_DRIVER_RNIC_SW,\n\2")


def paths_in_code(text):
    text = re.sub(r"\bdrivers/(ddp|mpa|sctp_ddp)/", r"\1/", text)
    text = text.replace("drivers/rnic_sw/", "")
    return re.sub(r"\bDocumentation/(\w+\.rst)", rf"{PAGES}/\1", text)


def paths_in_page(text):
    text = re.sub(r"\bdrivers/(ddp|mpa|sctp_ddp)\b", rf"{ROOM}/\1", text)
    text = re.sub(r"<(ddp/\w+\.h)>", r"\1", text)
    return text.replace("drivers/rnic_sw", ROOM)


def setting_names(text):
    """A setting's file, beside its name, is compat's."""
    return re.sub(r"\s\(``(?:llp|mpa)/\w+``\)", "", text)


def trace_path(text, there):
    return text.replace("#define TRACE_INCLUDE_PATH .\n",
                        f"#define TRACE_INCLUDE_PATH ../../{os.path.dirname(there)}\n")


def typed_allocations(text):
    """kzalloc(sizeof(*p), gfp) -> kzalloc_obj(*p, gfp), and arrays likewise."""
    def new(m):
        args = arguments(text[m.end():closing(text, m.end() - 1) - 1])
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
            text = _refilled(text[:m.start()], call, text[closing(text, m.end() - 1):])
    return text


def _refilled(before, call, after):
    """A call that is put in, broken as the line allows."""
    line = before[before.rfind("\n") + 1:].expandtabs(8)
    if len(line + call) < 80:
        return before + call + after
    name, rest = call.split("(", 1)
    args = arguments(rest[:-1])
    at = len(line) + len(name) + 1
    indent = "\t" * (at // 8) + " " * (at % 8)
    return f"{before}{name}({', '.join(args[:-1])},\n{indent}{args[-1]}){after}"


# Pages ---------------------------------------------------------------------

def tree_paragraphs(text, whose="the kernel's"):
    """A comment ".. in the kernel's tree:" holds what takes the place of the
    paragraph before it there, or is empty. What leads to a literal block is one with it."""
    def new(m):
        said = re.sub(rf"^{m['in']}   ", m["in"], m["said"], flags=re.M)
        return said and "\n" + said

    return re.sub(rf"\n(?P<old>(?:(?:[^\n]+\n)*[^\n]*::\n\n)?(?:[^\n]+\n)+)\n(?P<in> *)\.\. in {whose} tree:\n"
                  r"(?P<said>(?:(?P=in)   [^\n]+\n)*)", new, text)


def links(text, pages):
    """A sentence that leads to a page that stays behind stays with it."""
    dead = re.compile(rf":doc:`(?!(?:{'|'.join(sorted(pages))})`)")
    paragraphs = [_alive(p, dead) if dead.search(p) else p for p in text.split("\n\n")]
    return "\n\n".join(p for p in paragraphs if p.strip() or p == "\n")


def _alive(paragraph, dead):
    """The sentences without such a link, and the white space between them."""
    if re.search(r"^ *===", paragraph, re.M):
        raise NotDone(f"a table with a link to a page that stays behind: {dead.search(paragraph)[0]}")
    pieces = re.split(r"(?<=\.)(\s+)", paragraph)
    while at := [i for i in range(0, len(pieces), 2) if dead.search(pieces[i])]:
        # with the white space in front of it, or behind the first
        first = max(at[0] - 1, 0)
        del pieces[first:first + 2]
    return "".join(pieces)


# Older kernels -------------------------------------------------------------

# Words may stand on two lines, of a comment as well. A version at which something was
# looked at or measured may stand in a page: "in Linux 7.3".
_OLDER = [words.replace(" ", r"[\s*]+") for words in (
    r"\b(?:older|old|earlier|previous|newer|recent) kernels?\b",
    r"\b(?:older|newer|earlier|later) (?:versions? of )?Linux\b", r"\bpre-v?[2-9]\.\d",
    r"\b(?:some|certain|several|most|other) kernels\b", r"\bkernels (?:have|that|which)\b",
    r"\b(?:before|since|until|from|after|than|as of|prior to) (?:Linux|kernels?) v?\d",
    r"\bkernels? (?:before|since|until|prior to|older|up to)\b",
    r"\b(?:before|since|until|starting with|from) (?:v?[2-9]\.\d+\b(?! m?s\b)|20[12]\d\b(?! octets))",
    r"\b(?:Linux|kernels?) ?[<>]=? ?v?\d", r"\bup to (?:Linux|kernels?) v?\d",
    r"\(Linux v?\d", r"\bLinux v?\d[\d.]* (?:and|or) (?:newer|later|older|up)\b")]
OLDER_PAGE = re.compile("|".join(_OLDER), re.I)
OLDER_CODE = re.compile("|".join([*_OLDER, r"\bLinux v?\d"]), re.I)


def older(text, page):
    """[(line, words)] that speak of other kernels than the one that the text is in."""
    return [(text.count("\n", 0, m.start()) + 1, " ".join(m[0].replace("*", " ").split()))
            for m in (OLDER_PAGE if page else OLDER_CODE).finditer(text)]


# Selftests -----------------------------------------------------------------

def selftest(text, name, staying):
    """A file of theirs, whose neighbours @staying do not go along. There is no provider
    to be built there, and the raw peer is in a folder of theirs."""
    if name == "Makefile":
        return tests_makefile(text, staying)
    if name == "lib.sh":
        text = replaced(text, r"^\tlocal build=.*build-provider\n", "")
        text = replaced(text, r'^\t\[ -x "\$build" \] \|\| (t_skip_all .*)\n\teval .*\n', r"\t\1\n")
        text = replaced(text, "The provider of this tree, unless another one is named or installed",
                        "The provider is installed, or named")
    if name == "wire.py":
        text = replaced(text, r"^    build = .*build-provider.*\n    if not .*\n    (    ktap.skip_all.*\n)(?:    .*\n)+",
                        r"\1")
        text = replaced(text, r'^for place in .*\n    if .*\n.*\n        break\nelse:\n.*\n', "sys.path.insert(0, HERE)\n")
    if name == "config":
        text = replaced(text, r"(?=^CONFIG_RDMA_SIW=)", "CONFIG_RDMA_RNIC_SW=m\nCONFIG_RDMA_RNIC_SW_SCTP=m\n")
    if name == "dissector.py":
        text = replaced(text, r'"\.\.", "\.\.", "wireshark", (?="ddp_sctp.lua")', "")
    text = text.replace("$T_DIR/../../rawpeer", "$T_DIR/rawpeer").replace("tools/wireshark", "rawpeer")
    return text.replace("tools/testing/rawpeer", "rawpeer")


def tests_makefile(text, staying):
    programs = [f[:-2] for f in staying if f.endswith(".c")]
    for file in staying + programs + [f"{p}.so" for p in programs]:
        text = re.sub(rf"^\w+ \+?:?= {re.escape(file)}\n", "", text, flags=re.M)
    text = replaced(text, r", and see \./run\. .*\n# .*", ".")
    text = replaced(text, r": scripts/machines runs it$", "")
    # a heading with nothing below
    text = re.sub(r"\n{3,}", "\n\n", replaced(text, r"(?<=\n\n)# .*\n(?=\n)", ""))
    text = replaced(text, r"(?<=^TEST_FILES \+= lib\n)", "TEST_FILES += rawpeer\n")
    return replaced(text, r"^ifneq \(\$\(wildcard \.\./lib\.mk\).*\n((?:.*\n)*?)else\n(?:.*\n)*?endif\n",
                    lambda m: m[1].replace("../lib.mk", "../../lib.mk"))
