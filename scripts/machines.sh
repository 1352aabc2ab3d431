# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Other machines' names, sourced: what Debian calls s390x has another name in
# the kernel's tree, in the compilers' and in QEMU's.
# shellcheck disable=SC2034	# they are for who sources this

# machine DEBIAN-NAME: sets gnu_type (gcc's prefix), qemu_arch (uname -m says it, too),
# the package with qemu-system-*, and the bus of QEMU's virtio devices.
machine() {
	case $1 in
	amd64) gnu_type=x86_64-linux-gnu qemu_arch=x86_64 qemu_package=qemu-system-x86 virtio=pci ;;
	arm64) gnu_type=aarch64-linux-gnu qemu_arch=aarch64 qemu_package=qemu-system-arm virtio=pci ;;
	s390x) gnu_type=s390x-linux-gnu qemu_arch=s390x qemu_package=qemu-system-misc virtio=ccw ;;
	*) echo "machines: nothing is known of a machine called $1" >&2; return 1 ;;
	esac
}

# machine_of KERNEL: Debian's name of what such a kernel runs on (6.12-arm64-16k: arm64)
machine_of() {
	case $1 in
	*-s390x) echo s390x ;;
	*-arm64 | *-arm64-16k) echo arm64 ;;
	*) echo amd64 ;;
	esac
}
