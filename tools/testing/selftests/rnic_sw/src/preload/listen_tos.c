// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * listen_tos.so, for LD_PRELOAD: set the type of service $LISTEN_TOS before rdma_listen(), because
 * programs do not set a type of service for their listeners.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdlib.h>

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	int (*real)(struct rdma_cm_id *id, int backlog) =
		dlsym(RTLD_NEXT, "rdma_listen");
	const char *word = getenv("LISTEN_TOS");
	uint8_t tos = word ? atoi(word) : 0;

	if (word && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				    &tos, sizeof(tos)))
		return -1;
	return real(id, backlog);
}
