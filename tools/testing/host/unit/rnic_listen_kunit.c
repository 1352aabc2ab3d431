// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/cm_listen.c: listeners follow the listen
 * setting of the device. iw_cm and lower layers are stubs.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <linux/socket.h>

/*
 * Stub of mutex_lock_killable(). Call number killed_at fails, as if the caller
 * had been killed. The second call, which takes the lock of the first listener,
 * first runs other_caller() as a concurrent caller.
 */
static int locks, killed_at;
static void (*other_caller)(void);

static inline int take_killable_lock(int *held)
{
	if (++locks == 2 && other_caller)
		other_caller();
	if (locks == killed_at)
		return -EINTR;
	host_mark_lock_taken(held);
	return 0;
}

#define ibdev_warn_ratelimited(ib, text, err)	((void)(ib), (void)(err))
#define mutex_lock_killable(m)	take_killable_lock(&(m)->held)

/* leave out compat/rdma.h, and define the parts of it that the driver needs */
#define _COMPAT_RDMA_H
#define compat_iw_cm_get_net(id)	((id)->net)
struct ib_device_param { const char *name; };

#include "../../../../drivers/rnic_sw/cm_llp.c"
#include "../../../../drivers/rnic_sw/cm_listen.c"

#define TCP	BIT(RNIC_SW_LLP_TCP)
#define SCTP	BIT(RNIC_SW_LLP_SCTP)
#define MANY	3
#define NOBODY	MANY

/* Programs, each with its own port */
static struct {
	struct net		net, elsewhere;
	struct rnic_dev		dev;
	struct iw_cm_id		id[MANY];
	struct ddp_listener	l[RNIC_LLPS][MANY];
	u8			llps_of[MANY];	/* lower layers on which a program listens */
	int			tcp_fails_for, sctp_fails_for, error;
	bool			no_sctp, in_client_add;
} stubs;

/* The lower layers ---------------------------------------------------------------- */

static struct ddp_listener *start_listener(int llp, const struct ddp_session_type *type,
					   const struct ddp_listen *a, void *ctx)
{
	const struct rnic_listener *lep = ctx;
	int which = lep->id - stubs.id;
	struct ddp_listener *l = &stubs.l[llp][which];

	if (which == (llp == RNIC_SW_LLP_SCTP ? stubs.sctp_fails_for : stubs.tcp_fails_for))
		return ERR_PTR(stubs.error);
	WARN_ON(stubs.llps_of[which] & BIT(llp));
	/* another task may change the setting, but the task that listens owns the socket */
	WARN_ON(a->owner != &lep->owner);
	stubs.llps_of[which] |= BIT(llp);
	l->type = type;
	l->ctx = ctx;
	return l;
}

void rnic_connect_watch_init(struct rnic_llps *llps) {}
void rnic_connect_watch_exit(struct rnic_llps *llps) {}

static int owners;	/* number of owners with references */

void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net)
{
	owners++;
}

void ddp_sock_owner_exit(struct ddp_sock_owner *o)
{
	owners--;
}

static int get_program_index(struct ddp_listener *l)
{
	return ((struct rnic_listener *)l->ctx)->id - stubs.id;
}

static void stop_listener(struct ddp_listener *l, int llp)
{
	WARN_ON(!(stubs.llps_of[get_program_index(l)] & BIT(llp)));
	stubs.llps_of[get_program_index(l)] &= ~BIT(llp);
}

static const struct ddp_session_type mpa, sctp;

static struct ddp_listener *start_mpa_listener(const struct ddp_listen *a,
					       const struct ddp_session_user *user, void *ctx)
{
	return start_listener(RNIC_SW_LLP_TCP, &mpa, a, ctx);
}

static struct ddp_listener *start_sctp_listener(const struct ddp_listen *a,
						const struct ddp_session_user *user, void *ctx)
{
	return start_listener(RNIC_SW_LLP_SCTP, &sctp, a, ctx);
}

static void stop_mpa_listener(struct ddp_listener *l)
{
	stop_listener(l, RNIC_SW_LLP_TCP);
}

static void stop_sctp_listener(struct ddp_listener *l)
{
	stop_listener(l, RNIC_SW_LLP_SCTP);
}

static const struct ddp_session_type mpa = {
	.listen = start_mpa_listener, .unlisten = stop_mpa_listener,
};

static const struct ddp_session_type sctp = {
	.listen = start_sctp_listener, .unlisten = stop_sctp_listener,
};

const struct ddp_session_user rnic_session_user;

const struct ddp_session_type *ddp_session_type_get(const char *name)
{
	if (!strcmp(name, "mpa"))
		return &mpa;
	return stubs.no_sctp ? NULL : &sctp;
}

const struct ddp_session_type *ddp_session_type_get_for_current(const char *name, int protocol)
{
	return ddp_session_type_get(name);
}

void ddp_session_type_put(const struct ddp_session_type *type) {}

