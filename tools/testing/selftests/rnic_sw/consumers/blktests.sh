#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/blktests.sh: the kernel's block tests over RDMA: NVMe, SRP and RNBD.
# scripts/blktests builds them. T_BLKTESTS=DIR: the directory of blktests. The tests create RDMA
# devices on all interfaces.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

export SOFT_RDMA=$T_RDMA NVMET_TRTYPES=rdma
# nvmet opens files with O_DIRECT, which the file system of the logs may not support: use /tmp
RESULTS=/tmp/rnic_sw-blktests
# the smallest size, number of iterations and time that the tests accept
export NVME_IMG_SIZE=350M NVME_NUM_ITER=10 TIMEOUT=10

write_module_options() {
	mkdir -p /run/modprobe.d
	echo "options rtrs_server always_invalidate=N sess_queue_depth=64" \
		>/run/modprobe.d/blktests.conf
}

# If SCTP is to be tested, put a wrapper of the program rdma into PATH, which makes each device that
# the tests create use SCTP only
use_sctp_if_selected() {
	local tools=/run/blktests-tools
	[ "${T_LLP:-}" = sctp ] || return 0
	mkdir -p $tools
	cat >$tools/rdma <<-END
		#!/bin/sh
		$(command -v rdma) "\$@" || exit
		[ "\$1 \$2" = "link add" ] || exit 0
		shift 2
		[ "\$1" != dev ] || shift
		$T_DIR/lib/setting "\$1" listen sctp && $T_DIR/lib/setting "\$1" connect sctp
	END
	chmod +x $tools/rdma
	PATH=$tools:$PATH
}

# Provide files where the tests look for them: modules in a directory that is no link, because
# they use find, and the kernel's configuration in /boot
provide_kernel_files() {
	local dir kernel
	dir=/lib/modules/$(uname -r)/kernel
	kernel=$(readlink -f "$dir")
	if [ -L "$dir" ]; then
		rm "$dir"
		mkdir "$dir"
		mount --bind "$kernel" "$dir"
	fi
	[ ! -e "${T_KCONFIG:-}" ] || cp "$T_KCONFIG" "/boot/config-$(uname -r)"
}

# Start udev, which creates the names below /dev/disk
start_udev() {
	local udevd=/lib/systemd/systemd-udevd
	[ -x $udevd ] && ! pidof systemd-udevd >/dev/null || return 0
	$udevd --daemon
	udevadm trigger --subsystem-match=block
	udevadm settle
}

# Provide the plugins of the unpacked multipathd in /lib/multipath, from which it loads them
link_multipath_plugins() {
	[ -e /lib/multipath ] || [ ! -e "${T_UNPACKED:-}/lib/multipath" ] ||
		ln -s "$T_UNPACKED/lib/multipath" /lib/multipath
}

# Print what the failed test has written
print_failed_output() {
	local file
	for file in "$RESULTS"/*/*/*.{out.bad,dmesg,full}; do
		[ ! -s "$file" ] || { echo "--- $file, at the end:"; tail -n 30 "$file"; }
	done
}

# run_blktest TEST: run a test of blktests. The test may run several times, for example with a
# device and with a file; each run must pass.
run_blktest() {
	[[ $1 != rnbd/* || ${T_LLP:-} == sctp ]] ||
		t_skip "RTRS connects the same two ports several times, which TCP does not allow"
	create_one_interface
	cd "$T_BLKTESTS" || t_fail "cannot change to $T_BLKTESTS"
	rm -rf "$RESULTS"
	t_defer rm -rf "$RESULTS"
	timeout -k 10 $((10 * T_TIME)) ./check --output="$RESULTS" "$1" >"$T_CASE/said" 2>&1 ||
		echo "blktests exited with status $?"
	cat "$T_CASE/said"
	! grep -q '\[failed\]' "$T_CASE/said" || { print_failed_output; t_fail "$1 failed"; }
	grep -q '\[passed\]' "$T_CASE/said" ||
		t_skip "$(sed -n '/\[not run\]$/{n;s/^ *//p;q}' "$T_CASE/said")"
}

# print_test_name TEST: print its name and description
print_test_name() {
	sed -n "s|^DESCRIPTION=\"\(.*\)\"|$1: \1|p" "$T_BLKTESTS/tests/$1" | head -n 1
}

[ -x "${T_BLKTESTS:-}/check" ] || t_skip_all "blktests is not built (scripts/blktests)"
skip_all_without_programs fio nvme multipathd sg_reset mkfs.xfs
# configfs may be a module, which then has to be loaded and mounted
load_modules_or_skip_all configfs
write_module_options
use_sctp_if_selected
provide_kernel_files
link_multipath_plugins
start_udev
modprobe -r rnic_sw
for test in $(cd "$T_BLKTESTS/tests" && ls -d {nvme,srp,rnbd}/[0-9][0-9][0-9]); do
	t_case "$(print_test_name "$test")" "" run_blktest "$test"
done
# Record the connections for t_check_all_connections_use_sctp(): their total number, and how many
# used SCTP. Both are the number in SCTP's statistics, because the devices listen on SCTP only.
awk '$1 == "SctpActiveEstabs" { print $2, $2 }' /proc/net/sctp/snmp >"$T_LOG/$T_SCRIPT/connects" \
	2>/dev/null
t_print_summary_and_exit
