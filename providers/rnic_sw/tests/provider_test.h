/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Helpers that the provider's tests share. */
#ifndef PROVIDER_TEST_H
#define PROVIDER_TEST_H

#include "played.h"

extern struct rnic_sw_pd pd;	/* PD of all objects that the helpers create */

void push_cqe(struct rnic_sw_cq *cq, const struct rnic_sw_cqe *cqe);
struct rnic_sw_cq *make_cq(void);
struct rnic_sw_cq *make_cq_ex(uint64_t wc_flags);
struct rnic_sw_srq *make_srq(void);
struct rnic_sw_qp *make_qp(struct rnic_sw_cq *cq, uint32_t recv_wr);
void *destroy_qp(void *qp);
void destroy_qp_and_cq(struct rnic_sw_qp *qp, struct rnic_sw_cq *cq);
bool is_lock_free(pthread_spinlock_t *lock);

/* cancel_test.c */
void test_cancelled_threads(void);

/* contents_test.c */
void test_request_contents(void);

/* create_test.c */
void test_object_creation(void);

/* destroy_test.c */
void test_object_destruction(void);

/* domain_test.c */
void test_domains(void);

/* doorbell_test.c */
void test_doorbells(void);

/* memory_test.c */
void test_memory(void);

/* pack_test.c */
void test_ring_packing(void);

/* refuse_test.c */
void test_refusals(void);

/* resize_test.c */
void test_cq_resize(void);

#endif
