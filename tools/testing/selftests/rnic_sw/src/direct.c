// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * direct ADDRESS PORT tcp|sctp: select a lower layer with the direct verb rnic_sw_dv_set_llp(),
 * connect to a server over this layer, and disconnect.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "direct_verbs.h"

#define TIMEOUT_MS	10000

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "direct: %s: %s\n", what, strerror(errno));
	exit(1);
}

static dv_set_llp_fn *find_set_llp(void)
{
	dv_set_llp_fn *fn;

	*(void **)&fn = find_direct_verb("rnic_sw_dv_set_llp");
	if (!fn) {
		fputs("direct: the provider has no direct verbs\n", stderr);
		exit(1);
	}
	return fn;
}

static void check_refusal_and_select_llp(struct ibv_context *ctx, const char *word)
{
	dv_set_llp_fn *set_llp = find_set_llp();

	if (set_llp(ctx, LLP_NONE) != EINVAL) {
		fputs("direct: an unknown layer must be refused\n", stderr);
		exit(1);
	}
	errno = set_llp(ctx, strcmp(word, "sctp") ? LLP_TCP : LLP_SCTP);
	if (errno)
		die("rnic_sw_dv_set_llp");
}

static void create_qp_and_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
	if (rdma_connect(id, &param))
		die("rdma_connect");
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &sin.sin_addr) != 1) {
		fputs("usage: direct ADDRESS PORT tcp|sctp\n", stderr);
		return 2;
	}
	sin.sin_port = htons(atoi(argv[2]));
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&sin, TIMEOUT_MS) ||
	    rdma_resolve_route(id, TIMEOUT_MS))
		die("rdma_resolve");
	check_refusal_and_select_llp(id->verbs, argv[3]);
	create_qp_and_connect(id);
	rdma_disconnect(id);
	return 0;
}
