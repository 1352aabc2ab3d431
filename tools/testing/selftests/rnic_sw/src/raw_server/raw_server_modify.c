// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* QPs that raw_server connects by ibv_modify_qp(), without rdma_cm: see raw_server.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw_server.h"

/* Make the GID of an IPv4 or IPv6 address.  Return: false if @host is no address. */
static bool make_gid(const char *host, union ibv_gid *gid)
{
	struct sockaddr_storage a = parse_address(host, NULL);

	memset(gid, 0, sizeof(*gid));
	if (a.ss_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((struct sockaddr_in *)&a)->sin_addr, 4);
	} else if (a.ss_family == AF_INET6) {
		memcpy(gid->raw, &((struct sockaddr_in6 *)&a)->sin6_addr, 16);
	}
	return a.ss_family;
}

static int enter_init(struct ibv_qp *qp, int rights)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

/* open-qp RIGHTS: create a QP and enter INIT; print CONN QPN */
void run_open_qp_command(char **w)
{
	struct ibv_qp_init_attr attr = make_qp_attr();
	struct conn *c = add_conn();

	if (c)
		c->qp = ibv_create_qp(pds[0], &attr);
	if (!c || !c->qp || enter_init(c->qp, parse_rights(w[1]))) {
		print_error("open-qp");
		return;
	}
	c->qpn = c->qp->qp_num;
	printf("ok %d %u\n", get_conn_number(c), c->qpn);
}

/* rtr CONN SGID-INDEX DESTINATION DEST-QPN RQ-PSN DEPTH: DESTINATION is the peer's address */
void run_rtr_command(char **w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = strtoul(w[4], NULL, 0), .rq_psn = strtoul(w[5], NULL, 0),
		.max_dest_rd_atomic = atoi(w[6]), .min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .sgid_index = atoi(w[2]), .hop_limit = 64 },
		},
	};

	if (!make_gid(w[3], &attr.ah_attr.grh.dgid)) {
		errno = EINVAL;
		print_error("rtr");
		return;
	}
	print_reply(ibv_modify_qp(find_conn(w[1])->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "rtr");
}

/* rts CONN SQ-PSN TIMEOUT RETRIES RNR-RETRIES [DEPTH] */
void run_rts_command(char **w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = strtoul(w[2], NULL, 0),
		.timeout = atoi(w[3]), .retry_cnt = atoi(w[4]), .rnr_retry = atoi(w[5]),
		.max_rd_atomic = w[6] ? atoi(w[6]) : 4,
	};

	print_reply(ibv_modify_qp(find_conn(w[1])->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
				  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_MAX_QP_RD_ATOMIC), "rts");
}

/* error CONN: enter the error state */
void run_error_command(char **w)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	print_reply(ibv_modify_qp(find_conn(w[1])->qp, &attr, IBV_QP_STATE), "error");
}
