#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# settings.sh: valid and invalid values of a device's settings, and permissions.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

# each line: name, initial value and another valid value of a setting
SETTINGS='connect tcp sctp
listen tcp both
streams 0 300
paths none lo
revision auto 2
crc 1 0
markers 0 1
rtr write,read send
rendezvous 291 5791
rnr_wait 0 300
busy_poll 0 1'

# set_and_check_setting NAME VALUE: set a setting and read it back
set_and_check_setting() {
	t_change_setting iw0 "$1" "${2/,/ }"
	t_check "$1 is $2" test "$(t_print_setting iw0 "$1")" = "${2/,/ }"
}

each_setting_can_be_changed() {
	local name before value
	modprobe -q iw_sctp_ddp || SETTINGS=$(grep -v ' tcp ' <<<"$SETTINGS")
	while read -r name before value; do
		t_check "$name is initially $before" \
			test "$(t_print_setting iw0 "$name")" = "${before/,/ }"
		set_and_check_setting "$name" "$value"
		set_and_check_setting "$name" "$before"
	done <<<"$SETTINGS"
	set_and_check_setting streams 65535
	t_change_setting iw0 streams 010
	t_check "streams is 10 after 010 was set" test "$(t_print_setting iw0 streams)" = 10
	set_and_check_setting streams 0
	set_and_check_setting rtr none
	t_change_setting iw0 rtr " read,  write "
	t_check "words may be separated by blanks and commas" \
		test "$(t_print_setting iw0 rtr)" = "write read"
}

invalid_values_are_refused() {
	local name value
	while read -r name value; do
		t_check_fails t_change_setting iw0 "$name" "$value"
	done <<-'END'
		connect udp
		connect both
		listen none
		streams 65536
		streams -1
		streams many
		paths t0
		paths nothing
		paths lo lo lo lo lo
		revision 3
		crc 2
		crc 12
		crc none
		markers maybe
		streams 0x10
		rtr write or read
		rtr ,
		nothing 1
	END
	t_check_fails setpriv --inh-caps -net_admin --bounding-set -net_admin \
		"$T_DIR/lib/setting" iw0 crc 0
	for name in connect listen streams paths revision crc markers rtr; do
		read -r _ value _ <<<"$(grep "^$name " <<<"$SETTINGS")"
		t_check "$name is unchanged" test "$(t_print_setting iw0 "$name")" = "${value/,/ }"
	done
}

paths_reads_elsewhere_in_other_netns() {
	t_set_temporary_netns_mode shared
	t_defer t_change_setting iw0 paths none
	t_change_setting iw0 paths lo
	ip netns add rnic-c
	t_defer t_delete_netns rnic-c
	t_check "paths reads 'elsewhere' in another network namespace" \
		test "$(t_print_setting iw0 paths rnic-c)" = elsewhere
	t_change_setting iw0 paths none
	t_check "paths reads none in another network namespace" \
		test "$(t_print_setting iw0 paths rnic-c)" = none
}

# check_netlink_error WORDS SETTING...: check that a change through netlink fails with this error
# number and message
check_netlink_error() {
	local words=$1
	shift
	t_check_fails "$T_DIR/lib/setting.py" iw0 "$@" 2>"$T_CASE/said"
	t_check "setting $* fails with $words" grep -F "$words" "$T_CASE/said"
}

netlink_reports_errors() {
	[ ! -e /sys/class/infiniband/iw0/mpa ] || t_skip "settings are files in this kernel"
	check_netlink_error "[Errno 2] The device has no such setting" nothing 1
	check_netlink_error "[Errno 2] The device has no such setting" '' 1
	check_netlink_error "[Errno 22] rnic_sw: value must be one of auto, 1, 2" revision 3
	check_netlink_error "[Errno 22] rnic_sw: value must be 0 or 1" crc 2
	check_netlink_error "[Errno 34] rnic_sw: value must be 0 to 65535" streams 65536
	check_netlink_error \
		"[Errno 22] rnic_sw: value must be none, or a list of send, write, read" \
		rtr "write or read"
	check_netlink_error "[Errno 19] rnic_sw: value must be none, or up to 4 other interfaces" \
		paths nothing
	check_netlink_error "[Errno 22] rnic_sw: value must be none, or up to 4 other interfaces" \
		paths t0
	check_netlink_error "[Errno 7] rnic_sw: value must be none, or up to 4 other interfaces" \
		paths "lo lo lo lo lo"
	check_netlink_error "[Errno 22] rnic_sw: value must be 0 or 1" crc "$(printf '%255s' 1)"
	check_netlink_error "[Errno 22] Attribute failed policy validation" \
		crc "$(printf '%256s' 1)"
	# if a name is unknown, no setting is changed; if a value is invalid, the settings before it
	# in the message are changed
	check_netlink_error "[Errno 2] The device has no such setting" streams 9 nothing 1
	t_check "streams is unchanged" test "$(t_print_setting iw0 streams)" = 0
	check_netlink_error "[Errno 22] rnic_sw: value must be one of auto, 1, 2" \
		streams 7 revision 3 crc 0
	"$T_DIR/lib/setting.py" iw0 | paste -sd' ' | tee "$T_CASE/all"
	grep -Fx \
		"connect tcp listen tcp streams 7 paths none revision auto crc 1 markers 0 rtr write read" \
		"$T_CASE/all"
	"$T_DIR/lib/setting.py" iw0 streams 0 crc 0
	t_check "streams and crc are set" \
		test "$("$T_DIR/lib/setting.py" iw0 | paste -sd' ' | cut -d' ' -f5,6,11,12)" = \
			"streams 0 crc 0"
	set_and_check_setting crc 1
	check_can_only_read_settings setpriv --inh-caps -net_admin --bounding-set -net_admin
	# root of another user namespace must not have permission either
	! unshare --user --map-root-user true || check_can_only_read_settings unshare --user --map-root-user
}

