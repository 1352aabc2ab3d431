#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ci-container.sh IMAGE COMMAND...: run COMMAND in a container that uses an RDMA device of the host.
#
# For CI jobs that run in containers on your own host, on which rnic_sw is installed.
# The script creates the device iw0 with the address 192.0.2.1 on the host, and runs COMMAND in
# a container of podman, or of docker if ENGINE=docker is set. The container gets the device nodes,
# the network namespace of the device, and permission to register memory. It gets the current
# directory, too.
# To run it, as root on the host, with an image of examples/Containerfile:
#     ./ci-container.sh rdma-job ./rdma-test.sh 192.0.2.1
set -eu
exec "$(dirname "$0")/with-rdma.sh" "${ENGINE:-podman}" run --rm \
	--device /dev/infiniband --network host --ulimit memlock=-1 \
	--volume "$PWD:$PWD" --workdir "$PWD" "$@"
