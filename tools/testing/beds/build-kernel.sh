# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2154	# variables of the scripts that source this
# Build the kernel of a test environment in the cache, once; sourced by uml-kernel and
# smp-kernel. These scripts set the following variables before they call build_kernel_if_needed():
#   arch base         architecture, and make target of the initial configuration
#   fragments         configuration files to merge into it; the last setting applies
#   patches           patches of single source files, may be empty
#   make_args         more arguments of make, may be empty
#   shelf flavour     the build is in SHELF/FLAVOUR-VERSION-KEY in the cache
#   what takes        for messages: which kernel, and how long the build takes
#   finish            a function, called with the build directory at the end

scripts=$(cd "$here/../../../scripts" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL ARCH CROSS_COMPILE KBUILD_OUTPUT O
# do not use ccache: a kernel is built only once, and its objects would evict others that are built
# often
export CCACHE_DISABLE=1
me=$(basename "$0")
die() { echo "$me: $*" >&2; exit 1; }

# For make: expands to nothing in directories that are to be compiled without a sanitizer. The
# other directories have code that uses objects of the driver: networks, RDMA, workqueues, timers,
# locks, lists.
# shellcheck disable=SC2016,SC2034
watched='$(filter-out kernel/entry/%,$(filter net/% drivers/infiniband/% drivers/nvme/% kernel/% lib/%,$(obj)/))'

run_kernel_make() {
	make -C "$source" ARCH="$arch" O="$build" -j"$(nproc)" ${make_args[0]+"${make_args[@]}"} \
		"$@"
}

configure_kernel() {
	# -m: only merge the files; make olddefconfig resolves the dependencies
	run_kernel_make "$base" &&
	(cd "$build" && "$source/scripts/kconfig/merge_config.sh" -m .config "${fragments[@]}") &&
	run_kernel_make olddefconfig &&
	"$here/has-config" "$build/.config" "${fragments[@]}"
}

# Apply the patches to copies in the build directory, which make prefers to the files of the
# same name in the shared source directory.
patch_sources() {
	local patch file
	for patch in ${patches[0]+"${patches[@]}"}; do
		file=$(sed -n 's,^+++ b/,,p' "$patch")
		mkdir -p "$(dirname "$build/$file")"
		patch -s -r - -o "$build/$file" "$source/$file" "$patch" >&2 || {
			rm -f "$build/$file"
			echo "$me: $(basename "$patch") does not apply to this kernel: building without it" >&2
		}
	done
}

compile_kernel() {
	run_kernel_make all &&
	run_kernel_make INSTALL_MOD_PATH="$build/inst" INSTALL_MOD_STRIP=1 modules_install &&
	finish_kernel_build "$build"
}

# report_progress LOG: report the progress of the build every 30 seconds
report_progress() {
	local start=$SECONDS
	while sleep 30; do
		echo "$me: $flavour: $(grep -cE '^  (CC|AS|LD|AR) ' "$1") steps done after $((SECONDS - start)) s" >&2
	done
}

# Remove all builds of a flavour except the newest two
remove_old_builds() {
	find "$cache" -mindepth 1 -maxdepth 1 -type d -name "$flavour-*" -printf '%T@ %p\n' |
		sort -rn | tail -n +3 | cut -d' ' -f2- | xargs -r rm -rf
}

build_with_progress() {
	local log=$build.log watcher
	echo "$me: building Linux ${version%%_*} $what, flavour $flavour ($takes, once; log: $log)" >&2
	rm -rf "$build" && mkdir -p "$build"
	: >"$log"
	patch_sources
	report_progress "$log" 9>&- &
	watcher=$!
	# shellcheck disable=SC2064
	trap "kill $watcher 2>/dev/null || true" EXIT
	if ! { configure_kernel && compile_kernel; } >>"$log" 2>&1 9>&-; then
		tail -n 20 "$log" >&2
		die "the build failed; the whole log is $log"
	fi
	kill "$watcher"
	trap - EXIT
	touch "$build/.done"
	remove_old_builds
	echo "$me: $flavour built in $SECONDS s" >&2
}

# rebuild_with_config CONFIG: build the kernel again, with CONFIG merged into its configuration
rebuild_with_config() {
	local log=$build/again.log
	exec 9>"$("$scripts/cache")/kernel-build.lock"
	flock 9
	{
		(cd "$build" && "$source/scripts/kconfig/merge_config.sh" -m .config "$1") &&
		run_kernel_make olddefconfig &&
		"$here/has-config" "$build/.config" "$1" &&
		compile_kernel
	} >"$log" 2>&1 9>&- || { tail -n 20 "$log" >&2; die "the build failed"; }
	exec 9>&-
}

# Build the kernel if necessary, and set build to its directory.
build_kernel_if_needed() {
	NEED_WHY="to build a kernel" "$scripts/need" gcc make flex bison bc libelf-dev libssl-dev \
		kmod patch
	source=$("$here/uml-source")
	key=$( { basename "$source"; gcc -dumpfullversion; cat "${fragments[@]}" ${patches[0]+"${patches[@]}"}
		printf '%s' ${make_args[0]+"${make_args[@]}"}; } | sha256sum | cut -c1-10)
	version=${source##*/linux-source-}
	cache=$("$scripts/cache")/$shelf
	build=$cache/$flavour-${version%%_*}-$key
	mkdir -p "$cache"
	[ ! -e "$build/.done" ] || return 0
	# one build at a time: two concurrent builds would not be faster and need twice the memory
	exec 9>"$("$scripts/cache")/kernel-build.lock"
	flock -n 9 || { echo "$me: waiting for another kernel build" >&2; flock 9; }
	[ -e "$build/.done" ] || build_with_progress
	exec 9>&-
}
