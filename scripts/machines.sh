# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Source this file for the names of other architectures: Debian, the compilers and QEMU have
# different names for the same architecture.
# shellcheck disable=SC2034	# used by the scripts that source this

# set_machine_variables DEBIAN-NAME: set gnu_type (prefix of the compiler), qemu_arch (as uname -m
# prints it), qemu_package (the package with qemu-system-*) and virtio (bus of QEMU's
# virtio devices).
set_machine_variables() {
	case $1 in
	amd64) gnu_type=x86_64-linux-gnu qemu_arch=x86_64 qemu_package=qemu-system-x86 virtio=pci ;;
	arm64) gnu_type=aarch64-linux-gnu qemu_arch=aarch64 qemu_package=qemu-system-arm \
		virtio=pci ;;
	s390x) gnu_type=s390x-linux-gnu qemu_arch=s390x qemu_package=qemu-system-misc virtio=ccw ;;
	*)
		echo "machines: unknown architecture '$1': must be one of amd64, arm64, s390x" >&2
		return 1
		;;
	esac
}

# print_machine_of_kernel KERNEL: print Debian's name of the architecture of a kernel
# (6.12-arm64-16k: arm64)
print_machine_of_kernel() {
	case $1 in
	*-s390x) echo s390x ;;
	*-arm64 | *-arm64-16k) echo arm64 ;;
	*) echo amd64 ;;
	esac
}
