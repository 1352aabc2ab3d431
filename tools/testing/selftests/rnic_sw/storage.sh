#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# storage.sh: kernel consumers, which register memory by work request, read
# into it and have it invalidated by the peer: NVMe over RDMA.

. "$(dirname "$(readlink -f "$0")")/lib.sh"

NQN=rnic_sw.test
TARGET=/sys/kernel/config/nvmet

modules_there() {
	modprobe -q nvmet-rdma && modprobe -q nvme-rdma ||
		t_skip "this kernel has no NVMe over RDMA"
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

disconnect() {
	local c
	c=$(controller)
	[ -z "$c" ] || echo 1 >"$(dirname "$c")/delete_controller"
}

block_device() {
	local c
	c=$(basename "$(dirname "$(controller)")")
	ls -d /sys/class/nvme/"$c"/nvme*n1 2>/dev/null | head -n 1 | xargs -r basename
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

nvme() {
	local size=16 disk dev
	modules_there
	truncate -s $((2 * size))M "$T_CASE/disk"
	disk=$(losetup -f --show "$T_CASE/disk")
	t_defer losetup -d "$disk"
	target "$disk"
	connect
	not_ours
	dev=/dev/$(block_device)

	head -c ${size}M /dev/urandom >"$T_CASE/data"
	copy "$T_CASE/data" "$dev" 1M $size oflag=direct
	copy "$dev" "$T_CASE/back" 1M $size iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
	copy "$dev" "$T_CASE/small" 4k 500 iflag=direct
	cmp -n 2048000 "$T_CASE/data" "$T_CASE/small"
	cmp -n $((size << 20)) "$T_CASE/data" "$T_CASE/disk"
	[ "$(t_counter iw0 rx_read_requests)" -gt 0 ]
	disconnect
	t_until "$T_TIME" test -z "$(controller)"
}

VERBS=$(t_prog verbs) || t_skip_all "the program verbs is not built (make)"
one_device
# The kernel has no environment that says it
[ -z "${T_LLP:-}" ] || echo "$T_LLP" >/sys/class/infiniband/iw0/llp/connect
t_case "NVMe over RDMA: what is written is read" "DDP-126 SEC-1" nvme
t_end
