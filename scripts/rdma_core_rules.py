# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The rules for the changes that export-rdma-core makes to files for rdma-core's tree: each
function takes a text and returns the changed text."""
import re
import sys

sys.dont_write_bytecode = True
from exporting import ExportError


# rdma-core's files ---------------------------------------------------------

class Edit:
    """Lines that are added to one of rdma-core's files."""
    def __init__(self, head):
        m = re.fullmatch(r"(\S+), (?:(before|after) (.*)|at the end)", head)
        if not m:
            raise ExportError(f"packaging/rdma-core/edits: invalid line: {head}")
        self.path, self.where, self.line = m[1], m[2], m[3]
        self.lines = []

    def __call__(self, text, words):
        new = "".join(f"{line}\n" for line in self.lines)
        for name, value in words.items():
            new = new.replace(f"@{name}@", value)
        if not self.where:
            return text + new
        place = f"{self.line}\n"
        if f"\n{place}" not in "\n" + text:
            raise ExportError(f"{self.path} has no line {self.line}")
        both = place + new if self.where == "after" else new + place
        return re.sub(rf"^{re.escape(place)}", lambda _: both, text, flags=re.M)


def read_edits(text):
    """Return {patch: [Edit]} of the file packaging/rdma-core/edits."""
    found, patch = {}, None
    for line in text.splitlines():
        if m := re.fullmatch(r"\[(\w+)\]", line):
            patch = found.setdefault(m[1], [])
        elif line.startswith("+"):
            patch[-1].lines.append(line[1:])
        elif line and not line.startswith("#"):
            patch.append(Edit(line))
    return found


def fix_symbol_version_check(text):
    """In buildlib/check-build: read the version after the last underscore of a symbol version, as
    the names of this provider contain underscores."""
    return _replace_once(text, 'ver.partition("_")[-1]', 'ver.rpartition("_")[-1]')


def add_to_lintian_overrides(text):
    """In debian/ibverbs-providers.lintian-overrides: add the library to the list of libraries in
    Debian's package."""
    text = re.sub(r"^(# .*) and (libmlx5) are", r"\1, \2 and librnic_sw are", text, count=1)
    return _replace_once(text, "libmlx5-1\n", "libmlx5-1 librnic-sw1\n")


def add_ldconfig_scriptlets(text):
    """In suse/rdma-core.spec: copy the scriptlets of the previous library, mlx5."""
    lines = re.findall(r"^%(?:post|postun|ldconfig_scriptlets) -n %mlx5_lname.*\n(?:\n(?=%post))?", text, re.M)
    old = "".join(lines)
    if not lines:
        raise ExportError("suse/rdma-core.spec has no scriptlets for mlx5")
    return _replace_once(text, old, old + old.replace("mlx5", "rnic_sw"))


def check_static_providers_room(text):
    """Check that the macro in libibverbs/verbs.h takes as many providers as the file declares."""
    names = set(re.findall(r"^extern const struct verbs_device_ops verbs_provider_(\w+);", text, re.M))
    room = re.search(r"#define _RDMA_STATIC_PREFIX_\((?:.|\n)*?_(\d+), \.\.\.\)", text)
    if not room or len(names - {"all", "none"}) > int(room[1]):
        raise ExportError("libibverbs/verbs.h: RDMA_STATIC_PROVIDERS has no room for one more")
    return text


def _replace_once(text, old, new):
    if text.count(old) != 1:
        raise ExportError(f"a rule must match once, but {text.count(old)} lines match: {old.strip()}")
    return text.replace(old, new)


def replace_driver_enum(text, kernels):
    """Return rdma-core's header with the enum of the kernel's header."""
    enum = re.compile(r"enum rdma_driver_id \{\n(?:.*\n)*?\};\n")
    return enum.sub(lambda _: enum.search(kernels)[0], text, count=1)


# Files of this tree --------------------------------------------------------

def convert_provider_source(text, unifdef, abi):
    """Return a source file in the form that rdma-core's tree needs, for this private ABI."""
    return unifdef(text, [], ["RNIC_SW_IN_RDMA_CORE", f"IBVERBS_PABI_VERSION={abi}"])


def shorten_setting_names(text):
    """Replace the names of settings with names without the directory of their sysfs file: in the
    upstream kernel the settings are netlink attributes."""
    return re.sub(r"\*(?:llp|mpa)/(\w+)\*", r"*\1*", text)


def read_constants(headers):
    """Return {name: (module, enum or "")} of pyverbs' .pxd files. @headers: {module: text}."""
    names, enum = {}, None
    for module, text in headers.items():
        for line in text.splitlines():
            if m := re.match(r"\s+cpdef enum ?(\w*):", line):
                enum = m[1]
            elif m := re.match(r"\s+([A-Z]\w+)", line):
                names[m[1]] = module, enum
    return names


def qualify_pyverbs_constants(text, headers):
    """Put the enum's name before each constant, as later releases of pyverbs require. @headers: as
    for read_constants(); if empty, the text is not changed."""
    if not headers:
        return text
    known, used = read_constants(headers), {}

    def new(m):
        if m[1] not in known:
            raise ExportError(f"pyverbs has no constant {m[1]}")
        module, enum = known[m[1]]
        used.setdefault(module, set()).add(enum or m[1])
        return f"{enum}.{m[1]}" if enum else m[1]

    text = re.sub(r"\bc?e\.([A-Z]+_\w+)", new, text)
    imports = "".join(_format_import(module, sorted(used[module])) for module in sorted(used))
    text = re.sub(r"import pyverbs\.cm_enums as ce\n", imports, text)
    return re.sub(r"import pyverbs\.enums as e\n", "", text)


def _format_import(module, names):
    lines = [f"from pyverbs.{module} import"]
    for name in names:
        if len(lines[-1]) + len(name) > 78:
            lines.append("   ")
        lines[-1] += f" {name},"
    return " \\\n".join(lines).rstrip(",") + "\n"
