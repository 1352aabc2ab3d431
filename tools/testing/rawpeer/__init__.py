# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A raw peer: MPA, DDP and RDMAP spoken on plain TCP and SCTP sockets.

Every octet is built and read here, from the RFCs alone; nothing is shared
with the modules under test.  What is built is right unless the caller asks
for something wrong, field by field.
"""
