# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""CRC32c as MPA uses it (RFC 5044 section 4.4, RFC 3720 appendix B.4)."""

POLYNOMIAL = 0x82F63B78


def _compute_row(octet):
    for _ in range(8):
        octet = octet >> 1 ^ (POLYNOMIAL if octet & 1 else 0)
    return octet


TABLE = [_compute_row(octet) for octet in range(256)]


def compute_crc32c(data):
    """Return the CRC of data as a number that is sent in little-endian order."""
    crc = 0xFFFFFFFF
    for octet in data:
        crc = TABLE[(crc ^ octet) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def encode_crc(data):
    """Return the four bytes of an FPDU's CRC field."""
    return compute_crc32c(data).to_bytes(4, "little")
