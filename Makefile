# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# `make help` says what there is.

KDIR ?= /lib/modules/$(shell uname -r)/build

# User-Mode Linux does not say what it is by itself
ifneq ($(shell grep -s '^CONFIG_UML=y' $(KDIR)/.config),)
arch := ARCH=um
endif

kbuild = $(MAKE) -C $(KDIR) $(arch) M=$(CURDIR)

# What is put together for a package goes below DESTDIR, whole; there who
# installs the package runs depmod, so nothing is run here.
ifneq ($(DESTDIR),)
INSTALL_MOD_PATH ?= $(DESTDIR)
run_depmod = true
else
run_depmod = PATH=$$PATH:/usr/sbin:/sbin depmod
endif
# the kernel's make goes elsewhere
mod_path := $(abspath $(INSTALL_MOD_PATH))

# The headers may be gone before the modules; then the path has to say it.
release = $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell \
	echo $(KDIR) | sed -n 's,^\(/usr\)*/lib/modules/\([^/]\+\)/build/*$$,\2,p'))
depmod = $(run_depmod) $(if $(mod_path),-b $(mod_path)) $(release)

.PHONY: modules modules_install modules_uninstall clean provider install \
	uninstall deb install-check quick check conformance consumers programs fuzz \
	export-check rdma-core-check iproute2-check litmus machines mutate prove soak stock demo bench clock help \
	kdir which_kernel

modules: kdir
	@echo "Building the kernel modules for $(KDIR); nothing is installed."
	+@$(kbuild) modules

kdir:
	@test -e $(KDIR)/Makefile || { \
		echo "There is no kernel build directory at $(KDIR)." >&2; \
		echo "On Debian: apt-get install linux-headers-$$(uname -r); or name one: make KDIR=..." >&2; \
		echo "To try the modules without either: make demo" >&2; \
		exit 1; }

# Distributions' build directories have neither the key to sign with nor the
# System.map without which depmod is left out.
unsigned = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

modules_install: kdir
	@$(if $(mod_path),,scripts/unpackaged modules)
	+@$(kbuild) INSTALL_MOD_PATH=$(mod_path) INSTALL_MOD_DIR=updates \
		$(if $(DESTDIR),DEPMOD=true) $(unsigned) modules_install
	@$(depmod)

which_kernel:
	@test -n "$(release)" || { \
		echo "$(KDIR) does not say which kernel's modules: make uninstall KDIR=/lib/modules/VERSION/build" >&2; \
		exit 1; }

# Whatever they were compressed with
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
	@echo "Building the libibverbs provider in the cache ($$(scripts/cache)); installs the compilers' packages if they are missing."
	@scripts/build-provider

# Called by sudo, root only installs: what is built is its caller's, in the tree and
# in the cache. In a shell that sudo has opened the tree may be root's own, so its
# owner counts. sudo passes on neither variables nor make's own.
ifeq ($(shell id -u),0)
caller := $(if $(SUDO_USER),$(filter-out root UNKNOWN,$(shell stat -c %U .)))
endif
as_caller = $(if $(caller),sudo -H -u $(caller)) env $(if \
	$(RNIC_SW_CACHE),RNIC_SW_CACHE=$(RNIC_SW_CACHE))

# What cannot be installed is not built either.
install:
	@scripts/unpackaged $(if $(mod_path),,modules) files
	+@$(as_caller) $(MAKE) --no-print-directory KDIR=$(KDIR) modules provider
	@echo "Installing the modules into /lib/modules, updates/, the provider beside libibverbs,"
	@echo "a systemd unit, manual pages."
	+@$(MAKE) --no-print-directory modules_install
	@provider=$$($(as_caller) scripts/build-provider) && scripts/install-provider "$$provider"
	@man=$$($(as_caller) scripts/build-man) && scripts/install-files "$$man"

# What `make install` has put there, with the same KDIR and DESTDIR; first the unit and
# the devices that it has made, which use the rest
uninstall: which_kernel
	@scripts/install-files --remove
	+@$(MAKE) --no-print-directory modules_uninstall
	@scripts/install-provider --remove

