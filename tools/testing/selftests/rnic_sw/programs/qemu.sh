#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/qemu.sh: QEMU migrates a running virtual machine over RDMA. The guest is a program of 32
# bytes (lib/program_qemu.py), which writes to its memory in an endless loop, so no disk is needed.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

QEMU=$T_DIR/lib/program_qemu.py

# start_virtual_machine NAME WHERE ARGS...: start a virtual machine in the background, with its
# monitor at the socket $SOCKETS/NAME. QEMU translates the guest's code, so no /dev/kvm is needed.
start_virtual_machine() {
	local name=$1 where=$2
	shift 2
	t_start "$name" "$where" qemu-system-x86_64 -accel tcg -machine pc -m 8 \
		-nodefaults -display none \
		-bios "$T_CASE/bios" -qmp "unix:$SOCKETS/$name,server=on,wait=off" "$@"
}

# migrate_virtual_machine PIN: migrate. PIN on: QEMU registers all memory first; off: it registers
# and deregisters pieces of 1 MiB
migrate_virtual_machine() {
	skip_without_program qemu-system-x86_64 qemu-system-x86
	create_random_file $((4 << 20))
	SOCKETS=$(mktemp -d /tmp/rnic-qemu.XXXXXX)
	t_defer rm -rf "$SOCKETS"
	python3 "$QEMU" bios "$T_CASE/bios"
	t_choose_port
	start_virtual_machine source a -device "loader,file=$DATA,addr=0x200000,force-raw=on"
	start_virtual_machine sink b -incoming defer
	t_check "the machine runs at its new place, and its memory is as it was" \
		on a python3 "$QEMU" migrate "$SOCKETS/source" "$SOCKETS/sink" "rdma:$B4:$PORT" "$1" \
		"$DATA" "$T_CASE"
	t_wait source
	t_wait sink
	check_objects_are_freed
}

create_one_device
t_case "QEMU migrates a machine, memory registered piece by piece" "" check_command_uses_device migrate_virtual_machine off
t_case "QEMU migrates a machine, all memory pinned" "" check_command_uses_device \
	migrate_virtual_machine on
t_print_summary_and_exit
