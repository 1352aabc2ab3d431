// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Commands to a uverbs file. They are built like those of a library, with handles that may exist
 * and with data for the driver, but some words are wrong.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "hostile.h"

#define CORE(s)		sizeof(struct ib_uverbs_##s)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define WORDS		128	/* maximum length of a command */
#define DRIVER_WORDS	24	/* maximum length of the driver's data */
#define HANDLES		24	/* the core numbers handles from 0 */
#define OWN		(1u << UVERBS_ID_NS_SHIFT)	/* driver's first method or attribute */

/* Contents of a word of a command */
enum field {
	SMALL	= 's',		/* a handle or a count */
	BIG	= 'b',		/* a size */
	PTR	= 'p',		/* two words: an address in this program's memory */
	LEN	= 'l',		/* two words: a length within that memory */
	ZERO	= '0',
	MINUS	= 'm',		/* a completion channel, mostly -1: none */
	BITS	= 'f',		/* flags */
	TYPE	= 't',		/* bytes sq_sig_all, qp_type (always RC) and is_srq */
	ANY	= '?',
};

static const struct {
	uint8_t		nr;
	bool		answers;	/* the command starts with the address of the response */
	uint16_t	size;
	const char	*fields;	/* the words after the address; further ones are ANY */
} commands[] = {
	{ IB_USER_VERBS_CMD_ALLOC_PD, true, CORE(alloc_pd), "" },
	{ IB_USER_VERBS_CMD_DEALLOC_PD, false, 4, "s" },
	{ IB_USER_VERBS_CMD_REG_MR, true, CORE(reg_mr), "plpsf" },
	{ IB_USER_VERBS_CMD_REREG_MR, true, CORE(rereg_mr), "sfplpsf" },
	{ IB_USER_VERBS_CMD_DEREG_MR, false, CORE(dereg_mr), "s" },
	{ IB_USER_VERBS_CMD_ALLOC_MW, true, CORE(alloc_mw), "ss" },
	{ IB_USER_VERBS_CMD_DEALLOC_MW, false, CORE(dealloc_mw), "s" },
	{ IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, true, CORE(create_comp_channel), "" },
	{ IB_USER_VERBS_CMD_CREATE_CQ, true, CORE(create_cq), "pb0m0" },
	{ IB_USER_VERBS_CMD_RESIZE_CQ, true, CORE(resize_cq), "sb" },
	{ IB_USER_VERBS_CMD_DESTROY_CQ, true, CORE(destroy_cq), "s0" },
	{ IB_USER_VERBS_CMD_POLL_CQ, true, CORE(poll_cq), "sb" },
	{ IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, false, CORE(req_notify_cq), "ss" },
	{ IB_USER_VERBS_CMD_CREATE_QP, true, CORE(create_qp), "pssssbbsssst" },
	{ IB_USER_VERBS_CMD_QUERY_QP, true, CORE(query_qp), "s?" },
	{ IB_USER_VERBS_CMD_MODIFY_QP, false, CORE(modify_qp), "0000000000000000sf" },
	{ IB_USER_VERBS_CMD_DESTROY_QP, true, CORE(destroy_qp), "s0" },
	{ IB_USER_VERBS_CMD_POST_SEND, true, CORE(post_send), "sss" },
	{ IB_USER_VERBS_CMD_POST_RECV, true, CORE(post_recv), "sss" },
	{ IB_USER_VERBS_CMD_POST_SRQ_RECV, true, CORE(post_srq_recv), "sss" },
	{ IB_USER_VERBS_CMD_CREATE_SRQ, true, CORE(create_srq), "psbss" },
	{ IB_USER_VERBS_CMD_MODIFY_SRQ, false, CORE(modify_srq), "sfbs" },
	{ IB_USER_VERBS_CMD_QUERY_SRQ, true, CORE(query_srq), "s0" },
	{ IB_USER_VERBS_CMD_DESTROY_SRQ, true, CORE(destroy_srq), "s0" },
	{ IB_USER_VERBS_CMD_QUERY_PORT, true, CORE(query_port), "s" },
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, true, CORE(query_device), "" },
};

static uint32_t *write_u64(uint32_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
	return at + 2;
}

