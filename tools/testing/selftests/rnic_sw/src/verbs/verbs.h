/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Test cases for the verbs API.  One program has both ends of a connection.
 *
 *	+-- this process ------------------------------------------+
 *	|  client c  --rdma_cm, TCP-->  server s                   |
 *	|  its QP, CQs, PD              its QP, CQs, PD            |
 *	+----------------------------------------------------------+
 *
 * Both ends use one device through one of its addresses, or two devices in two network namespaces.
 * Each case runs in a separate process.  A case passes if its function returns.  A failed CHECK()
 * prints its location and exits, and the kernel then has to clean up.
 */
#ifndef RNIC_SW_VERBS_H
#define RNIC_SW_VERBS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

enum { PASS = 0, FAIL = 1, SKIP = 4 };	/* exit codes of kselftest */

/* End the case with a message if @cond does not hold */
#define CHECK(cond, ...) do {					\
	if (!(cond))						\
		give_up(__FILE__, __LINE__, #cond, __VA_ARGS__);\
} while (0)

void give_up(const char *file, int line, const char *what, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 4, 5)));
void skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* Return: the number of rounds to do: @n, or a quarter of @n on a slow machine */
uint32_t scale_rounds(uint32_t n);
/* Check whether the environment selects SCTP as the lower layer */
bool is_over_sctp(void);
/* Return: a timeout in the unit of @n: @n, or four times as much on a slow machine */
uint32_t scale_timeout(uint32_t n);
/* Usual timeout in ms, for scale_timeout(); long enough for a busy host */
#define WC_MS	10000
uint64_t now_ms(void);
/* Check whether the running kernel is older than version @major.@minor */
bool is_kernel_before(int major, int minor);

/* Cases ------------------------------------------------------------------- */

struct test {
	const char	*name;
	void		(*run)(void);
	unsigned int	seconds;	/* time limit; 0: USUAL_SECONDS */
	const char	*shows;		/* IDs in requirements.tsv that the case tests */
	bool		asked;		/* runs only if the command line names it */
};

#define CASE(n, f, s, r)	{ .name = n, .run = f, .seconds = s, .shows = r }

extern const struct test buf_tests[], data_tests[], order_tests[];
extern const struct test post_tests[], cq_tests[], remote_tests[];
extern const struct test local_tests[], mr_tests[], conn_tests[];
extern const struct test flush_tests[], rough_tests[], rings_tests[], pack_tests[];
extern const struct test doorbell_tests[];
extern const struct test reset_tests[];
extern const struct test stream_tests[], srq_tests[], mw_tests[];
extern const struct test atomic_tests[], imm_tests[], abi_tests[];
extern const struct test owner_tests[], limit_tests[], charge_tests[], race_tests[];
extern const struct test cost_tests[], show_tests[], pace_tests[];
extern const struct test odp_mr_tests[], odp_away_tests[], odp_wrong_tests[];
extern const struct test dmabuf_tests[], dmabuf_ends_tests[];
extern const struct test odp_stuck_tests[], odp_ends_tests[], odp_storm_tests[];
extern const struct test odp_under_tests[], coalesce_tests[];
extern const struct test comp_tests[], comp_race_tests[], newer_tests[];

/* Options of the program */
struct setting {
	const char	*addr;		/* address of the server */
	const char	*server_ns;	/* name below /run/netns, or NULL: the current one */
	const char	*client_ns;
	const char	*addr6;		/* an IPv6 address, or NULL */
	unsigned int	mib;		/* MiB that each stream case transfers */
	bool		on_demand;	/* register each struct buf for on-demand paging */
};

extern struct setting setting;

/* Memory (verbs_buf.c) ---------------------------------------------------- */

/*
 * Memory of @len bytes at the odd address @at, between guard areas.  The expected value of a byte
 * depends on a seed and on its position.
 */
struct buf {
	uint8_t		*at;
	size_t		len;
	uint8_t		*map;
	size_t		map_len;
	struct ibv_mr	*mr;		/* covers exactly @at and @len */
};

#define RIGHTS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_WRITE)

