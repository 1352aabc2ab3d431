/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* ioctls of the test module rnic_sw_exporter on /dev/rnic_sw_exporter. */
#ifndef RNIC_SW_EXPORTER_H
#define RNIC_SW_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORTER_MOVES		0x01	/* importers are notified of moves */
#define EXPORTER_NOT_MAPPED	0x02	/* cannot be mapped for the CPU */
#define EXPORTER_IOMEM		0x04	/* the mapping claims to be device memory */
#define EXPORTER_READ_ONLY	0x08	/* the file is read-only */
#define EXPORTER_SHADOW		0x10	/* CPU accesses use a copy between begin and end */
#define EXPORTER_SILENT		0x20	/* moves without notification unless pinned */
#define EXPORTER_PIN_MOVES	0x40	/* pinning moves the buffer first */
#define EXPORTER_NO_PIN		0x80	/* pinning fails */

struct exporter_new {
	__u32	pages;
	__u32	flags;
};

struct exporter_info {
	__s32	fd;		/* in: the buffer */
	__u32	attached;	/* present number of attachments */
	__u32	mapped;		/* present number of mappings for the CPU */
	__u32	begun;		/* present number of CPU accesses */
	__u32	begins;		/* number of CPU accesses so far */
	__u32	moves;		/* number of moves so far */
	__u32	pinned;		/* present number of pins */
	__u32	waiting;	/* present number of callers blocked by EXPORTER_HOLD */
};

enum exporter_hold { EXPORTER_FREE, EXPORTER_HOLD_BEGIN, EXPORTER_HOLD_MAP };

struct exporter_held {
	__s32	fd;
	__u32	how;		/* enum exporter_hold */
};

/* Create a buffer and return its file descriptor */
#define EXPORTER_NEW	_IOW('x', 1, struct exporter_new)
/*
 * Operations on the buffer that a file descriptor refers to.  EXPORTER_MOVE fails with EBUSY if the
 * buffer is mapped or pinned.
 */
#define EXPORTER_MOVE	_IOW('x', 2, __s32)
#define EXPORTER_REVOKE	_IOW('x', 3, __s32)
#define EXPORTER_INFO	_IOWR('x', 4, struct exporter_info)
/*
 * Block calls of begin_cpu_access() or of vmap(), until EXPORTER_FREE is set or all files of the
 * device are closed
 */
#define EXPORTER_HOLD	_IOW('x', 5, struct exporter_held)

#endif
