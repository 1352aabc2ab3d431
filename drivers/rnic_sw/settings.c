// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Text form of a device's settings: a table of the settings by name, with functions that
 * show and set their values. policy.c has the defaults.
 *
 * A change applies to new connections, and also to those that existing listeners accept.
 * There is one exception: an existing SCTP listener keeps the number of streams and the
 * further interfaces that were set when it started.
 */
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <ddp/offer.h>

#include "policy.h"
#include "rnic.h"

#define LISTEN_TCP	BIT(RNIC_SW_LLP_TCP)
#define LISTEN_SCTP	BIT(RNIC_SW_LLP_SCTP)

struct value_name {
	const char	*name;
	u8		value;
};

static const struct value_name connect_values[] = {
	{ "tcp", RNIC_SW_LLP_TCP }, { "sctp", RNIC_SW_LLP_SCTP }, {}
};

static const struct value_name listen_values[] = {
	{ "tcp", LISTEN_TCP }, { "sctp", LISTEN_SCTP },
	{ "both", LISTEN_TCP | LISTEN_SCTP }, {}
};

static const struct value_name revision_values[] = {
	{ "auto", 0 }, { "1", 1 }, { "2", 2 }, {}
};

static const struct value_name switch_values[] = {
	{ "0", false }, { "1", true }, {}
};

static const struct value_name rtr_values[] = {
	{ "send", DDP_RTR_SEND }, { "write", DDP_RTR_WRITE },
	{ "read", DDP_RTR_READ }, {}
};

static const struct value_name *find_named_value(const struct value_name *w, const char *name)
{
	while (w->name && !sysfs_streq(name, w->name))
		w++;
	return w->name ? w : NULL;
}

static const char *get_value_name(const struct value_name *w, u8 value)
{
	while (w->name && w->value != value)
		w++;
	return w->name;
}

/* Setting whose values have names, stored in a u8 member of struct rnic_policy */
struct choice {
	const struct value_name	*values;
	const char		*invalid;	/* error message, which lists the accepted values */
	size_t			at;	/* offset of the member in struct rnic_policy, in bytes */
	int			(*set)(struct rnic_dev *dev, u8 *at, u8 value);
};

#define CHOICE(values, accepted, member, set)				\
	(&(const struct choice){						\
		values, KBUILD_MODNAME ": value must be " accepted,	\
		offsetof(struct rnic_policy, member), set })

static u8 *get_choice_ptr(struct ib_device *ib, const struct choice *c)
{
	return (u8 *)&to_rnic_dev(ib)->policy + c->at;
}

static void rnic_show_named_value(struct ib_device *ib,
				  const struct ib_device_param *param, char *text,
				  size_t size)
{
	const struct choice *c = param->arg;

	strscpy(text, get_value_name(c->values, READ_ONCE(*get_choice_ptr(ib, c))), size);
}

static int rnic_set_connect_setting(struct rnic_dev *dev, u8 *at, u8 value)
{
	int err = rnic_ensure_llp_loaded(dev, value);

	if (!err)
		WRITE_ONCE(*at, value);
	return err;
}

static int rnic_set_listen_setting(struct rnic_dev *dev, u8 *at, u8 value)
{
	int err = 0;

	if (value & LISTEN_SCTP)
		err = rnic_ensure_llp_loaded(dev, RNIC_SW_LLP_SCTP);
	return err ? err : rnic_set_listen_llps(dev, value);
}

static int rnic_store_setting(struct rnic_dev *dev, u8 *at, u8 value)
{
	WRITE_ONCE(*at, value);
	return 0;
}

static int rnic_set_named_value(struct ib_device *ib,
				const struct ib_device_param *param, const char *text,
				struct netlink_ext_ack *extack)
{
	const struct choice *c = param->arg;
	const struct value_name *w = find_named_value(c->values, text);
	int err;

