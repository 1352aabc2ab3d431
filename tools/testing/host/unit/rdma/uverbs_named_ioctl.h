/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_UVERBS_NAMED_IOCTL_H
#define _HOST_DOORS_UVERBS_NAMED_IOCTL_H

#include <rdma/uverbs_ioctl.h>

/* The tests call the handler of a method directly, so the attributes are left out */
#define UVERBS_HANDLER(method)	method##_handler
#define UVERBS_METHOD(method)	method##_handler
#define DECLARE_UVERBS_NAMED_METHOD(method, ...)	\
	static int method##_handler(struct uverbs_attr_bundle *attrs)
#define ADD_UVERBS_METHODS(name, object, method)	\
	static const struct uverbs_object_def name = { .handler = method }

#endif
