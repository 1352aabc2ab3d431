/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Direct verbs of rnic_sw: what the verbs have no words for.  Link with
 * -lrnic_sw, or look the functions up in the provider that libibverbs loaded,
 * see rnic_sw_dv(7).
 */
#ifndef RNIC_SW_DV_H
#define RNIC_SW_DV_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum rnic_sw_dv_llp - the layer below RDMAP and DDP
 * @RNIC_SW_DV_LLP_DEFAULT: what the environment (RNIC_SW_LLP) or else the
 *	device (its setting connect) says
 * @RNIC_SW_DV_LLP_TCP: MPA over TCP, RFC 5044
 * @RNIC_SW_DV_LLP_SCTP: SCTP, RFC 5043
 */
enum rnic_sw_dv_llp {
	RNIC_SW_DV_LLP_DEFAULT,
	RNIC_SW_DV_LLP_TCP,
	RNIC_SW_DV_LLP_SCTP,
};

/**
 * rnic_sw_dv_is_supported - is a device one of rnic_sw's?
 * @device: the device
 *
 * Return: whether the other functions take its contexts.
 */
bool rnic_sw_dv_is_supported(struct ibv_device *device);

/**
 * rnic_sw_dv_set_llp - what connections are to be made over
 * @context: an open device; librdmacm's is id->verbs
 * @llp: the layer
 *
 * Holds for queue pairs made with @context from now on, when they connect;
 * whoever accepts takes the layer that the peer chose.  Where there is no SCTP
 * making one is refused with EOPNOTSUPP.
 *
 * Return: 0; EOPNOTSUPP: another kind of device; EINVAL: no such layer.
 */
int rnic_sw_dv_set_llp(struct ibv_context *context, enum rnic_sw_dv_llp llp);

#ifdef __cplusplus
}
#endif

#endif
