# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Common code of the export scripts: create a branch of another project's tree, commit by
commit, and write it as patches."""
import glob
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import csource


class ExportError(Exception):
    """The export failed, for example because a rule does not match; nothing is exported."""


def run(*command, stdin=None, **more):
    return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, check=True, text=True,
                          **more).stdout


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def require_no_patches(out):
    """Fail if the directory has old patches, which could be sent together with the new ones."""
    if out and glob.glob(os.path.join(glob.escape(out), "*.patch")):
        raise ExportError(f"{out} already has patches: name another directory or remove them")


class Tree:
    """The other project's tree: a git repository without changes, or a plain directory."""
    def __init__(self, top, changed):
        self.top, self.changed = os.path.realpath(top), changed
        for name in changed:
            if not os.path.exists(os.path.join(self.top, name)):
                raise ExportError(f"{top} is not the expected source tree: it has no {name}")

    def read(self, path):
        return read(os.path.join(self.top, path))

    def write(self, path, text):
        """Replace a file with rename(), never through a symbolic link."""
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        if os.path.exists(path):
            shutil.copymode(path, path + ".new")
        elif text.startswith("#!"):
            os.chmod(path + ".new", 0o755)
        os.replace(path + ".new", path)

    def run_git(self, *command, **more):
        return run("git", "-C", self.top, *command, **more)

    def create_branch(self, branch):
        """Create the branch from the current state of the tree."""
        if not os.path.exists(os.path.join(self.top, ".git")):
            self.create_repository()
        elif self.run_git("status", "--porcelain", "--untracked-files=no"):
            raise ExportError(f"{self.top} has changes that are not committed")
        self.run_git("switch", "-q", "-c", branch)

    def create_repository(self):
        """Make a repository of a plain directory. If a step fails, leave no repository, so that the
        export can be repeated."""
        try:
            user = [(key, run("git", "-C", csource.TREE, "config", key).strip()) for key in ("user.name", "user.email")]
        except subprocess.CalledProcessError:
            raise ExportError("git has no user; set it: git config --global user.name, and user.email") from None
        try:
            run("git", "init", "-q", self.top)
            for key, value in user:
                self.run_git("config", key, value)
            self.run_git("add", "-f", *self.changed)
            self.run_git("commit", "-q", "-m", "The files that the series changes")
        except BaseException:
            shutil.rmtree(os.path.join(self.top, ".git"), ignore_errors=True)
            raise

    def apply_patch(self, diff):
        self.run_git("apply", "--index", diff)

    def commit_files(self, message, files):
        for path, text in files.items():
            self.write(path, text)
        if files:
            self.run_git("add", "-f", *files)
        self.run_git("commit", "-q", "-s", "-F", "-", stdin=message)

    def format_maintainer(self):
        name, email = (self.run_git("config", f"user.{key}").strip() for key in ("name", "email"))
        return f"{name} <{email}>"

    def format_patches(self, count, cover, out, prefix="PATCH"):
        """Write the last @count commits as patches. @cover: the cover letter: subject, empty line, text."""
        self.run_git("format-patch", "-q", "--cover-letter", f"--subject-prefix={prefix}", "-o", os.path.realpath(out), f"-{count}")
        subject, blurb = cover.split("\n\n", 1)
        path = os.path.join(out, "0000-cover-letter.patch")
        text = read(path).replace("*** SUBJECT HERE ***", subject).replace("*** BLURB HERE ***\n", blurb)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


class Unifdef:
    """The kernel's unifdef, which its headers_install uses."""
    def __init__(self, kernel, work):
        self.program = os.path.join(work, "unifdef")
        run("cc", "-O1", "-o", self.program, os.path.join(kernel, "scripts/unifdef.c"))

    def __call__(self, text, known, true):
        """Return @text with the conditions on the names @known resolved. @true: the names that
        are defined, as NAME or NAME=VALUE; all other names of @known are undefined."""
        names = {name.split("=")[0] for name in true}
        flags = ["-D" + name for name in true] + ["-U" + name for name in known if name not in names]
        done = subprocess.run([self.program, "-t", *flags], input=text, stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode > 1:
            raise ExportError("unifdef failed")
        return done.stdout
