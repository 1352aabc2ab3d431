# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# gids.sh: GIDs of the devices of lib.sh; sourced after lib.sh.

# print_gid_index_of HOST ADDRESS: print the index of the GID for ADDRESS on HOST's device
print_gid_index_of() {
	local dev=$A_DEV
	[ "$1" = a ] || dev=$B_DEV
	on "$1" python3 - "$dev" "$2" <<-'END'
		import glob, ipaddress, os, sys
		want = ipaddress.ip_address(sys.argv[2])
		if want.version == 4:
		    want = ipaddress.ip_address(f"::ffff:{want}")
		for path in glob.glob(f"/sys/class/infiniband/{sys.argv[1]}/ports/1/gids/*"):
		    try:
		        gid = ipaddress.ip_address(open(path).read().strip())
		    except OSError:
		        continue
		    if gid == want:
		        print(os.path.basename(path))
		        sys.exit()
		sys.exit(f"no GID for {sys.argv[2]}")
	END
}
