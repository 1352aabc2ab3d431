# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds and installs the modules and the provider, and runs the tests; see `make help`.

KDIR ?= /lib/modules/$(shell uname -r)/build

# The build directory of a User-Mode Linux kernel does not set its architecture itself
ifneq ($(shell grep -s '^CONFIG_UML=y' $(KDIR)/.config),)
arch := ARCH=um
endif

kbuild = $(MAKE) -C $(KDIR) $(arch) M=$(CURDIR)

# DESTDIR is for building a package: all files are installed below it, and depmod is run
# only when the package is installed.
ifneq ($(DESTDIR),)
INSTALL_MOD_PATH ?= $(DESTDIR)
run_depmod = true
else
run_depmod = PATH=$$PATH:/usr/sbin:/sbin depmod
endif
# The path is absolute, because the kernel's make runs in another directory
mod_path := $(abspath $(INSTALL_MOD_PATH))

# The kernel's version. If the kernel's headers are no longer installed when the modules are
# removed, it is taken from the path of KDIR.
release = $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell \
	echo $(KDIR) | sed -n 's,^\(/usr\)*/lib/modules/\([^/]\+\)/build/*$$,\2,p'))
depmod = $(run_depmod) $(if $(mod_path),-b $(mod_path)) $(release)

.PHONY: modules modules_install modules_uninstall clean provider install \
	uninstall deb install-check host-check examples quick check conformance consumers \
	programs fuzz export-check rdma-core-check iproute2-check kernels litmus machines mutate \
	next-kernel prove soak stock demo bench clock help kdir which_kernel

modules: kdir
	@echo "Building the kernel modules for $(KDIR); nothing is installed."
	+@$(kbuild) modules

kdir:
	@test -e $(KDIR)/Makefile || { \
		echo "No kernel build directory at $(KDIR)." >&2; \
		echo "On Debian: apt-get install linux-headers-$$(uname -r); or name another: make KDIR=..." >&2; \
		echo "To try the modules in a virtual machine: make demo" >&2; \
		exit 1; }

# The build directory of a distribution contains no key, so the modules are not signed. It
# also contains no System.map, without which the kernel's make does not run depmod: therefore
# modules_install runs depmod itself.
unsigned = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

modules_install: kdir
	@$(if $(mod_path),,scripts/unpackaged modules)
	+@$(kbuild) INSTALL_MOD_PATH=$(mod_path) INSTALL_MOD_DIR=updates \
		$(if $(DESTDIR),DEPMOD=true) $(unsigned) modules_install
	@$(depmod)

which_kernel:
	@test -n "$(release)" || { \
		echo "cannot determine the kernel version from $(KDIR): make uninstall KDIR=/lib/modules/VERSION/build" >&2; \
		exit 1; }

# The pattern is *.ko* because the kernel's make may have compressed the modules
modules_uninstall: which_kernel
	@scripts/take-away "$(mod_path)" $(foreach m,ddp/iw_ddp mpa/iw_mpa \
		sctp_ddp/iw_sctp_ddp rnic_sw/rnic_sw,$(wildcard \
		$(mod_path)/lib/modules/$(release)/updates/drivers/$(m).ko*))
	@test ! -d "$(mod_path)/lib/modules/$(release)" || $(depmod)

clean:
	@if [ -e $(KDIR)/Makefile ]; then $(kbuild) clean; fi
	@$(MAKE) --no-print-directory -C tools/testing/host clean
	@$(MAKE) --no-print-directory -C tools/testing/selftests/rnic_sw clean

provider:
	@echo "Building the libibverbs provider in the cache ($$(scripts/cache)); missing packages that the build needs are installed."
	@scripts/build-provider

# If make is run by sudo, the build runs as the owner of the tree, so that the files in the
# tree and in the cache belong to that user; root only installs. The owner is taken from the
# tree and not from SUDO_USER, because in a root shell opened with sudo the tree may belong to
# root. as_caller passes RNIC_SW_CACHE and its users pass KDIR, because sudo passes on neither
# environment variables nor variables of make.
ifeq ($(shell id -u),0)
caller := $(if $(SUDO_USER),$(filter-out root UNKNOWN,$(shell stat -c %U .)))
endif
as_caller = $(if $(caller),sudo -H -u $(caller)) env $(if \
	$(RNIC_SW_CACHE),RNIC_SW_CACHE=$(RNIC_SW_CACHE))

# scripts/unpackaged checks first whether the files can be installed, so that make does not
# build in vain.
install:
	@scripts/unpackaged $(if $(mod_path),,modules) files
	+@$(as_caller) $(MAKE) --no-print-directory KDIR=$(KDIR) modules provider
	@echo "Installing the modules in updates/ of /lib/modules/VERSION, the provider next to"
	@echo "libibverbs, a systemd unit and manual pages."
	+@$(MAKE) --no-print-directory modules_install
	@provider=$$($(as_caller) scripts/build-provider) && scripts/install-provider "$$provider"
	@man=$$($(as_caller) scripts/build-man) && scripts/install-files "$$man"

# Removes what `make install` has installed with the same KDIR and DESTDIR. The systemd unit
# is removed first: when it is stopped, it removes its devices, which use the modules.
uninstall: which_kernel
	@scripts/install-files --remove
	+@$(MAKE) --no-print-directory modules_uninstall
	@scripts/install-provider --remove

deb:
	@scripts/build-deb $(OUT)

