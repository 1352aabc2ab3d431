#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# storage.sh: NVMe over RDMA, a kernel consumer that registers memory with work requests, lets the
# peer access that memory, and lets the peer invalidate the registration.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

NQN=rnic_sw.test
TARGET=/sys/kernel/config/nvmet

skip_without_nvme() {
	modprobe -q nvmet-rdma && modprobe -q nvme-rdma ||
		t_skip "NVMe over RDMA is not available in this kernel"
	modprobe -q loop || t_skip "loop devices are not available in this kernel"
	[ -d $TARGET ] || mount -t configfs configfs /sys/kernel/config
}

remove_target() {
	rm -f $TARGET/ports/1/subsystems/$NQN
	rmdir $TARGET/ports/1
	echo 0 >$TARGET/subsystems/$NQN/namespaces/1/enable
	rmdir $TARGET/subsystems/$NQN/namespaces/1 $TARGET/subsystems/$NQN
}

# export_block_device BLOCK-DEVICE: export BLOCK-DEVICE on the address of the RDMA device
export_block_device() {
	local sub=$TARGET/subsystems/$NQN port=$TARGET/ports/1
	mkdir $sub
	t_defer remove_target
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

print_controller_nqn_file() { grep -l $NQN /sys/class/nvme/nvme*/subsysnqn 2>/dev/null | head -n 1; }

has_no_controller() { [ -z "$(print_controller_nqn_file)" ]; }

disconnect_client() {
	local c
	c=$(print_controller_nqn_file)
	[ -z "$c" ] || echo 1 >"$(dirname "$c")/delete_controller"
}

print_block_device() {
	local c
	c=$(basename "$(dirname "$(print_controller_nqn_file)")")
	# with multipath the name in sysfs includes the controller's number, but the name in /dev
	# does not
	ls -d /sys/class/nvme/"$c"/nvme*n1 2>/dev/null | head -n 1 | xargs -r basename |
		sed 's/c[0-9]*n/n/'
}

has_block_device() { [ -n "$(print_block_device)" ] && [ -b "/dev/$(print_block_device)" ]; }

connect_client() {
	echo "transport=rdma,traddr=$B4,trsvcid=4420,nqn=$NQN,nr_io_queues=1" \
		>/dev/nvme-fabrics
	t_defer disconnect_client
	t_wait_until "$T_TIME" has_block_device || t_fail "the block device has not appeared"
}

# No process may use QPs of kernel consumers, not even a process of root
kernel_qps_are_protected() {
	local qpn n=0
	for qpn in $(rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*comm \[.*/\1/p'); do
		T_QPN=$qpn "$VERBS" -a "$B4" owner_kernel
		n=$((n + 1))
	done
	t_check "QPs of kernel consumers are shown" [ $n -gt 0 ]
}

# copy_blocks FROM TO BLOCK-SIZE COUNT FLAG: run dd; FLAG is iflag=direct or oflag=direct
copy_blocks() { dd if="$1" of="$2" bs="$3" count="$4" $5 status=none; }

# set_up_disk MIB: export a loop device and connect to it. Set DISK to its backing file, and DEV to
# the client's disk.
set_up_disk() {
	local disk
	skip_without_nvme
	DISK=$T_CASE/disk
	truncate -s "$1M" "$DISK"
	disk=$(losetup -f --show "$DISK")
	t_defer losetup -d "$disk"
	export_block_device "$disk"
	connect_client
	DEV=/dev/$(print_block_device)
}

nvme_keeps_written_data() {
	local size=16
	set_up_disk $((2 * size))
	kernel_qps_are_protected

	head -c ${size}M /dev/urandom >"$T_CASE/data"
	copy_blocks "$T_CASE/data" "$DEV" 1M $size oflag=direct
	copy_blocks "$DEV" "$T_CASE/back" 1M $size iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
	copy_blocks "$DEV" "$T_CASE/small" 4k 500 iflag=direct
	cmp -n 2048000 "$T_CASE/data" "$T_CASE/small"
	cmp -n $((size << 20)) "$T_CASE/data" "$DISK"
	[ "$(t_print_counter iw0 rx_read_requests)" -gt 0 ]
	disconnect_client
	t_wait_until "$T_TIME" has_no_controller
}

has_received_20_more_reads() { [ "$(t_print_counter iw0 rx_read_requests)" -gt $((reads_before + 20)) ]; }
is_device_gone() { [ ! -e /sys/class/infiniband/iw0 ]; }

# Check whether the kernel is 6.18 or newer. There NVMe may wait for SRCU on a reclaim workqueue
# when it deletes a controller, and depending on timing the kernel warns about that.
may_nvme_warn() { printf '6.18\n%s\n' "$(uname -r)" | sort -CV; }

# device_can_be_removed_under_writes COMMAND: remove the interface or the module while there are
# endless writes. Requests of the consumer cannot complete then, so the consumer must be notified
# immediately. Otherwise the consumer, and with it the removal, waits for half a minute.
device_can_be_removed_under_writes() {
	local began took
	! may_nvme_warn || [ -n "${T_WARN:-}" ] ||
		t_skip "NVMe of this kernel may warn about itself; T_WARN=1 runs this case"
	create_one_device
	set_llp
	set_up_disk 64
	while copy_blocks /dev/zero "$DEV" 64k 1000 oflag=direct; do :; done &
	t_defer wait $!
	reads_before=$(t_print_counter iw0 rx_read_requests)
	t_wait_until "$T_TIME" has_received_20_more_reads || t_fail "no traffic"
	began=${EPOCHREALTIME/./}
	"$@"
	t_wait_until 60 is_device_gone || t_fail "the device has not been removed"
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	echo "the device was removed after $took ms"
	t_check "the device is removed within 20 s" [ $took -lt 20000 ]
	t_wait_until "$T_TIME" has_no_controller || t_fail "the controller has not been removed"
}

delete_interface() { ip link del t0; }

move_interface() {
	ip netns add rnic-c
	t_defer t_delete_netns rnic-c
	ip link set t0 netns rnic-c
}

count_recoveries() { dmesg | grep -c "starting error recovery" || true; }

# The target must respond until the host has shut down. If the connection breaks after the host has
# begun to shut down, the host waits for half a minute.
unload_module() {
	local before
	before=$(count_recoveries)
	t_defer modprobe rnic_sw
	modprobe -r rnic_sw
	t_check "no connection breaks before the host has shut down" [ "$(count_recoveries)" -eq "$before" ]
}

# Select the LLP through the device's setting, because kernel consumers have no environment variable
# RNIC_SW_LLP
set_llp() { [ -z "${T_LLP:-}" ] || t_change_setting iw0 connect "$T_LLP"; }

VERBS=$(t_find_program verbs) || t_skip_all "program verbs is not built (make)"
create_one_device
set_llp
t_case "NVMe over RDMA: what is written is read" "DDP-126 SEC-4" nvme_keeps_written_data
t_run_deferred
t_case "NVMe over RDMA: the interface is deleted" "" device_can_be_removed_under_writes \
	delete_interface
t_case "NVMe over RDMA: the interface is moved" "" device_can_be_removed_under_writes move_interface
t_case "NVMe over RDMA: the module is unloaded" "" device_can_be_removed_under_writes unload_module
t_print_summary_and_exit