	if (!w) {
		if (extack)
			extack->_msg = c->invalid;
		return -EINVAL;
	}
	err = c->set(to_rnic_dev(ib), get_choice_ptr(ib, c), w->value);
	if (err == -EPROTONOSUPPORT)
		NL_SET_ERR_MSG_MOD(extack, "SCTP is not available in this kernel");
	else if (err == -EADDRINUSE)
		NL_SET_ERR_MSG_MOD(extack, "port of a listener is already in use");
	else if (err == -EACCES)
		NL_SET_ERR_MSG_MOD(extack, "no permission to bind the port of a listener");
	return err;
}

/* Settings whose values are numbers; param->arg is the offset of a u16 in struct rnic_policy */
static u16 *get_number_ptr(struct ib_device *ib, const struct ib_device_param *param)
{
	return (void *)&to_rnic_dev(ib)->policy + (uintptr_t)param->arg;
}

static void rnic_show_number(struct ib_device *ib, const struct ib_device_param *param,
			     char *text, size_t size)
{
	scnprintf(text, size, "%u", READ_ONCE(*get_number_ptr(ib, param)));
}

static int rnic_set_number(struct ib_device *ib, const struct ib_device_param *param,
			   const char *text, struct netlink_ext_ack *extack)
{
	u16 value;
	int err = kstrtou16(text, 10, &value);

	if (err)
		NL_SET_ERR_MSG_MOD(extack, "value must be 0 to 65535");
	else
		WRITE_ONCE(*get_number_ptr(ib, param), value);
	return err;
}

/* Lists of names, separated by blanks or commas; "none" is the empty list ---- */

static size_t append_name(char *text, size_t size, size_t at, const char *name)
{
	return at + scnprintf(text + at, size - at, "%s%s", at ? " " : "", name);
}

/*
 * Call @add for each name in the list @text, until a call fails.
 *
 * Return: 0; -EINVAL if @text contains no name; -ENOMEM; or the error of @add.
 */
static int rnic_policy_parse_list(const char *text,
				  int (*add)(void *list, const char *name),
				  void *list)
{
	char *copy = kstrdup(text, GFP_KERNEL);
	char *name, *rest;
	int err = -EINVAL;

	if (!copy)
		return -ENOMEM;
	rest = strim(copy);
	if (!strcmp(rest, "none")) {
		rest = NULL;
		err = 0;
	}
	while ((name = strsep(&rest, " ,"))) {
		if (!*name)
			continue;
		err = add(list, name);
		if (err)
			break;
	}
	kfree(copy);
	return err;
}

static void rnic_show_rtr(struct ib_device *ib,
			  const struct ib_device_param *param, char *text,
			  size_t size)
{
	u8 rtr = READ_ONCE(to_rnic_dev(ib)->policy.mpa_rtr);
	const struct value_name *w;
	size_t at = 0;

	strscpy(text, "none", size);
	for (w = rtr_values; w->name; w++)
		if (rtr & w->value)
			at = append_name(text, size, at, w->name);
}

static int rnic_policy_add_rtr(void *list, const char *name)
{
	const struct value_name *w = find_named_value(rtr_values, name);
	u8 *rtr = list;

	if (!w)
		return -EINVAL;
	*rtr |= w->value;
	return 0;
}

static int rnic_set_rtr(struct ib_device *ib,
			const struct ib_device_param *param, const char *text,
			struct netlink_ext_ack *extack)
{
	u8 rtr = 0;
	int err = rnic_policy_parse_list(text, rnic_policy_add_rtr, &rtr);

	if (err == -EINVAL)
		NL_SET_ERR_MSG_MOD(extack, "value must be none, or a list of send, write, read");
	if (!err)
		WRITE_ONCE(to_rnic_dev(ib)->policy.mpa_rtr, rtr);
	return err;
}

/*
 * Write the names of the interfaces @paths to @text; skip interfaces that no longer exist
 * in @net
 */
