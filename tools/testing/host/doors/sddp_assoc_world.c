// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of the tests of an association, see sddp_assoc_kunit.c */
#include <linux/slab.h>

#include "sddp_assoc.h"

struct sddp_assoc_world world;

struct workqueue_struct *sddp_wq;
unsigned long jiffies;

bool host_queue(struct work_struct *w)
{
	bool before = world.queued;

	world.queued = true;
	return !before;
}

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	bool before;

	if (d == &world.a->idle) {
		world.armed = true;
		world.look = jiffies + ms;
	}
	if (d != &world.a->retry)
		return false;
	before = world.waits;
	world.waits = true;
	world.due = jiffies + ms;
	return before;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	return !(d == &world.a->retry && world.waits) && !host_mod_delayed(d, ms);
}

void host_cancel_delayed(struct delayed_work *d)
{
	if (d == &world.a->idle)
		world.armed = false;
}

/*
 * After an unlock the worker may run and finish before the unlocking context
 * continues
 */
void host_unlocked(struct mutex *m)
{
	struct sddp_assoc *a = container_of(m, struct sddp_assoc, mutex);

	if (!world.hasty)
		return;
	world.hasty = false;
	WRITE_ONCE(a->stop, true);
	world.queued = false;
	a->work.func(&a->work);
	world.left = host_pieces;
}

/* The socket -------------------------------------------------------------------- */

int sddp_sock_connect(struct sddp_assoc *a)
{
	return 0;
}

enum sddp_fate sddp_sock_fate(struct sddp_assoc *a, int *err)
{
	*err = world.fate == SDDP_SOCK_LOST ? -ECONNRESET : 0;
	return world.fate;
}

enum iw_reason sddp_sock_up(struct sddp_assoc *a)
{
	return world.wrong;
}

void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why)
{
	world.refused = why;
}

void sddp_sock_release(struct sddp_assoc *a, bool abort)
{
	world.released++;
	world.aborted += abort;
}

int sddp_recv(struct sddp_assoc *a)
{
	world.received++;
	if (world.comes)
		atomic_inc(&a->live);
	world.comes = false;
	return world.more;
}

/* SCTP does not accept data, and does not report when it will */
int sddp_tx_run(struct sddp_assoc *a)
{
	if (READ_ONCE(a->full))
		return 0;
	if (world.no_memory) {
		WRITE_ONCE(a->full, true);
		return -EAGAIN;
	}
	world.sent++;
	return world.again;
}

void sddp_sock_attach(struct sddp_assoc *a) {}

void sddp_tx_acks(struct sddp_assoc *a)
{
	world.acks++;
}

void sddp_tx_rest(struct sddp_assoc *a) {}

enum sddp_path_state sddp_path_look(struct sddp_assoc *a)
{
	return SDDP_PATH_BUSY;
}

/* The rest of iw_sctp_ddp, and DDP ---------------------------------------------- */

enum iw_reason ddp_sock_reason(int err, enum iw_reason otherwise)
{
	return otherwise;
}

bool sddp_table_close_idle(struct sddp_assoc *a)
{
	return a->phase == SDDP_UP && !atomic_read(&a->live);
}

struct sddp_assoc *sddp_table_take(void)
{
	return NULL;
}

struct sddp_assoc *sddp_crowd_join(struct sddp_assoc *a)
{
	return NULL;
}

bool sddp_crowd_rejoin(struct sddp_assoc *a)
{
	world.rejoined++;
	return !world.full;
}

bool sddp_sock_shrink(struct sddp_assoc *a)
{
	world.shrunk += !world.holds;
	return !world.holds;
}

bool sddp_crowd_spare(struct sddp_assoc *a)
{
	return false;
}

enum iw_reason sddp_stream_shut(const struct sddp_stream *st)
{
	return IW_PEER_CLOSED;
}

void sddp_table_add(struct sddp_assoc *a) {}
void sddp_table_close(struct sddp_assoc *a) {}
void sddp_crowd_leave(struct sddp_assoc *a) {}
void sddp_stream_serve(struct sddp_stream *st) {}
void sddp_stream_late(struct sddp_stream *st, bool more) {}
void sddp_stream_event(struct sddp_stream *st, enum sddp_event ev) {}
void sddp_stream_release(struct kref *ref) {}

void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o)
{
	WARN_ON(why != IW_PEER_CLOSED);
	world.ended++;
}

void sddp_stream_drop(struct sddp_stream *st)
{
	xa_erase(&world.a->streams, st->id);
}

void sddp_table_leave_way(struct sddp_assoc *a)
{
	world.left_way++;
}


struct ddp_session_type sddp_session_type = { .release = sddp_stream_release };
