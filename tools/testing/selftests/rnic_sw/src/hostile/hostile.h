/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared declarations of the hostile program. */
#ifndef RNIC_SW_HOSTILE_H
#define RNIC_SW_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PAGE	((size_t)sysconf(_SC_PAGESIZE))

/* Random numbers, per thread, from the seed of the session */
void seed_random(uint64_t seed);
uint32_t get_random_below(uint32_t below);
/* Return a random number that may be used as index, length or key */
uint32_t get_random_value(void);

/* hostile_cmd.c: commands to a uverbs file that are correct except for a few words */
struct cmd_target {
	int		fd;		/* the uverbs file */
	uint32_t	driver_id;
	void		*mem;		/* registered memory, which commands may change */
	size_t		len;
	void		*answer;	/* buffer for the longest possible response */
};

#define CMD_ANSWER	(65536 * 4)

void write_random_command(const struct cmd_target *w);
void issue_random_ioctl(const struct cmd_target *w);

/* hostile_ring.c: mapped rings */
bool corrupt_mapped_rings(void);

/* hostile_modify.c: QPs connected by ibv_modify_qp() */
bool init_qp_modification(struct ibv_pd *pd, struct ibv_mr *memory);
/* Do a step of one of the QPs. Return the number of successful completions found */
unsigned int advance_random_qp_and_poll(void);

/* hostile_soft.c: memory of ODP MRs that changes while it is in use */
struct soft {
	uint8_t		*at;
	size_t		len;
	struct ibv_mr	*mr;	/* MR of exactly this memory; NULL: no support of ODP */
	struct ibv_mr	*all;	/* MR of the whole address space */
	int		file;	/* memfd of @len bytes, whose pages are mapped into @at */
	int		faults;	/* userfaultfd, or -1 */
};

bool soft_create(struct soft *s, struct ibv_pd *pd, int rights);
void soft_change_pages(const struct soft *s);
/* Choose a range of the memory, or rarely a range elsewhere */
struct ibv_sge make_soft_sge(const struct soft *s);

#endif
