// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Create and release sockets on behalf of a task, so that firewalls and control
 * groups treat the packets like those of a socket that the task has created itself.
 *
 * Workers create many sockets: they accept connections, connect again after a
 * failure, and listen on addresses that are added later. A worker's own control
 * group is the root, and its user is root.
 *
 * A firewall's rules for a user or group match only sockets with a file, so each socket
 * gets a file. It is in no file descriptor table.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/hash.h>
#include <linux/net.h>
#include <net/cls_cgroup.h>
#include <net/net_namespace.h>
#include <net/netprio_cgroup.h>
#include <net/sock.h>

#include <ddp/owner.h>
#include <ddp/sock.h>

#include "internal.h"

#define GROUPS_MAX	32	/* maximum number of supplementary groups to compare */

/* Control groups ----------------------------------------------------------- */

#ifdef CONFIG_SOCK_CGROUP_DATA
static void get_cgroup(struct cgroup *cgroup)
{
	cgroup_get(cgroup);
	cgroup_bpf_get(cgroup);
}

static void put_cgroup(struct cgroup *cgroup)
{
	cgroup_bpf_put(cgroup);
	cgroup_put(cgroup);
}

/* Take a reference to the control group of the current task */
static struct cgroup *get_current_cgroup(void)
{
	struct cgroup *cgroup;

	rcu_read_lock();
	/* repeat if the group is being removed: the task has then moved to another group */
	while (!cgroup_tryget(cgroup = task_dfl_cgroup(current)))
		cpu_relax();
	cgroup_bpf_get(cgroup);
	rcu_read_unlock();
	return cgroup;
}

static void init_cgroups(struct sock_cgroup_data *d)
{
	d->cgroup = get_current_cgroup();
	sock_update_classid(d);
	sock_update_netprioidx(d);
}

/* Copy @from to @to, and take the references for the copy */
static void copy_cgroups(struct sock_cgroup_data *to, const struct sock_cgroup_data *from)
{
	*to = *from;
	get_cgroup(to->cgroup);
}

static void put_cgroups(struct sock_cgroup_data *d)
{
	put_cgroup(d->cgroup);
}

/*
 * Replace the control groups of a socket. A softirq may still be using the previous
 * group: it is an RCU reader, and control groups are freed after a grace period.
 */
static void set_cgroups(struct sock *sk, const struct sock_cgroup_data *from)
{
	struct cgroup *before = sk->sk_cgrp_data.cgroup;

	get_cgroup(from->cgroup);
	WRITE_ONCE(sk->sk_cgrp_data.cgroup, from->cgroup);
	put_cgroup(before);
#ifdef CONFIG_CGROUP_NET_CLASSID
	sock_cgroup_set_classid(&sk->sk_cgrp_data, from->classid);
#endif
	sock_cgroup_set_prioidx(&sk->sk_cgrp_data, sock_cgroup_prioidx(from));
}

static bool cgroups_equal(const struct sock_cgroup_data *a, const struct sock_cgroup_data *b)
{
#ifdef CONFIG_CGROUP_NET_CLASSID
	if (a->classid != b->classid)
		return false;
#endif
	return a->cgroup == b->cgroup && sock_cgroup_prioidx(a) == sock_cgroup_prioidx(b);
}
#else
static void init_cgroups(struct sock_cgroup_data *d) { }
static void copy_cgroups(struct sock_cgroup_data *to, const struct sock_cgroup_data *from) { }
static void put_cgroups(struct sock_cgroup_data *d) { }
static void set_cgroups(struct sock *sk, const struct sock_cgroup_data *from) { }

static bool cgroups_equal(const struct sock_cgroup_data *a, const struct sock_cgroup_data *b)
{
	return true;
}
#endif

/* Owners ------------------------------------------------------------------- */

/**
 * ddp_sock_owner_init - make the current task the owner
 * @o: the owner, to be released with ddp_sock_owner_exit()
 * @net: network namespace of the sockets; NULL for the owner of a listener, which is
 *	never privileged
 *
 * Context: process.
 */
void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net)
{
	o->cred = get_current_cred();
	init_cgroups(&o->cgroups);
	o->privileged = net && ns_capable_noaudit(net->user_ns, CAP_NET_BIND_SERVICE);
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_init);

/**
 * ddp_sock_owner_copy - copy an owner
 * @to: the copy, to be released with ddp_sock_owner_exit()
 * @from: the owner
 */
void ddp_sock_owner_copy(struct ddp_sock_owner *to, const struct ddp_sock_owner *from)
{
	to->cred = get_cred(from->cred);
	copy_cgroups(&to->cgroups, &from->cgroups);
	to->privileged = from->privileged;
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_copy);

