-- SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
--
-- ddp_sctp.lua: dissect DDP over SCTP (RFC 5043, RFC 6581 section 7) in tshark and
-- Wireshark (3.6 and later), which support DDP over TCP only:
--
--	tools/wireshark/sctp-tshark -r - -Y ddp_sctp <FILE
--
-- Wireshark's own dissector decodes the headers of DDP and RDMAP, so the fields
-- iwarp_ddp.* and iwarp_rdma.* are the same as over TCP.

local SEGMENT, CONTROL = 16, 17		-- payload protocol identifiers
local TAGGED, UNTAGGED = 14, 18		-- lengths of the two DDP headers, in bytes
local PD_MAX = 512
local TERMINATE, ENHANCED_INITIATE, ENHANCED_ACCEPT = 4, 5, 6
local IMMEDIATE, IMMEDIATE_SE = 8, 9	-- opcodes
local opcodes = { ["8"] = "Immediate Data", ["9"] = "Immediate Data SE" }
local PORTS = 65536			-- number of ports

local functions = {
	"Initiate", "Accept", "Reject", "Terminate",
	"Enhanced Initiate", "Enhanced Accept", "Enhanced Reject",
}

local ddp_sctp = Proto("ddp_sctp", "DDP over SCTP")
local rdmap = Dissector.get("iwarp_ddp_rdmap")
local sid_field = Field.new("sctp.data_sid")

local function flag(name, words, bit)
	return ProtoField.bool("ddp_sctp." .. name, words, 32, nil, bit)
end

local function depth(name, words, bits)
	return ProtoField.uint32("ddp_sctp." .. name, words, base.DEC, nil, bits)
end

local f = {
	ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP stream sequence number"),
	func = ProtoField.uint16("ddp_sctp.function", "Function code", base.DEC, functions),
	peer_to_peer = flag("peer_to_peer", "A: peer-to-peer", 0x80000000),
	send = flag("rtr_send", "B: zero-length Send as RTR", 0x40000000),
	ird = depth("ird", "IRD", 0x3fff0000),
	write = flag("rtr_write", "C: zero-length Write as RTR", 0x8000),
	read = flag("rtr_read", "D: zero-length Read as RTR", 0x4000),
	ord = depth("ord", "ORD", 0x3fff),
	immediate = ProtoField.uint64("ddp_sctp.immediate", "Immediate Data", base.HEX),
	pd = ProtoField.bytes("ddp_sctp.private_data", "Private Data"),
}
ddp_sctp.fields = f

local e = {
	short = ProtoExpert.new("ddp_sctp.short", "Too short for its kind",
				expert.group.MALFORMED, expert.severity.ERROR),
	unknown = ProtoExpert.new("ddp_sctp.unknown", "No such function code",
				  expert.group.PROTOCOL, expert.severity.ERROR),
	long = ProtoExpert.new("ddp_sctp.long", "More Private Data than allowed",
			     expert.group.PROTOCOL, expert.severity.ERROR),
}
ddp_sctp.experts = e

-- Return the number of the SCTP stream of the last chunk dissected so far
local function stream()
	local all = { sid_field() }
	return #all > 0 and all[#all].value or 0
end

-- Add the fields of the enhanced word (RFC 6581 section 9)
local function offer(octets, tree)
	for _, one in ipairs({ f.peer_to_peer, f.send, f.ird, f.write, f.read, f.ord }) do
		tree:add(one, octets)
	end
end

local function pd_max(func)
	return func == TERMINATE and 0 or PD_MAX
end

-- Dissect a session control message. Here and below, rest begins after the DDP-SSN.
local function control(rest, pinfo, tree)
	local func, at = rest(0, 2):uint(), 2
	local name = functions[func] or "function " .. func
	local item = tree:add(f.func, rest(0, 2))
	pinfo.cols.info:set(("stream %d: %s "):format(stream(), name))
	if not functions[func] then
		item:add_proto_expert_info(e.unknown)
	elseif func >= ENHANCED_INITIATE and rest:len() >= 6 then
		offer(rest(2, 4), tree)
		at = 6
	elseif func == ENHANCED_INITIATE or func == ENHANCED_ACCEPT then
		item:add_proto_expert_info(e.short)
	end
	if rest:len() - 2 > pd_max(func) then
		item:add_proto_expert_info(e.long)
	end
	if rest:len() > at then
		tree:add(f.pd, rest(at))
	end
end

-- Add Immediate Data (RFC 7306 section 6), which Wireshark does not decode
local function immediate(rest, tree)
	local opcode = rest(1, 1):bitfield(4, 4)
	if (opcode == IMMEDIATE or opcode == IMMEDIATE_SE) and rest:len() >= UNTAGGED + 8 then
		tree:add(f.immediate, rest(UNTAGGED, 8))
	end
end

-- Replace the ports in the Info column, as in "1234 > 5678 Send [last DDP segment]",
-- by the number of the stream. Change nothing if the text does not contain the ports: the
-- dissector of a protocol above RDMAP may have replaced the text.
local function name_stream(ports, sid, info)
	local text = tostring(info)
	local _, last = text:find(".*" .. ports .. " ")
	if last then
		text = text:sub(last + 1):gsub("Unknown ([89])", opcodes)
		info:set(("stream %d: %s "):format(sid, text))
	end
end

-- Wireshark reassembles the segments of a Send by addresses and ports. All streams of
-- an association have the same addresses and ports, so each stream gets its own ports
-- while the dissector of RDMAP runs.
local function call_rdmap(rest, pinfo, root)
	local sid = stream()
	local source, target = pinfo.src_port, pinfo.dst_port
	pinfo.src_port, pinfo.dst_port = source + PORTS * sid, target + PORTS * sid
	local ports = ("%d > %d"):format(pinfo.src_port, pinfo.dst_port)
	-- ignore an error of the call: the dissector itself reports malformed data
	pcall(rdmap.call, rdmap, rest:tvb(), pinfo, root)
	pinfo.src_port, pinfo.dst_port = source, target
	name_stream(ports, sid, pinfo.cols.info)
end

local function header(rest)
	local tagged = rest:len() > 0 and rest(0, 1):bitfield(0) == 1
	return tagged and TAGGED or UNTAGGED
end

local function segment(rest, pinfo, tree, root)
	if rest:len() < header(rest) then
		tree:add_proto_expert_info(e.short)
		pinfo.cols.info:set("DDP segment, too short ")
	else
		immediate(rest, tree)
		call_rdmap(rest, pinfo, root)
	end
end

-- Dissect a chunk; Wireshark calls this function for each chunk of a packet
function ddp_sctp.dissector(octets, pinfo, root)
	local is_control = pinfo.match_uint == CONTROL
	local mine = is_control and octets:len() or math.min(octets:len(), 2)
	local tree = root:add(ddp_sctp, octets(0, mine))
	pinfo.cols.protocol:set("DDP/SCTP")
	if octets:len() < 4 then
		tree:add_proto_expert_info(e.short)
		pinfo.cols.info:set("DDP over SCTP, too short ")
	else
		tree:add(f.ssn, octets(0, 2))
		local dissect = is_control and control or segment
		dissect(octets(2), pinfo, tree, root)
	end
end

local by_ppid = DissectorTable.get("sctp.ppi")
by_ppid:add(SEGMENT, ddp_sctp)
by_ppid:add(CONTROL, ddp_sctp)
