/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completion counters: wrappers of the RDMA core's methods (verbs_comp_calls.c), and checks */
#ifndef RNIC_SW_VERBS_COMP_H
#define RNIC_SW_VERBS_COMP_H

#include "verbs.h"

enum { ENTRY_COMP, ENTRY_ERR };
enum { OP_SET, OP_INC };
enum {
	OF_SEND = 1, OF_RECV = 2, OF_READ = 4, OF_PEER_READ = 8, OF_WRITE = 16, OF_PEER_WRITE = 32,
	OF_ALL = 63, OPS = 6,
};

struct comp_caps {
	uint32_t	max, ops;
	uint64_t	max_value;
};

/* Methods of the RDMA core.  Return: 0 or an errno */
int comp_query_caps(const struct ibv_context *ctx, struct comp_caps *caps);
int comp_try_create(const struct ibv_context *ctx, uint32_t *cntr);
int comp_destroy(const struct ibv_context *ctx, uint32_t cntr);
int comp_modify_value(const struct ibv_context *ctx, uint32_t cntr, uint64_t entry, uint64_t op,
		      uint64_t value);
int comp_try_read(const struct ibv_context *ctx, uint32_t cntr, uint64_t entry, uint64_t *value);
int comp_attach(const struct end *e, uint32_t cntr, uint64_t mask);

/* Skip the case if the RDMA core has no such counters; fail if only the driver has none */
void skip_without_comp_counters(const struct ibv_context *ctx);
uint32_t comp_create(const struct ibv_context *ctx);
uint64_t comp_read(const struct ibv_context *ctx, uint32_t cntr, int entry);
/* Wait until an entry of the counter reaches @want; fail if it exceeds @want */
void expect_comp_value(const struct ibv_context *ctx, uint32_t cntr, int entry, uint64_t want);

#endif
