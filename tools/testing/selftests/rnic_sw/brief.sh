#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# brief.sh: ping over TCP and SCTP, remove the modules; scripts/kernels runs it on every kernel.
# smoke.sh tests more, and needs parts of the kernel that some kernels lack.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

# -V lets rping compare what it receives with what the peer has sent
ping_one_device() {
	create_one_device
	t_run_rping_pair "$B4" -C 10 -V
	t_run_rping_pair "$B6" -C 3 -V -S 60000
}

ping_two_hosts() {
	create_two_hosts
	t_run_rping_pair "$B4" -C 10 -V
	t_run_rping_pair "$B6" -C 3 -V -S 60000
}

# The module is not built for a kernel without SCTP
ping_over_sctp() {
	modinfo iw_sctp_ddp >/dev/null 2>&1 ||
		t_skip "this kernel is built without SCTP (CONFIG_IP_SCTP)"
	modprobe iw_sctp_ddp
	export RNIC_SW_LLP=sctp
	ping_two_hosts
	t_check "the connections were made over SCTP" \
		test "$(t_print_counter "$A_DEV" connects_sctp)" -ge 2
}

modules_can_be_unloaded() {
	local module
	t_unload_modules
	for module in "${T_MODULES[@]}"; do t_check_fails test -e "/sys/module/$module"; done
	modprobe rnic_sw
	t_unload_modules
}

t_case "rping on a dummy interface" "" ping_one_device
t_case "rping over a veth pair" "" ping_two_hosts
t_case "rping over a veth pair, SCTP" "" ping_over_sctp
t_case "modules unload" "" modules_can_be_unloaded
t_print_summary_and_exit
