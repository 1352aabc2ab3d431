#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: the version number of the private ABI between libibverbs and its providers is the release
# number of rdma-core, as in the file name of libibverbs. So the file names of a
# provider for release 44 and of one for release 56 differ.
# Seen: the number is 34 in both releases: their providers are named libNAME-rdmav34.so and use the
# symbol version IBVERBS_PRIVATE_34. So neither the name nor the loader shows for which release a
# provider was built.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

for suite in bookworm trixie; do
	case $suite in
	bookworm) release=44.0-2 file=libibverbs.so.1.14.44.0 ;;
	trixie) release=56.1-1 file=libibverbs.so.1.14.56.1 ;;
	esac
	unpack_without_dependencies "$suite" "$suite" "libibverbs1=$release" "ibverbs-providers=$release"
	lib=$tmp/$suite/usr/lib/x86_64-linux-gnu
	expect "file of libibverbs" "$file" "$(readlink "$lib/libibverbs.so.1")"
	expect "file of siw's provider" libsiw-rdmav34.so "$(cd "$lib/libibverbs" && echo libsiw-*)"
	expect "private symbol version" IBVERBS_PRIVATE_34 \
		"$(grep -aoE 'IBVERBS_PRIVATE_[0-9]+' "$lib/libibverbs.so.1" | sort -u)"
done
finish
