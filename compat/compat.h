/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacements that let the driver use the interfaces of the newest kernel on
 * older kernels. Included before every source file. Macros are used instead of
 * functions, so that this file does not have to include any header.
 */
#ifndef _COMPAT_COMPAT_H
#define _COMPAT_COMPAT_H

/* Cast to the address type that kernel_bind() and kernel_connect() take */
#ifdef HAVE_SOCKADDR_UNSIZED
#define compat_sockaddr(x)	((struct sockaddr_unsized *)(x))
#else
#define compat_sockaddr(x)	((struct sockaddr *)(x))
#endif

/*
 * Flag with which sendmsg() takes references to pages instead of copying them;
 * 0 if the kernel does not support this. Some kernels define MSG_SPLICE_PAGES
 * but ignore it, so Kbuild.probe searches for skb_splice_from_iter() instead.
 */
#ifdef HAVE_SPLICE_PAGES
#define COMPAT_SPLICE_PAGES	MSG_SPLICE_PAGES
#else
#define COMPAT_SPLICE_PAGES	0
#endif

/*
 * Check whether the CPU can read the fragments of an skb. In kernels without
 * skb_frags_readable() the CPU always can. Tests make an skb unreadable with
 * compat_skb_hide_frags().
 */
#ifdef HAVE_SKB_FRAGS_READABLE
#define compat_skb_hide_frags(skb)	((skb)->unreadable = true)
#else
#define skb_frags_readable(skb)		((void)(skb), true)
#define compat_skb_hide_frags(skb)	((void)(skb))
#endif

/* Initialize a timer and set its function, for kernels that do this in two steps */
#ifndef HAVE_HRTIMER_SETUP
#define hrtimer_setup(timer, fn, clock, mode) do {			\
	struct hrtimer *__timer = (timer);				\
									\
	hrtimer_init(__timer, clock, mode);				\
	__timer->function = fn;						\
} while (0)
#endif

/*
 * Declare a member of struct rnic_dev for compat_dispatch_port_state_change() in compat/rdma.h:
 * the port state of the last event, or IB_PORT_NOP before the first event.
 * Protected by RTNL.
 */
#ifdef HAVE_DISPATCH_PORT_STATE
#define COMPAT_DECLARE_PORT(name)
#else
#define COMPAT_DECLARE_PORT(name)	enum ib_port_state name
#endif

/*
 * Declare a member of struct rnic_gid_table for compat_record_unchanged_gid() in compat/verbs.h:
 * the task in which the core is reading an entry that has not changed. Written by this task only.
 */
#ifdef HAVE_GID_KEPT
#define COMPAT_DECLARE_READER(name)
#else
#define COMPAT_DECLARE_READER(name)	struct task_struct *name
#endif

/* Exclude a variable from automatic initialization */
#ifndef HAVE_UNINITIALIZED
#define __uninitialized
#endif

/* Direction of an iov_iter: data that the kernel reads, or writes */
#ifndef HAVE_ITER_SOURCE
#define ITER_SOURCE		WRITE
#define ITER_DEST		READ
#endif

#ifndef HAVE_BVEC_SET_PAGE
#define bvec_set_page(vec, page, len, off)				\
	(*(vec) = (struct bio_vec) {					\
		.bv_page = page, .bv_len = len, .bv_offset = off,	\
	})
#endif

/* Upper bound of the memory that kmalloc() uses for an object, in bytes */
#ifndef HAVE_KMALLOC_SIZE_ROUNDUP
#define kmalloc_size_roundup(size)	roundup_pow_of_two(size)
#endif

/*
 * Make a socket not use the page fragment of the current task. In kernels without
 * sk_use_task_frag, a socket whose sk_allocation is GFP_ATOMIC never uses it.
 */
#ifdef HAVE_SK_USE_TASK_FRAG
#define compat_sk_avoid_task_frag(sk)	((sk)->sk_use_task_frag = false)
#else
#define compat_sk_avoid_task_frag(sk)	((void)(sk))
#endif

#ifndef HAVE_GET_RANDOM_U8
#define get_random_u8()		((u8)get_random_u32())
#endif

#ifndef HAVE_STRING_CHOICES
#define str_on_off(v)		((v) ? "on" : "off")
#define str_yes_no(v)		((v) ? "yes" : "no")
#endif

#ifndef HAVE_TRACE_SK_DATA_READY
#define trace_sk_data_ready(sk)	((void)(sk))
#endif

/*
 * Make a kernel socket hold a reference to its network namespace, and count it as
 * a socket in use: when the socket is freed, the kernel drops that reference and
 * that count. Kernels in which a socket has no tracker of the reference do not
 * export the function that counts.
 */
