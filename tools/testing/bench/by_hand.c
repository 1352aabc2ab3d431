// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connect the two ends with ibv_modify_qp() instead of rdma_cm: the ends exchange the numbers of
 * their queue pairs in the shared memory.
 */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "rate.h"

#define PSN	0x1234
#define WAIT_US	1000

/* Find the GID that is the IPv4-mapped address of the device. Return: its index */
static int find_gid(const struct side *s, union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };
	struct in_addr addr;
	int i;

	if (inet_pton(AF_INET, s->opt->addr, &addr) != 1)
		die("parse the address");
	for (i = 0; !ibv_query_gid(s->id->verbs, 1, i, gid); i++)
		if (!memcmp(gid->raw, prefix, sizeof(prefix)) && !memcmp(gid->raw + 12, &addr, 4))
			return i;
	die("find the GID of the address");
}

static void modify_qp(struct side *s, struct ibv_qp_attr *attr, int mask)
{
	if (ibv_modify_qp(s->id->qp, attr, mask | IBV_QP_STATE))
		die("ibv_modify_qp");
}

void move_to_init_by_modify_qp(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	modify_qp(s, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void move_to_rtr(struct side *s, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .dest_qp_num = peer,
		.rq_psn = PSN, .max_dest_rd_atomic = s->opt->reads, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};

	/* both ends are on one device, so they have the same GID */
	attr.ah_attr.grh.sgid_index = find_gid(s, &attr.ah_attr.grh.dgid);
	modify_qp(s, &attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static void move_to_rts(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.sq_psn = PSN, .max_rd_atomic = s->opt->reads,
	};

	modify_qp(s, &attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			 IBV_QP_MAX_QP_RD_ATOMIC);
}

/*
 * Connect to the other end, which calls this function, too. @own: 0 for the passive end, 1 for the
 * active end
 */
void connect_by_modify_qp(struct side *s, int own)
{
	uint32_t peer;

	__atomic_store_n(&s->sh->qpn[own], s->id->qp->qp_num, __ATOMIC_SEQ_CST);
	while (!(peer = __atomic_load_n(&s->sh->qpn[!own], __ATOMIC_SEQ_CST)))
		usleep(WAIT_US);
	move_to_rtr(s, peer);
	move_to_rts(s);
}