/**
 * ddp_sock_owner_init_from_sock - get the owner of a socket
 * @o: set to the owner, to be released with ddp_sock_owner_exit(); it is not
 *	privileged
 * @sock: socket from ddp_sock_create() or ddp_sock_accept()
 */
void ddp_sock_owner_init_from_sock(struct ddp_sock_owner *o, const struct socket *sock)
{
	o->cred = get_cred(sock->file->f_cred);
	copy_cgroups(&o->cgroups, &sock->sk->sk_cgrp_data);
	o->privileged = false;
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_init_from_sock);

/**
 * ddp_sock_owner_exit - drop the references of an owner
 * @o: the owner
 *
 * Context: any.
 */
void ddp_sock_owner_exit(struct ddp_sock_owner *o)
{
	put_cgroups(&o->cgroups);
	put_cred(o->cred);
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_exit);

/*
 * Compare two lists of supplementary groups. Unlike cred_fscmp(), compare only short lists,
 * because callers compare one owner with many others while they hold a spinlock.
 */
static bool groups_equal(const struct group_info *a, const struct group_info *b)
{
	return a == b ||
	       (a->ngroups == b->ngroups && a->ngroups <= GROUPS_MAX &&
		!memcmp(a->gid, b->gid, a->ngroups * sizeof(*a->gid)));
}

static bool fs_creds_equal(const struct cred *a, const struct cred *b)
{
	return a == b || (uid_eq(a->fsuid, b->fsuid) && gid_eq(a->fsgid, b->fsgid) &&
			  groups_equal(a->group_info, b->group_info));
}

/**
 * ddp_sock_owner_equal - check whether two owners may share a socket
 * @a: first owner
 * @b: second owner
 *
 * Context: any.
 *
 * Return: true if firewalls and control groups cannot tell the owners apart, and both
 * may use the same local ports; false otherwise. Two lists of more than GROUPS_MAX
 * supplementary groups count as different, unless both owners refer to the same list.
 */
bool ddp_sock_owner_equal(const struct ddp_sock_owner *a, const struct ddp_sock_owner *b)
{
	return a->privileged == b->privileged && fs_creds_equal(a->cred, b->cred) &&
	       cgroups_equal(&a->cgroups, &b->cgroups);
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_equal);

/**
 * ddp_sock_owner_hash - hash an owner
 * @o: the owner
 *
 * Context: any.
 *
 * Return: a hash that is the same for owners that ddp_sock_owner_equal() finds equal.
 */
u32 ddp_sock_owner_hash(const struct ddp_sock_owner *o)
{
	u32 hash = hash_32(__kuid_val(o->cred->fsuid), 32);

#ifdef CONFIG_SOCK_CGROUP_DATA
	hash ^= hash32_ptr(o->cgroups.cgroup);
#endif
	return hash;
}
EXPORT_SYMBOL_GPL(ddp_sock_owner_hash);

/* Sockets ------------------------------------------------------------------ */

/*
 * Convert the kernel's errors for a lack of memory to -ENOMEM; -ENFILE also means that
 * the system has too many files.
 */
static int convert_memory_error(int err)
{
	return err == -ENOBUFS || err == -ENFILE ? -ENOMEM : err;
}

/*
 * Give a socket a file, which has the current credentials. Return: 0; or a negative
 * errno, and the socket is released.
 */
static int add_sock_file(struct socket *sock)
{
	return PTR_ERR_OR_ZERO(sock_alloc_file(sock, O_NONBLOCK, NULL));
}

static int create_sock_as_current(struct net *net, int family, int protocol, struct socket **sock)
{
	int err = sock_create_kern(net, family, SOCK_STREAM, protocol, sock);

	return err ?: add_sock_file(*sock);
}

/**
 * ddp_sock_create - create a socket with a reference to its network namespace
 * @net: the network namespace
 * @vrf: VRF to bind the socket to, from ddp_ifindex_to_vrf(), or 0 for none
 * @family: address family
 * @protocol: IPPROTO_TCP or IPPROTO_SCTP
 * @owner: task on whose behalf the socket is created
 * @sock: set to the socket, to be released with ddp_sock_release(); not changed
 *	after an error
 *
 * Context: process, may sleep.
 *
 * Return: 0 on success; -ENOMEM if memory is short or the system has too many files;
 * -EPROTONOSUPPORT if the kernel lacks the protocol or may not load its module; or
 * another negative errno.
 */