void buf_create(struct buf *b, size_t len);
void buf_reg(struct buf *b, struct ibv_pd *pd, int access);
int add_odp_access_if_set(int access);		/* adds on-demand paging if setting.on_demand */
void buf_free(struct buf *b);
/* Fill the buffer with a pattern that buf_fill() never writes */
void buf_clear(struct buf *b);
void buf_fill(struct buf *b, size_t off, size_t len, uint32_t seed);
/* Check that bytes [off, off + len) are the pattern of @seed, counted from @off */
void buf_expect_pattern(const struct buf *b, size_t off, size_t len, uint32_t seed);
void buf_expect_clear(const struct buf *b, size_t off, size_t len);
/* Like buf_expect_pattern(), and check that the rest of the buffer and its guards are unchanged */
void buf_expect_only_pattern(const struct buf *b, size_t off, size_t len, uint32_t seed);
void buf_check_guards(const struct buf *b);
size_t get_page_size(void);
uint8_t compute_pattern_byte(uint32_t seed, size_t i);
uint32_t get_random_below(uint32_t n);	/* pseudo-random; each run gives the same sequence */

/* Connections (verbs_pair.c) ---------------------------------------------- */

/*
 * Move the calling thread to network namespace @ns, or back to its first namespace if @ns is NULL
 */
void enter_netns(const char *ns);

/* Attributes of a connection; 0 or NULL: the default */
struct opts {
	uint32_t	sq, rq;		/* depths */
	uint32_t	ssge, rsge;
	uint32_t	inl;
	uint32_t	cqe;		/* size of each CQ */
	uint32_t	srq;		/* depth of the server's SRQ; 0: no SRQ */
	bool		sig_all;
	bool		events;		/* CQs get a completion channel */
	bool		cq_ex;
	uint64_t	send_ops;	/* IBV_QP_EX_WITH_*, for a QP with ibv_wr_*() */
	uint8_t		ird, ord;	/* IRD and ORD of the client */
	uint8_t		s_ird, s_ord;	/* those of the server; default: as the client */
	const char	*addr;		/* address to connect to; default: setting.addr */
	const char	*at;		/* address to listen at; default: @addr */
	bool		v6only;		/* the listener accepts IPv6 connections only */
	const void	*hello;		/* Private Data of the request */
	uint8_t		hello_len;
	const void	*welcome;	/* Private Data of the reply */
	uint8_t		welcome_len;
};

struct end {
	struct rdma_event_channel *ch;
	struct rdma_cm_id	*id;
	struct ibv_pd		*pd;
	struct ibv_comp_channel	*cc;
	struct ibv_cq		*scq, *rcq;
	struct ibv_srq		*srq;
	struct ibv_qp		*qp;
	bool			lent;	/* true if PD, CQs and SRQ belong to another end */
};

struct pair {
	struct opts		o;
	struct rdma_event_channel *lch;
	struct rdma_cm_id	*listen;
	struct end		c, s;
	struct rdma_cm_event	ev;	/* last event, which is already acknowledged */
	uint8_t			said[256];	/* Private Data of @ev */
};

void pair_open(struct pair *p, const struct opts *o);
/* Open another connection that uses the PDs, CQs and SRQ of @like */
void pair_open_like(struct pair *p, const struct pair *like);
/* Steps of pair_open(): listen and resolve; connect and get the request; accept the request */
void pair_prepare(struct pair *p, const struct opts *o);
void pair_request(struct pair *p);
void pair_accept(struct pair *p);
void pair_connect_async(struct pair *p);
void pair_create_qp(struct pair *p, struct end *e);
void parse_addr(const char *text, struct sockaddr_storage *sa);
void pair_expect_event(struct pair *p, struct rdma_event_channel *ch,
		       enum rdma_cm_event_type type);
void pair_disconnect(struct pair *p);	/* waits for the event at both ends */
void pair_free(struct pair *p);		/* in any state */
void pair_close(struct pair *p);	/* pair_disconnect(), then pair_free() */
/*
 * Open a connection, send a message in each direction, and close it.  After this all effects of
 * earlier operations are visible, however slow the machine is; no effect can appear later.
 */
