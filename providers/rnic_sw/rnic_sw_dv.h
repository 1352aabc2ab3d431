/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Direct verbs of rnic_sw: functions that the standard verbs lack. Link with
 * -lrnic_sw, or look the functions up with dlsym() in the provider that
 * libibverbs has loaded; see rnic_sw_dv(7).
 */
#ifndef RNIC_SW_DV_H
#define RNIC_SW_DV_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum rnic_sw_dv_llp - lower layer protocol (LLP) under RDMAP and DDP
 * @RNIC_SW_DV_LLP_DEFAULT: value of RNIC_SW_LLP in the environment, else the
 *	device's connect setting
 * @RNIC_SW_DV_LLP_TCP: MPA over TCP, RFC 5044
 * @RNIC_SW_DV_LLP_SCTP: SCTP, RFC 5043
 */
enum rnic_sw_dv_llp {
	RNIC_SW_DV_LLP_DEFAULT,
	RNIC_SW_DV_LLP_TCP,
	RNIC_SW_DV_LLP_SCTP,
};

/**
 * enum rnic_sw_dv_res_type - what a parent domain's allocation function allocates
 * @RNIC_SW_DV_RES_TYPE_QP: the provider's memory of a queue pair
 * @RNIC_SW_DV_RES_TYPE_CQ: the provider's memory of a completion queue
 * @RNIC_SW_DV_RES_TYPE_SRQ: the provider's memory of a shared receive queue
 *
 * These are the lower 32 bits of resource_type, see ibv_alloc_parent_domain(3).
 */
enum rnic_sw_dv_res_type {
	RNIC_SW_DV_RES_TYPE_QP,
	RNIC_SW_DV_RES_TYPE_CQ,
	RNIC_SW_DV_RES_TYPE_SRQ,
};

/**
 * rnic_sw_dv_is_supported - check whether a device belongs to rnic_sw
 * @device: the device
 *
 * Return: true if the other functions accept contexts of @device, false if not.
 */
bool rnic_sw_dv_is_supported(struct ibv_device *device);

/**
 * rnic_sw_dv_set_llp - select the lower layer protocol of new connections
 * @context: an open device; for librdmacm, id->verbs
 * @llp: the protocol
 *
 * Applies to connections of QPs that are created with @context after this call.
 * A QP that accepts a connection uses the protocol that the peer has selected.
 * If the kernel does not support SCTP, creating a QP for SCTP fails with
 * EOPNOTSUPP.
 *
 * Return: 0 on success; EOPNOTSUPP if the device of @context does not belong to
 * rnic_sw; EINVAL if @llp is not a value of enum rnic_sw_dv_llp.
 */
int rnic_sw_dv_set_llp(struct ibv_context *context, enum rnic_sw_dv_llp llp);

#define RNIC_SW_DV_PRIVATE_DATA_MAX	512	/* bytes, RFC 5044 7.1.1 */
#define RNIC_SW_DV_NOT_NEGOTIATED	0x3fff	/* value of IRD or ORD, RFC 6581 9.1 */

/**
 * enum rnic_sw_dv_conn_flags - flags of struct rnic_sw_dv_conn
 * @RNIC_SW_DV_CONN_DEPTHS: the peer has sent IRD and ORD (RFC 6581)
 * @RNIC_SW_DV_CONN_REJECTED: the peer has rejected the connection
 * @RNIC_SW_DV_CONN_CRC: FPDUs of both directions have an MPA CRC
 * @RNIC_SW_DV_CONN_TX_MARKERS: the FPDUs that this side sends have MPA markers
 * @RNIC_SW_DV_CONN_RX_MARKERS: the FPDUs that the peer sends have MPA markers
 */
enum rnic_sw_dv_conn_flags {
	RNIC_SW_DV_CONN_DEPTHS = 1 << 0,
	RNIC_SW_DV_CONN_REJECTED = 1 << 1,
	RNIC_SW_DV_CONN_CRC = 1 << 2,
	RNIC_SW_DV_CONN_TX_MARKERS = 1 << 3,
	RNIC_SW_DV_CONN_RX_MARKERS = 1 << 4,
};

/**
 * struct rnic_sw_dv_conn - what the peer of a connection has sent at start-up
 * @comp_mask: the caller must set it to 0; later versions use it for new members
 * @flags: mask of enum rnic_sw_dv_conn_flags
 * @llp: lower layer protocol of the connection
 * @revision: MPA revision of the connection, 1 or 2; 0 over SCTP
 * @ird: IRD as the peer has sent it, up to 14 bits, or
 *	RNIC_SW_DV_NOT_NEGOTIATED; 0 without RNIC_SW_DV_CONN_DEPTHS
 * @ord: ORD, in the same way as @ird
 * @private_data_len: length of @private_data in bytes
 * @private_data: Private Data of the peer's Request, Reply or reject, without
 *	IRD and ORD; followed by zeros
 */
struct rnic_sw_dv_conn {
	uint64_t		comp_mask;
	uint32_t		flags;
	enum rnic_sw_dv_llp	llp;
	uint16_t		revision;
	uint16_t		ird;
	uint16_t		ord;
	uint16_t		private_data_len;
	uint8_t			private_data[RNIC_SW_DV_PRIVATE_DATA_MAX];
};

/**
 * rnic_sw_dv_query_conn - query what the peer has sent at connection start-up
 * @qp: a QP
 * @conn: filled in on success; comp_mask must be 0
 *
 * The connection manager truncates Private Data, IRD and ORD to what its events
 * can carry; this function returns all of them. It succeeds from the event
 * RDMA_CM_EVENT_ESTABLISHED on, or RDMA_CM_EVENT_REJECTED if the peer has
 * rejected the connection, until @qp is destroyed.
 *
 * Return: 0 on success; EOPNOTSUPP if the device of @qp does not belong to
 * rnic_sw, or if the kernel's driver is too old; EINVAL if comp_mask of @conn is
 * not 0; ENOTCONN if @qp has not been connected and the peer has not rejected
 * its connection; or another errno of the command.
 */
int rnic_sw_dv_query_conn(struct ibv_qp *qp, struct rnic_sw_dv_conn *conn);

#ifdef __cplusplus
}
#endif

#endif
