/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A scene begins with nothing, leaves nothing behind, and takes what fails in
 * it: then it says why.  Both ends of its connection are this process.
 */
#ifndef RNIC_SW_FAILNTH_H
#define RNIC_SW_FAILNTH_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Of a scene: it failed, and not with an errno */
#define WRONG	(-1)

/*
 * Return: 0; the errno that it failed with; or WRONG: something hangs, or is
 * not as it should be, and that has been said.
 */
typedef int scene_fn(void);

scene_fn scene_verbs, scene_traffic, scene_reject, scene_drop, scene_device;

/* What the program was told */
struct setting {
	const char	*addr;		/* the device's */
	const char	*netdev;	/* to make a device on */
};

extern struct setting setting;

/* Says what is wrong; returns WRONG */
int wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
long now_ms(void);

/* errno, of a function that sets it, or says nothing */
static inline int failure(void)
{
	return errno ? errno : EIO;
}

#define TRY(call)	(errno = 0, (call) ? failure() : 0)
#define MADE(call)	(errno = 0, (call) ? 0 : failure())

/* failnth_link.c: rdma link add, rdma link del */
int link_add(const char *dev, const char *netdev);
int link_del(const char *dev);

#endif
