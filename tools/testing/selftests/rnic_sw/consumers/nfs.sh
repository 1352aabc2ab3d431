#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/nfs.sh: NFS over RDMA, with rpcrdma at both ends.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_files.sh"

# Start the services that the kernel's server needs for exports and, with NFS 3, for ports. They
# are Debian's programs. Their files are in the bed's overlay, so the host's files do not change.
start_daemons() {
	mkdir -p /var/lib/nfs/sm /var/lib/nfs/v4recovery /run/rpcbind /var/lib/nfs/rpc_pipefs
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	: >>/etc/exports
	: >>/var/lib/nfs/etab
	: >>/var/lib/nfs/rmtab
	grep -q '^_rpc:' /etc/passwd ||
		echo '_rpc:x:499:65534::/run/rpcbind:/usr/sbin/nologin' >>/etc/passwd
	T_TIME=1000 t_start rpcbind b rpcbind -f -w
	t_wait_until 30 rpcinfo -p 127.0.0.1
	T_TIME=1000 t_start mountd b rpc.mountd -F -p 20048
	t_wait_until 30 is_mountd_registered
}

# nfsdcld keeps the records of NFS 4 clients across restarts of the server
start_nfsdcld() {
	mountpoint -q /var/lib/nfs/rpc_pipefs ||
		mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs
	mkdir "$T_CASE/cld"
	T_TIME=1000 t_start cld b nfsdcld -F -s "$T_CASE/cld"
}

is_mountd_registered() { rpcinfo -p 127.0.0.1 | grep -q mountd; }

# Export a file system. With NFS 4 it is the root, so clients do not see the server's path.
export_share() {
	local fsid=0
	exported=/
	[ -z "$VERS_3" ] || fsid=7 exported=/srv/rnic_sw
	mount_share /srv/rnic_sw 96
	exportfs -o "rw,no_root_squash,insecure,no_subtree_check,fsid=$fsid" "10.9.0.0/24:$SHARE"
	t_defer exportfs -au
}

start_server() {
	[ "$(cat /proc/fs/nfsd/threads)" -eq 0 ] || return 0
	# the shortest times that nfsd accepts
	[ "$VERS" = 3 ] ||
		echo 10 | tee /proc/fs/nfsd/nfsv4leasetime >/proc/fs/nfsd/nfsv4gracetime
	echo "rdma 20049" >/proc/fs/nfsd/portlist
	echo 4 >/proc/fs/nfsd/threads
	t_defer stop_server
}

# Stop the server. The link is down while it stops, so that no client connects in that time
# (Documentation/supported-programs.rst).
stop_server() {
	[ "$(cat /proc/fs/nfsd/threads)" -gt 0 ] || return 0
	[ ! -e /sys/class/net/t0 ] || set_link_down
	echo 0 >/proc/fs/nfsd/threads
	[ ! -e /sys/class/net/t0 ] || set_link_up
}

connect_client() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	mount.nfs "$B4:$exported" "$DIR" \
		-o "vers=$VERS,rdma,port=20049,hard,nolock,${VERS_3:+mountproto=tcp,mountport=20048,}timeo=50"
	t_defer umount -qfl "$DIR"
	grep " $DIR nfs" /proc/mounts | tee "$T_CASE/mounted"
	grep -q 'proto=rdma' "$T_CASE/mounted"
}

# has_nfs_version VERSION: check whether the server supports VERSION. +4 in the file includes 4.0,
# unless -4.0 is listed.
has_nfs_version() {
	local versions=/proc/fs/nfsd/versions
	case $1 in
	4.0) grep -qw +4 $versions && ! grep -qwe -4.0 $versions ;;
	*) grep -qw "+$1" $versions ;;
	esac
}

# set_nfs_version_or_skip VERSION: skip the case unless server and client support VERSION
set_nfs_version_or_skip() {
	VERS=$1 VERS_3=
	[ "$1" != 3 ] || VERS_3=1
	has_nfs_version "$1" || t_skip "the server has no NFS $1"
	modprobe -q nfsv${1%.*} || t_skip "the client has no NFS $1"
}

set_up_consumer() {
	start_daemons
	set_nfs_version_or_skip "$1"
	[ "$1" = 3 ] || start_nfsdcld
	export_share
	start_server
	connect_client
}

tear_down_consumer() {
	umount "$DIR"
	stop_server
	exportfs -au
	# wait, because the server closes its files a moment after exportfs
	t_wait_until 30 umount "$SHARE"
	t_kill cld
	t_kill mountd
	t_kill rpcbind
}

# Print the number of bytes that the client has transferred by direct I/O
print_transferred_bytes() {
	awk -v dir="$DIR" '$4 == "on" && $5 == dir { mine = 1 } mine && $1 == "bytes:" { print $4 + $5; exit }' \
		/proc/self/mountstats
}

fsx_finds_no_difference() {
	skip_without_fsx
	set_up_device
	set_up_consumer "$1"
	run_fsx
	tear_down_consumer
	check_objects_are_freed
}

written_data_is_kept() {
	set_up_device
	set_up_consumer "$1"
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

# load_survives_disturbance VERSION HOW ARGS...: disturb the transport of a hard mount. This
# may delay requests, but no request may fail.
load_survives_disturbance() {
	set_up_device
	set_up_consumer "$1"
	start_file_load
	"${@:2}"
	wait_file_load_progress
	stop_load
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

restart_server() {
	stop_server
	t_pause 1
	start_server
}

# remove_and_create_device HOW: remove the device and create it again. The client must reconnect,
# and the server must listen on the new device.
remove_and_create_device() {
	remove_device "$1"
	recreate_device
}

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer 3
	tear_down_consumer
	umount /proc/fs/nfsd
	[ ! -d /sys/module/nfsv4 ] || modprobe -r nfsv4
	modprobe -r nfsv3 nfs rpcrdma nfsd
	test ! -d /sys/module/rpcrdma
	modprobe -a nfsd rpcrdma nfs
}

load_modules_or_skip_all nfsd rpcrdma nfs
skip_all_without_programs fio mount.nfs exportfs rpc.mountd rpcbind rpcinfo
for version in 3 4.0 4.1 4.2; do
	t_case "NFS $version: files are read back as written" "DDP-126" \
		written_data_is_kept $version
	t_case "NFS $version: random operations (fsx)" "" fsx_finds_no_difference $version
done
for version in 3 4.2; do
	t_case "NFS $version: the link goes down and up under load" "" \
		load_survives_disturbance $version set_link_down_briefly
	t_case "NFS $version: the server is restarted under load" "" \
		load_survives_disturbance $version restart_server
	t_case "NFS $version: the device is deleted and added under load" "" \
		load_survives_disturbance $version remove_and_create_device device
	t_case "NFS $version: the interface is deleted and added under load" "" \
		load_survives_disturbance $version remove_and_create_device interface
	t_case "NFS $version: the module is unloaded and loaded under load" "" \
		load_survives_disturbance $version remove_and_create_device module
done
t_case "NFS: client and server modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
