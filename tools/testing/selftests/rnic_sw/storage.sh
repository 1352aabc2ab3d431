#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# storage.sh: kernel consumers, which register memory by work request, read
# into it and have it invalidated by the peer: NVMe over RDMA.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

NQN=rnic_sw.test
TARGET=/sys/kernel/config/nvmet

modules_there() {
	modprobe -q nvmet-rdma && modprobe -q nvme-rdma ||
		t_skip "this kernel has no NVMe over RDMA"
	modprobe -q loop || t_skip "this kernel has no loop devices"
	[ -d $TARGET ] || mount -t configfs configfs /sys/kernel/config
}

drop_target() {
	rm -f $TARGET/ports/1/subsystems/$NQN
	rmdir $TARGET/ports/1
	echo 0 >$TARGET/subsystems/$NQN/namespaces/1/enable
	rmdir $TARGET/subsystems/$NQN/namespaces/1 $TARGET/subsystems/$NQN
}

# target BLOCK-DEVICE: export it on the device's address
target() {
	local sub=$TARGET/subsystems/$NQN port=$TARGET/ports/1
	mkdir $sub
	t_defer drop_target
	echo 1 >$sub/attr_allow_any_host
	mkdir $sub/namespaces/1
	echo -n "$1" >$sub/namespaces/1/device_path
	echo 1 >$sub/namespaces/1/enable
	mkdir $port
	echo "$B4" >$port/addr_traddr
	echo rdma >$port/addr_trtype
	echo 4420 >$port/addr_trsvcid
	echo ipv4 >$port/addr_adrfam
	ln -s $sub $port/subsystems/$NQN
}

controller() { grep -l $NQN /sys/class/nvme/nvme*/subsysnqn 2>/dev/null | head -n 1; }

no_controller() { [ -z "$(controller)" ]; }

disconnect() {
	local c
	c=$(controller)
	[ -z "$c" ] || echo 1 >"$(dirname "$c")/delete_controller"
}

block_device() {
	local c
	c=$(basename "$(dirname "$(controller)")")
	# with multipath the path's name has the controller's number in it
	ls -d /sys/class/nvme/"$c"/nvme*n1 2>/dev/null | head -n 1 | xargs -r basename | sed 's/c[0-9]*n/n/'
}

has_block_device() { [ -n "$(block_device)" ] && [ -b "/dev/$(block_device)" ]; }

connect() {
	echo "transport=rdma,traddr=$B4,trsvcid=4420,nqn=$NQN,nr_io_queues=1" \
		>/dev/nvme-fabrics
	t_defer disconnect
	t_until "$T_TIME" has_block_device || t_fail "no block device"
}

# Kernel consumers' queue pairs are no program's, not even root's
not_ours() {
	local qpn n=0
	for qpn in $(rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*comm \[.*/\1/p'); do
		T_QPN=$qpn "$VERBS" -a "$B4" owner_kernel
		n=$((n + 1))
	done
	t_check "no queue pairs of the kernel's are seen" [ $n -gt 0 ]
}

# copy FROM TO OCTETS COUNT, past the page cache
copy() { dd if="$1" of="$2" bs="$3" count="$4" $5 status=none; }

# disk_there MIB: a disk of this machine's, exported and connected: DISK is there, DEV here
disk_there() {
	local disk
	modules_there
	DISK=$T_CASE/disk
	truncate -s "$1M" "$DISK"
	disk=$(losetup -f --show "$DISK")
	t_defer losetup -d "$disk"
	target "$disk"
	connect
	DEV=/dev/$(block_device)
}

nvme() {
	local size=16
	disk_there $((2 * size))
	not_ours

	head -c ${size}M /dev/urandom >"$T_CASE/data"
	copy "$T_CASE/data" "$DEV" 1M $size oflag=direct
	copy "$DEV" "$T_CASE/back" 1M $size iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
	copy "$DEV" "$T_CASE/small" 4k 500 iflag=direct
	cmp -n 2048000 "$T_CASE/data" "$T_CASE/small"
	cmp -n $((size << 20)) "$T_CASE/data" "$DISK"
	[ "$(t_counter iw0 rx_read_requests)" -gt 0 ]
	disconnect
	t_until "$T_TIME" no_controller
}

reads_go_on() { [ "$(t_counter iw0 rx_read_requests)" -gt $((reads_before + 20)) ]; }
no_device() { [ ! -e /sys/class/infiniband/iw0 ]; }

# There NVMe deletes a controller on a workqueue for reclaim, waits for SRCU, and the
# kernel warns of it, as the moment may be.
warns_of_nvme() { printf '6.18\n%s\n' "$(uname -r)" | sort -CV; }

# goes HOW: the interface or the module does, under writes that do not end by themselves.
# What the consumer asks its peer for without an interface does not come any more: it has
# to hear that at once, or it waits for half a minute, and so does whoever took that away.
goes() {
	local began took
	! warns_of_nvme || [ -n "${T_WARN:-}" ] ||
		t_skip "NVMe of this kernel may warn of itself; T_WARN=1 has it run"
	one_device
	over_llp
	disk_there 64
	while copy /dev/zero "$DEV" 64k 1000 oflag=direct; do :; done &
	t_defer wait $!
	reads_before=$(t_counter iw0 rx_read_requests)
	t_until "$T_TIME" reads_go_on || t_fail "no traffic"
	began=${EPOCHREALTIME/./}
	"$@"
	t_until 60 no_device || t_fail "the device does not go"
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	echo "the device was gone after $took ms"
	t_check "that took too long" [ $took -lt 10000 ]
	t_until "$T_TIME" no_controller || t_fail "the controller is left"
}

deleted() { ip link del t0; }

moved() {
	ip netns add rnic-c
	t_defer t_drop_netns rnic-c
	ip link set t0 netns rnic-c
}

broken() { dmesg | grep -c "starting error recovery" || true; }

# The target answers until the host has taken its leave, which may have begun to when a
# connection breaks, and then waits for half a minute
unloaded() {
	local before
	before=$(broken)
	t_defer modprobe rnic_sw
	modprobe -r rnic_sw
	t_check "the connections broke first" [ "$(broken)" -eq "$before" ]
}

# The kernel has no environment that says it
over_llp() { [ -z "${T_LLP:-}" ] || t_set iw0 connect "$T_LLP"; }

VERBS=$(t_prog verbs) || t_skip_all "the program verbs is not built (make)"
one_device
over_llp
t_case "NVMe over RDMA: what is written is read" "DDP-126 SEC-4" nvme
t_undo
t_case "NVMe over RDMA: the interface is deleted" "" goes deleted
t_case "NVMe over RDMA: the interface is moved" "" goes moved
t_case "NVMe over RDMA: the module is unloaded" "" goes unloaded
t_end
