# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A raw peer: MPA, DDP and RDMAP on plain TCP and SCTP sockets.

It builds and parses every byte from the RFCs alone and shares nothing with the
modules under test. Everything that it builds is valid unless the caller
requests an invalid value, field by field.
"""
