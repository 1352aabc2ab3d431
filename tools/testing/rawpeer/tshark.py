# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What tshark, which knows nothing of our code, finds in a capture."""

import re
import subprocess
from collections import Counter

from . import mpa

# A port may be that of another protocol.  What rides on RDMAP tshark only
# guesses, and finds malformed.
COMMAND = ("tshark", "-n", "-o", "tcp.desegment_tcp_streams:TRUE",
           "-o", "tcp.try_heuristic_first:TRUE",
           "--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct",
           "-Y", "iwarp_mpa", "-O", "iwarp_mpa,iwarp_ddp_rdmap",
           "-z", "expert,warn")

# The one thing it says of a good CRC that it says of no other is words, so it
# is lines of text that are counted.
LINES = (("fpdus", re.compile(r"    FPDU$")),
         ("start_up_frames", re.compile(r"    Re\w+ frame header$")),
         ("rejected", re.compile(r".*Connection rejected flag: True")),
         ("markers", re.compile(r" +FPDU back pointer: ")),
         ("good_crcs", re.compile(r" +CRC check: .*Good CRC32")),
         ("bad_crcs", re.compile(r" +CRC check: (?!.*Good CRC32)")),
         ("unused_crcs", re.compile(r" +CRC: ")))
OPCODE = re.compile(r".*= OpCode: .*\(0x([0-9a-f]+)\)$")

# Behind the frames: a heading for each severity, then how many remarks of
# which protocol's, in what words
SEVERITY = re.compile(r"(Errors|Warns) \(\d+\)$")
REMARK = re.compile(r" +(?P<number>\d+) +\S+ +(?P<protocol>\S+)  (?P<words>.*)$")

# It knows RFC 5044, not RFC 6581.
REVISION_2 = ("Res field is NOT set to zero as required by RFC 5044",
              "Rev field is NOT set to one as required by RFC 5044")


class Failed(Exception):
    """tshark did; its words."""


def output(path):
    """Lines, as they come."""
    with subprocess.Popen([*COMMAND, "-r", path], text=True, errors="replace",
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            yield line.rstrip("\n")
        errors = process.stderr.read().strip()
        if process.wait():
            raise Failed(errors)


def opinion(path):
    """Numbers, by name, of what there is; and remarks, in words."""
    numbers, remarks, severity = Counter(), [], None
    for line in output(path):
        if (found := OPCODE.match(line)):
            numbers[f"opcode_{int(found[1], 16)}"] += 1
        elif (found := SEVERITY.match(line)):
            severity = found[1]
        elif severity and (found := REMARK.match(line)):
            heed(severity, found, numbers, remarks)
        else:
            numbers.update(name for name, form in LINES if form.match(line))
    return numbers, remarks


def heed(severity, remark, numbers, remarks):
    """An error counts, whosever it is; a warning if it is about iWARP."""
    if remark["words"] in REVISION_2:
        numbers["revision_2_warnings"] += int(remark["number"])
    elif severity == "Errors" or remark["protocol"].startswith("IWARP"):
        remarks.append(f"{remark['protocol']}: {remark['words']}, "
                       f"{remark['number']} times")


def miscounts(half, fpdu):
    """Does tshark misread this FPDU?

    It takes a marker just behind an FPDU for one of that FPDU's.
    """
    return half.markers and (fpdu.start + fpdu.size) % mpa.INTERVAL == 0
