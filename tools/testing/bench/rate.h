/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rate: throughput of one queue pair (or TCP connection, or SCTP association)
 * between two processes of this machine during a given time.  The passive
 * process sleeps when it has nothing to do, so that on one CPU it takes no time
 * from the active one.
 */
#ifndef RATE_H
#define RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* Maximum number of ping rounds whose time is recorded */
#define ROUNDS	65536

/* Bytes for the Read that ends a sequence of Writes */
#define SPARE	64

/* Length in bytes of the last ping */
#define FAREWELL	1

enum op {
	OP_WRITE,
	OP_SEND,
	OP_READ,
	OP_PING,
	OP_CALL,
	OP_TCP,
	OP_SCTP,
};

/**
 * struct options - what to measure
 * @addr: address of the RDMA device's interface (of any interface, for plain
 * TCP or SCTP)
 * @op: operation
 * @size: size of a message in bytes
 * @list: messages per post
 * @depth: maximum number of messages posted and not completed
 * @signal: every so many messages are signalled
 * @spin: wait for pings by polling, without sleeping
 * @reads: outstanding RDMA Reads requested (IRD, ORD)
 * @on_demand: register memory for on-demand paging
 * @skew: page offset of the passive end's buffer
 * @faults: drop the pages of a Read's sink before it is posted
 * @recvs: depth of the receive queue, for Sends
 * @warm: seconds before the measurement
 * @secs: seconds of the measurement
 */
struct options {
	const char *addr;
	enum op op;
	uint32_t size;
	uint32_t list;
	uint32_t depth;
	uint32_t signal;
	bool spin;
	uint32_t reads;
	uint32_t recvs;
	bool on_demand;
	uint32_t skew;
	bool faults;
	double warm;
	double secs;
};

/**
 * struct shared - memory shared by both processes
 * @port: port at which the passive process listens
 * @addr: address of its buffer
 * @rkey: rkey of its buffer
 * @allowed: number of Sends for which it has posted receives so far
 * @received: number of Sends (plain: bytes) received so far
 * @wanted: number of Sends for which it has to wait
 * @waiting: the active process sleeps on @credit until one of the above changes
 * @credit: eventfd for that
 * @work: eventfd, signalled after a change of @wanted
 * @ready: eventfd, signalled when the passive process listens
 * @stop: eventfd, signalled at the end
 * @bad: the data that arrived differ from those sent
 */
struct shared {
	uint16_t port;
	uint64_t addr;
	uint32_t rkey;
	uint64_t allowed;
	uint64_t received;
	uint64_t wanted;
	uint32_t waiting;
	int credit;
	int work;
	int ready;
	int stop;
	bool bad;
};

/**
 * struct mark - counters at one moment
 * @time: in seconds
 * @messages: number of messages completed
 * @busy: seconds that CPUs were not idle, sum of all CPUs
 * @switches: voluntary context switches of both processes
 * @frames: frames sent on the loopback interface
 * @segments: segments sent by TCP
 */
struct mark {
	double time;
	uint64_t messages;
	double busy;
	uint64_t switches;
	uint64_t frames;
	uint64_t segments;
};

/**
 * struct rounds - times of ping rounds
 * @n: number of rounds
 * @seconds: time of each
 */
struct rounds {
	uint32_t n;
	double seconds[ROUNDS];
};

/**
 * struct side - one end of a queue pair
 * @opt: what to measure
 * @sh: shared with the other end
 * @events: event channel of the connection manager
 * @caller: early connection request, or NULL
 * @id: the connection
 * @comp: completion channel to sleep on
 * @cq: for sends and receives
 * @mr: memory region of @buf
 * @buf: @window bytes for messages, and SPARE more
 * @skew: page offset of @buf
 * @window: see window_of()
 * @unacked: events of @cq that are not acknowledged yet
 */
struct side {
	const struct options *opt;
	struct shared *sh;
	struct rdma_event_channel *events;
	struct rdma_cm_event *caller;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t skew;
	size_t window;
	uint32_t unacked;
};

_Noreturn void die(const char *what);
double now(void);

void shared_add(struct shared *sh, uint64_t *count, uint64_t n);
void shared_wait(struct shared *sh, const uint64_t *count, uint64_t least);

size_t window_of(const struct options *opt);
uint64_t slot_of(const struct side *s, uint64_t message);
void fill_pattern(uint8_t *buf, size_t len);
bool has_pattern(const uint8_t *buf, size_t len);
bool enough_to_check(const struct side *s, uint64_t messages);

void side_events(struct side *s);
void side_expect(struct side *s, enum rdma_cm_event_type want);
void side_resolve(struct side *s);
void side_establish(struct side *s);
void side_listen(struct side *s, int backlog);
void side_called(struct side *s);
void side_answer(struct side *s);
void side_connect(struct side *s);
void side_accept(struct side *s);
void side_end(struct side *s);
int side_poll(struct side *s, struct ibv_wc *wc, int n);
void side_arm(struct side *s);
void side_take_event(struct side *s);
void post_recvs(struct side *s, uint64_t first, uint32_t n);

void ping_send(struct side *s, uint64_t n, uint32_t octets);
uint32_t ping_wait(struct side *s);
uint64_t ping_until(struct side *s, uint64_t done, double end, struct rounds *r);
double rounds_within(struct rounds *r, double share);
void ping_end(struct side *s, uint64_t done);
void pong(struct side *s);

void take_mark(struct mark *m, pid_t peer);

void passive_rdma(const struct options *opt, struct shared *sh);
void active_rdma(const struct options *opt, struct shared *sh, pid_t peer,
		 struct mark *m, struct rounds *rounds);
void passive_calls(const struct options *opt, struct shared *sh);
void active_calls(const struct options *opt, struct shared *sh, pid_t peer,
		  struct mark *m);
void passive_bare(const struct options *opt, struct shared *sh);
void active_bare(const struct options *opt, struct shared *sh, pid_t peer,
		struct mark *m);

#endif
