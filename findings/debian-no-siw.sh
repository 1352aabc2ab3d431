#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: Debian's rdma-core contains siw.driver and siw's provider, so Debian's kernel contains
# the module siw, and a test of iWARP can start with `rdma link add siw0 type siw`.
# Seen: the kernels of Debian 12 and 13 are built without CONFIG_RDMA_SIW. They contain the other
# software device, rxe, but rxe speaks RoCE. Debian's kernel for clouds contains neither of the two.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack_without_dependencies old bookworm linux-headers-6.1.0-57-amd64=6.1.192-3 ibverbs-providers=44.0-2
unpack_without_dependencies new trixie linux-headers-6.12.118+deb13-amd64=6.12.118-1 ibverbs-providers=56.1-1
unpack_without_dependencies cloud trixie linux-headers-6.12.118+deb13-cloud-amd64=6.12.118-1
# print_setting NAME OPTION: print the line of the kernel's configuration.
print_setting() { sed -n "/CONFIG_$2[= ]/p" "$tmp/$1"/usr/src/linux-headers-*/.config; }
for name in old new; do
	expect "$name: driver file of siw" 'driver siw' "$(cat "$tmp/$name/etc/libibverbs.d/siw.driver")"
	expect "$name: siw in the kernel" '# CONFIG_RDMA_SIW is not set' "$(print_setting "$name" RDMA_SIW)"
	expect "$name: rxe in the kernel" 'CONFIG_RDMA_RXE=m' "$(print_setting "$name" RDMA_RXE)"
done
expect "cloud: siw" '# CONFIG_RDMA_SIW is not set' "$(print_setting cloud RDMA_SIW)"
expect "cloud: rxe" '# CONFIG_RDMA_RXE is not set' "$(print_setting cloud RDMA_RXE)"
expect "cloud: core of RDMA" 'CONFIG_INFINIBAND=m' "$(print_setting cloud INFINIBAND)"
finish
