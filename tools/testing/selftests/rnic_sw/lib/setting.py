#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""setting.py DEVICE [NAME [VALUE [NAME VALUE]...]]: print all settings or one setting of a
device, or change settings, through netlink. The shell scripts use ./setting."""

import os
import socket
import struct
import sys

NETLINK_RDMA, RDMA_NL_NLDEV = 20, 5
# Constants of the kernel's headers, with their names there
CMD_GET, CMD_SET = 1, 2                         # RDMA_NLDEV_CMD_*
DEV_INDEX, DEV_NAME = 1, 2                      # RDMA_NLDEV_ATTR_DEV_*
PARAMS, PARAM_ENTRY, PARAM_NAME, PARAM_VALUE = range(119, 123)
REQUEST, ACK, DUMP = 1, 4, 0x300                # NLM_F_*
ERROR, DONE = 2, 3                              # NLMSG_*
SOL_NETLINK, CAP_ACK, EXT_ACK = 270, 10, 11
ERR_MSG = 1                                     # NLMSGERR_ATTR_MSG
ACK_TLVS = 0x200                                # NLM_F_ACK_TLVS
NESTED = 0x8000
HEADER = struct.Struct("=IHHII")


def pack_attribute(kind, payload):
    size = 4 + len(payload)
    return struct.pack("=HH", size, kind) + payload + bytes(-size % 4)


def pack_text_attribute(kind, word):
    return pack_attribute(kind, word.encode() + b"\0")


def parse_attributes(data):
    """Yield (kind, payload) of each netlink attribute in data."""
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:size]
        data = data[(size + 3) & ~3:]


def decode_string(payload):
    return payload.rstrip(b"\0").decode()


def receive_messages(sock):
    while True:
        data = sock.recv(1 << 16)
        while data:
            size, kind, flags, _, _ = HEADER.unpack_from(data)
            yield kind, flags, data[HEADER.size:size]
            data = data[(size + 3) & ~3:]


def raise_error(code, flags, data):
    """Raise OSError with the kernel's extended error message, or else the text of the errno."""
    said = dict(parse_attributes(data[4 + HEADER.size:])) if flags & ACK_TLVS else {}
    raise OSError(code, decode_string(said.get(ERR_MSG, b"")) or os.strerror(code))


def open_netlink_socket():
    """Open a netlink socket with extended error messages and without copies of requests in
    replies."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    for option in CAP_ACK, EXT_ACK:
        sock.setsockopt(SOL_NETLINK, option, 1)
    return sock


def pack_message(command, flags, body):
    return HEADER.pack(HEADER.size + len(body), RDMA_NL_NLDEV << 10 | command,
                       REQUEST | flags, 1, 0) + body


def send_request(command, flags, body):
    """Send a request. Return the attributes of each reply, without the final
    acknowledgement."""
    answers = []
    with open_netlink_socket() as sock:
        sock.send(pack_message(command, flags, body))
        for kind, got, data in receive_messages(sock):
            if kind == ERROR and (code := -struct.unpack_from("=i", data)[0]):
                raise_error(code, got, data)
            if kind in (ERROR, DONE):
                return answers
            answers.append(list(parse_attributes(data)))


def pack_device_attribute(device):
    """Return the attribute that identifies the device."""
    for answer in map(dict, send_request(CMD_GET, DUMP, b"")):
        if decode_string(answer[DEV_NAME]) == device:
            return pack_attribute(DEV_INDEX, answer[DEV_INDEX])
    raise FileNotFoundError(f"no device {device}")


def read_settings(device):
    """Return all settings of the device: {name: value}."""
    answer = dict(send_request(CMD_GET, ACK, pack_device_attribute(device))[0])
    entries = (dict(parse_attributes(one)) for _, one in parse_attributes(answer.get(PARAMS, b"")))
    return {decode_string(one[PARAM_NAME]): decode_string(one[PARAM_VALUE]) for one in entries}


def pack_setting(name, value):
    return pack_attribute(PARAM_ENTRY | NESTED, pack_text_attribute(PARAM_NAME, name) +
                          pack_text_attribute(PARAM_VALUE, value))


def pack_settings(*entries):
    return pack_attribute(PARAMS | NESTED, b"".join(entries))


def write_settings(device, *pairs):
    """Change settings, each a pair (name, value), with one message."""
    entries = (pack_setting(name, value) for name, value in pairs)
    send_request(CMD_SET, ACK, pack_device_attribute(device) + pack_settings(*entries))


def main(device, *words):
    if len(words) > 1:
        write_settings(device, *zip(words[::2], words[1::2]))
    elif words:
        print(read_settings(device)[words[0]])
    else:
        for name, value in read_settings(device).items():
            print(name, value)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as why:
        sys.exit(f"setting: {why}")
