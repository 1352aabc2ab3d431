#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ci-virtme.sh COMMAND...: run COMMAND with an RDMA device in a virtual machine.
#
# For CI jobs that cannot load kernel modules, because they run in a container. The container needs
# Debian 13 and root, but no further privileges.
# The script installs Debian's kernel, for which DKMS builds the modules of rnic_sw. virtme-ng
# boots this kernel in QEMU, with the files of the container. There it runs COMMAND while the device
# iw0 with the address 192.0.2.1 exists, and exits with a status other than 0 if COMMAND fails.
# To run it, with the packages of `make deb` in the directory debs:
#     ./ci-virtme.sh ./rdma-test.sh 192.0.2.1
set -eu
apt-get update
apt-get install -y --no-install-recommends linux-image-amd64 linux-headers-amd64 virtme-ng \
	qemu-system-x86 busybox-static iproute2 rdmacm-utils \
	./debs/rnic-sw-dkms_*.deb ./debs/librnic-sw1_*.deb
# vng passes one line to a shell, so quote the words of the command
line=$(dirname "$0")/with-rdma.sh
for word; do line="$line '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"; done
exec vng --run "$(ls -v /lib/modules | tail -n 1)" --rw --cpus 2 --memory 2G \
	--force-9p --force-initramfs --exec "$line"
