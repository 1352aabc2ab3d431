# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run tshark, which is independent of this project, on a capture, and count the
FPDUs, frames, markers and CRCs that it finds."""

import re
import subprocess
from collections import Counter

from . import mpa

# try_heuristic_first: tshark must find MPA even on a port that belongs to another
# protocol. tshark guesses the protocols above RDMAP and reports them as malformed, so
# they are disabled.
COMMAND = ("tshark", "-n", "-o", "tcp.desegment_tcp_streams:TRUE",
           "-o", "tcp.try_heuristic_first:TRUE",
           "--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct",
           "-Y", "iwarp_mpa", "-O", "iwarp_mpa,iwarp_ddp_rdmap",
           "-z", "expert,warn")

# Count lines of tshark's text output, because no other output says whether a CRC is
# good.
LINES = (("fpdus", re.compile(r"    FPDU$")),
         ("start_up_frames", re.compile(r"    Re\w+ frame header$")),
         ("rejected", re.compile(r".*Connection rejected flag: True")),
         ("markers", re.compile(r" +FPDU back pointer: ")),
         ("good_crcs", re.compile(r" +CRC check: .*Good CRC32")),
         ("bad_crcs", re.compile(r" +CRC check: (?!.*Good CRC32)")),
         ("unused_crcs", re.compile(r" +CRC: ")))
OPCODE = re.compile(r".*= OpCode: .*\(0x([0-9a-f]+)\)$")

# After the frames tshark prints its remarks: a heading for each severity, then lines
# with number, protocol and text of a remark.
SEVERITY = re.compile(r"(Errors|Warns) \(\d+\)$")
REMARK = re.compile(r" +(?P<number>\d+) +\S+ +(?P<protocol>\S+)  (?P<words>.*)$")

# Warnings about frames of revision 2: tshark knows RFC 5044, but not RFC 6581.
REVISION_2 = ("Res field is NOT set to zero as required by RFC 5044",
              "Rev field is NOT set to one as required by RFC 5044")


class Failed(Exception):
    """tshark failed; the argument is tshark's error output."""


def read_output_lines(path):
    """Run tshark, and yield each line of its output as soon as it is printed."""
    with subprocess.Popen([*COMMAND, "-r", path], text=True, errors="replace",
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            yield line.rstrip("\n")
        errors = process.stderr.read().strip()
        if process.wait():
            raise Failed(errors)


def count_findings(path):
    """Run tshark on a capture. Return counters by name, and remarks as text."""
    numbers, remarks, severity = Counter(), [], None
    for line in read_output_lines(path):
        if (found := OPCODE.match(line)):
            numbers[f"opcode_{int(found[1], 16)}"] += 1
        elif (found := SEVERITY.match(line)):
            severity = found[1]
        elif severity and (found := REMARK.match(line)):
            count_remark(severity, found, numbers, remarks)
        else:
            numbers.update(name for name, form in LINES if form.match(line))
    return numbers, remarks


def count_remark(severity, remark, numbers, remarks):
    """Count a remark: errors of any protocol, warnings only of iWARP."""
    if remark["words"] in REVISION_2:
        numbers["revision_2_warnings"] += int(remark["number"])
    elif severity == "Errors" or remark["protocol"].startswith("IWARP"):
        remarks.append(f"{remark['protocol']}: {remark['words']}, "
                       f"{remark['number']} times")


def is_misread(half, fpdu):
    """Check whether tshark misreads this FPDU.

    If a marker directly follows an FPDU, tshark takes the marker for part of that
    FPDU.
    """
    return half.markers and (fpdu.start + fpdu.size) % mpa.INTERVAL == 0
