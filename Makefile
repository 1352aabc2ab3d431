# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# make			the modules, for the kernel whose build directory is KDIR
# make modules_install	into /lib/modules of that kernel
# make clean

KDIR ?= /lib/modules/$(shell uname -r)/build

# User-Mode Linux does not say what it is by itself
ifneq ($(shell grep -s '^CONFIG_UML=y' $(KDIR)/.config),)
arch := ARCH=um
endif

kbuild = $(MAKE) -C $(KDIR) $(arch) M=$(CURDIR)

.PHONY: modules modules_install clean

modules modules_install clean:
	+$(kbuild) $@
