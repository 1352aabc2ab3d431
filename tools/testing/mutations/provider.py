# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Judge mutants of the provider with its unit tests, which take a second."""
import fcntl
import glob
import os
import shutil
import subprocess

import mutants


class Shop:
    """A copy of the provider's sources, which can be changed, and its objects; one for each
    lane."""

    def __init__(self, tree, where, lane):
        self.where = f"{where}-provider-{lane}"
        os.makedirs(self.where, exist_ok=True)
        # pylint: disable-next=consider-using-with
        self.lock = open(self.where + "/.lock", "w", encoding="utf-8")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for name in ("src", "src/tests"):
            shutil.rmtree(f"{self.where}/{name}", ignore_errors=True)
            os.makedirs(f"{self.where}/{name}")
        for path in glob.glob(tree + "/providers/rnic_sw/**/*.[ch]", recursive=True):
            shutil.copy(path, self.get_copy_path(os.path.relpath(path, tree)))
        said = subprocess.run([tree + "/scripts/build-provider", "--test-flags"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.splitlines()
        # removing a statement may leave an if without a body
        self.compiling, self.linking = said[0].split() + ["-Wno-empty-body"], said[1].split()
        self.files = sorted(glob.glob(self.where + "/src/**/*.c", recursive=True))
        if not all(self.try_compile(file) for file in self.files) or self.run_unit_tests(60):
            raise SystemExit(f"mutate: the provider fails its unit tests: {self.where}")

    def get_copy_path(self, path):
        """Return the path of the copy of a file of the tree."""
        return f"{self.where}/src/{os.path.relpath(path, 'providers/rnic_sw')}"

    def try_compile(self, file):
        return not subprocess.run(["cc", *self.compiling, "-c", "-o", file[:-1] + "o", file],
                                  stderr=subprocess.DEVNULL, check=False).returncode

    def read_object_code(self, file):
        """Return the object code without debug information."""
        bare = self.where + "/bare.o"
        subprocess.run(["objcopy", "--strip-debug", file[:-1] + "o", bare], check=True)
        with open(bare, "rb") as out:
            return out.read()

    def run_unit_tests(self, limit):
        """Return the test that detects a mutant, or a false value."""
        program = self.where + "/test"
        subprocess.run(["cc", *self.compiling, "-o", program,
                        *(file[:-1] + "o" for file in self.files), *self.linking], check=True)
        try:
            done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, errors="replace", timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return "unit tests: they hang"
        words = [line for line in done.stderr.splitlines() if line.strip(" =")]
        return done.returncode and "unit tests: " + (words or ["they crash"])[0].split(self.where)[-1]

    def run_thread_sanitizer(self):
        """Return what ThreadSanitizer detects, or a false value."""
        program = self.where + "/threads"
        flags = " ".join(self.compiling).replace("address,undefined", "thread").split()
        if subprocess.run(["cc", *flags, "-Wno-error", "-o", program, *self.files, *self.linking],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            return ""       # ThreadSanitizer is not available
        try:
            done = subprocess.run(["setarch", "-R", program], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace",
                                  timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return "unit tests: they hang"
        found = [line for line in done.stderr.splitlines() if line.startswith("SUMMARY")]
        return found and "unit tests: " + found[0].split(self.where)[-1]

    def judge_mutant(self, path, text, mutant, suites, limit):
        """Run the tests on a mutant. Return {"void": True} if it does not change the object
        code, else {"by": the test that detected it, or ""}."""
        # pylint: disable=unused-argument
        file = self.get_copy_path(path)
        whole = self.read_object_code(file)
        with open(file, "w", encoding="utf-8") as out:
            out.write(mutants.apply_mutant(text, mutant))
        try:
            if not self.try_compile(file) or self.read_object_code(file) == whole:
                return {"void": True}
            return {"by": self.run_unit_tests(30) or self.run_thread_sanitizer() or ""}
        finally:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
            self.try_compile(file)
