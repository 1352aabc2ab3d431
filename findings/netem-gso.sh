#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: after `ethtool -K lo tso off gso off`, the qdisc of lo handles the single packets of a
# TCP connection, so `netem loss 0.1%` drops about one packet in a thousand.
# Seen: a TCP socket enables GSO for itself, whatever the interface's settings are. It passes buffers
# of many packets to the qdisc, and the kernel cuts them into packets only after the qdisc. netem
# decides once for each buffer. So a loss is much rarer than one packet in a thousand, but concerns
# many packets at once. `ip link set lo gso_max_segs 1` makes TCP pass single packets.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

image=6.12.118+deb13-amd64
unpack vm trixie qemu-system-x86=1:10.0.13+ds-0+deb13u1 busybox-static=1:1.37.0-6+b9 \
	iproute2=6.15.0-1 ethtool=1:6.14.2-1
unpack_without_dependencies kernel trixie "linux-image-$image=6.12.118-1"

# A root file system in memory, with the three programs and their libraries
guest=$tmp/guest
mkdir -p "$guest"/{bin,dev,proc,programs,usr/lib64}
cp "$tmp/vm/usr/bin/busybox" "$guest/bin/"
for program in ip tc ethtool; do
	path=$(cd "$tmp/vm" && find usr -path "*bin/$program" -type f -print -quit)
	cp "$tmp/vm/$path" "$guest/programs/"
	inside vm /lib64/ld-linux-x86-64.so.2 --list "/$path" |
		awk '$NF ~ /^\(/ && $(NF - 1) ~ /^\// { print substr($(NF - 1), 2) }' |
		while read -r library; do (cd "$tmp/vm" && cp -L --parents "$library" "$guest"); done
done
find "$tmp/kernel" -name sch_netem.ko.xz -exec xz -dc {} + >"$guest/sch_netem.ko"
cat >"$guest/init" <<'END'
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
insmod /sch_netem.ko
/programs/ip link set lo up mtu 1500
/programs/ethtool -K lo tso off gso off gro off
echo # ends the last line of the firmware
echo "offload $(/programs/ethtool -k lo | grep -cE '^(tcp|generic)-segmentation-offload: off')"
head -c 67108864 /dev/zero >/data
httpd -h /
sleep 1
# print_drops NAME: send 64 MiB with a loss of 0.1 %, and print how often netem dropped a buffer
print_drops() {
	/programs/tc qdisc add dev lo root netem loss 0.1%
	wget -q -O /dev/null http://127.0.0.1/data || echo "wget has failed"
	echo "$1 $(/programs/tc -s qdisc show dev lo | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p')"
	/programs/tc qdisc del dev lo root
}
print_drops many
/programs/ip link set dev lo gso_max_segs 1
print_drops single
poweroff -f
END
chmod +x "$guest/init"
(cd "$guest" && find . | bin/busybox cpio -o -H newc 2>/dev/null) >"$tmp/vm/tmp/initrd"
cp "$tmp"/kernel/boot/vmlinuz-* "$tmp/vm/tmp/vmlinuz"
inside vm qemu-system-x86_64 -m 512 -nographic -no-reboot -kernel /tmp/vmlinuz -initrd /tmp/initrd \
	-append "console=ttyS0 quiet panic=-1" </dev/null | tr -d '\r' >"$tmp/console" ||
	give_up "QEMU has failed"

get() { sed -n "s/^$1 \([0-9]*\)\$/\1/p" "$tmp/console"; }
many=$(get many) single=$(get single)
if [ -z "$many" ] || [ -z "$single" ]; then
	cat "$tmp/console"
	give_up "the virtual machine has failed"
fi
packets=$((67108864 / 1448))
echo "of at least $packets packets, netem dropped $many buffers of many packets, and with" \
	"gso_max_segs 1 $single single packets"
expect "settings that ethtool shows as off" 2 "$(get offload)"
expect "drops with gso_max_segs 1 are about one in a thousand packets" yes \
	"$([ $((single * 1000)) -gt $((packets / 2)) ] && [ $((single * 1000)) -lt $((packets * 2)) ] && echo yes)"
expect "without it, there are less than a third as many" yes \
	"$([ $((many * 3)) -lt "$single" ] && echo yes)"
finish
