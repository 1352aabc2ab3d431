// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * implicit.so, for LD_PRELOAD: whatever a program registers is all that it has and
 * will have, on demand; nothing is pinned.  A line for each in the file IMPLICIT_LOG.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

typedef struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
typedef struct ibv_mr *reg_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access);

static void note(void)
{
	const char *name = getenv("IMPLICIT_LOG");
	int fd = name ? open(name, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

	if (fd < 0)
		return;
	if (write(fd, "one\n", 4) != 4)
		abort();
	close(fd);
}

/* To the program it is the region that it has asked for */
static struct ibv_mr *whole(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	reg_mr *real = (reg_mr *)dlsym(RTLD_NEXT, "ibv_reg_mr");
	struct ibv_mr *mr = real(pd, NULL, SIZE_MAX, access | IBV_ACCESS_ON_DEMAND);

	if (!mr)
		return NULL;
	mr->addr = addr;
	mr->length = length;
	note();
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return whole(pd, addr, length, access);
}

/* At an address of its choice it cannot be all */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	reg_iova *real = (reg_iova *)dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");

	if (iova == (uintptr_t)addr)
		return whole(pd, addr, length, access);
	return real(pd, addr, length, iova, access | IBV_ACCESS_ON_DEMAND);
}
