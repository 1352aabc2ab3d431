// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Plugin of QEMU that counts the guest's instructions by address, and the cache lines that they
 * would have fetched.
 *
 * The program rate executes a marker, a no-op that no other code contains (see record_mark()). At
 * each marker, the counts since the previous one are appended to the file that the option out=
 * names: for each block of code a line "ADDRESS COUNT" with the address in hexadecimal, then a
 * line "lines CODE DATA", and an empty line. Counting does not affect the guest's clock.
 *
 * The guest has one CPU, because -icount requires that, so no locks are needed.
 */
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "marker.h"
#include "qemu.h"

/*
 * Version of QEMU's plugin interface that this plugin asks for. QEMU reads the variable after it has
 * loaded the plugin, and refuses a version that it does not support. QEMU 10 does not support 1.
 */
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((constructor)) static void choose_plugin_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = 2;
}

/**
 * struct block - code that is executed as a unit
 * @addr: start address
 * @octets: length of its longest translation, in bytes
 * @count: instructions executed in it since the last marker
 */
struct block {
	uint64_t addr;
	uint64_t octets;
	uint64_t count;
};

/* Translation of a block; a block can be translated several times, with different lengths */
struct translation {
	struct block *block;
	size_t instructions;
};

static const uint8_t marker[] = MARKER_BYTES;
static void *blocks;
static struct cache code, data;
static FILE *out;

static int compare_blocks(const void *a, const void *b)
{
	uint64_t x = ((const struct block *)a)->addr;
	uint64_t y = ((const struct block *)b)->addr;

	return (x > y) - (x < y);
}

static void print_and_clear_block(const void *node, VISIT visit, int depth)
{
	struct block *b = *(struct block **)node;

	(void)depth;
	if ((visit != postorder && visit != leaf) || !b->count)
		return;
	fprintf(out, "%" PRIx64 " %" PRIu64 "\n", b->addr, b->count);
	b->count = 0;
}

static void on_marker_executed(unsigned int cpu, void *unused)
{
	(void)cpu;
	(void)unused;
	twalk(blocks, print_and_clear_block);
	fprintf(out, "lines %" PRIu64 " %" PRIu64 "\n\n", cache_take_fetch_count(&code),
		cache_take_fetch_count(&data));
	fflush(out);
}

/* Look up code by virtual address, which is the same in all processes of a program */
static void on_block_executed(unsigned int cpu, void *translation)
{
	const struct translation *t = translation;

	(void)cpu;
	t->block->count += t->instructions;
	cache_access(&code, t->block->addr, t->block->octets);
}

/* Look up the cache line by physical address, because memory that is mapped twice is in one line */
static void on_memory_accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			       void *unused)
{
	struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, vaddr);

	(void)cpu;
	(void)unused;
	if (at && !qemu_plugin_hwaddr_is_io(at))
		cache_access(&data, qemu_plugin_hwaddr_phys_addr(at),
			     1 << qemu_plugin_mem_size_shift(info));
}

/* Find or create the block at @addr; all its translations share it */
static struct block *find_or_create_block(uint64_t addr)
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
	uint8_t copy[sizeof(marker)];
	uintptr_t got;

	if (qemu_plugin_insn_size(insn) != sizeof(marker))
		return false;
	got = qemu_plugin_insn_data(insn, copy, sizeof(copy));
	return !memcmp(got == sizeof(copy) ? copy : (const void *)got, marker, sizeof(marker));
}

static void on_block_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = find_or_create_block(qemu_plugin_tb_vaddr(tb));
	size_t n = qemu_plugin_tb_n_insns(tb), octets = 0, i;
	struct translation *t = malloc(sizeof(*t));

	(void)id;
	if (!t)
		abort();
	*t = (struct translation){ .block = b, .instructions = n };
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_executed, CB_NO_REGS, t);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		octets += qemu_plugin_insn_size(insn);
		qemu_plugin_register_vcpu_mem_cb(insn, on_memory_accessed, CB_NO_REGS, MEM_RW,
						 NULL);
		if (is_marker(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker_executed,
							       CB_NO_REGS, NULL);
	}
	if (octets > b->octets)
		b->octets = octets;
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
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_block_translated);
	return 0;
}
