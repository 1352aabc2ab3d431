/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Both ends of a connection in one program, for checking what verbs promise.
 *
 *	+-- this process ------------------------------------------+
 *	|  client c  --rdma_cm, TCP-->  server s                   |
 *	|  its QP, CQs, PD              its QP, CQs, PD            |
 *	+----------------------------------------------------------+
 *
 * One device at an address of its own, or two devices in two network
 * namespaces.  Each case runs in a process of its own: it ends in what case
 * functions return, or in a failed CHECK(), which says where and leaves; the
 * kernel then has to clean up.
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

enum { PASS = 0, FAIL = 1, SKIP = 4 };	/* as kselftest */

/* A case that cannot be right any more says why and ends */
#define CHECK(cond, ...) do {					\
	if (!(cond))						\
		give_up(__FILE__, __LINE__, #cond, __VA_ARGS__);\
} while (0)

void give_up(const char *file, int line, const char *what, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 4, 5)));
void skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* Rounds of something: a quarter where everything takes longer */
uint32_t rounds(uint32_t n);
/* As the program was told to connect */
bool over_sctp(void);
/* Seconds or milliseconds to wait for something: four times as many there */
uint32_t patience(uint32_t n);
/* What may take a while on a busy host, in ms, for patience() */
#define WC_MS	10000
uint64_t now_ms(void);
/* What the kernel's own parts do in another way */
bool kernel_before(int major, int minor);

/* Cases ------------------------------------------------------------------- */

struct test {
	const char	*name;
	void		(*run)(void);
	unsigned int	seconds;	/* at most; 0: the usual */
	const char	*shows;		/* requirements.md rows */
	bool		asked;		/* runs only if named */
};

#define CASE(n, f, s, r)	{ .name = n, .run = f, .seconds = s, .shows = r }

extern const struct test buf_tests[], data_tests[], order_tests[];
extern const struct test post_tests[], cq_tests[], remote_tests[];
extern const struct test local_tests[], mr_tests[], conn_tests[];
extern const struct test flush_tests[], rough_tests[], rings_tests[], pack_tests[];
extern const struct test stream_tests[], srq_tests[], mw_tests[];
extern const struct test atomic_tests[], imm_tests[], abi_tests[];
extern const struct test owner_tests[], limit_tests[], charge_tests[], race_tests[];
extern const struct test cost_tests[], show_tests[], pace_tests[];
extern const struct test odp_mr_tests[], odp_away_tests[], odp_wrong_tests[];
extern const struct test dmabuf_tests[], dmabuf_ends_tests[];
extern const struct test odp_stuck_tests[], odp_ends_tests[], odp_storm_tests[];
extern const struct test odp_under_tests[], gather_tests[];

/* What the program was told */
struct setting {
	const char	*addr;		/* the server's */
	const char	*server_ns;	/* name below /run/netns, or NULL: ours */
	const char	*client_ns;
	const char	*addr6;		/* an IPv6 address, or NULL */
	unsigned int	mib;		/* that a stream case moves */
	bool		on_demand;	/* every region that is a buffer's */
};

extern struct setting setting;

/* Memory (verbs_buf.c) ---------------------------------------------------- */

/*
 * Memory of @len octets at @at, which is odd, between guard areas.  What an
 * octet should be depends on a seed and on its place.
 */
struct buf {
	uint8_t		*at;
	size_t		len;
	uint8_t		*map;
	size_t		map_len;
	struct ibv_mr	*mr;		/* of exactly these octets */
};

#define RIGHTS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_WRITE)

void buf_new(struct buf *b, size_t len);
void buf_reg(struct buf *b, struct ibv_pd *pd, int access);
int buf_access(int access);		/* on demand, if the program was told so */
void buf_free(struct buf *b);
/* Nothing in it is what any seed would put there */
void buf_clear(struct buf *b);
void buf_fill(struct buf *b, size_t off, size_t len, uint32_t seed);
/* Octets [off, off + len) are those of @seed, counted from @off */
void buf_has(const struct buf *b, size_t off, size_t len, uint32_t seed);
void buf_is_clear(const struct buf *b, size_t off, size_t len);
/* ... and nothing else in it has been touched */
void buf_has_only(const struct buf *b, size_t off, size_t len, uint32_t seed);
void buf_guards(const struct buf *b);
size_t page_size(void);
uint8_t octet_of(uint32_t seed, size_t i);
uint32_t any_below(uint32_t n);		/* pseudo-random, the same each time */

/* Connections (verbs_pair.c) ---------------------------------------------- */

/* The calling thread goes to that network namespace, or home */
void enter(const char *ns);