int ddp_sock_create(struct net *net, int vrf, int family, int protocol,
		    const struct ddp_sock_owner *owner, struct socket **sock)
{
	const struct cred *mine = override_creds(owner->cred);
	struct socket *fresh;
	int err = create_sock_as_current(net, family, protocol, &fresh);

	revert_creds(mine);
	if (err)
		return convert_memory_error(err);
	set_cgroups(fresh->sk, &owner->cgroups);
	ddp_sock_init_lock_class(fresh->sk);
	compat_sk_net_refcnt_upgrade(fresh->sk);
	/* sock_bindtoindex() cannot fail while the socket is not bound */
	if (vrf)
		sock_bindtoindex(fresh->sk, vrf, true);
	*sock = fresh;
	return 0;
}
EXPORT_SYMBOL_GPL(ddp_sock_create);

/*
 * Give an accepted socket a file; if this fails, reset the connection and release the
 * socket. The caller must have removed the callbacks of the listening socket from @sock,
 * because TCP or SCTP may call them even after the release. Return: 0, or a negative errno.
 */
static int add_sock_file_or_reset(struct socket *sock)
{
	int err;

	sock_no_linger(sock->sk);
	err = add_sock_file(sock);
	if (err)
		return err;
	lock_sock(sock->sk);
	sock_reset_flag(sock->sk, SOCK_LINGER);
	release_sock(sock->sk);
	return 0;
}

/**
 * ddp_sock_accept - accept a connection on behalf of the owner of the listening socket
 * @listener: the listening socket
 * @orig_callbacks: callbacks for the connected socket, which may have inherited those of the
 *	listening socket
 * @sock: set to the connected socket, to be released with ddp_sock_release()
 *
 * Does not wait for a connection. Sets the control groups to those of the listening
 * socket, because SCTP does not copy them. Resets the connection if the socket cannot get
 * a file, because a firewall's rules for a user or group would not match its packets.
 *
 * Context: process, may sleep.
 *
 * Return: 0 on success; -EAGAIN if no connection is waiting; another negative errno.
 */
int ddp_sock_accept(struct socket *listener, const struct ddp_sock_callbacks *orig_callbacks,
		    struct socket **sock)
{
	const struct cred *mine = override_creds(listener->file->f_cred);
	int err = kernel_accept(listener, sock, O_NONBLOCK);

	if (!err) {
		ddp_sock_restore_callbacks((*sock)->sk, orig_callbacks);
		compat_sk_child_net((*sock)->sk);
		set_cgroups((*sock)->sk, &listener->sk->sk_cgrp_data);
		err = add_sock_file_or_reset(*sock);
	}
	revert_creds(mine);
	return convert_memory_error(err);
}

/**
 * ddp_sock_set_owner - replace the owner of a connected socket
 * @sock: socket from ddp_sock_accept(); the caller must serialize calls for it
 * @owner: the new owner
 *
 * The file is in no file descriptor table, so only firewalls read its credentials. They hold
 * sk_callback_lock or are RCU readers, and credentials are freed after a grace period.
 *
 * Context: process.
 */
void ddp_sock_set_owner(struct socket *sock, const struct ddp_sock_owner *owner)
{
	const struct cred *before, *cred = get_cred(owner->cred);
	struct sock *sk = sock->sk;

	SOCK_INODE(sock)->i_uid = cred->fsuid;
	SOCK_INODE(sock)->i_gid = cred->fsgid;
	write_lock_bh(&sk->sk_callback_lock);
	before = sock->file->f_cred;
	WRITE_ONCE(sock->file->f_cred, cred);
	WRITE_ONCE(sk->sk_uid, cred->fsuid);
	write_unlock_bh(&sk->sk_callback_lock);
	put_cred(before);
	set_cgroups(sk, &owner->cgroups);
}
EXPORT_SYMBOL_GPL(ddp_sock_set_owner);

/**
 * ddp_sock_release - close a socket and its file
 * @sock: socket from ddp_sock_create() or ddp_sock_accept()
 *
 * Closes the connection with sock_release(); fput() then frees the file and the inode, later.
 * fput() alone would do both, but would close the socket with the inode locked. The inodes
 * of all sockets have the same lock class, so lockdep would report deadlocks with locks that
 * other protocols take while the inode is locked, such as the RTNL.
 *
 * Context: process, may sleep.
 */
void ddp_sock_release(struct socket *sock)
{
	struct file *file = sock->file;

	sock_release(sock);
	/* restore sock->file, which sock_release() has cleared, or fput() drops the inode twice */
	WRITE_ONCE(sock->file, file);
	fput(file);
}
EXPORT_SYMBOL_GPL(ddp_sock_release);
