/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Regions whose memory is not pinned: what the cases about them share (verbs_odp.c). */
#ifndef RNIC_SW_VERBS_ODP_H
#define RNIC_SW_VERBS_ODP_H

#include "verbs.h"

#define RIGHTS_ODP	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ON_DEMAND)

/* A connection; the case is skipped where the device cannot do it */
/* Is a function of this name in the kernel? */
bool kernel_has(const char *function);

void odp_pair(struct pair *p, const struct opts *o);

/* Whole pages, none of them there yet: the program's alone, or a file's */
void pages_new(struct buf *b, size_t pages);
void pages_map(struct buf *b, size_t pages, int fd);
int new_file(size_t pages);		/* in memory */
void pages_free(struct buf *b);		/* deregistered if it is registered */

/* A desk whose buffers are so many pages of files, registered with RIGHTS_ODP */
void odp_desk(struct desk *d, size_t pages);
/* ... whose buffers are the program's alone */
void odp_desk_own(struct desk *d, size_t pages);
void odp_free(struct desk *d);
void odp_close(struct desk *d);

/* Whether the processor would find the page at once */
bool is_there(const void *at);
/* Is there such a file?  Or the case is skipped, with what the kernel lacks */
void need_file(const char *path, const char *config);
void write_file(const char *path, const char *text);
/* A number behind @word in such a file, or -1 */
long number_in(const char *path, const char *word);

/* What becomes of memory between its being filled and its being used */
typedef void away_fn(struct buf *b);

/*
 * One message of a kind over octets [off, off + len) of both buffers, compared.
 * @away is done to both once the processor has touched them; NULL: nothing.
 */
void trade_send(struct desk *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void trade_write(struct desk *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void trade_read(struct desk *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void trade_add(struct desk *d, uint32_t at, uint64_t value, away_fn *away);
/* One of each, at places good and bad, within the first @len octets */
void trade_all(struct desk *d, size_t len, uint32_t seed, away_fn *away);
/* The same, again and again, while another thread does @away to both buffers */
void trade_under(struct desk *d, size_t len, uint32_t times, away_fn *away);

/* How a peer is ended that wants what cannot be had (verbs_odp_wrong.c) ------- */

struct counts {
	uint64_t end, sent, got;
};

struct counts read_counts(const struct desk *d, const char *ends);
/* One end for that reason, and one Terminate more */
void check_counts(const struct desk *d, const char *ends, const struct counts *was);
void both_down(struct desk *d);

/* Pages that do not come (verbs_odp_stuck.c) --------------------------------- */

/* What is stuck is in the client's buffer, or in the server's */
struct stall {
	struct desk	d;
	struct pair	q;	/* with nothing to do with it */
	struct buf	own;	/* its memory */
	int		fd;
	bool		at_client;
};

/* Who serves; or the case is skipped */
int uffd_open(void);
/* A message waits for a page that nobody serves; others have been seen not to */
void stall_waits(struct stall *s, bool at_client, enum ibv_wr_opcode op);

#endif
