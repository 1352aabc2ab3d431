// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * instructions.c: a plugin of QEMU that counts the guest's instructions by address.
 *
 * rate executes a no-op that nobody else has (see take_mark()). At each what was
 * executed since the one before is appended to the file out=, a line "ADDRESS COUNT"
 * for each block of code that was run, addresses in hexadecimal, and an empty line.
 * Counting does not move the guest's clock.
 *
 * With one CPU, as -icount has it: nothing here is locked.
 */
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marker.h"

/*
 * What is used of QEMU's interface for plugins, version 1 (its qemu-plugin.h, which
 * distributions do not package).
 */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*insn_executed)(unsigned int cpu, void *data);
enum { INLINE_ADD_U64 = 0 };
enum { CB_NO_REGS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_translated cb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    insn_executed cb, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t n);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/**
 * struct block - code that is run in one go
 * @addr: where it begins
 * @count: instructions executed in it since the last marker
 */
struct block {
	uint64_t addr;
	uint64_t count;
};

static const uint8_t marker[] = MARKER_BYTES;
static void *blocks;
static FILE *out;

static int compare_blocks(const void *a, const void *b)
{
	uint64_t x = ((const struct block *)a)->addr;
	uint64_t y = ((const struct block *)b)->addr;

	return (x > y) - (x < y);
}

static void tell(const void *node, VISIT visit, int depth)
{
	struct block *b = *(struct block **)node;

	(void)depth;
	if ((visit != postorder && visit != leaf) || !b->count)
		return;
	fprintf(out, "%" PRIx64 " %" PRIu64 "\n", b->addr, b->count);
	b->count = 0;
}

static void at_marker(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	twalk(blocks, tell);
	fputc('\n', out);
	fflush(out);
}

/* The block at @addr, the same one each time that it is translated */
static struct block *block_at(uint64_t addr)
{
	struct block *fresh = calloc(1, sizeof(*fresh)), **found;

	if (!fresh)
		abort();
	fresh->addr = addr;
	found = tsearch(fresh, &blocks, compare_blocks);
	if (!found)
		abort();
	if (*found != fresh)
		free(fresh);
	return *found;
}

static bool is_marker(const struct qemu_plugin_insn *insn)
{
	return qemu_plugin_insn_size(insn) == sizeof(marker) &&
	       !memcmp(qemu_plugin_insn_data(insn), marker, sizeof(marker));
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = block_at(qemu_plugin_tb_vaddr(tb));
	size_t n = qemu_plugin_tb_n_insns(tb), i;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &b->count, n);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (is_marker(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, at_marker,
							       CB_NO_REGS, NULL);
	}
}

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
