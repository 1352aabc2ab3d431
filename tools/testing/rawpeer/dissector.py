# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Check how tshark decodes DDP over SCTP with tools/wireshark/ddp_sctp.lua.

Two decodings of each DDP chunk in a capture are compared: that of tshark, and
that of the raw peer's own parser. Fields have Wireshark's names.
"""

import os
import re
import struct
import subprocess
import tempfile
import xml.etree.ElementTree as xml

import dpkt

from . import ddp, rdmap, sctp, sctp_packet

# wrapper that runs tshark with the project's dissector of DDP over SCTP, also if the user is root
TSHARK = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "wireshark", "sctp-tshark")
# tshark guesses the protocols above RDMAP. Disable them, so that tshark shows the
# payload of each segment unchanged.
COMMAND = (TSHARK, "-n",
           "-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE",
           "--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct",
           "-Y", "sctp.data_payload_proto_id in {16, 17}", "-T", "pdml")

DDP, RDMA = "iwarp_ddp.", "iwarp_rdma."
PAYLOAD, REMARK = "data.data", "_ws.expert.message"
WITH_PAYLOAD = (rdmap.WRITE, rdmap.READ_RESPONSE, rdmap.SEND, rdmap.SEND_INV,
                rdmap.SEND_SE, rdmap.SEND_SE_INV)
# fields of a Terminate for which tshark has a different name in each layer
BY_LAYER = re.compile(r"(term_etype|term_errcode)_\w+")


class Failed(Exception):
    """tshark failed, or the file is no capture."""


# From the bytes ----------------------------------------------------------------


def read_packets(path):
    """Yield the SCTP packets in order."""
    with open(path, "rb") as file:
        try:
            for _, octets in dpkt.pcap.Reader(file):
                packet = sctp_packet.parse_ip_packet(octets[14:])
                if packet:
                    yield packet
        except (ValueError, dpkt.UnpackError) as why:
            raise Failed(f"not a capture in tcpdump's format: {why}") from why


def read_chunks(path):
    """Yield each DDP chunk once, even if it was retransmitted."""
    seen = set()
    for packet in read_packets(path):
        for chunk in packet.get_chunks(sctp_packet.DATA):
            tsn, sid, _, ppid = chunk.data
            which = packet.source, packet.target, packet.tag, tsn
            if ppid in (sctp.SEGMENT, sctp.CONTROL) and which not in seen:
                seen.add(which)
                yield sctp.Chunk(sid, ppid, bool(chunk.flags & 4),
                                 chunk.body[12:], tsn)


def list_control_fields(message):
    yield "ddp_sctp.function", message.code
    if message.enhanced:
        flags = message.rtr
        yield "ddp_sctp.ird", message.ird
        yield "ddp_sctp.ord", message.ord
        for name, bit in (("peer_to_peer", 31), ("rtr_send", 30),
                          ("rtr_write", 15), ("rtr_read", 14)):
            yield f"ddp_sctp.{name}", flags >> bit & 1
    if message.data:
        yield "ddp_sctp.private_data", message.data


def list_segment_fields(segment):
    opcode = segment.ulp & 15
    yield DDP + "tagged_flag", int(segment.tagged)
    yield DDP + "last_flag", int(segment.last)
    yield DDP + "dv", segment.dv
    yield RDMA + "version", segment.ulp >> 6
    yield RDMA + "opcode", opcode
    if segment.tagged:
        yield DDP + "stag", segment.stag
        yield DDP + "tagged_offset", segment.to
    else:
        yield DDP + "qn", segment.qn
        yield DDP + "msn", segment.msn
        yield DDP + "mo", segment.mo
    if opcode in (rdmap.SEND_INV, rdmap.SEND_SE_INV):
        yield RDMA + "inval_stag", segment.ulp32
    if opcode in WITH_PAYLOAD and segment.payload:
        yield PAYLOAD, segment.payload
    if opcode in CONTENTS:
        yield from CONTENTS[opcode](segment.payload)


def list_immediate_fields(payload):
    yield "ddp_sctp.immediate", struct.unpack(">Q", payload[:8])[0]


def list_read_request_fields(payload):
    request = rdmap.ReadRequest.parse(payload)
    yield RDMA + "sinkstag", request.sink_stag
    yield RDMA + "sinkto", request.sink_to
    yield RDMA + "rdmardsz", request.size
    yield RDMA + "srcstag", request.src_stag
    yield RDMA + "srcto", request.src_to


def list_atomic_request_fields(payload):
    request = rdmap.AtomicRequest.parse(payload)
    kind = "add" if request.code == rdmap.FETCH_ADD else "swap"
    yield RDMA + "atomic.opcode", request.code
    yield RDMA + "atomic.request_identifier", request.ident
    yield RDMA + "atomic.remote_stag", request.stag
    yield RDMA + "atomic.remote_tagged_offset", request.to
    yield RDMA + f"atomic.{kind}_data", request.data
    yield RDMA + f"atomic.{kind}_mask", request.mask
    yield RDMA + "atomic.compare_data", request.compare
    yield RDMA + "atomic.compare_mask", request.compare_mask


def list_atomic_response_fields(payload):
    response = rdmap.AtomicResponse.parse(payload)
    yield RDMA + "atomic.original_request_identifier", response.ident
    yield RDMA + "atomic.original_remote_data_value", response.old


def list_terminate_fields(payload):
    message = rdmap.Terminate.parse(payload)
    yield RDMA + "term_layer", message.layer
    yield RDMA + "term_etype", message.etype
    yield RDMA + "term_errcode", message.code
    yield RDMA + "term_hdrct_m", int(message.length is not None)
    yield RDMA + "hdrct_d", int(message.ddp is not None)
    yield RDMA + "hdrct_r", int(message.rdma is not None)
    if message.length is not None:
        yield RDMA + "term_ddp_seg_len", struct.pack(">H", message.length)
    if message.ddp is not None:
        yield RDMA + "term_ddp_h", message.ddp[:get_ddp_length_tshark_expects(message)]
    if message.rdma is not None and not get_ddp_length_tshark_expects(message):
        yield RDMA + "term_rdma_h", message.rdma


def get_ddp_length_tshark_expects(message):
    """Return the length of the DDP header that tshark expects in this Terminate.

    A Terminate for an RDMAP protection error quotes a Read Request. tshark takes
    its untagged DDP header for a tagged one, which is shorter, and therefore looks
    for the RDMAP header too early. Return None for any other Terminate, which
    tshark decodes correctly."""
    return ddp.TAGGED_LEN if (message.layer, message.etype) == (0, 1) else None


CONTENTS = {
    rdmap.READ_REQUEST: list_read_request_fields, rdmap.TERMINATE: list_terminate_fields,
    rdmap.IMMEDIATE: list_immediate_fields, rdmap.IMMEDIATE_SE: list_immediate_fields,
    rdmap.ATOMIC_REQUEST: list_atomic_request_fields,
    rdmap.ATOMIC_RESPONSE: list_atomic_response_fields,
}


def decode_by_parser(chunk):
    """Return the fields of a chunk by name, according to the raw peer's parser.

    Values are numbers or bytes."""
    of = list_control_fields if chunk.ppid == sctp.CONTROL else list_segment_fields
    try:
        return {"sctp.data_sid": chunk.sid, "ddp_sctp.ssn": chunk.ssn,
                **dict(of(chunk.contents))}
    except (sctp.Malformed, struct.error, IndexError, ValueError) as why:
        raise Failed(f"the chunk with TSN {chunk.tsn} is malformed: "
                     f"{why}") from why


# From tshark -------------------------------------------------------------------


def read_frames(path, *options):
    """Run tshark, and yield the XML element of each frame."""
    with tempfile.TemporaryFile("w+") as errors, open(path, "rb") as capture, \
            subprocess.Popen([*COMMAND, *options, "-r", "-"], stdin=capture,
                             stdout=subprocess.PIPE, stderr=errors) as process:
        for _, element in xml.iterparse(process.stdout):
            if element.tag == "packet":
                yield element
                element.clear()
        if process.wait():
            errors.seek(0)
            raise Failed(errors.read().strip())


def decode_by_tshark(path, *options):
    """Yield the fields of each chunk that the dissector has decoded, as text."""
    for packet in read_frames(path, *options):
        sid, fields = None, None
        for one in packet.iter():
            name = one.get("name", "")
            if one.tag == "proto" and name == "ddp_sctp":
                if fields:
                    yield fields
                fields = {"sctp.data_sid": sid}
            elif name == "sctp.data_sid":
                sid = one.get("show")
            elif fields is not None and one.get("show"):
                store_field(fields, BY_LAYER.sub(r"\1", name), one.get("show"))
        if fields:
            yield fields


def store_field(fields, name, text):
    """Store a field of a chunk: only the first value of a name, but all remarks."""
    if name == REMARK and name in fields:
        fields[name] += "; " + text
    fields.setdefault(name, text)


def parse_hex_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def parse_number(text):
    """Return the number that tshark shows as this text.

    For a flag, tshark 4.0 shows 0 or 1, and tshark 4.4 and 4.6 show False or True."""
    return ("False", "True").index(text) if text in ("False", "True") \
        else int(text, 0)


def is_same_value(want, text):
    if text is None:
        return False
    if isinstance(want, bytes):
        return parse_hex_bytes(text) == want
    return parse_number(text) == want


def find_differences(want, got):
    """Yield the differences between two decodings of a chunk."""
    for name, value in want.items():
        if not is_same_value(value, got.get(name)):
            yield f"{name} should be {value!r}, tshark shows {got.get(name)}"
    for name in got:
        if name.startswith("ddp_sctp.") and name not in want:
            yield f"{name} should be absent, tshark shows {got[name]}"
    if PAYLOAD in got and PAYLOAD not in want:
        yield f"payload should be absent, tshark shows {got[PAYLOAD]}"
    if REMARK in got:
        yield f"tshark reports: {got[REMARK]}"
