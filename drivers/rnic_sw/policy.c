// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a device is set to: llp/ and mpa/ below its directory in sysfs.  Each
 * word counts from the next connection or listener on.  And what a new device
 * is set to, for it is listened on as soon as it is there: parameters.
 */
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <ddp/offer.h>

#include "rnic.h"

#define LISTEN_TCP	BIT(RNIC_SW_LLP_TCP)
#define LISTEN_SCTP	BIT(RNIC_SW_LLP_SCTP)

struct word {
	const char	*name;
	u8		value;
};

static const struct word connect_words[] = {
	{ "tcp", RNIC_SW_LLP_TCP }, { "sctp", RNIC_SW_LLP_SCTP }, {}
};

static const struct word listen_words[] = {
	{ "tcp", LISTEN_TCP }, { "sctp", LISTEN_SCTP },
	{ "both", LISTEN_TCP | LISTEN_SCTP }, {}
};

static const struct word revision_words[] = {
	{ "auto", 0 }, { "1", 1 }, { "2", 2 }, {}
};

static const struct word rtr_words[] = {
	{ "send", DDP_RTR_SEND }, { "write", DDP_RTR_WRITE },
	{ "read", DDP_RTR_READ }, {}
};

/* A word that new devices begin with */
struct preset {
	const struct word	*words;
	u8			value;
};

static struct preset preset_connect = { connect_words, RNIC_SW_LLP_TCP };
/* another protocol's port is opened for those who ask for it */
static struct preset preset_listen = { listen_words, LISTEN_TCP };

/**
 * rnic_policy_init - what a new device is set to
 * @p: filled in
 */
void rnic_policy_init(struct rnic_policy *p)
{
	p->llp_connect = READ_ONCE(preset_connect.value);
	p->llp_listen = READ_ONCE(preset_listen.value);
	p->mpa_revision = 0;
	p->mpa_crc = true;
	p->mpa_markers = false;
	p->mpa_rtr = DDP_RTR_WRITE | DDP_RTR_READ;
	p->streams = 0;
	memset(p->paths, 0, sizeof(p->paths));
}

static struct rnic_dev *to_dev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct rnic_dev, ib);
}

/* May the caller administer the network namespace that the device serves? */
static int check_admin(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	bool may;

	if (!netdev)
		return -ENODEV;
	may = ns_capable(dev_net(netdev)->user_ns, CAP_NET_ADMIN);
	dev_put(netdev);
	return may ? 0 : -EPERM;
}

static const struct word *find_name(const struct word *w, const char *name)
{
	while (w->name && !sysfs_streq(name, w->name))
		w++;
	return w->name ? w : NULL;
}

static ssize_t show_word(char *buf, const struct word *w, u8 value)
{
	while (w->name && w->value != value)
		w++;
	return sysfs_emit(buf, "%s\n", w->name);
}

static int rnic_preset_set(const char *text, const struct kernel_param *param)
{
	struct preset *preset = param->arg;
	const struct word *w = find_name(preset->words, text);

	if (!w)
		return -EINVAL;
	WRITE_ONCE(preset->value, w->value);
	return 0;
}

static int rnic_preset_get(char *buf, const struct kernel_param *param)
{
	const struct preset *preset = param->arg;

	return show_word(buf, preset->words, READ_ONCE(preset->value));
}

static const struct kernel_param_ops preset_ops = {
	.set	= rnic_preset_set,
	.get	= rnic_preset_get,
};

module_param_cb(connect, &preset_ops, &preset_connect, 0644);
MODULE_PARM_DESC(connect, "llp/connect of new devices: tcp or sctp");
module_param_cb(listen, &preset_ops, &preset_listen, 0644);
MODULE_PARM_DESC(listen, "llp/listen of new devices: tcp, sctp or both");