# If one send() contains several netlink messages, each message gets a reply
each_message_gets_reply() {
	[ ! -e /sys/class/infiniband/iw0/mpa ] || t_skip "settings are files in this kernel"
	python3 - "$T_DIR/lib" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		from setting import *
		device = pack_device_attribute("iw0")
		def set_to(entries, more=b""):
		    return pack_message(CMD_SET, ACK, device + pack_settings(entries) + more)
		def answers(*sent):
		    with open_netlink_socket() as sock:
		        sock.settimeout(10)
		        sock.send(b"".join(sent))
		        for _, (_, flags, data) in zip(sent, receive_messages(sock)):
		            yield -int.from_bytes(data[:4], sys.byteorder, signed=True), bool(flags & ACK_TLVS)
		good, bad = pack_setting("crc", "1"), pack_setting("crc", "2")
		for sent, wanted in (
		        ((set_to(bad), set_to(good)), [(22, True), (0, False)]),
		        ((set_to(good), set_to(bad)), [(0, False), (22, True)]),
		        ((set_to(good, pack_text_attribute(DEV_NAME, "iw9")),), [(22, True)]),  # one more attribute
		        ((set_to(good + b"\x40\0\x78\x80"),), [(22, True)]),    # too long
		        ((set_to(good + pack_text_attribute(PARAM_NAME, "crc")),), [(22, True)])):
		    got = list(answers(*sent))
		    print(got)
		    assert got == wanted, wanted
	END
	t_check "crc is unchanged" test "$(t_print_setting iw0 crc)" = 1
}

# Run the rdma of iproute2. If the installed one does not support settings, T_IPROUTE2 must be the
# path of one that does.
run_rdma() { "${T_IPROUTE2:-rdma}" "$@"; }

print_setting_by_rdma() { run_rdma -d dev show iw0 | sed -n "s/^ *$1 //p"; }

# check_rdma_error WORDS SETTING...: check that a change with the command rdma fails with this
# message
check_rdma_error() {
	local words=$1
	shift
	t_check_fails run_rdma dev set iw0 param "$@" 2>"$T_CASE/said"
	t_check "setting $* fails with $words" grep -F "$words" "$T_CASE/said"
}

rdma_sets_values() {
	local many
	[ ! -e /sys/class/infiniband/iw0/mpa ] || t_skip "settings are files in this kernel"
	run_rdma dev help 2>&1 | grep ' param ' || {
		t_check "the rdma of T_IPROUTE2 supports settings" test -z "${T_IPROUTE2:-}"
		t_skip "the installed rdma does not support settings"
	}
	run_rdma -dj dev show iw0 >"$T_CASE/all.json"
	t_check "rdma shows all settings" python3 - "$T_CASE/all.json" <<-'END'
		import json, sys
		assert json.load(open(sys.argv[1]))[0]["params"] == {
		    "connect": "tcp", "listen": "tcp", "streams": "0", "paths": "none",
		    "revision": "auto", "crc": "1", "markers": "0", "rtr": "write read",
		    "rendezvous": "291", "rnr_wait": "0", "busy_poll": "0"}
	END
	run_rdma dev show iw0 >"$T_CASE/short"
	grep '^[0-9]*: iw0: ' "$T_CASE/short"
	t_check_fails grep params "$T_CASE/short"
	run_rdma dev set iw0 param crc 0 rtr "send write" streams 9
	t_check "rdma shows the new crc" test "$(print_setting_by_rdma crc)" = 0
	t_check "rdma shows the new rtr" test "$(print_setting_by_rdma rtr)" = "send write"
	t_check "the device has the new values" \
		test "$(t_print_setting iw0 crc) $(t_print_setting iw0 rtr) $(t_print_setting iw0 streams)" = \
			"0 send write 9"
	check_rdma_error "The device has no such setting" nothing 1
	check_rdma_error "rnic_sw: value must be 0 or 1" markers 1 crc 2
	t_check "the setting before the invalid one is set" \
		test "$(print_setting_by_rdma markers)" = 1
	check_rdma_error "a value for each" crc
	check_rdma_error "a value for each" markers 0 crc
	read -ra many <<<"$(printf 'markers 0 %.0s' {1..1000})"
	check_rdma_error "Too much" "${many[@]}"
	t_check "none of too many settings is set" test "$(print_setting_by_rdma markers)" = 1
	run_rdma dev set iw0 param crc 1 rtr "write read" streams 0 markers 0
}

# check_can_only_read_settings COMMAND...: check that a program under COMMAND can read settings, but
# not change them
check_can_only_read_settings() {
	t_check "settings can be read without CAP_NET_ADMIN" \
		test "$("$@" "$T_DIR/lib/setting.py" iw0 crc)" = 1
	t_check_fails "$@" "$T_DIR/lib/setting.py" iw0 crc 0 2>"$T_CASE/said"
	grep -F "[Errno 1] Operation not permitted" "$T_CASE/said"
	t_check "crc is unchanged" test "$(t_print_setting iw0 crc)" = 1
}

create_one_device
t_case "each setting is set and read back" "" each_setting_can_be_changed
t_case "invalid values change nothing" "" invalid_values_are_refused
t_case "paths shows interface names only in their namespace" "" paths_reads_elsewhere_in_other_netns
t_case "by netlink: words and error numbers of refused settings" "" netlink_reports_errors
t_case "by netlink: each message gets a reply" "" each_message_gets_reply
t_case "by iproute2's rdma" "" rdma_sets_values
t_print_summary_and_exit
