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
 * Killable locks: the caller is killed at lock number @killed_at. At the second
 * lock, that of the first listener, another caller comes.
 */
static int locks, killed_at;
static void (*comes)(void);

static inline int taken(int *held)
{
	if (++locks == 2 && comes)
		comes();
	if (locks == killed_at)
		return -EINTR;
	host_take(held);
	return 0;
}

#define ibdev_warn_ratelimited(ib, text, err)	((void)(ib), (void)(err))
#define mutex_lock_killable(m)	taken(&(m)->held)

/* replaces compat/rdma.h */
#define _COMPAT_RDMA_H
#define compat_iw_cm_net(id)	((id)->net)
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
	u8			there[MANY];	/* lower layers on which it listens */
	int			tcp_fails_for, sctp_fails_for, error;
	bool			no_sctp, enables;
} world;

/* The lower layers ---------------------------------------------------------------- */

static struct ddp_listener *begins(int llp, const struct ddp_session_type *type,
				   const struct ddp_listen *a, void *ctx)
{
	const struct rnic_lep *lep = ctx;
	int which = lep->id - world.id;
	struct ddp_listener *l = &world.l[llp][which];

	if (which == (llp == RNIC_SW_LLP_SCTP ? world.sctp_fails_for : world.tcp_fails_for))
		return ERR_PTR(world.error);
	WARN_ON(world.there[which] & BIT(llp));
	world.there[which] |= BIT(llp);
	l->type = type;
	l->ctx = ctx;
	return l;
}

static int who(struct ddp_listener *l)
{
	return ((struct rnic_lep *)l->ctx)->id - world.id;
}

static void ends(struct ddp_listener *l, int llp)
{
	WARN_ON(!(world.there[who(l)] & BIT(llp)));
	world.there[who(l)] &= ~BIT(llp);
}

static const struct ddp_session_type mpa, sctp;

static struct ddp_listener *mpa_begins(const struct ddp_listen *a,
				       const struct ddp_session_user *user, void *ctx)
{
	return begins(RNIC_SW_LLP_TCP, &mpa, a, ctx);
}

static struct ddp_listener *sctp_begins(const struct ddp_listen *a,
					const struct ddp_session_user *user, void *ctx)
{
	return begins(RNIC_SW_LLP_SCTP, &sctp, a, ctx);
}

static void mpa_ends(struct ddp_listener *l)
{
	ends(l, RNIC_SW_LLP_TCP);
}

static void sctp_ends(struct ddp_listener *l)
{
	ends(l, RNIC_SW_LLP_SCTP);
}

static const struct ddp_session_type mpa = {
	.listen = mpa_begins, .unlisten = mpa_ends,
};

static const struct ddp_session_type sctp = {
	.listen = sctp_begins, .unlisten = sctp_ends,
};

const struct ddp_session_user rnic_session_user;

const struct ddp_session_type *ddp_type_get(const char *name)
{
	if (!strcmp(name, "mpa"))
		return &mpa;
	return world.no_sctp ? NULL : &sctp;
}

const struct ddp_session_type *ddp_type_get_by_program(const char *name, int protocol)
{
	return ddp_type_get(name);
}

void ddp_type_put(const struct ddp_session_type *type) {}

bool ddp_addr_wildcard(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

/* The rest of rnic_sw ------------------------------------------------------------- */

struct net *rnic_net(struct rnic_dev *dev)
{
	return maybe_get_net(&world.net);
}

int rnic_ifindex(struct rnic_dev *dev)
{
	return 7;
}

bool rnic_enables(const struct rnic_dev *dev)
{
	return world.enables;
}

void rnic_policy_paths(const struct rnic_policy *p, int *paths)
{
	memset(paths, 0, RNIC_PATHS * sizeof(*paths));
}

/* Cases --------------------------------------------------------------------------- */

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	locks = killed_at = 0;
	comes = NULL;
	world.sctp_fails_for = world.tcp_fails_for = NOBODY;
	world.dev.policy.llp_connect = RNIC_SW_LLP_TCP;
	world.dev.policy.llp_listen = TCP;
	return rnic_llps_init(&world.dev);
}

