/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_UVERBS_IOCTL_H
#define _HOST_UNIT_UVERBS_IOCTL_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>

#define IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION	(1 << 0)

/* The driver data of a command are zero, unless the test passes some */
static inline void host_copy_udata(const struct ib_udata *udata, void *req, size_t len)
{
	memset(req, 0, len);
	if (udata && udata->inlen)
		memcpy(req, udata->in, udata->inlen < len ? udata->inlen : len);
}

#define rdma_udata_to_drv_context(udata, type, member)	((void)(udata), (type *)NULL)
#define ib_copy_validate_udata_in_cm(udata, req, end, valid)	\
	(host_copy_udata(udata, &(req), sizeof(req)), (req).end & ~(valid) ? -EOPNOTSUPP : 0)
#define ib_respond_udata(udata, resp)	((void)(udata), (void)(resp), 0)
#define ib_no_udata_io(udata)		((void)(udata), 0)
#define ib_respond_empty_udata(udata)	((void)(udata), 0)

/* Attributes that the installed <rdma/ib_user_ioctl_cmds.h> may lack */
#define UVERBS_ATTR_CREATE_CQ_BUFFER_VA		8
#define UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH	9
#define UVERBS_ATTR_CREATE_CQ_BUFFER_FD		10
#define UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET	11
#define UVERBS_ATTR_CREATE_CQ_BUF_UMEM		12
#define UVERBS_ATTR_CREATE_SRQ_BUF_UMEM		14

/* Access to the attributes of a method; each test defines these functions */
void *uverbs_attr_get_obj(const struct uverbs_attr_bundle *attrs, u16 idx);
bool uverbs_attr_is_valid(const struct uverbs_attr_bundle *attrs, unsigned int idx);
int uverbs_copy_to_struct_or_zero(const struct uverbs_attr_bundle *attrs, size_t idx,
				  const void *from, size_t size);

/* Definitions of methods */
struct uverbs_object_def { int (*handler)(struct uverbs_attr_bundle *attrs); };
struct uapi_definition { const struct uverbs_object_def *tree; };
#define UAPI_DEF_CHAIN_OBJ_TREE(object, object_def)	{ .tree = (object_def) }

#endif
