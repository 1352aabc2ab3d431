// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* MRs and work requests of raw_server: see raw_server.c. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw_server.h"

#define REGIONS		4096

struct region {
	struct ibv_mr	*mr;
	uint8_t		*base;
	uint8_t		*data;		/* at least a page after @base */
	uint64_t	iova;
	uint32_t	lkey;
	size_t		len;
	size_t		all;		/* size from @base, with the guard areas */
};

static struct region regions[REGIONS];
static int nregions;

struct region *find_region(const char *word)
{
	int n = atoi(word);

	return n >= 0 && n < nregions ? &regions[n] : NULL;
}

int parse_rights(const char *word)
{
	return (strchr(word, 'l') ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (strchr(word, 'w') ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (strchr(word, 'r') ? IBV_ACCESS_REMOTE_READ : 0) |
	       (strchr(word, 'a') ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (strchr(word, 'b') ? IBV_ACCESS_MW_BIND : 0);
}

/* Allocate memory with the same page offset as the IOVA, as the kernel requires */
static bool allocate_region(struct region *r, size_t len, uint64_t iova)
{
	size_t page = sysconf(_SC_PAGESIZE);

	r->len = len;
	r->all = (len + 4 * page) & ~(page - 1);
	r->base = aligned_alloc(page, r->all);
	if (!r->base)
		return false;
	r->data = r->base + page + iova % page;
	memset(r->base, 0x5a, r->all);
	return true;
}

/*
 * mr SIZE RIGHTS PD IOVA: register memory between guard areas, all filled with 0x5a.  PD: index in
 * pds.  IOVA: 0 stands for the address of the memory.
 */
void run_mr_command(char **w)
{
	struct region *r = &regions[nregions];
	uint64_t iova = strtoull(w[4], NULL, 0);

	if (nregions == REGIONS || !allocate_region(r, atoi(w[1]), iova)) {
		print_error("mr");
		return;
	}
	if (!iova)
		iova = (uintptr_t)r->data;
	r->iova = iova;
	r->mr = ibv_reg_mr_iova(pds[atoi(w[3])], r->data, r->len, iova,
				parse_rights(w[2]));
	if (!r->mr) {
		print_error("mr");
		return;
	}
	r->lkey = r->mr->lkey;
	printf("ok %d %llu %u %u\n", nregions++, (unsigned long long)iova,
	       r->mr->rkey, r->mr->lkey);
}

void run_dereg_command(char **w)
{
	print_reply(ibv_dereg_mr(find_region(w[1])->mr), "dereg");
}

/* put REGION OFFSET HEX */
void run_put_command(char **w)
{
	struct region *r = find_region(w[1]);
	size_t off = atoi(w[2]);

	parse_hex(w[3], r->data + off, r->len - off);
	printf("ok\n");
}

/* get REGION OFFSET LENGTH: print bytes of the region; the range may extend into its guard areas */
void run_get_command(char **w)
{
	struct region *r = find_region(w[1]);

	printf("ok ");
	print_hex(r->data + atoi(w[2]), atoi(w[3]));
	putchar('\n');
}

/* fill REGION: fill the memory and its guard areas with 0x5a again */
void run_fill_command(char **w)
{
	struct region *r = find_region(w[1]);

	memset(r->base, 0x5a, r->all);
	printf("ok\n");
}

static uint64_t compute_hash(const uint8_t *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

/* hash REGION: print a hash of the memory and its guard areas */
void run_hash_command(char **w)
{
	struct region *r = find_region(w[1]);

	printf("ok %llx\n",
	       (unsigned long long)compute_hash(r->base, r->all));
}

/* Work requests ----------------------------------------------------------- */

static struct ibv_sge parse_sge(char **w)
{
	struct region *r = find_region(w[0]);
	struct ibv_sge sge = {
		.addr = r->iova + atoi(w[1]),
		.length = atoi(w[2]),
		.lkey = r->lkey,
	};

	return sge;
}

/* bind CONN REGION RIGHTS WRID: bind a new memory window, which is never freed */
void run_bind_command(char **w)
{
	struct region *r = find_region(w[2]);
	struct ibv_mw *mw = ibv_alloc_mw(r->mr->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = {
		.wr_id = atoi(w[4]), .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (!mw) {
		print_error("bind");
		return;
	}
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info) {
		.mr = r->mr, .addr = r->iova, .length = r->len,
		.mw_access_flags = parse_rights(w[3]),
	};
	if (ibv_post_send(find_conn(w[1])->qp, &wr, &bad))
		print_error("bind");
	else
		printf("ok %u\n", wr.bind_mw.rkey);
}

/* recv CONN REGION OFFSET LENGTH WRID */
void run_recv_command(char **w)
{
	struct ibv_sge sge = parse_sge(w + 2);
	struct ibv_recv_wr wr = {
		.wr_id = atoi(w[5]), .sg_list = &sge, .num_sge = 1,
	};
	struct ibv_recv_wr *bad;

	print_reply(ibv_post_recv(find_conn(w[1])->qp, &wr, &bad), "recv");
}

static const struct {
	const char		*name;
	enum ibv_wr_opcode	opcode;
} opcodes[] = {
	{ "send", IBV_WR_SEND },
	{ "sendinv", IBV_WR_SEND_WITH_INV },
	{ "write", IBV_WR_RDMA_WRITE },
	{ "writeimm", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "read", IBV_WR_RDMA_READ },
	{ "fetchadd", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "cmpswap", IBV_WR_ATOMIC_CMP_AND_SWP },
};

static enum ibv_wr_opcode parse_opcode(const char *word)
{
	size_t i = 0;

	while (strcmp(opcodes[i].name, word))
		i++;
	return opcodes[i].opcode;
}

static uint64_t parse_number_or_zero(const char *word)
{
	return word ? strtoull(word, NULL, 0) : 0;
}

/* Set the fields that depend on the opcode.  @w: ADDRESS RKEY FLAGS VALUE SWAP */
static void set_opcode_fields(struct ibv_send_wr *wr, char **w)
{
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_INV:
		wr->invalidate_rkey = parse_number_or_zero(w[1]);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		wr->wr.atomic.remote_addr = parse_number_or_zero(w[0]);
		wr->wr.atomic.rkey = parse_number_or_zero(w[1]);
		wr->wr.atomic.compare_add = parse_number_or_zero(w[3]);
		wr->wr.atomic.swap = parse_number_or_zero(w[4]);
		break;
	default:
		wr->imm_data = htonl(parse_number_or_zero(w[3]));
		wr->wr.rdma.remote_addr = parse_number_or_zero(w[0]);
		wr->wr.rdma.rkey = parse_number_or_zero(w[1]);
	}
	if (w[2] && strchr(w[2], 's'))
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (w[2] && strchr(w[2], 'f'))
		wr->send_flags |= IBV_SEND_FENCE;
}

/*
 * OPCODE CONN REGION OFFSET LENGTH WRID [ADDRESS RKEY [FLAGS [VALUE [SWAP]]]]
 * OPCODE is one of the table above.  FLAGS: s solicited, f fence, - none.  VALUE: the value to add
 * or to compare with, or immediate data.
 */
void run_post_command(char **w)
{
	struct ibv_sge sge = parse_sge(w + 2);
	struct ibv_send_wr *bad, wr = {
		.wr_id = atoi(w[5]), .sg_list = &sge, .num_sge = 1,
		.opcode = parse_opcode(w[0]), .send_flags = IBV_SEND_SIGNALED,
	};

	if (w[6] && w[7])
		set_opcode_fields(&wr, w + 6);
	print_reply(ibv_post_send(find_conn(w[1])->qp, &wr, &bad), w[0]);
}
