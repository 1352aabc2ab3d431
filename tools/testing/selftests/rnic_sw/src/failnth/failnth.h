/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Scenes of failnth.  A scene is a function that creates all objects that it needs, uses them, and
 * frees them.  If a call fails, the scene still frees its objects, and returns the errno.  Both
 * ends of its connection are in this process.
 */
#ifndef RNIC_SW_FAILNTH_H
#define RNIC_SW_FAILNTH_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Result of a scene that failed, but not with an errno */
#define WRONG	(-1)

/*
 * A scene. Return: 0; the errno of the call that failed; or WRONG if a call does not return or has
 * a wrong result, which has been printed
 */
typedef int scene_fn(void);

scene_fn run_verbs_scene, run_traffic_scene, run_reject_scene, run_drop_scene, run_modify_scene,
	 run_device_scene;

/* failnth_verbs.c: open the device iw0.  Return: NULL on failure */
struct ibv_context;
struct ibv_context *open_device(void);

/* Options of the program */
struct setting {
	const char	*addr;		/* address of the device */
	const char	*netdev;	/* network interface for another device */
};

extern struct setting setting;

/* Print a message about a wrong result. Return: WRONG */
int report_wrong_result(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
long now_ms(void);

/* Return: errno of the failed function, or EIO if it has not set errno */
static inline int get_errno(void)
{
	return errno ? errno : EIO;
}

/* Make a call that returns 0 (TRY) or a pointer (MADE) on success. Result: 0 or an errno */
#define TRY(call)	(errno = 0, (call) ? get_errno() : 0)
#define MADE(call)	(errno = 0, (call) ? 0 : get_errno())

/* failnth_link.c: do the same as the commands rdma link add and rdma link del */
int add_link(const char *dev, const char *netdev);
int delete_link(const char *dev);

#endif
