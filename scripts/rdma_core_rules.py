# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What export-rdma-core does to a text on its way into rdma-core's tree: each
function is one rule, from text to text."""
import re
import sys

sys.dont_write_bytecode = True
from exporting import NotDone


# Their files ---------------------------------------------------------------

class Edit:
    """Lines that are put into one of theirs."""
    def __init__(self, head):
        m = re.fullmatch(r"(\S+), (?:(before|behind) (.*)|at the end)", head)
        if not m:
            raise NotDone(f"packaging/rdma-core/edits: {head}?")
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
            raise NotDone(f"{self.path}: there is no line {self.line}")
        both = place + new if self.where == "behind" else new + place
        return re.sub(rf"^{re.escape(place)}", lambda _: both, text, flags=re.M)


def edits(text):
    """{patch: [Edit]}"""
    found, patch = {}, None
    for line in text.splitlines():
        if m := re.fullmatch(r"\[(\w+)\]", line):
            patch = found.setdefault(m[1], [])
        elif line.startswith("+"):
            patch[-1].lines.append(line[1:])
        elif line and not line.startswith("#"):
            patch.append(Edit(line))
    return found


def symbol_versions(text):
    """buildlib/check-build: the version stands behind the last underscore."""
    return _replaced(text, 'ver.partition("_")[-1]', 'ver.rpartition("_")[-1]')


def lintian(text):
    """The libraries in Debian's package of the providers."""
    text = re.sub(r"^(# .*) and (libmlx5) are", r"\1, \2 and librnic_sw are", text, count=1)
    return _replaced(text, "libmlx5-1\n", "libmlx5-1 librnic-sw1\n")


def ldconfig(text):
    """SUSE's scriptlets: as the library before us, however those look."""
    lines = re.findall(r"^%(?:post|postun|ldconfig_scriptlets) -n %mlx5_lname.*\n(?:\n(?=%post))?", text, re.M)
    old = "".join(lines)
    if not lines:
        raise NotDone("suse/rdma-core.spec: no scriptlets for mlx5")
    return _replaced(text, old, old + old.replace("mlx5", "rnic_sw"))


def static_providers(text):
    """libibverbs/verbs.h: is there room for as many as it names?"""
    names = set(re.findall(r"^extern const struct verbs_device_ops verbs_provider_(\w+);", text, re.M))
    room = re.search(r"#define _RDMA_STATIC_PREFIX_\((?:.|\n)*?_(\d+), \.\.\.\)", text)
    if not room or len(names - {"all", "none"}) > int(room[1]):
        raise NotDone("libibverbs/verbs.h: RDMA_STATIC_PROVIDERS has no room for one more")
    return text


def _replaced(text, old, new):
    if text.count(old) != 1:
        raise NotDone(f"{old.strip()} is there {text.count(old)} times")
    return text.replace(old, new)


def driver_enum(text, kernels):
    """Theirs with the enum of the kernel's header."""
    enum = re.compile(r"enum rdma_driver_id \{\n(?:.*\n)*?\};\n")
    return enum.sub(lambda _: enum.search(kernels)[0], text, count=1)


# Ours ----------------------------------------------------------------------

def provider(text, unifdef, abi):
    """A source: in their tree, for their private ABI."""
    return unifdef(text, [], ["RNIC_SW_IN_RDMA_CORE", f"IBVERBS_PABI_VERSION={abi}"])


def setting_names(text):
    """Without the folder of the file that a setting is where the kernel has no netlink
    for it."""
    return re.sub(r"\*(?:llp|mpa)/(\w+)\*", r"*\1*", text)


def constants(headers):
    """{name: (module, enum or "")} of pyverbs' .pxd files, {module: text}"""
    names, enum = {}, None
    for module, text in headers.items():
        for line in text.splitlines():
            if m := re.match(r"\s+cpdef enum ?(\w*):", line):
                enum = m[1]
            elif m := re.match(r"\s+([A-Z]\w+)", line):
                names[m[1]] = module, enum
    return names


def pyverbs_enums(text, headers):
    """Later releases have an enum's name in front of its constants'. @headers:
    as for constants(); none of them: as it stands."""
    if not headers:
        return text
    known, used = constants(headers), {}

    def new(m):
        if m[1] not in known:
            raise NotDone(f"pyverbs has no {m[1]}")
        module, enum = known[m[1]]
        used.setdefault(module, set()).add(enum or m[1])
        return f"{enum}.{m[1]}" if enum else m[1]

    text = re.sub(r"\bc?e\.([A-Z]+_\w+)", new, text)
    imports = "".join(_import(module, sorted(used[module])) for module in sorted(used))
    text = re.sub(r"import pyverbs\.cm_enums as ce\n", imports, text)
    return re.sub(r"import pyverbs\.enums as e\n", "", text)


def _import(module, names):
    lines = [f"from pyverbs.{module} import"]
    for name in names:
        if len(lines[-1]) + len(name) > 78:
            lines.append("   ")
        lines[-1] += f" {name},"
    return " \\\n".join(lines).rstrip(",") + "\n"
