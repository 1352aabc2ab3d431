# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Access to C sources for the checks: the list of files, their code without comments and strings
(line numbers are kept), their includes and their functions."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
SCRIPTS = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.dirname(SCRIPTS)

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(<[^>\n]+>|"[^"\n]+")', re.M)
# Annotations that ctags would mistake for the name of a function
ANNOTATIONS = ("__must_hold+,__acquires+,__releases+,__printf+,__guarded_by+,"
               "__must_check,__init,__exit,__cold,noinline,__always_inline,"
               "__bpf_kfunc,__rcu,__user,__percpu")


def list_files(kind, *dirs):
    """Return paths of the sources of a kind, relative to the top of the tree; see
    scripts/sources."""
    out = subprocess.run([os.path.join(SCRIPTS, "sources"), kind, *dirs],
                         stdout=subprocess.PIPE, check=True, text=True)
    return out.stdout.splitlines()


def read_file(path):
    with open(os.path.join(TREE, path), encoding="utf-8",
              errors="replace") as f:
        return f.read()


def _build_blank_replacement(match, keep_strings):
    if match["string"] is not None:
        return match[0] if keep_strings else match[0][0] * 2
    return " " + "\n" * match[0].count("\n")


def strip_comments(text):
    return TOKEN.sub(lambda m: _build_blank_replacement(m, True), text)


def strip_to_code(text):
    """Return @text without comments, strings and #include lines."""
    text = INCLUDE.sub("", strip_comments(text))
    return TOKEN.sub(lambda m: _build_blank_replacement(m, False), text)


def find_includes(text):
    """Return [(line number, '<a/b.h>' or '"b.h"')]."""
    text = strip_comments(text)
    return [(text.count("\n", 0, m.start()) + 1, m[1])
            for m in INCLUDE.finditer(text)]


class Function:
    def __init__(self, row):
        self.path, self.name, start, end, self.signature = row.split("\t")
        self.start, self.end = int(start), int(end or start)
        self.lines = self.end - self.start + 1
        self.where = f"{self.path}:{self.start}: {self.name}"


def find_functions(paths):
    """Return the functions that ctags finds in the C files @paths."""
    if not shutil.which("ctags"):
        sys.exit("needs ctags: apt-get install universal-ctags")
    if not paths:
        return []
    run = subprocess.run(
        ["ctags", "-x", "--language-force=C", "--kinds-C=f", "--fields=+neS",
         "--_xformat=%F\t%N\t%n\t%e\t%S", "-I", ANNOTATIONS, "-L", "-"],
        input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True,
        cwd=TREE)
    return [Function(row) for row in run.stdout.splitlines()]