static void listens(struct kunit *test, int which)
{
	struct iw_cm_id *id = &world.id[which];
	struct sockaddr_in *local = (void *)&id->m_local_addr;

	local->sin_addr.s_addr = 1;
	id->device = &world.dev.ib;
	id->net = &world.net;
	KUNIT_ASSERT_EQ(test, rnic_iw_listen(id, 3), 0);
}

static void all_listen(struct kunit *test)
{
	int i;

	for (i = 0; i < MANY; i++)
		listens(test, i);
}

static void all_end(struct kunit *test)
{
	int i;

	for (i = 0; i < MANY; i++) {
		rnic_iw_unlisten(&world.id[i]);
		KUNIT_EXPECT_EQ(test, world.there[i], 0);
	}
	rnic_llps_exit(&world.dev);
	KUNIT_EXPECT_EQ(test, world.net.held, 0);
}

static void expect(struct kunit *test, u8 first, u8 second, u8 third)
{
	KUNIT_EXPECT_EQ(test, world.there[0], first);
	KUNIT_EXPECT_EQ(test, world.there[1], second);
	KUNIT_EXPECT_EQ(test, world.there[2], third);
}

static int set(u8 which)
{
	int err = rnic_need_llp(&world.dev, RNIC_SW_LLP_SCTP);

	locks = 0;
	return err ? err : rnic_listen_over(&world.dev, which);
}

static void they_follow(struct kunit *test)
{
	all_listen(test);
	expect(test, TCP, TCP, TCP);
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), 0);
	expect(test, TCP | SCTP, TCP | SCTP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, SCTP, SCTP);
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, SCTP, SCTP);
	KUNIT_EXPECT_EQ(test, set(TCP), 0);
	expect(test, TCP, TCP, TCP);
	all_end(test);
}

/*
 * A wildcard listener that cannot listen on a new device does not fail the
 * device's creation
 */
static void deaf(struct kunit *test)
{
	struct sockaddr_in *local = (void *)&world.id[1].m_local_addr;

	all_listen(test);
	rnic_iw_unlisten(&world.id[1]);
	world.tcp_fails_for = 1;
	world.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&world.id[1], 3), -EADDRINUSE);
	local->sin_addr.s_addr = 0;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&world.id[1], 3), -EADDRINUSE);
	world.enables = true;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&world.id[1], 3), 0);
	expect(test, TCP, 0, TCP);
	rnic_iw_unlisten(&world.id[1]);
	/* a listener on an address does get the error */
	local->sin_addr.s_addr = 1;
	KUNIT_EXPECT_EQ(test, rnic_iw_listen(&world.id[1], 3), -EADDRINUSE);
	world.tcp_fails_for = NOBODY;
	listens(test, 1);
	all_end(test);
}

static void all_or_none(struct kunit *test)
{
	all_listen(test);
	world.sctp_fails_for = 1;
	world.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, set(SCTP), -EADDRINUSE);
	expect(test, TCP, TCP, TCP);
	KUNIT_EXPECT_EQ(test, world.dev.policy.llp_listen, TCP);
	/* with TCP as well, SCTP is optional: used where possible */
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), 0);
	expect(test, TCP | SCTP, TCP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, set(SCTP), -EADDRINUSE);
	expect(test, TCP | SCTP, TCP, TCP | SCTP);
	/* setting the current value again never fails */
	world.error = -ENOMEM;
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), 0);
	expect(test, TCP | SCTP, TCP, TCP | SCTP);
	KUNIT_EXPECT_EQ(test, set(TCP), 0);
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), -ENOMEM);
	expect(test, TCP, TCP, TCP);
	world.sctp_fails_for = NOBODY;
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), 0);
	expect(test, TCP | SCTP, TCP | SCTP, TCP | SCTP);
	all_end(test);
}