#ifdef HAVE_SK_NET_REFCNT_UPGRADE
#define compat_sk_net_refcnt_upgrade(sk)	sk_net_refcnt_upgrade(sk)
#else
#ifdef HAVE_NETNS_TRACKER_FREE
#define compat_untrack_net(net, tracker)	__netns_tracker_free(net, tracker, false)
#else
#define compat_untrack_net(net, tracker)	((void)(net), (void)(tracker))
#endif
#ifdef HAVE_SK_NS_TRACKER
#define compat_sk_hold_net(sk, net) do {				\
	compat_untrack_net(net, &(sk)->ns_tracker);			\
	get_net_track(net, &(sk)->ns_tracker, GFP_KERNEL);		\
	sock_inuse_add(net, 1);						\
} while (0)
#else
#ifdef CONFIG_PROC_FS
#define compat_sock_inuse_add(net, n)	this_cpu_add(*(net)->core.sock_inuse, n)
#else
#define compat_sock_inuse_add(net, n)	((void)(net))
#endif
#define compat_sk_hold_net(sk, net) do {				\
	get_net(net);							\
	compat_sock_inuse_add(net, 1);					\
} while (0)
#endif
#define compat_sk_net_refcnt_upgrade(sk) do {				\
	struct sock *__sk = (sk);					\
	struct net *__net = sock_net(__sk);				\
									\
	compat_sk_hold_net(__sk, __net);				\
	__sk->sk_net_refcnt = 1;					\
} while (0)
#endif

/*
 * Check whether rdma_cm may choose the device of interface @mine for the addresses of
 * interface @has, if @mine is neither @has nor the interface below a VLAN @has. In kernels
 * with fill_res_srq_entry (see COMPAT_GIDS in compat/verbs.h), rdma_cm does so only if
 * @is_vlan is true: @mine is then a VLAN on @has. In kernels without it, rdma_cm compares
 * only the MAC addresses, and confuses all interfaces that have the same MAC address. It
 * does not confuse interfaces without a MAC address.
 */
#ifdef HAVE_FILL_RES_SRQ
#define compat_also_related(mine, has, is_vlan)	(is_vlan)
#else
#define compat_also_related(mine, has, is_vlan)				\
	((mine)->addr_len && (mine)->addr_len == (has)->addr_len &&	\
	 !memcmp((mine)->dev_addr, (has)->dev_addr, (mine)->addr_len))
#endif

/*
 * Make an SCTP child socket hold a reference to its network namespace. In
 * kernels without sk_clone() a child socket holds no such reference, even if its
 * listening socket does.
 */
#ifdef HAVE_SK_CLONE
#define compat_sk_child_net(sk)
#else
#define compat_sk_child_net(sk) do {					\
	if (!(sk)->sk_net_refcnt)					\
		compat_sk_net_refcnt_upgrade(sk);			\
} while (0)
#endif

/*
 * Protect per-CPU data while BH is disabled. In kernels without
 * local_lock_nested_bh(), disabling BH on PREEMPT_RT takes a per-CPU lock, so
 * no other lock is needed.
 */
#ifndef HAVE_LOCAL_LOCK_NESTED_BH
#define local_lock_nested_bh(lock)	((void)(lock))
#define local_unlock_nested_bh(lock)	((void)(lock))
#endif

/*
 * Make @sk hold a reference to this module. If lockdep is enabled, the module
 * contains the lock classes of @sk, so it must not be unloaded before @sk is freed.
 */
#ifdef HAVE_SK_OWNER_SET
#define compat_sk_owner_set(sk)	sk_owner_set(sk, THIS_MODULE)
#else
#define compat_sk_owner_set(sk)	do { } while (0)
#endif

/*
 * Work item that runs in softirq context, on the CPU that called
 * compat_bh_raise(): a BH workqueue item, or a tasklet in kernels without BH
 * workqueues. Its function takes a struct compat_bh *, which is embedded in a
 * struct of the caller.
 */
#ifdef HAVE_WQ_BH
#define compat_bh		work_struct
#define compat_bh_init(b, f)	INIT_WORK(b, f)
#define compat_bh_raise(b)	queue_work(system_bh_wq, b)
#define compat_bh_end(b)	cancel_work_sync(b)
#else
#define compat_bh		tasklet_struct
#define compat_bh_init(b, f)	tasklet_setup(b, f)
#define compat_bh_raise(b)	tasklet_schedule(b)
#define compat_bh_end(b)	tasklet_kill(b)
#endif

#endif