void wait_until_idle(void);
int query_qp_state(const struct end *e);
void move_to_error(struct end *e);

/* A connection and a buffer at each end, registered with RIGHTS_ALL */
struct fixture {
	struct pair	p;
	struct buf	c, s;
};

void fixture_open(struct fixture *d, const struct opts *o, size_t len);
void fixture_close(struct fixture *d);
void fixture_free(struct fixture *d);		/* if the connection has already ended */

/* Work (verbs_work.c) ----------------------------------------------------- */

/* A work request with at most one SGE */
struct job {
	uint64_t		id;
	enum ibv_wr_opcode	op;
	unsigned int		flags;	/* IBV_SEND_* */
	const struct buf	*b;
	size_t			off;
	uint32_t		len;
	uint64_t		raddr;
	uint32_t		rkey;
};

#define SIG	IBV_SEND_SIGNALED

int try_post_job(const struct end *e, const struct job *j);
void post_job(const struct end *e, const struct job *j);
void post_send(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	       uint32_t len);
void post_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	       uint32_t len);
int try_post_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
		  uint32_t len);

/* Wait for the next completion; fail after WC_MS */
struct ibv_wc wait_next_wc(struct ibv_cq *cq);
void expect_success(struct ibv_cq *cq, uint64_t id, enum ibv_wc_opcode op);
void expect_recv(struct ibv_cq *cq, uint64_t id, uint32_t len);
void expect_status(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status);
void expect_no_completion(struct ibv_cq *cq);	/* check: none after wait_until_idle() */
void expect_no_completion_now(struct ibv_cq *cq);	/* check: no completion now */
void sleep_ms(unsigned int ms);

/* Atomics (verbs_atomic.c) ------------------------------------------------- */

/*
 * An atomic operation: its target is a word in the peer's memory, and its result is stored in a
 * word of @sink
 */
struct atom {
	uint64_t		id;
	enum ibv_wr_opcode	op;
	unsigned int		flags;
	uint64_t		value;		/* value to add, or to compare with */
	uint64_t		swap;
	const struct buf	*sink, *target;
	uint32_t		at, to;		/* word indexes in @sink and @target */
	int			skew;		/* bytes added to the target's address */
};

/*
 * Return: the address of word number @n of a buffer, aligned to 8 bytes. The buffer itself starts at
 * an odd address.
 */
uint64_t *get_word(const struct buf *b, uint32_t n);
/* Post an atomic operation, with ibv_wr_*() if the QP was created for these functions */
void post_atomic(const struct end *e, const struct atom *a);
void expect_atomic(struct ibv_cq *cq, uint64_t id, enum ibv_wr_opcode op);

/*
 * Wait until all earlier Writes and Sends are placed at the server.  The completion of a Send at
 * the sender does not guarantee that; the completion of a Read does.
 */
void wait_all_placed_by_read(const struct fixture *d);
/* Check whether a completion event arrives within @ms (verbs_cq.c) */
bool has_event_within(struct end *e, int ms);

/*
 * Find the ring of this process into which @prod entries have been written; there must be exactly
 * one such ring.  find_rings_with_prod() returns the number of such rings and stores one of them in
 * @last (verbs_rings.c).
 */
volatile uint32_t *find_only_ring_with_prod(uint32_t prod);
size_t find_rings_with_prod(uint32_t prod, volatile uint32_t **last);

/* Drop CAP_IPC_LOCK, which lifts the limit on pinned memory, and set that limit (verbs_mr.c) */
void drop_ipc_lock(void);
void limit_locked_memory(size_t octets);

/* Asynchronous events and counters (verbs_async.c) ------------------------ */

/* Expect an asynchronous event of a QP or CQ; each event is matched once */
void expect_async_event(struct ibv_context *ctx, enum ibv_event_type type,
			const void *element);
void expect_no_async_event(struct ibv_context *ctx);
/* Return: the value of a counter of the device of @e; @name: for example end_ddp_tagged_bounds */
uint64_t read_counter(const struct end *e, const char *name);
void expect_counter_increase(const struct end *e, const char *name, uint64_t was,
			     uint64_t more);

#endif
