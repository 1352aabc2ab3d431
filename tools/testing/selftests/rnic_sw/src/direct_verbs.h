/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Direct verbs of the provider that libibverbs has loaded.  They are declared here as in
 * rnic_sw_dv.h, so that this header of the provider need not be installed.  Define _GNU_SOURCE
 * before including any header.
 */
#ifndef DIRECT_VERBS_H
#define DIRECT_VERBS_H

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <infiniband/verbs.h>

/* enum rnic_sw_dv_llp, and a value that it does not have */
#define LLP_TCP		1
#define LLP_SCTP	2
#define LLP_NONE	3

struct dv_conn {
	uint64_t	comp_mask;
	uint32_t	flags;
	uint32_t	llp;
	uint16_t	revision;
	uint16_t	ird;
	uint16_t	ord;
	uint16_t	private_data_len;
	uint8_t		private_data[512];
};

typedef int dv_set_llp_fn(struct ibv_context *context, int llp);
typedef int dv_query_conn_fn(struct ibv_qp *qp, struct dv_conn *conn);

static int store_path_if_provider(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/librnic_sw"))
		return 0;
	*(const char **)path = info->dlpi_name;
	return 1;
}

/* Look up a direct verb by name.  Return: NULL if no loaded provider of this project has it */
static inline void *find_direct_verb(const char *name)
{
	const char *path = NULL;
	void *lib;

	if (!dl_iterate_phdr(store_path_if_provider, &path))
		return NULL;
	lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : NULL;
}

#endif
