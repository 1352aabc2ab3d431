# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Record which connections and QPs end, and why, to explain a failed check of counters."""

import os
import subprocess

TRACE = "/sys/kernel/tracing"
EVENTS = "rnic_sw/rnic_qp_ended", "iw_mpa/mpa_conn_end", "iw_sctp_ddp/sddp_session_end"
SHOWN = 40      # maximum number of events to show


class Ends:
    """Records into a separate trace buffer, which lib/tracing.py does not read. Records
    nothing if the kernel has no tracepoints."""

    def __init__(self):
        self.path = f"{TRACE}/instances/wire_ends"

    def start(self):
        """Begin to record, or forget what has been recorded."""
        if not os.path.exists(TRACE + "/instances"):
            subprocess.run(["mount", "-t", "tracefs", "none", TRACE], stderr=subprocess.DEVNULL,
                           check=False)
        try:
            os.makedirs(self.path, exist_ok=True)
            self._write_trace_file("buffer_size_kb", "64")
            for event in EVENTS:
                if os.path.exists(f"{self.path}/events/{event}"):
                    self._write_trace_file(f"events/{event}/enable", "1")
            self._write_trace_file("trace", "")
        except OSError:
            pass

    def read_events(self):
        """Return the recorded events as text."""
        try:
            with open(self.path + "/trace", encoding="ascii") as file:
                lines = [line.rstrip() for line in file if not line.startswith("#")]
        except OSError:
            return ""
        return "\n".join(lines[-SHOWN:])

    def stop(self):
        """Stop recording, and free the buffer."""
        try:
            os.rmdir(self.path)
        except OSError:
            pass

    def _write_trace_file(self, name, text):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(text)
