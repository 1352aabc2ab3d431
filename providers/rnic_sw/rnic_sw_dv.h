/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Direct verbs of rnic_sw: functions that the standard verbs lack. Link with
 * -lrnic_sw, or look the functions up with dlsym() in the provider that
 * libibverbs has loaded; see rnic_sw_dv(7).
 */
#ifndef RNIC_SW_DV_H
#define RNIC_SW_DV_H

#include <stdbool.h>

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

#ifdef __cplusplus
}
#endif

#endif
