/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rate: one queue pair (or TCP connection, or SCTP association) between two
 * processes of this machine, as fast as it goes for a given time.  The passive
 * process sleeps whenever it has nothing to do, so that on one CPU it takes
 * nothing from the active one.
 */
#ifndef RATE_H
#define RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* Of these the length is kept, for pings */
#define ROUNDS	65536

/* For the Read that ends a run of Writes */
#define SPARE	64

/* A ping of this many octets is the last one */
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
 * struct options - what is measured
 * @addr: address of the RDMA device's interface (of any, for bare TCP or SCTP)
 * @op: what with
 * @size: octets of a message
 * @list: messages of a post
 * @depth: messages posted and not completed, at most
 * @signal: every so many messages are signalled
 * @spin: who waits for a ping looks again and again
 * @reads: outstanding RDMA Reads asked for (IRD, ORD)
 * @on_demand: memory is registered without being pinned
 * @skew: where in a page the passive one's buffer begins
 * @faults: the pages of a Read's sink are given up before it is posted
 * @recvs: depth of the receive queue, for sends
 * @warm: seconds before the measured time
 * @secs: seconds that are measured
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
 * struct shared - memory of both processes
 * @port: where the passive one listens
 * @addr: of its buffer
 * @rkey: of its buffer
 * @allowed: sends that it has posted receives for, ever
 * @received: sends (bare: octets) that it has seen, ever
 * @wanted: sends that it is to wait for
 * @waiting: the active one sleeps on @credit until one of the above moves
 * @credit: eventfd
 * @work: eventfd, when @wanted has moved
 * @ready: eventfd, once it listens
 * @stop: eventfd, when it is to end
 * @bad: what arrived is not what was sent
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
 * @time: seconds
 * @messages: done
 * @busy: seconds that all CPUs together were not idle
 * @switches: voluntary context switches of both processes
 * @frames: that passed the loopback interface
 * @segments: that TCP sent
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
 * struct rounds - what pings took
 * @n: of them
 * @seconds: each
 */
struct rounds {
	uint32_t n;
	double seconds[ROUNDS];
};

/**
 * struct side - one end of a queue pair
 * @opt: what is measured
 * @sh: shared with the other end
 * @events: of the connection manager
 * @id: the connection
 * @comp: where to sleep
 * @cq: for everything
 * @mr: of @buf
 * @buf: @window octets that messages go from and to, and SPARE more
 * @window: see window_of()
 * @unacked: events of @cq
 */
struct side {
	const struct options *opt;
	struct shared *sh;
	struct rdma_event_channel *events;
	struct rdma_cm_event *caller;	/* who came before his turn, or NULL */
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
