// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Asynchronous events and counters of the device. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include "verbs.h"

#define ASYNC_MS	5000

struct seen {
	enum ibv_event_type	type;
	const void		*element;
};

/*
 * Events that one end has read for the other end, which may use the same context. They stay here
 * until the other end expects them.
 */
static struct seen kept[32];
static size_t nkept;

static bool poll_async_event(struct ibv_context *ctx, int ms, struct seen *s)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	/*
	 * cleared, because libibverbs sets only half of the pointer if an event
	 * has no object
	 */
	struct ibv_async_event ev = {};

	if (poll(&pfd, 1, ms) != 1)
		return false;
	CHECK(!ibv_get_async_event(ctx, &ev), "%m");
	s->type = ev.event_type;
	s->element = ev.element.qp;	/* element is a union, so this may be a CQ */
	ibv_ack_async_event(&ev);
	return true;
}

static bool take_kept_event(enum ibv_event_type type, const void *element)
{
	size_t i;

	for (i = 0; i < nkept; i++) {
		if (kept[i].type != type || kept[i].element != element)
			continue;
		kept[i] = kept[--nkept];
		return true;
	}
	return false;
}

void expect_async_event(struct ibv_context *ctx, enum ibv_event_type type,
			const void *element)
{
	struct seen s;

	while (!take_kept_event(type, element)) {
		if (!poll_async_event(ctx, scale_timeout(ASYNC_MS), &s)) {
			CHECK(!nkept, "async event %s, want %s",
			      ibv_event_type_str(kept[0].type),
			      ibv_event_type_str(type));
			CHECK(false, "no async event, want %s",
			      ibv_event_type_str(type));
		}
		CHECK(nkept < ARRAY_SIZE(kept), "too many async events");
		kept[nkept++] = s;
	}
}

void expect_no_async_event(struct ibv_context *ctx)
{
	struct seen s;

	wait_until_idle();
	CHECK(!nkept, "unexpected async event %s", ibv_event_type_str(kept[0].type));
	CHECK(!poll_async_event(ctx, 0, &s), "unexpected async event %s",
	      ibv_event_type_str(s.type));
}

/*
 * A mount of sysfs shows only the devices of the namespace in which it was
 * mounted.  Mount it again for @ns, in a mount namespace of this process.
 */
static FILE *open_sysfs_in_netns(const char *ns, const char *path)
{
	static bool apart;

	if (!ns)
		return NULL;
	if (apart)
		CHECK(!umount2("/sys", MNT_DETACH), "%m");
	else
		CHECK(!unshare(CLONE_NEWNS) &&
		      !mount("", "/", NULL, MS_REC | MS_SLAVE, NULL), "%m");
	apart = true;
	enter_netns(ns);
	CHECK(!mount("sysfs", "/sys", "sysfs", 0, NULL), "%m");
	enter_netns(NULL);
	return fopen(path, "r");
}

uint64_t read_counter(const struct end *e, const char *name)
{
	unsigned long long v;
	char path[256];
	FILE *f;

	/* the RDMA core caches counters for 10 ms */
	sleep_ms(25);
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(e->id->verbs->device), name);
	f = fopen(path, "r");
	if (!f)
		f = open_sysfs_in_netns(setting.server_ns, path);
	if (!f)
		f = open_sysfs_in_netns(setting.client_ns, path);
	CHECK(f, "%s: %m", path);
	CHECK(fscanf(f, "%llu", &v) == 1, "%s", path);
	fclose(f);
	return v;
}

void expect_counter_increase(const struct end *e, const char *name, uint64_t was,
			     uint64_t more)
{
	const uint64_t until = now_ms() + scale_timeout(WC_MS);
	unsigned long long now = read_counter(e, name);

	while (now < was + more && now_ms() < until)
		now = read_counter(e, name);
	CHECK(now == was + more, "%s went from %llu to %llu", name,
	      (unsigned long long)was, now);
}
