/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Makes older kernels look like the newest; included in front of every file.
 * Macros rather than functions, so that no file sees a header because of it.
 */
#ifndef _COMPAT_COMPAT_H
#define _COMPAT_COMPAT_H

/* What kernel_bind() and kernel_connect() take */
#ifdef HAVE_SOCKADDR_UNSIZED
#define compat_sockaddr(x)	((struct sockaddr_unsized *)(x))
#else
#define compat_sockaddr(x)	((struct sockaddr *)(x))
#endif

/*
 * The flag that makes sendmsg take pages, or 0 where it does not: there are
 * kernels that define its name and ignore it.
 */
#ifdef HAVE_SPLICE_PAGES
#define COMPAT_SPLICE_PAGES	MSG_SPLICE_PAGES
#else
#define COMPAT_SPLICE_PAGES	0
#endif

/* Fragments that the CPU cannot read are newer than this kernel */
#ifdef HAVE_SKB_FRAGS_READABLE
#define compat_skb_hide_frags(skb)	((skb)->unreadable = true)
#else
#define skb_frags_readable(skb)		((void)(skb), true)
#define compat_skb_hide_frags(skb)	((void)(skb))
#endif

/* Set up, and what it calls, in one go */
#ifndef HAVE_HRTIMER_SETUP
#define hrtimer_setup(timer, fn, clock, mode) do {			\
	struct hrtimer *__timer = (timer);				\
									\
	hrtimer_init(__timer, clock, mode);				\
	__timer->function = fn;						\
} while (0)
#endif

/* A member for rdma.h: under RTNL; or IB_PORT_NOP */
#ifdef HAVE_DISPATCH_PORT_STATE
#define COMPAT_DECLARE_PORT(name)
#else
#define COMPAT_DECLARE_PORT(name)	enum ib_port_state name
#endif

#ifndef HAVE_TRACE_SK_DATA_READY
#define trace_sk_data_ready(sk)	((void)(sk))
#endif

/* A kernel socket that keeps its network namespace alive */
#ifdef HAVE_SK_NET_REFCNT_UPGRADE
#define compat_sk_net_refcnt_upgrade(sk)	sk_net_refcnt_upgrade(sk)
#else
#ifdef HAVE_NETNS_TRACKER_FREE
#define compat_forget_net(net, tracker)	__netns_tracker_free(net, tracker, false)
#else
#define compat_forget_net(net, tracker)	((void)(net), (void)(tracker))
#endif
#define compat_sk_net_refcnt_upgrade(sk) do {				\
	struct sock *__sk = (sk);					\
	struct net *__net = sock_net(__sk);				\
									\
	compat_forget_net(__net, &__sk->ns_tracker);			\
	__sk->sk_net_refcnt = 1;					\
	get_net_track(__net, &__sk->ns_tracker, GFP_KERNEL);		\
	sock_inuse_add(__net, 1);					\
} while (0)
#endif

/* Before, a child of SCTP's did not hold the namespace that its listening socket holds */
#ifdef HAVE_SK_CLONE
#define compat_sk_child_net(sk)
#else
#define compat_sk_child_net(sk) do {					\
	if (!(sk)->sk_net_refcnt)					\
		compat_sk_net_refcnt_upgrade(sk);			\
} while (0)
#endif

/* Before it, BH off was a lock of the CPU with PREEMPT_RT, too */
#ifndef HAVE_LOCAL_LOCK_NESTED_BH
#define local_lock_nested_bh(lock)	((void)(lock))
#define local_unlock_nested_bh(lock)	((void)(lock))
#endif

/* With lockdep: the locks of @sk have classes of this module's */
#ifdef HAVE_SK_OWNER_SET
#define compat_sk_owner_set(sk)	sk_owner_set(sk, THIS_MODULE)
#else
#define compat_sk_owner_set(sk)	do { } while (0)
#endif

/*
 * Work in softirq, right behind what raised it, on this CPU.  A function for it
 * takes a struct compat_bh *, embedded in the caller's.
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
