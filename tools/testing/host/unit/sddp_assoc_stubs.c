// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of the tests of an association, see sddp_assoc_kunit.c */
#include <linux/slab.h>

#include "sddp_assoc.h"

struct sddp_assoc_stubs stubs;

struct workqueue_struct *sddp_wq;
unsigned long jiffies;

bool host_queue_work(struct work_struct *w)
{
	bool before = stubs.queued;

	stubs.queued = true;
	return !before;
}

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	bool before;

	if (d == &stubs.a->idle) {
		stubs.armed = true;
		stubs.idle_timeout = jiffies + ms;
	}
	if (d != &stubs.a->retry)
		return false;
	before = stubs.waits;
	stubs.waits = true;
	stubs.due = jiffies + ms;
	return before;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	return !(d == &stubs.a->retry && stubs.waits) && !host_mod_delayed(d, ms);
}

void host_cancel_delayed(struct delayed_work *d)
{
	if (d == &stubs.a->idle)
		stubs.armed = false;
}

void ddp_sock_owner_copy(struct ddp_sock_owner *to, const struct ddp_sock_owner *from)
{
	*to = *from;
}

void ddp_sock_owner_init_from_sock(struct ddp_sock_owner *o, const struct socket *sock)
{
	*o = stubs.sock_owner;
}

void ddp_sock_set_owner(struct socket *sock, const struct ddp_sock_owner *owner)
{
	stubs.sock_owner = *owner;
}

bool ddp_sock_owner_equal(const struct ddp_sock_owner *a, const struct ddp_sock_owner *b)
{
	return a->cred == b->cred;
}

void ddp_sock_owner_exit(struct ddp_sock_owner *o) {}

/*
 * Run the worker as soon as a mutex is unlocked, if the test requests it: on
 * another CPU the worker may finish, and free memory, before the unlocking
 * context continues
 */
void host_on_mutex_unlock(struct mutex *m)
{
	struct sddp_assoc *a = container_of(m, struct sddp_assoc, mutex);

	if (!stubs.locks_at_once)
		return;
	stubs.locks_at_once = false;
	WRITE_ONCE(a->stop, true);
	stubs.queued = false;
	a->work.func(&a->work);
	stubs.left = host_allocations;
}

/* The socket -------------------------------------------------------------------- */

int sddp_sock_connect(struct sddp_assoc *a)
{
	return 0;
}

enum sddp_sock_state sddp_sock_get_state_and_adjust_limits(struct sddp_assoc *a, int *err)
{
	*err = stubs.sock_state == SDDP_SOCK_LOST ? -ECONNRESET : 0;
	return stubs.sock_state;
}

enum iw_reason sddp_sock_check_and_read_assoc(struct sddp_assoc *a)
{
	return stubs.wrong;
}

void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why)
{
	stubs.refused = why;
}

void sddp_sock_shutdown(struct sddp_assoc *a)
{
	stubs.shutdowns++;
}

bool sddp_sock_has_assoc_ended(struct sddp_assoc *a)
{
	return !stubs.unanswered;
}

void sddp_sock_release(struct sddp_assoc *a)
{
	stubs.released++;
}

int sddp_recv_chunks(struct sddp_assoc *a)
{
	stubs.received++;
	if (stubs.comes)
		atomic_inc(&a->live);
	stubs.comes = false;
	return stubs.more;
}

/* Without memory SCTP accepts no data, and does not report when there is memory again */
int sddp_tx_send_chunks(struct sddp_assoc *a)
{
	if (READ_ONCE(a->sndbuf_full))
		return 0;
	if (stubs.no_memory) {
		WRITE_ONCE(a->sndbuf_full, true);
		return -EAGAIN;
	}
	stubs.sent++;
	return stubs.again;
}

void sddp_sock_install_callbacks(struct sddp_assoc *a) {}

void sddp_tx_process_acks(struct sddp_assoc *a)
{
	stubs.acks++;
}

void sddp_tx_free_buf(struct sddp_assoc *a) {}

enum sddp_path_state sddp_path_act_on_stall(struct sddp_assoc *a)
{
	return SDDP_PATH_BUSY;
}

/* Other functions of iw_sctp_ddp, and DDP --------------------------------------- */

enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
{
	return otherwise;
}

bool sddp_assoc_table_unhash_if_idle(struct sddp_assoc *a)
{
	return a->phase == SDDP_UP && !atomic_read(&a->live);
}

struct sddp_assoc *sddp_assoc_table_pop(void)
{
	return NULL;
}

struct sddp_assoc *sddp_unaccepted_add_assoc(struct sddp_assoc *a)
{
	return NULL;
}

bool sddp_unaccepted_try_add_again(struct sddp_assoc *a)
{
	stubs.rejoined++;
	return !stubs.at_limit;
}

bool sddp_sock_try_shrink_buffers(struct sddp_assoc *a)
{
	stubs.shrunk += !stubs.holds;
	return !stubs.holds;
}

bool sddp_unaccepted_try_cancel_evict(struct sddp_assoc *a)
{
	return false;
}

enum iw_reason sddp_stream_get_shutdown_reason(const struct sddp_stream *st)
{
	return IW_PEER_CLOSED;
}

void sddp_assoc_table_add_unshared(struct sddp_assoc *a) {}
void sddp_assoc_table_del(struct sddp_assoc *a) {}
void sddp_unaccepted_remove(struct sddp_assoc *a) {}
void sddp_stream_handle_events(struct sddp_stream *st) {}
void sddp_stream_end_if_late(struct sddp_stream *st, bool more) {}
void sddp_stream_set_event(struct sddp_stream *st, enum sddp_event ev) {}
void sddp_stream_release(struct kref *ref) {}

void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o)
{
	WARN_ON(why != IW_PEER_CLOSED);
	stubs.ended++;
}

void sddp_stream_remove(struct sddp_stream *st)
{
	xa_erase(&stubs.a->streams, st->id);
}

void sddp_assoc_table_unhash(struct sddp_assoc *a)
{
	stubs.unhashed++;
}


struct ddp_session_type sddp_session_type = { .release = sddp_stream_release };
