#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ci-modules.sh COMMAND...: run COMMAND with an RDMA device in the kernel of this machine.
#
# For CI jobs that are root on a virtual or a real machine with Debian 13, and may load kernel
# modules.
# The script installs the packages of rnic_sw, whose modules DKMS builds for the running kernel,
# and runs COMMAND while the device iw0 with the address 192.0.2.1 exists.
# To run it, as root, with the packages of `make deb` in the directory debs:
#     ./ci-modules.sh ./rdma-test.sh 192.0.2.1
set -eu
apt-get update
apt-get install -y --no-install-recommends "linux-headers-$(uname -r)" iproute2 rdmacm-utils \
	./debs/rnic-sw-dkms_*.deb ./debs/librnic-sw1_*.deb
exec "$(dirname "$0")/with-rdma.sh" "$@"
