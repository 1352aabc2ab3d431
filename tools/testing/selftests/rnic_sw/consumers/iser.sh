#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/iser.sh: iSCSI over RDMA: ib_iser with open-iscsi, and ib_isert. The initiator
# invalidates and registers the same MR in one chain of work requests.
#
# The target also listens on a TCP socket with the same address and port. Over TCP the RDMA
# device uses that address and port, so the target's TCP socket is in another network namespace.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_lio.sh"

IQN=iqn.2000-01.org.example:rnic-sw
ISCSI=$TARGET/iscsi
TPG=$ISCSI/$IQN/tpgt_1

create_portal_netns() {
	[ ! -e /run/netns/rnic-portal ] || return 0
	ip netns add rnic-portal
	t_defer ip netns del rnic-portal
	ip -n rnic-portal link set lo up
	ip -n rnic-portal addr add "$B4/32" dev lo
}

start_target() {
	local name
	mkdir -p $TPG
	t_defer stop_target
	mkdir $TPG/lun/lun_0
	ln -s "$LIO_DISK" $TPG/lun/lun_0/rnic_sw
	for name in authentication=0 demo_mode_write_protect=0 generate_node_acls=1 \
		cache_dynamic_acls=1; do
		echo "${name#*=}" >"$TPG/attrib/${name%=*}"
	done
	create_portal_netns
	# use nsenter, because `ip netns exec` would mount a sysfs without configfs
	nsenter --net=/run/netns/rnic-portal mkdir "$TPG/np/$B4:3260"
	echo 1 >"$TPG/np/$B4:3260/iser"
	echo 1 >$TPG/enable
}

stop_target() {
	[ -d $TPG ] || return 0
	echo 0 >$TPG/enable
	[ ! -d "$TPG/np/$B4:3260" ] || rmdir "$TPG/np/$B4:3260"
	rm -f $TPG/lun/lun_0/rnic_sw
	rmdir $TPG/lun/lun_0 $TPG $ISCSI/$IQN
}

# Write the configuration of the package, but with shorter times to detect lost connections
write_initiator_files() {
	mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
	echo "InitiatorName=$IQN-initiator" >/etc/iscsi/initiatorname.iscsi
	sed 's/^#.*//; /^$/d; /^iscsid.startup/d; /^node.startup/d; /timeo.replacement_timeout/d; /timeo.noop/d' \
		"${T_UNPACKED:-}/etc/iscsi/iscsid.conf" >"$T_CASE/iscsid.conf"
	cat >>"$T_CASE/iscsid.conf" <<-'END'
		node.startup = manual
		node.session.timeo.replacement_timeout = 60
		node.conn[0].timeo.noop_out_interval = 2
		node.conn[0].timeo.noop_out_timeout = 5
	END
	cp "$T_CASE/iscsid.conf" /etc/iscsi/iscsid.conf
}

start_initiator() {
	[ -z "${t_pids[iscsid]:-}" ] || return 0
	write_initiator_files
	T_TIME=1000 t_start iscsid a iscsid -f
	t_wait_until "$T_TIME" run_iscsiadm -m session -P 0 || t_fail "iscsid does not respond"
}

# Run iscsiadm. It exits with status 21 if there is no session, which is no error.
run_iscsiadm() {
	local status=0
	timeout 60 iscsiadm "$@" || status=$?
	[ $status -eq 0 ] || [ $status -eq 21 ]
}

connect_client() {
	run_iscsiadm -m node -o new -T $IQN -p "$B4:3260,1" -I iser
	run_iscsiadm -m node -T $IQN -p "$B4:3260" --login
	t_defer disconnect_client
	lio_wait_disk
}

disconnect_client() {
	run_iscsiadm -m node -T $IQN -p "$B4:3260" --logout
	run_iscsiadm -m node -T $IQN -p "$B4:3260" -o delete
} >>"$T_CASE/logout" 2>&1

count_sessions() { ls /sys/class/iscsi_session 2>/dev/null | wc -l; }
is_session_in_state() { [ "$(cat /sys/class/iscsi_session/*/state)" = "$1" ]; }

restart_target() {
	echo 0 >$TPG/enable
	t_wait_until "$T_TIME" is_session_in_state FAILED
	echo 1 >$TPG/enable
	t_wait_until "$T_TIME" is_session_in_state LOGGED_IN
}

client_can_reconnect_often() {
	lio_client_can_reconnect
	[ "$(count_sessions)" -eq 0 ]
}

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer
	tear_down_consumer
	t_kill iscsid
	rmdir $ISCSI
	modprobe -r ib_iser ib_isert
	modprobe -a ib_iser ib_isert
}

# If the target's TCP socket and the RDMA device are in one network namespace, enabling iser must
# fail, because the port is in use.
port_conflict_with_tcp_is_detected() {
	[ "${T_LLP:-}" != sctp ] || t_skip "over SCTP the listeners do not use the same port"
	set_up_device
	lio_create_disk 16
	mkdir -p $TPG
	t_defer stop_target
	ln -s "$LIO_DISK" "$(mkdir $TPG/lun/lun_0; echo $TPG/lun/lun_0)/rnic_sw"
	mkdir "$TPG/np/$B4:3260"
	t_check_fails sh -c "echo 1 >'$TPG/np/$B4:3260/iser'"
	stop_target
	lio_remove_disk
	check_objects_are_freed
}

load_modules_or_skip_all sd_mod target_core_mod target_core_file iscsi_target_mod ib_isert ib_iser
skip_all_without_programs fio iscsid iscsiadm
define_disk_cases iSER
t_case "iSER: the target is disabled and enabled under load" "" load_survives_command restart_target
t_case "iSER: connect and disconnect five times" "" client_can_reconnect_often
t_case "iSER: refused in the network namespace of the target's TCP portal" "" \
	port_conflict_with_tcp_is_detected
t_case "iSER: initiator and target modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