bool ddp_addr_is_wildcard_or_loopback(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

/* Other functions of rnic_sw ------------------------------------------------------ */

struct net *rnic_get_net(struct rnic_dev *dev)
{
	return maybe_get_net(&stubs.net);
}

int rnic_get_ifindex(struct rnic_dev *dev)
{
	return 7;
}

bool rnic_current_is_adding_clients(const struct rnic_dev *dev)
{
	return stubs.in_client_add;
}

void rnic_policy_get_paths(const struct rnic_policy *p, int *paths)
{
	memset(paths, 0, RNIC_PATHS * sizeof(*paths));
}

/* Cases --------------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	locks = killed_at = 0;
	other_caller = NULL;
	stubs.sctp_fails_for = stubs.tcp_fails_for = NOBODY;
	stubs.dev.policy.llp_connect = RNIC_SW_LLP_TCP;
	stubs.dev.policy.llp_listen = TCP;
	return rnic_llps_init(&stubs.dev);
}

static void listen_as_program(struct kunit *test, int which)
{
	struct iw_cm_id *id = &stubs.id[which];
	struct sockaddr_in *local = (void *)&id->m_local_addr;

	local->sin_addr.s_addr = 1;
	id->device = &stubs.dev.ib;
	id->net = &stubs.net;
	KUNIT_ASSERT_EQ(test, rnic_iw_listen(id, 3), 0);
}

static void listen_as_all_programs(struct kunit *test)
{
	int i;

	for (i = 0; i < MANY; i++)
		listen_as_program(test, i);
}

static void unlisten_all_and_expect_released(struct kunit *test)
{
	int i;

	for (i = 0; i < MANY; i++) {
		rnic_iw_unlisten(&stubs.id[i]);
		KUNIT_EXPECT_EQ(test, stubs.llps_of[i], 0);
	}
	rnic_llps_exit(&stubs.dev);
	KUNIT_EXPECT_EQ(test, stubs.net.held, 0);
	KUNIT_EXPECT_EQ(test, owners, 0);
}

static void expect_llps(struct kunit *test, u8 first, u8 second, u8 third)
{
	KUNIT_EXPECT_EQ(test, stubs.llps_of[0], first);
	KUNIT_EXPECT_EQ(test, stubs.llps_of[1], second);
	KUNIT_EXPECT_EQ(test, stubs.llps_of[2], third);
}

static int change_listen_setting(u8 which)
{
	int err = rnic_ensure_llp_loaded(&stubs.dev, RNIC_SW_LLP_SCTP);

	locks = 0;
	return err ? err : rnic_set_listen_llps(&stubs.dev, which);
}

static void listeners_follow_setting(struct kunit *test)
{
	listen_as_all_programs(test);
	expect_llps(test, TCP, TCP, TCP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), 0);
	expect_llps(test, TCP | SCTP, TCP | SCTP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, SCTP, SCTP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, SCTP, SCTP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP), 0);
	expect_llps(test, TCP, TCP, TCP);
	unlisten_all_and_expect_released(test);
}

/*
 * If a wildcard listener cannot listen on a new device, the device is created
 * nevertheless
 */
static void wildcard_error_on_new_device_is_ignored(struct kunit *test)
{
	struct sockaddr_in *local = (void *)&stubs.id[1].m_local_addr;

	listen_as_all_programs(test);
	rnic_iw_unlisten(&stubs.id[1]);
	stubs.tcp_fails_for = 1;
	stubs.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&stubs.id[1], 3), -EADDRINUSE);
	local->sin_addr.s_addr = 0;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&stubs.id[1], 3), -EADDRINUSE);
	stubs.in_client_add = true;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&stubs.id[1], 3), 0);
	expect_llps(test, TCP, 0, TCP);
	rnic_iw_unlisten(&stubs.id[1]);
	/* a listener that is bound to an address gets the error */
	local->sin_addr.s_addr = 1;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&stubs.id[1], 3), -EADDRINUSE);
	stubs.tcp_fails_for = NOBODY;
	listen_as_program(test, 1);
	unlisten_all_and_expect_released(test);
}

static void failed_setting_change_is_undone(struct kunit *test)
{
	listen_as_all_programs(test);
	stubs.sctp_fails_for = 1;
	stubs.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), -EADDRINUSE);
	expect_llps(test, TCP, TCP, TCP);
	KUNIT_EXPECT_EQ(test, stubs.dev.policy.llp_listen, TCP);
	/* if the setting is both, a listener for which SCTP fails keeps only TCP */
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), 0);
	expect_llps(test, TCP | SCTP, TCP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), -EADDRINUSE);
	expect_llps(test, TCP | SCTP, TCP, TCP | SCTP);
	/* setting the current value again never fails */
	stubs.error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), 0);
	expect_llps(test, TCP | SCTP, TCP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP), 0);
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), -ENOMEM);
	expect_llps(test, TCP, TCP, TCP);
	stubs.sctp_fails_for = NOBODY;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), 0);
	expect_llps(test, TCP | SCTP, TCP | SCTP, TCP | SCTP);
	unlisten_all_and_expect_released(test);
}

