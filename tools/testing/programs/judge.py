# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""judge.py: judge the runs of a program, and say in words why a run has failed.

A run is a dictionary: "client" and "server" have a status (None: killed at the time limit) and a
log; "kernel" lists what the kernel has reported. A program without a server has no "server".
"""
import re

# Faults of perftest's clock calibration on a slow machine. A run with such a fault does not show
# whether the device works.
NOISE = re.compile(r"Can't produce a report|Correlation coefficient|measured.*MHz")

# Characters of a line that are searched
LONGEST = 300
# What a program prints in a line -> the class of the failure, in words. The first match counts.
CLASSES = [(re.compile(pattern, re.I), words) for pattern, words in (
    (r".*iwarp device.*not supported.*|.*not supported.*iwarp.*", "the program rejects iWARP devices"),
    (r"(couldn't|unable to|failed to) create (the )?(qp|queue pair).*|.*rdma_create_qp: .*",
     "the device cannot create the queue pair"),
    (r"failed to modify.*(rtr|rts|init).*|unable to connect the hca.*|couldn't connect to remote qp.*",
     "the device refuses to connect the queue pair"),
    (r"network device '.*' is not available|no components were able to be opened in the pml framework|"
     r"pml \w+ cannot be selected|no (such )?(ib |rdma )?devices? .*found.*|can't read sgid.*|could not get local gid.*",
     "the program finds no device that it can use"),
    (r"couldn't post send.*|failed to post.*", "the device refuses a request"),
    (r"fi_\w+\(\): .*ret=-.*|fatal: .*", "the program ends with an error of its library"),
    (r"failed status.*|completion with error.*|failed to complete.*|.*work completion.*|.*vendor err.*",
     "a request fails"),
    (r".*\b(rejected|unreachable|addr_error|route_error|connect_error|connection (refused|reset))\b.*",
     "the connection fails"),
    (r".*mismatch.*|.*invalid data.*|.*verification failed.*|.*wrong data.*", "the data is wrong"),
    (r".*\b(fail(ed|ure|s)?|error|unable|cannot|can't|couldn't|not supported|invalid)\b.*",
     "the program reports an error"),
)]


def join_logs(run):
    return "\n".join(run[side]["log"] for side in ("client", "server") if side in run)


def has_exited_successfully(row, run):
    """Check whether all processes that have to exit have exited with status 0."""
    sides = ["client"] if row.stays or "server" not in run else ["client", "server"]
    return all(run[side]["status"] == 0 for side in sides)


def has_proof(row, run):
    return all(re.search(proof, run["client"]["log"], re.M) for proof in row.proofs)


def has_no_hidden_error(row, run):
    """Check whether the client reports no error that its exit status hides."""
    return not (row.quiet and re.search(row.quiet, run["client"]["log"]))


def has_succeeded(row, run):
    return (has_exited_successfully(row, run) and has_proof(row, run) and
            has_no_hidden_error(row, run) and not run["kernel"])


def has_clock_fault(run):
    return bool(NOISE.search(join_logs(run)))


def quote_line(line):
    """Return a line of output as a literal."""
    line = re.sub(r"[^ -~]", " ", line).replace("`", "'")
    line = re.sub(r"\b0x[0-9a-f]{3,}\b", "0x...", " ".join(line.split()))
    return f"``{line[:90].rstrip()}``"


def find_failure_class(text):
    """Return the words for the first class that matches, and the line of output."""
    lines = [line[:LONGEST] for line in text.splitlines()]
    for pattern, words in CLASSES:
        for found in filter(None, map(pattern.search, lines)):
            return words, found[0]
    return None


def describe_end(row, run):
    """Say how a run ended that printed no known error."""
    for side in ("client", "server"):
        if side in run and run[side]["status"] is None and not (side == "server" and row.stays):
            return f"the {side} does not end within {row.limit} s"
    for side in ("client", "server"):
        if side in run and run[side]["status"] and not (side == "server" and row.stays):
            return f"the {side} ends with status {run[side]['status']}"
    return "the output does not show that the program has worked"


def describe_failure(row, run):
    """Say in words why a run has failed, and quote what the program printed."""
    if run["kernel"]:
        return f"the kernel reports a fault: {quote_line(run['kernel'][0])}"
    for pattern, words in [row.partial] if row.partial else []:
        if has_proof(row, run) and re.search(pattern, join_logs(run)):
            return f"{words}: {quote_line(pattern)}"
    known = find_failure_class(join_logs(run))
    if known:
        late = any(run[side]["status"] is None for side in ("client", "server")
                   if side in run and not (side == "server" and row.stays))
        return f"{known[0]}: {quote_line(known[1])}" + (f"; no end within {row.limit} s" if late else "")
    lines = [line for line in run["client"]["log"].splitlines() if line.strip()]
    end = describe_end(row, run)
    return f"{end}; the last line is {quote_line(lines[-1])}" if lines else f"{end} and prints nothing"


def is_partial(row, run):
    """Check whether a run has passed its data, and then failed by a known fault of the program."""
    return bool(row.partial and has_proof(row, run) and has_no_hidden_error(row, run) and not run["kernel"] and
                re.search(row.partial[0], join_logs(run)))


def judge_runs(row, runs):
    """Return the cell of the table for the runs of a row, and the reason for a footnote or ""."""
    if not runs:
        return "not run", ""
    good = [run for run in runs if has_succeeded(row, run)]
    bad = [run for run in runs if not has_succeeded(row, run)]
    if good:
        return "yes", f"only in {len(good)} of {len(runs)} runs; in the other one, {describe_failure(row, bad[0])}" if bad else ""
    return ("partly" if is_partial(row, runs[-1]) else "no"), describe_failure(row, runs[-1])
