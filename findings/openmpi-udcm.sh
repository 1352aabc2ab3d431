#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: Debian 12's Open MPI can use iWARP by its BTL openib, whose connection manager rdmacm is
# the one for iWARP.
# Seen: openib is installed, and its file of devices names iWARP adapters, even software iWARP. But
# openib is built with only one connection manager, udcm, which needs QPs for datagrams. iWARP does
# not have such QPs.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack old bookworm openmpi-bin=4.1.4-3+b1
inside old ompi_info --param btl openib --level 9 >"$tmp/out" 2>"$tmp/errors" || { cat "$tmp/errors" >&2; give_up "ompi_info has failed"; }
expect "BTL" 'openib (MCA v2.1.0, API v3.1.0, Component v4.1.4)' "$(sed -n 's/ *MCA btl: //p' "$tmp/out")"
sed -n '/btl_openib_cpc_/{p;n;p}' "$tmp/out"
expect "connection managers" udcm \
	"$(sed -n 's/.*select OpenFabrics connections (valid values: \(.*\)).*/\1/p' "$tmp/out")"
expect "iWARP in the file of devices" '[IBM Soft iWARP]' \
	"$(grep -m1 -oF '[IBM Soft iWARP]' "$tmp/old/usr/share/openmpi/mca-btl-openib-device-params.ini" || true)"
finish