/* A word of @w, read from @buf */
static int rnic_policy_read_word(struct rnic_dev *dev, const struct word *w,
				 const char *buf, u8 *value)
{
	int err = check_admin(dev);

	if (err)
		return err;
	w = find_name(w, buf);
	if (!w)
		return -EINVAL;
	*value = w->value;
	return 0;
}

static ssize_t store_bool(struct device *device, const char *buf, size_t n,
			  bool *word)
{
	int err = check_admin(to_dev(device));
	bool value;

	if (!err)
		err = kstrtobool(buf, &value);
	if (err)
		return err;
	WRITE_ONCE(*word, value);
	return n;
}

static ssize_t connect_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return show_word(buf, connect_words,
			 READ_ONCE(to_dev(device)->policy.llp_connect));
}

static ssize_t connect_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	u8 value;
	int err = rnic_policy_read_word(dev, connect_words, buf, &value);

	if (!err)
		err = rnic_need_llp(dev, value);
	if (err)
		return err;
	WRITE_ONCE(dev->policy.llp_connect, value);
	return n;
}
static DEVICE_ATTR_RW(connect);

static ssize_t listen_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	return show_word(buf, listen_words,
			 READ_ONCE(to_dev(device)->policy.llp_listen));
}

static ssize_t listen_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	u8 value;
	int err = rnic_policy_read_word(dev, listen_words, buf, &value);

	if (!err && value & LISTEN_SCTP)
		err = rnic_need_llp(dev, RNIC_SW_LLP_SCTP);
	if (err)
		return err;
	WRITE_ONCE(dev->policy.llp_listen, value);
	return n;
}
static DEVICE_ATTR_RW(listen);

static ssize_t revision_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return show_word(buf, revision_words,
			 READ_ONCE(to_dev(device)->policy.mpa_revision));
}

static ssize_t revision_store(struct device *device,
			      struct device_attribute *attr, const char *buf,
			      size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	u8 value;
	int err = rnic_policy_read_word(dev, revision_words, buf, &value);

	if (err)
		return err;
	WRITE_ONCE(dev->policy.mpa_revision, value);
	return n;
}
static DEVICE_ATTR_RW(revision);

static ssize_t crc_show(struct device *device, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%d\n",
			  READ_ONCE(to_dev(device)->policy.mpa_crc));
}

static ssize_t crc_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t n)
{
	return store_bool(device, buf, n, &to_dev(device)->policy.mpa_crc);
}
static DEVICE_ATTR_RW(crc);

static ssize_t markers_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n",
			  READ_ONCE(to_dev(device)->policy.mpa_markers));
}

static ssize_t markers_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t n)
{
	return store_bool(device, buf, n, &to_dev(device)->policy.mpa_markers);
}
static DEVICE_ATTR_RW(markers);

static ssize_t rtr_show(struct device *device, struct device_attribute *attr,
			char *buf)
{
	u8 rtr = READ_ONCE(to_dev(device)->policy.mpa_rtr);
	const struct word *w;
	ssize_t at = 0;

	for (w = rtr_words; w->name; w++)
		if (rtr & w->value)
			at += sysfs_emit_at(buf, at, "%s%s", at ? " " : "",
					    w->name);
	if (!at)
		at = sysfs_emit(buf, "none");
	return at + sysfs_emit_at(buf, at, "\n");
}

/* Any of the words, apart by blanks or commas; or "none" */
static int read_rtr(char *text, u8 *rtr)
{
	const struct word *w;
	char *name;

	*rtr = 0;
	text = strim(text);
	if (sysfs_streq(text, "none"))
		return 0;
	while ((name = strsep(&text, " ,"))) {
		w = find_name(rtr_words, name);
		if (!w)
			return -EINVAL;
		*rtr |= w->value;
	}
	return 0;
}

static ssize_t rtr_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	int err = check_admin(dev);
	char *text;
	u8 rtr;

	if (err)
		return err;
	text = kstrndup(buf, n, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	err = read_rtr(text, &rtr);
	kfree(text);
	if (err)
		return err;
	WRITE_ONCE(dev->policy.mpa_rtr, rtr);
	return n;
}
static DEVICE_ATTR_RW(rtr);

