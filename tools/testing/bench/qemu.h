/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The part of QEMU's plugin interface that instructions.c uses. QEMU declares it in qemu-plugin.h,
 * which distributions do not package. The functions exist in versions 1 (QEMU 7.2) to 4 (QEMU 10.0)
 * of the interface.
 */
#ifndef QEMU_H
#define QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_hwaddr;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*code_executed)(unsigned int cpu, void *data);
typedef void (*memory_accessed)(unsigned int cpu, qemu_plugin_meminfo_t info,
				uint64_t vaddr, void *data);
enum { CB_NO_REGS = 0 };
enum { MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_translated cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, code_executed cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    code_executed cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, memory_accessed cb,
				      int flags, int rw, void *data);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info,
						  uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *addr);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *addr);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t n);

/*
 * From version 3 of the interface on, copies at most @len bytes of the instruction to @dest, and
 * returns their number. Before, ignores @dest and @len, and returns the address of the bytes.
 */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);

/* A function that is not in version 1 of the interface; its address is NULL there */
void *qemu_plugin_scoreboard_new(size_t element_size) __attribute__((weak));

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#endif
