#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# with-rdma.sh COMMAND...: run COMMAND while an RDMA device exists.
#
# For the examples ci-*.sh, and tests on your own machine.
# The script creates the device iw0 on the dummy interface rdma0 with the address 192.0.2.1,
# runs COMMAND, removes both, and exits with the status of COMMAND.
# To run it, as root, where rnic_sw is installed: ./with-rdma.sh ./rdma-test.sh 192.0.2.1
set -eu
trap 'exit 1' HUP INT TERM
ip link add rdma0 type dummy
trap 'ip link delete rdma0' EXIT	# also removes the device
ip address add 192.0.2.1/24 dev rdma0
ip link set rdma0 up
ip link set lo up
modprobe rdma_ucm			# for librdmacm
rdma link add iw0 type rnic_sw netdev rdma0
"$@"
