/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the parts of the hostile program know of each other. */
#ifndef RNIC_SW_HOSTILE_H
#define RNIC_SW_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PAGE	((size_t)sysconf(_SC_PAGESIZE))

/* Each thread has numbers of its own, from the session's seed */
void dice_seed(uint64_t seed);
uint32_t dice(uint32_t below);
/* Indices, lengths and keys as they could be, and as they could not */
uint32_t nonsense(void);

/* hostile_cmd.c: commands to a uverbs file, right but for a few words */
struct cmd_world {
	int		fd;		/* the uverbs file */
	uint32_t	driver_id;
	void		*mem;		/* registered, and anything may happen to it */
	size_t		len;
	void		*answer;	/* as much as a command can ask for */
};

#define CMD_ANSWER	(65536 * 4)

void cmd_write_any(const struct cmd_world *w);
void cmd_ioctl_any(const struct cmd_world *w);

/* hostile_ring.c: rings that are mapped */
bool ring_scribble(void);

/* hostile_soft.c: memory registered on demand, and taken away while it is used */
struct soft {
	uint8_t		*at;
	size_t		len;
	struct ibv_mr	*mr;	/* of exactly that; NULL: the device cannot do it */
	struct ibv_mr	*all;	/* of all that there is */
	int		file;	/* in memory, so many octets; its pages come to be in it */
	int		faults;	/* userfaultfd, or -1 */
};

bool soft_make(struct soft *s, struct ibv_pd *pd, int rights);
void soft_unsettle(const struct soft *s);
/* Somewhere in it, rarely elsewhere */
struct ibv_sge soft_sge(const struct soft *s);

#endif
