/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_UIDGID_H
#define _HOST_UNIT_UIDGID_H

#include <linux/types.h>

typedef struct { u32 val; } kuid_t;
#define __kuid_val(uid)		((uid).val)
#define GLOBAL_ROOT_UID		((kuid_t){ 0 })
#define uid_eq(one, other)	((one).val == (other).val)
#define uid_valid(uid)		((uid).val != (u32)-1)

#endif