/* SCTP's.  With the others of llp/: the core has no room for a group more */
static ssize_t streams_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(to_dev(device)->policy.streams));
}

static ssize_t streams_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	int err = check_admin(dev);
	u16 streams;

	if (!err)
		err = kstrtou16(buf, 0, &streams);
	if (err)
		return err;
	WRITE_ONCE(dev->policy.streams, streams);
	return n;
}
static DEVICE_ATTR_RW(streams);

static ssize_t paths_show(struct device *device, struct device_attribute *attr,
			  char *buf)
{
	struct rnic_dev *dev = to_dev(device);
	struct net *net = rnic_net(dev);
	struct net_device *path;
	ssize_t at = 0;
	int i;

	for (i = 0; net && i < RNIC_PATHS; i++) {
		path = dev_get_by_index(net, READ_ONCE(dev->policy.paths[i]));
		if (path)
			at += sysfs_emit_at(buf, at, "%s%s", at ? " " : "",
					    path->name);
		dev_put(path);
	}
	if (net)
		put_net(net);
	if (!at)
		at = sysfs_emit(buf, "none");
	return at + sysfs_emit_at(buf, at, "\n");
}

/* An interface beside the device's own; its index, or an error */
static int read_path(struct rnic_dev *dev, struct net *net, const char *name)
{
	struct net_device *path = dev_get_by_name(net, name);
	int ifindex = path ? path->ifindex : -ENODEV;

	dev_put(path);
	return ifindex == rnic_ifindex(dev) ? -EINVAL : ifindex;
}

/* Names of interfaces, apart by blanks or commas; or "none" */
static int read_paths(struct rnic_dev *dev, struct net *net, char *text,
		      int *paths)
{
	char *name;
	int n = 0;

	text = strim(text);
	if (sysfs_streq(text, "none"))
		return 0;
	while ((name = strsep(&text, " ,"))) {
		if (n == RNIC_PATHS)
			return -E2BIG;
		paths[n] = read_path(dev, net, name);
		if (paths[n] < 0)
			return paths[n];
		n++;
	}
	return 0;
}

static int parse_paths(struct rnic_dev *dev, const char *buf, size_t n,
		       int *paths)
{
	char *text = kstrndup(buf, n, GFP_KERNEL);
	struct net *net = rnic_net(dev);
	int err = -ENOMEM;

	if (text)
		err = net ? read_paths(dev, net, text, paths) : -ENODEV;
	if (net)
		put_net(net);
	kfree(text);
	return err;
}

static ssize_t paths_store(struct device *device, struct device_attribute *attr,
			   const char *buf, size_t n)
{
	struct rnic_dev *dev = to_dev(device);
	int paths[RNIC_PATHS] = {};
	int err = check_admin(dev);
	int i;

	if (!err)
		err = parse_paths(dev, buf, n, paths);
	if (err)
		return err;
	for (i = 0; i < RNIC_PATHS; i++)
		WRITE_ONCE(dev->policy.paths[i], paths[i]);
	return n;
}
static DEVICE_ATTR_RW(paths);

static struct attribute *llp_attrs[] = {
	&dev_attr_connect.attr,
	&dev_attr_listen.attr,
	&dev_attr_streams.attr,
	&dev_attr_paths.attr,
	NULL
};

const struct attribute_group rnic_llp_group = {
	.name	= "llp",
	.attrs	= llp_attrs,
};

static struct attribute *mpa_attrs[] = {
	&dev_attr_revision.attr,
	&dev_attr_crc.attr,
	&dev_attr_markers.attr,
	&dev_attr_rtr.attr,
	NULL
};

const struct attribute_group rnic_mpa_group = {
	.name	= "mpa",
	.attrs	= mpa_attrs,
};
