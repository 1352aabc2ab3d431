/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Interface for setting up and ending streams over any lower layer (LLP).
 *
 * An LLP registers a session type by name, and rnic_sw looks the type up by
 * name, so rnic_sw does not depend on an LLP's module.
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
struct ddp_sock_owner;
struct ddp_listener;
struct ddp_stream;
struct net;

#define DDP_PATHS_MAX	4	/* maximum number of further interfaces for SCTP */
#define DDP_ANSWER_TIMEOUT	120	/* seconds in which the ULP must accept or reject */

/**
 * struct ddp_policy - settings of a device for its sessions
 * @revision: MPA revision 1 or 2; 0 means 2 with fallback to 1
 * @crc: true to request CRC
 * @markers: true to request the peer to insert markers
 * @streams: number of SCTP streams to request in each direction; 0 means the
 *	LLP's default
 * @paths: ifindex of each further interface whose addresses SCTP may use; 0
 *	after the last one
 */
struct ddp_policy {
	u8	revision;
	bool	crc;
	bool	markers;
	u16	streams;
	int	paths[DDP_PATHS_MAX];
};

/**
 * struct ddp_session_user - upcalls from an LLP to the user of sessions
 * @policy: fill in the settings for the session of a peer that has connected to
 *	@l. An LLP may use the settings given when @l was created instead.
 * @request: handle a peer's request for a session on @l. Returns 0 if the user
 *	has taken over one reference to @ss; the user must then call accept,
 *	reject or stop within DDP_ANSWER_TIMEOUT, or the LLP ends the session.
 *	Returns an error if the user refuses the request; the LLP then ends the
 *	session and keeps the reference.
 * @refused: count a connection setup on @l that ended before @request
 * @established: handle the agreement of both sides. Active side: @o is the
 *	peer's reply, and the LLP starts the stream given to connect when this
 *	upcall has returned. If it returns a reason other than IW_OK, the stream
 *	carries only the Terminate. Passive side: @o is NULL, and the LLP sends
 *	the reply after this upcall and before any segment. The LLP must make
 *	this upcall whatever the peer does, because a program that waits for it
 *	cannot be killed.
 * @peer_closed: handle a half-close: the peer will send no more. Called at most
 *	once, between @established and @closed.
 * @closed: handle the end of the session. Called exactly once for each session
 *	that @request has not refused. @o is the peer's reject, or NULL.
 *
 * An LLP calls these from a worker, and only through ddp_session_report_request() and
 * the other ddp_session_*() functions below. The upcalls may sleep, but must
 * not wait for a peer or a program.
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
 * struct ddp_session - one session, from its set-up to its end
 * @type: the LLP
 * @user: upcalls
 * @ctx: private to the user
 * @accepted: true if an accept has taken effect, so an established or closed
 *	upcall follows; set by the LLP before that upcall
 * @ref: reference count
 * @local: local address, valid from the request or established upcall on
 * @remote: the peer's address, valid from the request or established upcall on
 *
 * Embedded in the LLP's connection, which the release operation of @type frees.
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
 * struct ddp_listener - listener for sessions, embedded in the LLP's listener
 * @type: the LLP
 * @user: upcalls
 * @ctx: private to the user
 */
struct ddp_listener {
	const struct ddp_session_type	*type;
	const struct ddp_session_user	*user;
	void				*ctx;
};

/**
 * struct ddp_connect - arguments of ddp_session_type.connect
 * @net: network namespace
 * @ifindex: interface that has the address @local
 * @tos: type of service or traffic class for outgoing packets
 * @owner: task that connects; copied
 * @local: source address
 * @remote: destination address and port
 * @offer: IRD, ORD, RTR types and Private Data to send
 * @policy: settings of the device
 * @stream: stream that the LLP starts after the established upcall
 */
struct ddp_connect {
	struct net			*net;
	int				ifindex;
	u8				tos;
	const struct ddp_sock_owner	*owner;
	const struct sockaddr_storage	*local;
	const struct sockaddr_storage	*remote;
	const struct ddp_offer		*offer;
	const struct ddp_policy		*policy;
	struct ddp_stream		*stream;
};

/**
 * struct ddp_listen - arguments of ddp_session_type.listen
 * @net: network namespace
 * @ifindex: accept only requests to addresses of this interface
 * @vrf: ifindex of the VRF to listen in, or 0; set by the LLP
 * @backlog: maximum number of pending requests
 * @v6only: true if an IPv6 wildcard address does not include IPv4
 * @tos: type of service or traffic class for packets to the peers
 * @owner: task that listens; must be valid until the listener is ended
 * @local: address and port to listen on
 * @policy: settings of the device, for an LLP that does not use
 *	ddp_session_user.policy
 */
struct ddp_listen {
	struct net			*net;
	int				ifindex;
	int				vrf;
	int				backlog;
	bool				v6only;
	u8				tos;
	const struct ddp_sock_owner	*owner;
	const struct sockaddr_storage	*local;
	const struct ddp_policy		*policy;
};

/**
 * struct ddp_session_type - operations of a lower layer for sessions
 * @name: "mpa" or "sctp"
 * @owner: module of the LLP
 * @list: entry in the list of types, owned by the registry
 * @connect: start to set up a session. The LLP reports the result with the
 *	established or closed upcall. If an error pointer is returned, no upcall
 *	follows.
 * @listen: listen for requests; returns the listener or an error pointer
 * @unlisten: stop listening and free @l. On return no request upcall runs or
 *	will start. Sessions already passed to the user continue. Sleeps.
 * @accept: accept a request. If 0 is returned, the established or closed upcall
 *	follows, after a timeout of the LLP at the latest.
 * @reject: reject a request. If 0 is returned, the closed upcall follows, after
 *	a timeout of the LLP at the latest.
 * @stop: end a session, abortively if @abort is set, else gracefully. The
 *	closed upcall follows if it has not been made yet. Any context.
 * @release: free the session after its last reference is dropped
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

/* Make the upcalls of struct ddp_session_user */
void ddp_session_get_policy(struct ddp_listener *l, struct ddp_policy *p);
int ddp_session_report_request(struct ddp_listener *l, struct ddp_session *ss,
			       const struct ddp_offer *o);
void ddp_session_report_refused(struct ddp_listener *l, enum iw_reason why);
enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o);
void ddp_session_report_peer_closed(struct ddp_session *ss);
void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o);
/* Wait until no upcall runs, before the module of a user is unloaded */
void ddp_session_sync_upcalls(void);

int ddp_type_register(struct ddp_session_type *type);
void ddp_type_unregister(struct ddp_session_type *type);
/* Get a type by name, loading module iw-llp-NAME if necessary; may return NULL */
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
