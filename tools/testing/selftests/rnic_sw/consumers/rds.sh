#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/rds.sh: RDS accepts InfiniBand devices only, and reports that it ignores an iWARP
# device. RDS and the device must not disturb each other.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

# check_bind_fails ADDRESS: bind an RDS socket to the device's address, and check that this fails
check_bind_fails() {
	python3 - "$1" <<-'END'
		import errno, socket, sys
		s = socket.socket(21, socket.SOCK_SEQPACKET)
		try:
		    s.bind((sys.argv[1], 7700))
		except OSError as e:
		    sys.exit(0 if e.errno == errno.EADDRNOTAVAIL else f"bind: {e}")
		sys.exit("RDS has taken an iWARP device: let this script use it")
	END
}

rds_refuses_device() {
	set_up_device
	check_bind_fails "$B4"
	check_objects_are_freed
	remove_device device
	recreate_device
	check_bind_fails "$B4"
}

# If RDS listens on this device, a connection to its port must be rejected. RDS listens on all
# devices.
rds_port_rejects_connection() {
	set_up_device
	t_wait_until "$T_TIME" t_has_listener b 18634 || t_skip "RDS does not listen on this device"
	! timeout "$T_TIME" rping -c -a "$B4" -p 18634 -C 1
	check_objects_are_freed
}

modules_can_be_unloaded() {
	set_up_device
	modprobe -r rds_rdma
	modprobe rds_rdma
	check_objects_are_freed
}

[ -z "${T_LLP:-}" ] || t_skip_all "RDS accepts no iWARP device, whatever its LLP"
load_modules_or_skip_all rds rds_rdma
t_case "RDS: iWARP devices are not used" "" rds_refuses_device
t_case "RDS: a connection to its listener is rejected" "" rds_port_rejects_connection
t_case "RDS: the module is unloaded and loaded while the device exists" "" modules_can_be_unloaded
t_print_summary_and_exit
