/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Set-up and end of connections over any lower layer (LLP).
 *
 * Each LLP registers a session type, and rnic_sw looks up the type by its name.
 * So the module rnic_sw does not depend on the module of an LLP.
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

#define DDP_PATHS_MAX	4	/* maximum number of interfaces in ddp_policy.paths */
#define DDP_ANSWER_TIMEOUT	120	/* seconds within which the ULP must reply to a request */

/**
 * struct ddp_policy - settings of a device for its sessions
 * @revision: MPA revision 1 or 2; 0 means 2 with fallback to 1
 * @crc: true to request CRCs from the peer
 * @markers: true to request the peer to insert markers
 * @streams: number of SCTP streams to request in each direction; 0 for the
 *	LLP's default
 * @paths: ifindex of each other interface whose addresses SCTP may use; 0 after
 *	the last one
 */
struct ddp_policy {
	u8	revision;
	bool	crc;
	bool	markers;
	u16	streams;
	int	paths[DDP_PATHS_MAX];
};

/**
 * struct ddp_session_user - upcalls from an LLP to the ULP
 * @policy: fill in the settings for a peer that has connected to @l. An LLP
 *	may instead use the settings in ddp_listen.policy.
 * @request: handle a peer's request for a session on @l. Returns 0 if the ULP
 *	takes over one reference to @ss; the ULP must then call accept, reject
 *	or stop within DDP_ANSWER_TIMEOUT, or else the LLP ends the session.
 *	Returns a negative errno if the ULP refuses the request; the LLP then
 *	ends the session and keeps the reference.
 * @refused: count a connection setup on @l that failed before the ULP took over a session:
 *	before @request, or because @request has refused it
 * @established: handle the success of start-up. Active side: @o is the peer's
 *	reply. After this upcall the LLP starts the stream given to connect.
 *	If the upcall returns another value than IW_OK, the stream carries only
 *	a Terminate. Passive side: @o is NULL, and the LLP makes this upcall
 *	after accept, before it sends the reply or any segment. A program that
 *	has called accept waits for this upcall or @closed and cannot be killed
 *	meanwhile. So the LLP must make one of the two upcalls, whatever the
 *	peer does.
 * @peer_closed: handle a half-close: the peer will send no more data. Called at
 *	most once, between @established and @closed.
 * @closed: handle the end of the session. Called exactly once, unless @request
 *	has refused the session. @o is the content of the peer's reject, or
 *	NULL.
 *
 * An LLP makes these upcalls in a worker: @policy, @request and @refused through
 * the ddp_port_*() functions in ddp/port.h, and the others through the
 * ddp_session_report_*() functions below. An upcall may sleep, but must not wait
 * for a peer or a program.
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
 * struct ddp_session - one connection, from its set-up to its end
 * @type: the LLP
 * @user: upcalls
 * @ctx: private to the user
 * @accepted: true if accept has succeeded, so that the established or closed
 *	upcall will follow; set by the LLP before that upcall
 * @ref: reference count
 * @local: local address; valid in and after the request or established upcall
 * @remote: the peer's address; valid in and after the request or established
 *	upcall
 *
 * Embedded in the LLP's connection, which @type->release frees.
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
 * struct ddp_listener - listener, embedded in the LLP's own structure
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
 * @stream: stream that the LLP starts after the established upcall; NULL if the ULP calls
 *	ddp_session_type.bind in that upcall. A stream can be bound only once, so a ULP that
 *	may have to connect again after a failure binds the stream late.
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
 * @ifindex: interface of the device; only requests to addresses that the device may serve are
 *	accepted, see ddp_may_serve_iface()
 * @vrf: ifindex of the VRF to listen in, or 0; set by the LLP
 * @backlog: maximum number of pending requests
 * @v6only: true if an IPv6 wildcard address does not include IPv4 addresses
 * @tos: type of service or traffic class for packets to the peers
 * @order: sequence number of the listener among the listeners of all devices; a later listener has
 *	a larger number. If several listeners on the same wildcard address could serve a local
 *	address, the one with the smallest number serves it, because rdma_cm chooses its device.
 * @owner: task that listens; must be valid until the listener is ended
 * @local: address and port to listen on
 * @policy: settings of the device, for an LLP that does not call
 *	ddp_session_user.policy
 */
struct ddp_listen {
	struct net			*net;
	int				ifindex;
	int				vrf;
	int				backlog;
	bool				v6only;
	u8				tos;
	u64				order;
	const struct ddp_sock_owner	*owner;
	const struct sockaddr_storage	*local;
	const struct ddp_policy		*policy;
};

/**
 * struct ddp_session_type - operations of a lower layer for sessions
 * @name: "mpa" or "sctp"
 * @owner: module of the LLP; ULPs that use the type hold a reference to it
 * @list: entry in the list of types, owned by the registry
 * @connect: start to set up a session. The LLP reports the result with the
 *	established or closed upcall, unless @connect returns an error pointer.
 * @listen: listen for requests; returns the listener or an error pointer
 * @unlisten: stop listening and free the listener. On return no request upcall
 *	runs or will start. Sessions that the ULP has taken over continue.
 *	Sleeps.
 * @accept: accept a request. If it returns 0, the established or closed upcall
 *	follows, at the latest when a timeout of the LLP expires.
 * @reject: reject a request. If it returns 0, the closed upcall follows, at the
 *	latest when a timeout of the LLP expires.
 * @bind: bind @s to a session for which ddp_connect.stream was NULL. Called only in the
 *	established upcall. Returns 0, or an errno of ddp_stream_bind(), after which the LLP
 *	ends the session.
 * @set_owner: make @o the owner of the socket of a session that a peer has requested, so that
 *	firewalls and control groups treat further packets like those of @o. Called before @accept,
 *	if the task that accepts is not the task that listens. If sessions of several owners share
 *	the socket, the task that listens owns it. May sleep.
 * @stop: end a session, abortively if @abort is set, else gracefully. The
 *	closed upcall follows, unless it has been made before. Any context.
 * @release: free the session; called when its last reference is dropped
 *
 * @connect, @listen, @accept and @reject are called in process context.
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
	int (*bind)(struct ddp_session *ss, struct ddp_stream *s);
	void (*set_owner)(struct ddp_session *ss, const struct ddp_sock_owner *o);
	void (*stop)(struct ddp_session *ss, bool abort);
	void (*release)(struct kref *ref);
};

/* Make the upcalls of struct ddp_session_user; only iw_ddp calls the first three functions */
void ddp_listener_get_policy(struct ddp_listener *l, struct ddp_policy *p);
int ddp_session_report_request(struct ddp_listener *l, struct ddp_session *ss,
			       const struct ddp_offer *o);
void ddp_session_report_refused(struct ddp_listener *l, enum iw_reason why);
enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o);
void ddp_session_report_peer_closed(struct ddp_session *ss);
void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o);
/* Wait until no upcall runs; called before the ULP's module is unloaded */
void ddp_session_sync_upcalls(void);

int ddp_session_type_register(struct ddp_session_type *type);
void ddp_session_type_unregister(struct ddp_session_type *type);
/* Get a type by name, and load module iw-llp-NAME if necessary; NULL if not available */
const struct ddp_session_type *ddp_session_type_get(const char *name);
const struct ddp_session_type *ddp_session_type_get_for_current(const char *name,
								int protocol);
void ddp_session_type_put(const struct ddp_session_type *type);

static inline void ddp_session_get(struct ddp_session *ss)
{
	kref_get(&ss->ref);
}

static inline void ddp_session_put(struct ddp_session *ss)
{
	kref_put(&ss->ref, ss->type->release);
}

#endif