install-check:
	@scripts/install-check bookworm
	@scripts/install-check trixie

host-check:
	@scripts/host-check $(or $(SUITE),trixie)

examples:
	@tools/testing/examples/run

quick:
	@scripts/quick

check:
	@scripts/check

conformance:
	@scripts/conformance

export-check:
	@scripts/check-export

rdma-core-check:
	@scripts/check-rdma-core

iproute2-check:
	@scripts/check-iproute2

consumers:
	@scripts/consumers

programs:
	@scripts/programs

fuzz:
	@scripts/fuzz $(if $(FUZZ_SECONDS),--seconds $(FUZZ_SECONDS)) $(FUZZ_TARGETS)

kernels:
	@scripts/kernels $(KERNELS)

litmus:
	@scripts/litmus

machines:
	@scripts/machines

mutate:
	@scripts/mutate --brief --seed $(or $(SEED),1) --count $(or $(COUNT),300) \
		--jobs $(or $(JOBS),1) || true
	@scripts/mutate --seed $(or $(SEED),1) --count $(or $(COUNT),300) --jobs $(or $(JOBS),1)

next-kernel:
	@scripts/next-kernel

prove:
	@scripts/prove --mutations

soak:
	@scripts/soak

# make check runs most cases of these suites only on the newest kernel: run all once on Debian's kernels
stock:
	@SOAK_ROUNDS=1 SOAK_BEDS="$(or $(SOAK_BEDS),6.1 6.12)" T_LONG=$(or $(T_LONG),0) \
		scripts/soak $(filter smoke.sh verbs.sh stress.sh sctp% wire_sctp_%, \
		$(shell make -s -C tools/testing/selftests/rnic_sw list))

demo:
	@scripts/demo

bench:
	@scripts/bench

clock:
	@scripts/clock --beside

help:
	@echo "make             build the modules, for the kernel whose build directory is KDIR"
	@echo "                 ($(KDIR))"
	@echo "make provider    build the libibverbs provider, in the cache"
	@echo "make install     build and install the modules (/lib/modules), the provider (next to"
	@echo "                 libibverbs), a systemd unit and manual pages; DESTDIR=... is respected"
	@echo "make uninstall   remove these files; DESTDIR=... is respected"
	@echo "make deb         build Debian packages, in OUT=... or the cache"
	@echo "make install-check  install and boot the packages in a new Debian 12 and 13"
	@echo "make host-check  run make deb, demo and check on a bare Debian 13, or on the Debian SUITE;"
	@echo "                 takes as long as these commands, and minutes to install packages"
	@echo "make examples    run the examples for the CI of other projects, in a new Debian 13"
	@echo "make demo        show RDMA over an ordinary network interface, on a Debian kernel in"
	@echo "                 a virtual machine; three minutes"
	@echo "make quick       run unit tests in user space and static checks; under a minute"
	@echo "make check       run everything that a change must pass; for the time see README.md"
	@echo "make conformance report which test shows which requirement of the RFCs; 5 minutes"
	@echo "make export-check  check the patches for the kernel's tree (scripts/export-kernel): each"
	@echo "                 builds and passes checkpatch, kernel-doc and coccicheck."
	@echo "                 scripts/check-export --wide: in many configurations; --boot: run the"
	@echo "                 tests; --all: all of these, takes hours"
	@echo "make rdma-core-check  check the patches for rdma-core: they build and package all files"
	@echo "make iproute2-check   check the patches for iproute2 (device parameters in rdma)"
	@echo "make consumers   test the kernel's RDMA consumers, over TCP and SCTP; takes long"
	@echo "make programs    test programs that use verbs (libfabric, Open MPI, ...); takes long"
	@echo "make fuzz        fuzz the parsers and the receive path with libFuzzer for a minute, or"
	@echo "                 for FUZZ_SECONDS; FUZZ_SECONDS=0 FUZZ_TARGETS=rx_paths has no limit"
	@echo "make litmus      check the litmus tests with the kernel's memory model"
	@echo "make kernels     build and boot the modules on each kernel of Debian's suites and their"
	@echo "                 cloud and RT flavours, or on KERNELS='6.1 7.3-rt'; takes hours"
	@echo "make next-kernel build for the newest packaged kernel, and report changed probes"
	@echo "make machines    build for arm64 and s390x, and run tests in emulation"
	@echo "make mutate      mutation testing with COUNT=300 random changes, SEED=1; takes many"
	@echo "                 hours, and continues after an interruption"
	@echo "make prove       prove the contracts of the pure files with CBMC; 10 minutes"
	@echo "make soak        run all tests in all environments repeatedly, until interrupted or for"
	@echo "                 SOAK_SECONDS; see scripts/soak --help"
	@echo "make stock       run the verbs, stress and SCTP suites on Debian's 6.1 and 6.12, once"
	@echo "make bench       compare the speed with siw, plain TCP and SCTP"
	@echo "make clock       count CPU instructions per message, also of siw, plain TCP and SCTP;"
	@echo "                 6 minutes"
	@echo "make clean       remove built files"
	@echo
	@echo "Must be run as root: install, uninstall, demo, check, conformance, consumers, programs,"
	@echo "kernels, machines, mutate, soak, stock, bench, clock, install-check, host-check,"
	@echo "examples."
	@echo "To run a single system test: tools/testing/selftests/rnic_sw/run --help"
	@echo "Kernels and rdma-core are built in RNIC_SW_CACHE ($$(scripts/cache))."
