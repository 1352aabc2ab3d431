/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared declarations of the files of raw_server. */
#ifndef RAW_SERVER_H
#define RAW_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

struct conn {
	struct rdma_cm_id	*id;	/* NULL: connected without rdma_cm */
	struct rdma_event_channel *chan;	/* or NULL: accepted, or without rdma_cm */
	struct ibv_qp		*qp;	/* or NULL */
	uint32_t		qpn;
};

/* raw_server.c */
extern struct ibv_pd *pds[2];

void print_error(const char *what);
void print_reply(int failed, const char *what);
void print_hex(const void *data, size_t len);
size_t parse_hex(const char *text, uint8_t *out, size_t max);
struct sockaddr_storage parse_address(const char *host, const char *port);
struct conn *find_conn(const char *word);
struct conn *add_conn(void);
int get_conn_number(const struct conn *c);
struct ibv_qp_init_attr make_qp_attr(void);

/* raw_server_work.c: MRs and work requests, one function per command */
struct region;

struct region *find_region(const char *word);
int parse_rights(const char *word);
void run_mr_command(char **w);
void run_dereg_command(char **w);
void run_bind_command(char **w);
void run_put_command(char **w);
void run_get_command(char **w);
void run_fill_command(char **w);
void run_hash_command(char **w);
void run_recv_command(char **w);
void run_post_command(char **w);

/* raw_server_modify.c: connections without rdma_cm, one function per command */
void run_open_qp_command(char **w);
void run_rtr_command(char **w);
void run_rts_command(char **w);
void run_error_command(char **w);

#endif
