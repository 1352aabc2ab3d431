// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * implicit.so, for LD_PRELOAD: turn each registration of memory into an ODP MR of the whole address
 * space, so that nothing is pinned.  Append a line to the file $IMPLICIT_LOG for each registration.
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

typedef struct ibv_mr *reg_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access);

/*
 * Call the function of libibverbs. RTLD_NEXT does not find the function if libibverbs was loaded
 * with dlopen().
 */
static struct ibv_mr *call_real_reg_mr_with_odp(struct ibv_pd *pd, void *addr, size_t length,
						uint64_t iova,
						unsigned int access)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	reg_iova *real = lib ? (reg_iova *)dlsym(lib, "ibv_reg_mr_iova2") : NULL;

	if (!real)
		abort();
	return real(pd, addr, length, iova, access | IBV_ACCESS_ON_DEMAND);
}

static void log_registration(void)
{
	const char *name = getenv("IMPLICIT_LOG");
	int fd = name ? open(name, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

	if (fd < 0)
		return;
	if (write(fd, "one\n", 4) != 4)
		abort();
	close(fd);
}

/*
 * Register the whole address space, and set the fields of the MR as if it were the one that the
 * program has requested
 */
static struct ibv_mr *register_whole_space(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = call_real_reg_mr_with_odp(pd, NULL, SIZE_MAX, 0, access);

	if (!mr)
		return NULL;
	mr->addr = addr;
	mr->length = length;
	log_registration();
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return register_whole_space(pd, addr, length, access);
}

/* If the IOVA differs from the address, the MR cannot be the whole address space */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	if (iova == (uintptr_t)addr)
		return register_whole_space(pd, addr, length, access);
	return call_real_reg_mr_with_odp(pd, addr, length, iova, access);
}
