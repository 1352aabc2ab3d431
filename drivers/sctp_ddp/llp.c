// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Implementation of the interfaces in ddp/llp.h and ddp/session.h for SCTP. */
#include <linux/err.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * Schedule the worker. Only the worker sends, because sending over SCTP may sleep;
 * therefore sddp_llp_push() also only schedules the worker.
 */
static void sddp_llp_kick(struct ddp_llp *llp, bool bulk)
{
	sddp_stream_set_event(llp_to_stream(llp), SDDP_EV_TX);
}

static void sddp_llp_push(struct ddp_llp *llp)
{
	sddp_stream_set_event(llp_to_stream(llp), SDDP_EV_TX);
}

static bool sddp_llp_read(struct ddp_llp *llp, void *dst, u32 len)
{
	return sddp_src_read_next(llp_to_stream(llp)->a, dst, len);
}

static void sddp_llp_close(struct ddp_llp *llp, enum iw_reason why)
{
	sddp_stream_request_end(llp_to_stream(llp), why);
}

static void sddp_llp_unbind(struct ddp_llp *llp)
{
	sddp_stream_unbind(llp_to_stream(llp));
}

static void sddp_llp_resume(struct ddp_llp *llp)
{
	sddp_stream_set_event(llp_to_stream(llp), SDDP_EV_RX);
}

static const char *sddp_get_phase_name(const struct sddp_stream *st)
{
	const struct sddp_assoc *a = READ_ONCE(st->a);

	if (READ_ONCE(st->ended))
		return "ended";
	/* data_race(), because session.c, a pure file, writes the state without WRITE_ONCE() */
	if (data_race(READ_ONCE(st->s.state)) == SDDP_OPEN)
		return "full";
	return READ_ONCE(a->phase) == SDDP_UP ? "startup" : "connecting";
}

static void sddp_llp_query(struct ddp_llp *llp, struct ddp_query *q)
{
	struct sddp_stream *st = llp_to_stream(llp);

	q->llp = "sctp";
	q->phase = sddp_get_phase_name(st);
	q->stream = READ_ONCE(st->id);
	sddp_sock_query(READ_ONCE(st->a), q);
}

const struct ddp_llp_ops sddp_llp_ops = {
	.kick		= sddp_llp_kick,
	.push		= sddp_llp_push,
	.read		= sddp_llp_read,
	.close		= sddp_llp_close,
	.unbind		= sddp_llp_unbind,
	.resume		= sddp_llp_resume,
	.query		= sddp_llp_query,
};

/*
 * Allocate a control chunk with an offer. Return: the chunk; ERR_PTR(-EINVAL) if the
 * Private Data is too long, or IRD or ORD exceeds 14 bits; ERR_PTR(-ENOMEM) if memory is
 * short.
 */
static struct sddp_control *alloc_control_chunk(enum sddp_chunk_kind what,
						const struct ddp_offer *o)
{
	u32 room = SDDP_PD_MAX - (o->enhanced ? DDP_WORD_SIZE : 0);
	struct sddp_control *c;

	if (o->pd_len > room || (o->ird | o->ord) & ~DDP_WORD_DEPTH)
		return ERR_PTR(-EINVAL);
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->kind = what;
	c->offer = *o;
	return c;
}

static int sddp_llp_reserve_streams_and_begin(struct sddp_stream *st,
					      const struct ddp_connect *args)
{
	struct sddp_assoc *a = sddp_reserve_stream_pair(args, sddp_assoc_work,
							&st->id);
	int err;

	if (IS_ERR(a))
		return PTR_ERR(a);
	st->a = a;
	err = sddp_stream_begin(st, args->stream);
	if (err)
		sddp_unreserve_stream_pair(a, st->id);
	return err;
}

static struct ddp_session *sddp_connect(const struct ddp_connect *args,
					const struct ddp_session_user *user,
					void *ctx)
{
	struct sddp_stream *st = sddp_stream_new(user, ctx, true);
	struct sddp_control *initiate;
	int err;

	if (!st)
		return ERR_PTR(-ENOMEM);
	st->ss.local = *args->local;
	st->ss.remote = *args->remote;
	st->reported = true;
	/* take the ULP's reference */
	ddp_session_get(&st->ss);
	initiate = alloc_control_chunk(SDDP_KIND_INITIATE, args->offer);
	err = PTR_ERR_OR_ZERO(initiate);
	/*
	 * take a reference for this function, because the session may end before the
	 * function returns
	 */
	ddp_session_get(&st->ss);
	if (!err) {
		st->pending_control = initiate;
		err = sddp_llp_reserve_streams_and_begin(st, args);
	}
	if (err) {
		/* drop the references of the ULP and of the table */
		ddp_session_put(&st->ss);
		ddp_session_put(&st->ss);
	} else {
		sddp_stream_set_event(st, SDDP_EV_TX);
	}
	ddp_session_put(&st->ss);
	return err ? ERR_PTR(err) : &st->ss;
}

/*
 * Pass the ULP's reply to an Initiate to the worker: an Accept if @s is set, a Reject if
 * @s is NULL. The worker makes the reply enhanced if the Initiate was enhanced (RFC 6581
 * 7). Return: 0 or a negative errno.
 */
static int sddp_llp_queue_reply(struct sddp_stream *st, struct ddp_stream *s,
				const struct ddp_offer *o)
{
	struct sddp_control *c;
	int err;

	c = alloc_control_chunk(s ? SDDP_KIND_ACCEPT : SDDP_KIND_REJECT, o);
	if (IS_ERR(c))
		return PTR_ERR(c);
	err = sddp_stream_set_reply(st, c, s);
	if (err)
		kfree(c);
	else
		sddp_stream_set_event(st, SDDP_EV_TX);
	return err;
}

static int sddp_accept(struct ddp_session *ss, struct ddp_stream *s,
		       const struct ddp_offer *o)
{
	return sddp_llp_queue_reply(ss_to_stream(ss), s, o);
}

static int sddp_reject(struct ddp_session *ss, const struct ddp_offer *o)
{
	return sddp_llp_queue_reply(ss_to_stream(ss), NULL, o);
}

static int sddp_llp_bind(struct ddp_session *ss, struct ddp_stream *s)
{
	return sddp_stream_bind(ss_to_stream(ss), s);
}

static void sddp_set_owner(struct ddp_session *ss, const struct ddp_sock_owner *o)
{
	sddp_assoc_set_owner(ss_to_stream(ss)->a, o);
}

static void sddp_stop(struct ddp_session *ss, bool abort)
{
	sddp_stream_request_end(ss_to_stream(ss), abort ? IW_LOCAL_ABORT
						 : IW_LOCAL_CLOSE);
}

struct ddp_session_type sddp_session_type = {
	.name		= "sctp",
	.owner		= THIS_MODULE,
	.connect	= sddp_connect,
	.listen		= sddp_listen,
	.unlisten	= sddp_unlisten,
	.accept		= sddp_accept,
	.reject		= sddp_reject,
	.bind		= sddp_llp_bind,
	.set_owner	= sddp_set_owner,
	.stop		= sddp_stop,
	.release	= sddp_stream_release,
};
