/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Settings of a device as sysfs files, for kernels whose RDMA core has no
 * netlink command for them. The files are in llp/ and mpa/ of the device's
 * directory; rnic_params describes the settings.
 */
#ifndef _COMPAT_SETTINGS_H
#define _COMPAT_SETTINGS_H

#ifdef HAVE_DEVICE_PARAMS
#define COMPAT_PARAMS	.params = rnic_params,
#else
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

/* Check that the caller has CAP_NET_ADMIN for the device's network namespace */
static int compat_check_admin(struct ib_device *ib)
{
	struct net *net = rnic_get_net(to_rnic_dev(ib));
	bool may;

	if (!net)
		return -ENODEV;
	may = ns_capable(net->user_ns, CAP_NET_ADMIN);
	put_net(net);
	return may ? 0 : -EPERM;
}

/* Find the setting that a sysfs file shows; rnic_params has an entry for each file */
static const struct ib_device_param *compat_find_param(const struct device_attribute *attr)
{
	const struct ib_device_param *param = rnic_params;

	while (strcmp(param->name, attr->attr.name))
		param++;
	return param;
}

static ssize_t compat_show_param(struct device *device,
				 struct device_attribute *attr, char *buf)
{
	const struct ib_device_param *param = compat_find_param(attr);
	size_t n;

	param->show(rdma_device_to_ibdev(device), param, buf, PAGE_SIZE);
	n = strlen(buf);
	return n + sysfs_emit_at(buf, n, "\n");
}

static ssize_t compat_store_param(struct device *device,
				  struct device_attribute *attr,
				  const char *buf, size_t n)
{
	const struct ib_device_param *param = compat_find_param(attr);
	struct ib_device *ib = rdma_device_to_ibdev(device);
	int err = compat_check_admin(ib);

	if (!err)
		err = param->set(ib, param, buf, NULL);
	return err ? err : n;
}

#define COMPAT_SETTING(name)					\
	static struct device_attribute compat_##name =		\
		__ATTR(name, 0644, compat_show_param, compat_store_param)

COMPAT_SETTING(connect);
COMPAT_SETTING(listen);
/*
 * the SCTP settings are in llp/ too, because ib->groups has no free entry for
 * another directory
 */
COMPAT_SETTING(streams);
COMPAT_SETTING(paths);
COMPAT_SETTING(revision);
COMPAT_SETTING(crc);
COMPAT_SETTING(markers);
COMPAT_SETTING(rtr);
COMPAT_SETTING(rendezvous);
COMPAT_SETTING(rnr_wait);
COMPAT_SETTING(busy_poll);

static struct attribute *compat_llp_attrs[] = {
	&compat_connect.attr,
	&compat_listen.attr,
	&compat_streams.attr,
	&compat_paths.attr,
	&compat_rendezvous.attr,
	&compat_rnr_wait.attr,
	&compat_busy_poll.attr,
	NULL
};

static const struct attribute_group compat_llp_group = {
	.name	= "llp",
	.attrs	= compat_llp_attrs,
};

static struct attribute *compat_mpa_attrs[] = {
	&compat_revision.attr,
	&compat_crc.attr,
	&compat_markers.attr,
	&compat_rtr.attr,
	NULL
};

static const struct attribute_group compat_mpa_group = {
	.name	= "mpa",
	.attrs	= compat_mpa_attrs,
};

#define COMPAT_PARAMS	.device_group = &compat_llp_group,

/*
 * Put the group of mpa/ into groups[2]: the core sets groups[0] and [1], and
 * uses [3] for counters
 */
static inline void compat_set_device_ops(struct ib_device *ib,
					 const struct ib_device_ops *ops)
{
	ib_set_device_ops(ib, ops);
	ib->groups[2] = &compat_mpa_group;
}

#define ib_set_device_ops	compat_set_device_ops
#endif

#endif
