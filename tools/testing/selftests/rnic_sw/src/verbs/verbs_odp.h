/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Common parts of the cases about on-demand paging (ODP), in verbs_odp.c. */
#ifndef RNIC_SW_VERBS_ODP_H
#define RNIC_SW_VERBS_ODP_H

#include "verbs.h"

#define RIGHTS_ODP	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ON_DEMAND)

/* Check whether the running kernel has a function of this name */
bool has_kernel_function(const char *function);

/* Open a connection; skip the case if the device does not support ODP */
void odp_pair_open(struct pair *p, const struct opts *o);

/* Allocate or map whole pages of which none is present: private memory, or memory of file @fd */
void pages_create(struct buf *b, size_t pages);
void pages_map(struct buf *b, size_t pages, int fd);
int create_memfd_of_pages(size_t pages);		/* creates a memfd */
void pages_free(struct buf *b);		/* deregisters the MR first, if there is one */

/* Open a fixture whose buffers are @pages pages of files, registered with RIGHTS_ODP */
void odp_fixture_open(struct fixture *d, size_t pages);
/* Open a fixture whose buffers are private memory, registered with RIGHTS_ODP */
void odp_fixture_open_private(struct fixture *d, size_t pages);
void odp_fixture_free(struct fixture *d);
void odp_fixture_close(struct fixture *d);

/* Check whether the page is present in the page table of this process */
bool is_page_present(const void *at);
/* Skip the case if there is no file @path; @config: the missing kernel option */
void skip_without_file(const char *path, const char *config);
void write_file(const char *path, const char *text);
/* Return: the number after @word at the start of a line of the file; -1 if there is none */
long read_number_in(const char *path, const char *word);

/* A function that changes the pages of a buffer after the buffer has been filled */
typedef void away_fn(struct buf *b);

/*
 * Transfer bytes [off, off + len) with one message and compare both buffers.  @away is applied to
 * both buffers after they have been filled; it may be NULL.
 */
void exchange_send(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void odp_write_and_check(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void exchange_read(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away);
void exchange_fetch_add(struct fixture *d, uint32_t at, uint64_t value, away_fn *away);
/* Do all of the above at several offsets within the first @len bytes */
void exchange_all_message_types(struct fixture *d, size_t len, uint32_t seed, away_fn *away);
/* Exchange all message types @times times, while another thread applies @away to both buffers */
void exchange_while_changing_pages(struct fixture *d, size_t len, uint32_t times, away_fn *away);

/* Access by a peer to pages that cannot be faulted in (verbs_odp_wrong.c) ---------- */

struct counts {
	uint64_t end, sent, got;
};

struct counts read_counts(const struct fixture *d, const char *ends);
/* Check that since @was one connection has ended, for the reason @ends, with one Terminate */
void check_terminate_counts(const struct fixture *d, const char *ends, const struct counts *was);
void expect_both_qps_in_error(struct fixture *d);

/* Page faults that are not served (verbs_odp_stuck.c) ------------------------ */

/* A fixture whose client or server has a buffer with pages that are not served */
struct stall {
	struct fixture	d;
	struct pair	q;	/* an unrelated connection */
	struct buf	own;	/* buffer of @q */
	int		fd;
	bool		at_client;
};

/* Open a userfaultfd, or skip the case */
int open_userfaultfd(void);
/* Start a message that waits for an unserved page; check that @q is not delayed */
void stall_start(struct stall *s, bool at_client, enum ibv_wr_opcode op);

#endif