deb:
	@scripts/build-deb $(OUT)

install-check:
	@scripts/install-check bookworm
	@scripts/install-check trixie

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
	@scripts/fuzz

litmus:
	@scripts/litmus

machines:
	@scripts/machines

mutate:
	@scripts/mutate --brief --seed $(or $(SEED),1) --count $(or $(COUNT),300) --jobs $(or $(JOBS),1) || true
	@scripts/mutate --seed $(or $(SEED),1) --count $(or $(COUNT),300) --jobs $(or $(JOBS),1)

prove:
	@scripts/prove --mutations

soak:
	@scripts/soak

# What make check runs in the newest kernel alone, each suite once
stock:
	@SOAK_ROUNDS=1 SOAK_BEDS="$(or $(SOAK_BEDS),6.1 6.12)" T_LONG=$(or $(T_LONG),0) \
		scripts/soak $(filter verbs.sh stress.sh sctp% wire_sctp_%, \
		$(shell make -s -C tools/testing/selftests/rnic_sw list))

demo:
	@scripts/demo

bench:
	@scripts/bench

clock:
	@scripts/clock --beside

help:
	@echo "make             the modules, for the kernel whose build directory is KDIR"
	@echo "                 ($(KDIR))"
	@echo "make provider    the libibverbs provider, in the cache"
	@echo "make install     both, installed: modules in /lib/modules, provider in libibverbs;"
	@echo "                 a systemd unit, manual pages"
	@echo "make uninstall   takes both away again; DESTDIR=... holds for either"
	@echo "make deb         Debian packages of it, in OUT=... or the cache"
	@echo "make install-check  tries them in a Debian 12 and a 13 made for that, and boots them; as root"
	@echo "make demo        shows RDMA over an ordinary interface, on a Debian kernel in a"
	@echo "                 virtual machine, in about three minutes"
	@echo "make quick       unit tests in user space, static checks: under a minute"
	@echo "make check       everything that a change must pass; README says how long it takes"
	@echo "make conformance which requirement of which RFC is shown by which test; 5 minutes"
	@echo "make export-check  what scripts/export-kernel makes of it for the kernel's tree: does"
	@echo "                 each patch build, are checkpatch, kernel-doc and coccicheck content?"
	@echo "                 scripts/check-export --wide: in many configurations; --boot: and run;"
	@echo "                 --all: all of it, hours"
	@echo "make rdma-core-check  likewise for rdma-core: does it build, is all of it packaged?"
	@echo "make iproute2-check   likewise for iproute2, whose rdma sets a device's settings"
	@echo "make consumers   the kernel's users of RDMA, over TCP and SCTP: long"
	@echo "make programs    programs above verbs (libfabric, Open MPI, ...), likewise"
	@echo "make fuzz        the parsers under libFuzzer for a minute"
	@echo "make litmus      the protocols between CPUs against the kernel's memory model"
	@echo "scripts/next-kernel  for the newest kernel that is packaged: probes, and does it build?"
	@echo "make machines    builds for arm64 and s390x, and runs what can be run of that here"
	@echo "make mutate      breaks the modules at random, SEED=N, COUNT=N times: does a test"
	@echo "                 notice? 300 take many hours; begun again, it goes on"
	@echo "make prove       the pure files' contracts, for every input, by CBMC; 10 minutes"
	@echo "make soak        all tests on all beds, in rounds, until interrupted or for"
	@echo "                 SOAK_SECONDS; scripts/soak --help"
	@echo "make stock       verbs, stress and SCTP's suites on Debian's 6.1 and 6.12, once"
	@echo "make bench       measures against siw, plain TCP and SCTP"
	@echo "make clock       counts the instructions of a message, beside theirs: 6 minutes"
	@echo "make clean"
	@echo
	@echo "As root: install, uninstall, and what boots a kernel: demo, check, conformance,"
	@echo "consumers, programs, machines, mutate, soak, stock, bench, clock, install-check."
	@echo "One system test alone: tools/testing/selftests/rnic_sw/run --help"
	@echo "Kernels and rdma-core are built in RNIC_SW_CACHE ($$(scripts/cache))."
