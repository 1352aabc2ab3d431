/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The door for set-up and tear-down: how streams come to be, whatever the
 * lower layer.  An LLP registers a type by name; rnic_sw asks for it by that
 * name and needs no LLP module to load.
 */
#ifndef _DDP_SESSION_H
#define _DDP_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <ddp/offer.h>
#include <ddp/reason.h>

struct ddp_session;
struct ddp_listener;
struct ddp_stream;
struct net;

#define DDP_PATHS_MAX	4
#define DDP_ANSWER_TIME	120	/* seconds that a request waits for its answer */

/**
 * struct ddp_policy - how a device wants its sessions
 * @revision: MPA revision 1 or 2; 0: 2 with fall-back to 1
 * @crc: ask for CRC
 * @markers: ask the peer to insert markers
 * @streams: SCTP streams to ask for, each way; 0: the LLP's own idea
 * @paths: further interfaces that SCTP may use the addresses of; 0 ends them
 */
struct ddp_policy {
	u8	revision;
	bool	crc;
	bool	markers;
	u16	streams;
	int	paths[DDP_PATHS_MAX];
};

/**
 * struct ddp_session_user - what the user of sessions supplies
 * @policy: a peer has come to @l: how is its session to be?  An LLP may go by what
 *	@l began with instead
 * @request: a peer asks for a session on @l.  The user keeps @ss (one
 *	reference is passed on) and answers later with accept, reject or stop.  If
 *	that takes longer than DDP_ANSWER_TIME, the LLP ends it.
 *	Nonzero: refused; the LLP ends it and keeps the reference.
 * @refused: a peer's start-up on @l ended before it became a request: for the
 *	statistics
 * @established: both sides agreed.  Active side: @o is the peer's reply, and
 *	the stream given to connect starts when this returns IW_OK; another
 *	reason starts it all the same, to carry the Terminate.  Passive side:
 *	@o is NULL, and the reply is sent next: the peer cannot know before, and
 *	no segment goes before it.  A program that waits for this cannot be
 *	killed: so it is told, whether or not the peer takes anything.
 * @peer_closed: the peer will send no more (half-close); at most once, between
 *	established and closed.
 * @closed: the session is over; once, always, unless request refused it.
 *	@o is the peer's reject, or NULL.
 *
 * All from a worker: may sleep, but not wait for a peer or a program.  They are
 * called through ddp_session_request() and the like, by nobody directly.
 */
struct ddp_session_user {
	void (*policy)(struct ddp_listener *l, struct ddp_policy *p);
	int (*request)(struct ddp_listener *l, struct ddp_session *ss,
		       const struct ddp_offer *o);
	void (*refused)(struct ddp_listener *l, enum iw_reason why);
	enum iw_reason (*established)(struct ddp_session *ss,
				      const struct ddp_offer *o);
	void (*peer_closed)(struct ddp_session *ss);
	void (*closed)(struct ddp_session *ss, enum iw_reason why,
		       const struct ddp_offer *o);
};

/**
 * struct ddp_session - one connection set-up and its life
 * @type: the LLP
 * @user: upcalls
 * @ctx: the user's
 * @accepted: an accept took effect: established or closed answers it; set by
 *	the LLP before either can run
 * @ref: holders
 * @local: own address, valid from request or established on
 * @remote: the peer's
 *
 * Embedded in the LLP's connection, which its type's release frees.
 */
struct ddp_session {
	const struct ddp_session_type	*type;
	const struct ddp_session_user	*user;
	void				*ctx;
	bool				accepted;
	struct kref			ref;
	struct sockaddr_storage		local;
	struct sockaddr_storage		remote;
};

/**
 * struct ddp_listener - embedded in the LLP's listener
 * @type: the LLP
 * @user: upcalls
 * @ctx: the user's
 */
struct ddp_listener {
	const struct ddp_session_type	*type;
	const struct ddp_session_user	*user;
	void				*ctx;
};