static uint32_t *write_field(uint32_t *at, char field, const struct cmd_target *w)
{
	switch (field) {
	case SMALL:
		*at = get_random_below(HANDLES);
		break;
	case BIG:
		*at = get_random_below(8) ? 1u << get_random_below(14) : get_random_value();
		break;
	case PTR:
		return write_u64(at, (uintptr_t)w->mem + get_random_below(8192));
	case LEN:
		return write_u64(at, get_random_below(8) ? get_random_below(w->len - 8192) :
						   get_random_value());
	case MINUS:
		*at = get_random_below(4) ? ~0u : get_random_below(16);
		break;
	case BITS:
		*at = get_random_below(2) ? get_random_below(64) : 1u << get_random_below(32);
		break;
	case TYPE:
		*at = get_random_below(2) | IBV_QPT_RC << 8 | get_random_below(2) << 16;
		break;
	case ANY:
		*at = get_random_value();
		break;
	default:
		*at = 0;
	}
	return at + 1;
}

/* Build the RDMA core's part of a command. Return: the number of words */
static size_t build_core_words(uint32_t *cmd, size_t i, const struct cmd_target *w,
			       void *answer)
{
	const char *field = commands[i].fields;
	size_t n = commands[i].size / 4;
	uint32_t *at = cmd, *end = cmd + n;

	if (commands[i].answers)
		at = write_u64(at, (uintptr_t)answer);
	for (; *field && at < end; field++)
		at = write_field(at, *field, w);
	for (; at < end; at++)
		*at = get_random_value();
	return n;
}

/* Add data for the driver: mostly valid data, which is all zero. Return: the number of words */
static size_t add_driver_words(uint32_t *at)
{
	size_t n = get_random_below(2) ? 4 : get_random_below(DRIVER_WORDS), i;

	memset(at, 0, n * 4);
	for (i = get_random_below(4) ? 0 : get_random_below(4); i && n; i--)
		at[get_random_below(n)] = get_random_value();
	return n;
}

static void corrupt_words(uint32_t *cmd, size_t n)
{
	uint32_t times = get_random_below(3) ? 0 : get_random_below(4);

	while (times-- && n)
		cmd[get_random_below(n)] = get_random_value();
}

/**
 * write_random_command - issue a random command with write()
 * @w: the file and memory for the command
 */
void write_random_command(const struct cmd_target *w)
{
	struct {
		struct ib_uverbs_cmd_hdr	hdr;
		uint32_t			words[WORDS];
	} c = {};
	size_t i = get_random_below(ARRAY_SIZE(commands)), n;

	n = build_core_words(c.words, i, w, w->answer);
	corrupt_words(c.words, n);
	n += add_driver_words(c.words + n);
	c.hdr.command = commands[i].nr;
	c.hdr.in_words = get_random_below(20) ? n + 2 : get_random_value();
	c.hdr.out_words = get_random_below(20) ? 64 : get_random_value();
	if (write(w->fd, &c, sizeof(c.hdr) + n * 4) < 0)
		return;
}

/* Fill an attribute with random values. @own: true for a method that only this driver has. */
static void fill_attr(struct ib_uverbs_attr *a, const struct cmd_target *w, bool own)
{
	static const uint16_t driver[] = { UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT };

	a->attr_id = get_random_below(4) ? get_random_below(16) : driver[get_random_below(2)];
	if (own)
		a->attr_id = OWN | get_random_below(4);
	a->len = get_random_below(3) ? 4u << get_random_below(6) : get_random_below(0x10000);
	if (get_random_below(3) == 0)
		a->len = 0;
	a->flags = get_random_below(2) ? UVERBS_ATTR_F_MANDATORY : get_random_below(4);
	if (get_random_below(2))
		a->data = get_random_below(HANDLES);
	else
		a->data = (uintptr_t)w->mem + get_random_below(w->len);
}

/**
 * issue_random_ioctl - issue a random command with ioctl()
 * @w: the file and memory for the command
 */
void issue_random_ioctl(const struct cmd_target *w)
{
	struct {
		struct ib_uverbs_ioctl_hdr	hdr;
		struct ib_uverbs_attr		attrs[16];
	} c = {};
	bool own = !get_random_below(6);
	unsigned int n = get_random_below((own ? 4 : ARRAY_SIZE(c.attrs)) + 1), i;

	for (i = 0; i < n; i++)
		fill_attr(&c.attrs[i], w, own && get_random_below(8));
	c.hdr.length = sizeof(c.hdr) + n * sizeof(c.attrs[0]);
	c.hdr.object_id = get_random_below(UVERBS_OBJECT_ASYNC_EVENT + 1);
	c.hdr.method_id = get_random_below(12);
	if (own) {
		c.hdr.object_id = UVERBS_OBJECT_QP;
		c.hdr.method_id = OWN | get_random_below(2);
	}
	c.hdr.num_attrs = n;
	c.hdr.driver_id = w->driver_id;
	if (ioctl(w->fd, RDMA_VERBS_IOCTL, &c) < 0)
		return;
}
