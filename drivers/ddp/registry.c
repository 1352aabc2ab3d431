// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Registry of lower layers, which ULPs look up by name. */
#include <linux/export.h>
#include <linux/kmod.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include <ddp/session.h>

#include "internal.h"

static LIST_HEAD(types);
/*
 * Protects the list of types. User processes take this lock, so it is a
 * spinlock: a process that was preempted with a mutex held would block all
 * others.
 */
static DEFINE_SPINLOCK(types_lock);

static struct ddp_session_type *__find_session_type(const char *name)
{
	struct ddp_session_type *t;

	lockdep_assert_held(&types_lock);
	list_for_each_entry(t, &types, list)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

/**
 * ddp_session_type_register - register a lower layer
 * @type: name and operations of the lower layer
 *
 * Return: 0, or -EEXIST if the name is in use.
 */
int ddp_session_type_register(struct ddp_session_type *type)
{
	int err = 0;

	spin_lock(&types_lock);
	if (__find_session_type(type->name))
		err = -EEXIST;
	else
		list_add_tail(&type->list, &types);
	spin_unlock(&types_lock);
	return err;
}
EXPORT_SYMBOL_GPL(ddp_session_type_register);

/**
 * ddp_session_type_unregister - unregister a lower layer
 * @type: the registered type; the caller must ensure that no reference to it is
 *	held
 */
void ddp_session_type_unregister(struct ddp_session_type *type)
{
	spin_lock(&types_lock);
	list_del(&type->list);
	spin_unlock(&types_lock);
}
EXPORT_SYMBOL_GPL(ddp_session_type_unregister);

static const struct ddp_session_type *find_and_get_session_type(const char *name)
{
	struct ddp_session_type *t;

	spin_lock(&types_lock);
	t = __find_session_type(name);
	if (t && !try_module_get(t->owner))
		t = NULL;
	spin_unlock(&types_lock);
	return t;
}

/**
 * ddp_session_type_get - get a lower layer by name
 * @name: "mpa" or "sctp"
 *
 * Loads the module with the alias iw-llp-NAME if the type is not registered.
 * May sleep.
 *
 * Return: the type with a module reference, which the caller must drop with
 * ddp_session_type_put(); NULL if the lower layer is not available.
 */
const struct ddp_session_type *ddp_session_type_get(const char *name)
{
	const struct ddp_session_type *t = find_and_get_session_type(name);

	if (!t && !request_module("iw-llp-%s", name))
		t = find_and_get_session_type(name);
	return t;
}
EXPORT_SYMBOL_GPL(ddp_session_type_get);

/**
 * ddp_session_type_get_for_current - get a lower layer on behalf of the current process
 * @name: "mpa" or "sctp"
 * @protocol: protocol of the lower layer, such as IPPROTO_SCTP
 *
 * When the kernel loads the module of a lower layer, it also loads the protocol
 * modules that this module needs, even if an administrator has blacklisted
 * them. To respect the blacklist, this function loads the module only if the
 * current process can create a socket of @protocol.
 *
 * Return: the type with a module reference, as for ddp_session_type_get(); NULL if the
 * lower layer is not available, or the process cannot create the socket.
 */
const struct ddp_session_type *ddp_session_type_get_for_current(const char *name,
								int protocol)
{
	const struct ddp_session_type *t = find_and_get_session_type(name);

	if (!t && ddp_sock_can_create(protocol))
		t = ddp_session_type_get(name);
	return t;
}
EXPORT_SYMBOL_GPL(ddp_session_type_get_for_current);

/**
 * ddp_session_type_put - drop a reference to a lower layer
 * @type: type from ddp_session_type_get() or ddp_session_type_get_for_current()
 */
void ddp_session_type_put(const struct ddp_session_type *type)
{
	module_put(type->owner);
}
EXPORT_SYMBOL_GPL(ddp_session_type_put);