static void rnic_format_paths(struct net *net, const int *paths, char *text,
			      size_t size)
{
	struct net_device *path;
	size_t at = 0;
	int i;

	for (i = 0; i < RNIC_PATHS; i++) {
		path = dev_get_by_index(net, paths[i]);
		if (path)
			at = append_name(text, size, at, path->name);
		dev_put(path);
	}
}

/*
 * Show the names of the further interfaces whose addresses SCTP may use.  If the caller is
 * in another network namespace than the device, show "elsewhere" instead.
 */
static void rnic_show_paths(struct ib_device *ib,
			    const struct ib_device_param *param, char *text,
			    size_t size)
{
	struct rnic_dev *dev = to_rnic_dev(ib);
	struct net *net = rnic_get_net(dev);
	int paths[RNIC_PATHS];

	strscpy(text, "none", size);
	if (!net)
		return;
	rnic_policy_get_paths(&dev->policy, paths);
	if (net_eq(net, current->nsproxy->net_ns))
		rnic_format_paths(net, paths, text, size);
	else if (paths[0])
		strscpy(text, "elsewhere", size);
	put_net(net);
}

/* List of the further interfaces for SCTP, while its text is parsed */
struct paths {
	struct net	*net;
	int		own;	/* ifindex of the device's interface, which must not be listed */
	int		n;	/* number of entries of @ifindex in use */
	int		ifindex[RNIC_PATHS];
};

static int rnic_policy_add_path(void *list, const char *name)
{
	struct paths *p = list;
	struct net_device *path;

	if (p->n == RNIC_PATHS)
		return -E2BIG;
	path = dev_get_by_name(p->net, name);
	if (!path)
		return -ENODEV;
	p->ifindex[p->n++] = path->ifindex;
	dev_put(path);
	return p->ifindex[p->n - 1] == p->own ? -EINVAL : 0;
}

static int rnic_set_paths(struct ib_device *ib,
			  const struct ib_device_param *param,
			  const char *text, struct netlink_ext_ack *extack)
{
	struct rnic_dev *dev = to_rnic_dev(ib);
	struct paths p = { .net = rnic_get_net(dev), .own = rnic_get_ifindex(dev) };
	int err;

	if (!p.net)
		return -ENODEV;
	err = rnic_policy_parse_list(text, rnic_policy_add_path, &p);
	put_net(p.net);
	if (err == -EINVAL || err == -ENODEV || err == -E2BIG)
		NL_SET_ERR_MSG_MOD(extack, "value must be none, or up to 4 other interfaces");
	if (err)
		return err;
	rnic_policy_set_paths(&dev->policy, p.ifindex);
	return 0;
}

const struct ib_device_param rnic_params[] = {
	{ "connect", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(connect_values, "tcp or sctp", llp_connect, rnic_set_connect_setting) },
	{ "listen", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(listen_values, "one of tcp, sctp, both", llp_listen, rnic_set_listen_setting) },
	{ "streams", rnic_show_number, rnic_set_number,
	  (void *)offsetof(struct rnic_policy, streams) },
	{ "paths", rnic_show_paths, rnic_set_paths },
	{ "revision", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(revision_values, "one of auto, 1, 2", mpa_revision, rnic_store_setting) },
	{ "crc", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(switch_values, "0 or 1", mpa_crc, rnic_store_setting) },
	{ "markers", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(switch_values, "0 or 1", mpa_markers, rnic_store_setting) },
	{ "rtr", rnic_show_rtr, rnic_set_rtr },
	{ "rendezvous", rnic_show_number, rnic_set_number,
	  (void *)offsetof(struct rnic_policy, rendezvous) },
	{ "rnr_wait", rnic_show_number, rnic_set_number,
	  (void *)offsetof(struct rnic_policy, rnr_wait) },
	{ "busy_poll", rnic_show_named_value, rnic_set_named_value,
	  CHOICE(switch_values, "0 or 1", busy_poll, rnic_store_setting) },
	{}
};