/* What a case wants of its connection; 0: something ordinary */
struct opts {
	uint32_t	sq, rq;		/* depths */
	uint32_t	ssge, rsge;
	uint32_t	inl;
	uint32_t	cqe;		/* of each CQ */
	uint32_t	srq;		/* depth of the server's shared receives */
	bool		sig_all;
	bool		events;		/* CQs with a completion channel */
	bool		cq_ex;
	uint64_t	send_ops;	/* qp_ex, IBV_QP_EX_WITH_* */
	uint8_t		ird, ord;	/* the client's */
	uint8_t		s_ird, s_ord;	/* the server's, else as the client's */
	const char	*addr;		/* else the program's */
	const char	*at;		/* where the server listens, if not there */
	bool		v6only;		/* ... at no address of IPv4's */
	const void	*hello;		/* Private Data of the request */
	uint8_t		hello_len;
	const void	*welcome;	/* ... of the reply */
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
	bool			lent;	/* all but the QP is another's */
};

struct pair {
	struct opts		o;
	struct rdma_event_channel *lch;
	struct rdma_cm_id	*listen;
	struct end		c, s;
	struct rdma_cm_event	ev;	/* the last one, acknowledged */
	uint8_t			said[256];	/* its Private Data */
};

void pair_open(struct pair *p, const struct opts *o);
/* A further connection whose ends use the PDs, CQs and SRQ of @like's */
void pair_open_like(struct pair *p, const struct pair *like);
/* In steps: resolved client and listening server; request seen; accepted */
void pair_prepare(struct pair *p, const struct opts *o);
void pair_request(struct pair *p);
void pair_accept(struct pair *p);
void pair_connect_async(struct pair *p);
void pair_make_qp(struct pair *p, struct end *e);
void parse_addr(const char *text, struct sockaddr_storage *sa);
void pair_event(struct pair *p, struct rdma_event_channel *ch,
		enum rdma_cm_event_type type);
void pair_disconnect(struct pair *p);	/* both have seen it */
void pair_free(struct pair *p);		/* in whatever state */
void pair_close(struct pair *p);	/* both of the above */
/*
 * A connection is made, goes there and back, and ends: what was begun before and
 * has not come by then does not come, however slow the machine.
 */
void later(void);
int qp_state(const struct end *e);
void to_error(struct end *e);

/* A connection and a buffer on either side, registered with all rights */
struct desk {
	struct pair	p;
	struct buf	c, s;
};

void desk_open(struct desk *d, const struct opts *o, size_t len);
void desk_close(struct desk *d);
void desk_free(struct desk *d);		/* when it ended by itself */

/* Work (verbs_work.c) ----------------------------------------------------- */

/* A work request in one piece */
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

int try_job(const struct end *e, const struct job *j);
void do_job(const struct end *e, const struct job *j);
void do_send(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	     uint32_t len);
void do_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	     uint32_t len);
int try_recv(const struct end *e, uint64_t id, const struct buf *b, size_t off,
	     uint32_t len);

/* The next completion; waits, gives up after ten seconds */
struct ibv_wc next_wc(struct ibv_cq *cq);
void want_ok(struct ibv_cq *cq, uint64_t id, enum ibv_wc_opcode op);
void want_recv(struct ibv_cq *cq, uint64_t id, uint32_t len);
void want_status(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status);
void want_none(struct ibv_cq *cq);	/* nor will there be: later() */
void has_none(struct ibv_cq *cq);	/* now */
void pause_ms(unsigned int ms);

/* Atomics (verbs_atomic.c) ------------------------------------------------- */

/* An atomic: from a word of ours to a word of theirs */
struct atom {
	uint64_t		id;
	enum ibv_wr_opcode	op;
	unsigned int		flags;
	uint64_t		value;		/* to add, or to compare with */
	uint64_t		swap;
	const struct buf	*sink, *target;
	uint32_t		at, to;		/* which words of them */
	int			skew;		/* octets off the target's */
};

/* A buffer's memory starts at an odd address: this is where its words do */
uint64_t *word(const struct buf *b, uint32_t n);
/* By ibv_wr_*() if the queue pair was made for it */
void do_atom(const struct end *e, const struct atom *a);
void want_atom(struct ibv_cq *cq, uint64_t id, enum ibv_wr_opcode op);

/*
 * That a Send is done at its sender does not say that it has come; a Read that is
 * answered says it of all before it.
 */
void all_have_come(const struct desk *d);
/* An event of the completion channel, within so long (verbs_cq.c) */
bool event_within(struct end *e, int ms);

/*
 * The ring of the process (the header's words) into which so many entries were
 * ever written; there must be one.  How many there are; *@last: one of them
 * (verbs_rings.c).
 */
volatile uint32_t *ring_with(uint32_t prod);
size_t rings_with(uint32_t prod, volatile uint32_t **last);

/* Those who may pin as much as they like must not be who tries the limit (verbs_mr.c) */
void drop_ipc_lock(void);
void lock_at_most(size_t octets);

/* Signs of failure (verbs_signs.c) ---------------------------------------- */

/* Asynchronous events of a queue pair or completion queue, each counted once */
void want_async(struct ibv_context *ctx, enum ibv_event_type type,
		const void *element);
void want_no_async(struct ibv_context *ctx);
/* A counter of a device: by name, like end_ddp_tagged_bounds */
uint64_t counter(const struct end *e, const char *name);
void want_counted(const struct end *e, const char *name, uint64_t was,
		  uint64_t more);

#endif