/* A listener of another network namespace does not follow the setting */
static void of_others(struct kunit *test)
{
	struct sockaddr_in *anywhere = (void *)&world.id[1].m_local_addr;

	all_listen(test);
	world.id[1].net = &world.elsewhere;
	anywhere->sin_addr.s_addr = 0;
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), 0);
	expect(test, TCP | SCTP, TCP, TCP | SCTP);
	all_end(test);
}

/* A killed caller leaves all listeners with the old setting or all with the new one */
static void killed(struct kunit *test)
{
	int i;

	all_listen(test);
	for (i = 1; world.dev.policy.llp_listen == TCP; i++) {
		KUNIT_ASSERT_LT(test, i, 3 * MANY);
		killed_at = i;
		KUNIT_EXPECT_EQ(test, set(SCTP), -EINTR);
		if (world.dev.policy.llp_listen == TCP)
			expect(test, TCP, TCP, TCP);
	}
	/* too late to cancel: the setting applies to all */
	expect(test, SCTP, SCTP, SCTP);
	killed_at = 0;
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, SCTP, SCTP);
	all_end(test);
}

static struct kunit *current_test;

static void third_comes(void)
{
	listens(current_test, 2);
}

/*
 * A listener that starts during the change follows it as well, or keeps its
 * protocol if it cannot
 */
static void begun_meanwhile(struct kunit *test)
{
	current_test = test;
	listens(test, 0);
	listens(test, 1);
	comes = third_comes;
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, SCTP, SCTP);
	comes = NULL;
	KUNIT_EXPECT_EQ(test, set(TCP), 0);
	rnic_iw_unlisten(&world.id[2]);
	world.sctp_fails_for = 2;
	world.error = -EADDRINUSE;
	comes = third_comes;
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, SCTP, TCP);
	all_end(test);
}

static void second_ends(void)
{
	rnic_iw_unlisten(&world.id[1]);
}

static void ended_meanwhile(struct kunit *test)
{
	all_listen(test);
	comes = second_ends;
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, 0, SCTP);
	comes = NULL;
	listens(test, 1);
	all_end(test);
}

/*
 * A listener whose address was removed keeps its protocol and does not fail the
 * change
 */
static void address_gone(struct kunit *test)
{
	all_listen(test);
	world.sctp_fails_for = 1;
	world.error = -EADDRNOTAVAIL;
	KUNIT_EXPECT_EQ(test, set(SCTP), 0);
	expect(test, SCTP, TCP, SCTP);
	/*
	 * the listener keeps it as well if the change is undone because another
	 * listener fails
	 */
	world.sctp_fails_for = NOBODY;
	world.tcp_fails_for = 2;
	world.error = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, set(TCP), -EADDRINUSE);
	expect(test, SCTP, TCP, SCTP);
	all_end(test);
}

/* A lack of permission is reported even if SCTP is optional */
static void not_allowed(struct kunit *test)
{
	all_listen(test);
	world.sctp_fails_for = 1;
	world.error = -EACCES;
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), -EACCES);
	expect(test, TCP, TCP, TCP);
	all_end(test);
}

static void no_sctp(struct kunit *test)
{
	world.no_sctp = true;
	all_listen(test);
	KUNIT_EXPECT_EQ(test, set(TCP | SCTP), -EPROTONOSUPPORT);
	expect(test, TCP, TCP, TCP);
	all_end(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(they_follow),
	KUNIT_CASE(deaf),
	KUNIT_CASE(all_or_none),
	KUNIT_CASE(of_others),
	KUNIT_CASE(killed),
	KUNIT_CASE(begun_meanwhile),
	KUNIT_CASE(ended_meanwhile),
	KUNIT_CASE(address_gone),
	KUNIT_CASE(not_allowed),
	KUNIT_CASE(no_sctp),
	{}
};

static struct kunit_suite suite = {
	.name = "rnic_listen",
	.init = begin,
	.test_cases = cases,
};
kunit_test_suite(suite);
