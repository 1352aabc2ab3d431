/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What tests ask of rnic_sw_exporter, at /dev/rnic_sw_exporter. */
#ifndef RNIC_SW_EXPORTER_H
#define RNIC_SW_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORTER_MOVES		0x01	/* importers hear of it when it moves */
#define EXPORTER_NOT_MAPPED	0x02	/* not for the CPU */
#define EXPORTER_IOMEM		0x04	/* a device's memory, it says */
#define EXPORTER_READ_ONLY	0x08	/* the file is */
#define EXPORTER_SHADOW		0x10	/* the CPU has a copy, from begin to end */
#define EXPORTER_SILENT		0x20	/* it moves without a word, unless it is pinned */
#define EXPORTER_PIN_MOVES	0x40	/* who pins it first has it moved before */
#define EXPORTER_NO_PIN		0x80	/* nobody can pin it */

struct exporter_new {
	__u32	pages;
	__u32	flags;
};

struct exporter_info {
	__s32	fd;		/* in: of which buffer */
	__u32	attached;	/* now */
	__u32	mapped;		/* for the CPU, now */
	__u32	begun;		/* accesses of the CPU's, now */
	__u32	begins;		/* ... in all */
	__u32	moves;
	__u32	pinned;		/* now */
	__u32	waiting;	/* until it is free, now */
};

enum exporter_hold { EXPORTER_FREE, EXPORTER_HOLD_BEGIN, EXPORTER_HOLD_MAP };

struct exporter_held {
	__s32	fd;
	__u32	how;		/* enum exporter_hold */
};

/* The answer is the file of the buffer */
#define EXPORTER_NEW	_IOW('x', 1, struct exporter_new)
/* Those with the file of a buffer.  MOVE: EBUSY if somebody has it mapped still, or pinned */
#define EXPORTER_MOVE	_IOW('x', 2, __s32)
#define EXPORTER_REVOKE	_IOW('x', 3, __s32)
#define EXPORTER_INFO	_IOWR('x', 4, struct exporter_info)
/* Who begins, or maps, waits until it is free, or nobody has the device open */
#define EXPORTER_HOLD	_IOW('x', 5, struct exporter_held)

#endif