/**
 * struct ddp_connect - arguments of a connect
 * @net: network namespace
 * @ifindex: the interface that has @local
 * @tos: type of service, or traffic class, of what is sent
 * @local: address to come from
 * @remote: address to go to
 * @offer: start-up data
 * @policy: the device's wishes
 * @stream: the stream to start once established
 */
struct ddp_connect {
	struct net			*net;
	int				ifindex;
	u8				tos;
	const struct sockaddr_storage	*local;
	const struct sockaddr_storage	*remote;
	const struct ddp_offer		*offer;
	const struct ddp_policy		*policy;
	struct ddp_stream		*stream;
};

/**
 * struct ddp_listen - arguments of a listen
 * @net: network namespace
 * @ifindex: take only requests to addresses of this interface
 * @domain: the VRF to listen in, or 0: the LLP's to set
 * @backlog: requests that may wait for an answer
 * @v6only: an IPv6 wildcard does not mean IPv4 as well
 * @tos: type of service, or traffic class, of what is sent to the peers
 * @local: address and port
 * @policy: the device's wishes, if the LLP does not ask for them when a peer has come
 */
struct ddp_listen {
	struct net			*net;
	int				ifindex;
	int				domain;
	int				backlog;
	bool				v6only;
	u8				tos;
	const struct sockaddr_storage	*local;
	const struct ddp_policy		*policy;
};

/**
 * struct ddp_session_type - a lower layer, as set-up sees it
 * @name: "mpa" or "sctp"
 * @owner: its module
 * @list: of all types; the registry's
 * @connect: begin a session; the result comes by established or closed.
 *	Error pointer: no upcall will come.
 * @listen: take requests; an error pointer if that cannot be
 * @unlisten: no request upcall runs or starts after it; sessions already
 *	handed up are the user's.  Sleeps, frees @l.
 * @accept: answer a request; established or closed follows
 * @reject: answer it with no; closed follows.  For either answer the LLP has a
 *	deadline: that is met, whatever the peer does.
 * @stop: end it: gracefully, or abortively if @abort.  Any context.  closed
 *	follows if it has not been.
 * @release: last reference gone
 *
 * connect, listen, accept and reject are called from process context.
 */
struct ddp_session_type {
	const char	*name;
	struct module	*owner;
	struct list_head list;

	struct ddp_session *(*connect)(const struct ddp_connect *c,
				       const struct ddp_session_user *user,
				       void *ctx);
	struct ddp_listener *(*listen)(const struct ddp_listen *l,
				       const struct ddp_session_user *user,
				       void *ctx);
	void (*unlisten)(struct ddp_listener *l);
	int (*accept)(struct ddp_session *ss, struct ddp_stream *s,
		      const struct ddp_offer *o);
	int (*reject)(struct ddp_session *ss, const struct ddp_offer *o);
	void (*stop)(struct ddp_session *ss, bool abort);
	void (*release)(struct kref *ref);
};

/* Upcalls */
void ddp_session_policy(struct ddp_listener *l, struct ddp_policy *p);
int ddp_session_request(struct ddp_listener *l, struct ddp_session *ss,
			const struct ddp_offer *o);
void ddp_session_refused(struct ddp_listener *l, enum iw_reason why);
enum iw_reason ddp_session_established(struct ddp_session *ss,
				       const struct ddp_offer *o);
void ddp_session_peer_closed(struct ddp_session *ss);
void ddp_session_closed(struct ddp_session *ss, enum iw_reason why,
			const struct ddp_offer *o);
/* At unload of who supplies them: no code of theirs runs any more */
void ddp_session_user_gone(void);

int ddp_type_register(struct ddp_session_type *type);
void ddp_type_unregister(struct ddp_session_type *type);
/* By name, loading the module iw-llp-NAME if need be; NULL if there is none */
const struct ddp_session_type *ddp_type_get(const char *name);
const struct ddp_session_type *ddp_type_get_by_program(const char *name,
						       int protocol);
void ddp_type_put(const struct ddp_session_type *type);

static inline void ddp_session_get(struct ddp_session *ss)
{
	kref_get(&ss->ref);
}

static inline void ddp_session_put(struct ddp_session *ss)
{
	kref_put(&ss->ref, ss->type->release);
}

#endif
