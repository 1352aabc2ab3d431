/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rate: measure the throughput of one queue pair (or TCP connection, or SCTP association) between
 * two processes of this machine during a given time. The passive process sleeps when it has nothing
 * to do, so that on one CPU it takes no time from the active one.
 */
#ifndef RATE_H
#define RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* Maximum number of ping rounds whose time is recorded */
#define ROUNDS	65536

/* Number of bytes at the end of a buffer, for the Read that ends a sequence of Writes */
#define SPARE	64

/* Length in bytes of the last ping: ends the passive end's loop */
#define FAREWELL	1

enum ends {
	BOTH_ENDS,
	ACTIVE_END,
	PASSIVE_END,
};

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
 * @signal: number of messages per signalled message
 * @spin: true: poll for pings; false: sleep
 * @reads: maximum of outstanding RDMA Reads (IRD and ORD)
 * @on_demand: register memory for on-demand paging
 * @skew: page offset of the passive end's buffer
 * @faults: drop the pages of a Read's sink before the Read is posted
 * @by_hand: connect by ibv_modify_qp() instead of rdma_cm
 * @port: port at which the passive end listens; 0: any
 * @ends: which ends of the queue pair this program runs
 * @recvs: depth of the receive queue
 * @warm: seconds of traffic before the measurement
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
	bool by_hand;
	uint16_t port;
	enum ends ends;
	double warm;
	double secs;
};

/**
 * struct shared - memory shared by both processes
 * @port: port at which the passive process listens, in network byte order
 * @addr: address of the passive process's buffer
 * @rkey: rkey of that buffer
 * @qpn: with @by_hand, numbers of the queue pairs of the passive and of the active process
 * @allowed: number of Sends for which the passive process has posted receives
 * @received: number of Sends received; bytes received for plain TCP and SCTP
 * @wanted: the passive process polls until it has received this number of Sends
 * @waiting: true if the active process sleeps until @allowed or @received grows
 * @credit: eventfd on which the active process sleeps while @waiting
 * @work: eventfd, signalled by the active process after a change of @wanted
 * @ready: eventfd, signalled when the passive process listens
 * @stop: eventfd, signalled at the end with the number of messages
 * @bad: true if the data received differ from the data sent
 */
struct shared {
	uint16_t port;
	uint64_t addr;
	uint32_t rkey;
	uint32_t qpn[2];
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
 * @time: current time (CLOCK_MONOTONIC), in seconds
 * @messages: number of messages completed
 * @busy: seconds for which CPUs were not idle, summed over all CPUs
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
 * @n: number of recorded rounds, at most ROUNDS
 * @seconds: time of each round
 */
struct rounds {
	uint32_t n;
	double seconds[ROUNDS];
};

/**
 * struct side - one end of a queue pair
 * @opt: what to measure
 * @sh: memory shared with the other end
 * @events: event channel of the connection manager
 * @caller: event of a connection request that arrived early, or NULL
 * @id: the connection
 * @comp: completion channel to sleep on
 * @cq: CQ of both queues
 * @mr: MR of @buf
 * @buf: @window bytes for messages, and SPARE more
 * @skew: page offset of @buf
 * @window: length of the part of @buf that messages use, see get_window_size()
 * @unacked: number of events of @cq not acknowledged yet
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

void shared_add_to_count(struct shared *sh, uint64_t *count, uint64_t n);
void shared_wait_for_count(struct shared *sh, const uint64_t *count, uint64_t least);

size_t get_window_size(const struct options *opt);
uint64_t get_slot_offset(const struct side *s, uint64_t message);
void fill_pattern(uint8_t *buf, size_t len);
bool has_pattern(const uint8_t *buf, size_t len);
bool has_filled_all_slots(const struct side *s, uint64_t messages);

void side_create_event_channel(struct side *s);
void side_wait_event(struct side *s, enum rdma_cm_event_type want);
void side_resolve(struct side *s);
void side_establish(struct side *s);
void side_listen(struct side *s, int backlog);
void side_wait_request(struct side *s);
void side_accept_request(struct side *s);
void side_connect(struct side *s);
void side_accept(struct side *s);
void side_destroy(struct side *s);
void move_to_init_by_modify_qp(struct side *s);
void connect_by_modify_qp(struct side *s, int own);
int side_poll_cq(struct side *s, struct ibv_wc *wc, int n);
void side_arm_cq(struct side *s);
void side_get_and_ack_cq_event(struct side *s);
void post_recvs(struct side *s, uint64_t first, uint32_t n);

void ping_send(struct side *s, uint64_t n, uint32_t octets);
uint32_t ping_wait(struct side *s);
uint64_t ping_until(struct side *s, uint64_t done, double end, struct rounds *r);
double rounds_sort_and_get_percentile(struct rounds *r, double share);
void ping_end(struct side *s, uint64_t done);
void answer_pings(struct side *s);

void record_mark(struct mark *m, pid_t peer);

void run_rdma_passive_side(const struct options *opt, struct shared *sh);
void run_rdma_active_side(const struct options *opt, struct shared *sh, pid_t peer,
			  struct mark *m, struct rounds *rounds);
void run_connects_passive_side(const struct options *opt, struct shared *sh);
void run_connects_active_side(const struct options *opt, struct shared *sh, pid_t peer,
			      struct mark *m);
void run_plain_socket_passive_side(const struct options *opt, struct shared *sh);
void run_plain_socket_active_side(const struct options *opt, struct shared *sh, pid_t peer,
				  struct mark *m);

#endif