/* A listener of another network namespace does not follow the setting */
static void listener_of_other_netns_keeps_protocol(struct kunit *test)
{
	struct sockaddr_in *anywhere = (void *)&stubs.id[1].m_local_addr;

	listen_as_all_programs(test);
	stubs.id[1].net = &stubs.elsewhere;
	anywhere->sin_addr.s_addr = 0;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), 0);
	expect_llps(test, TCP | SCTP, TCP, TCP | SCTP);
	unlisten_all_and_expect_released(test);
}

/* A killed caller leaves all listeners with the old setting or all with the new one */
static void killed_change_applies_to_all_or_none(struct kunit *test)
{
	int i;

	listen_as_all_programs(test);
	for (i = 1; stubs.dev.policy.llp_listen == TCP; i++) {
		KUNIT_ASSERT_LT(test, i, 3 * MANY);
		killed_at = i;
		KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), -EINTR);
		if (stubs.dev.policy.llp_listen == TCP)
			expect_llps(test, TCP, TCP, TCP);
	}
	/*
	 * the caller that was killed at the last of these locks had changed the setting before, so
	 * the new value applies to all listeners
	 */
	expect_llps(test, SCTP, SCTP, SCTP);
	killed_at = 0;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, SCTP, SCTP);
	unlisten_all_and_expect_released(test);
}

static struct kunit *current_test;

static void start_third_listener(void)
{
	listen_as_program(current_test, 2);
}

/*
 * A listener that starts while the setting changes gets the new protocol as well,
 * or keeps the old one if listening on the new protocol fails
 */
static void listen_during_change_gets_new_protocol(struct kunit *test)
{
	current_test = test;
	listen_as_program(test, 0);
	listen_as_program(test, 1);
	other_caller = start_third_listener;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, SCTP, SCTP);
	other_caller = NULL;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP), 0);
	rnic_iw_unlisten(&stubs.id[2]);
	stubs.sctp_fails_for = 2;
	stubs.error = -EADDRINUSE;
	other_caller = start_third_listener;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, SCTP, TCP);
	unlisten_all_and_expect_released(test);
}

static void stop_second_listener(void)
{
	rnic_iw_unlisten(&stubs.id[1]);
}

static void listener_may_end_during_change(struct kunit *test)
{
	listen_as_all_programs(test);
	other_caller = stop_second_listener;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, 0, SCTP);
	other_caller = NULL;
	listen_as_program(test, 1);
	unlisten_all_and_expect_released(test);
}

/*
 * A listener whose address was removed keeps its protocol, and the change of the
 * setting succeeds for the other listeners
 */
static void listener_without_addr_keeps_protocol(struct kunit *test)
{
	listen_as_all_programs(test);
	stubs.sctp_fails_for = 1;
	stubs.error = -EADDRNOTAVAIL;
	KUNIT_EXPECT_EQ(test, change_listen_setting(SCTP), 0);
	expect_llps(test, SCTP, TCP, SCTP);
	/*
	 * The listener must also keep its protocol if the change is undone because another
	 * listener failed.
	 */
	stubs.sctp_fails_for = NOBODY;
	stubs.tcp_fails_for = 2;
	stubs.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP), -EADDRINUSE);
	expect_llps(test, SCTP, TCP, SCTP);
	unlisten_all_and_expect_released(test);
}

/* A lack of permission is reported even if SCTP is optional */
static void permission_error_is_reported(struct kunit *test)
{
	listen_as_all_programs(test);
	stubs.sctp_fails_for = 1;
	stubs.error = -EACCES;
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), -EACCES);
	expect_llps(test, TCP, TCP, TCP);
	unlisten_all_and_expect_released(test);
}

static void change_without_sctp_fails(struct kunit *test)
{
	stubs.no_sctp = true;
	listen_as_all_programs(test);
	KUNIT_EXPECT_EQ(test, change_listen_setting(TCP | SCTP), -EPROTONOSUPPORT);
	expect_llps(test, TCP, TCP, TCP);
	unlisten_all_and_expect_released(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(listeners_follow_setting),
	KUNIT_CASE(wildcard_error_on_new_device_is_ignored),
	KUNIT_CASE(failed_setting_change_is_undone),
	KUNIT_CASE(listener_of_other_netns_keeps_protocol),
	KUNIT_CASE(killed_change_applies_to_all_or_none),
	KUNIT_CASE(listen_during_change_gets_new_protocol),
	KUNIT_CASE(listener_may_end_during_change),
	KUNIT_CASE(listener_without_addr_keeps_protocol),
	KUNIT_CASE(permission_error_is_reported),
	KUNIT_CASE(change_without_sctp_fails),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_listen",
	.init = test_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
