// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/session.c: unloading the ULP's module while an
 * upcall runs. The unload and the upcall run in two threads.
 */
#include <kunit/test.h>
#include <linux/srcu.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <ddp/session.h>

static struct {
	sem_t	inside;		/* posted when an upcall has begun */
	sem_t	go_on;		/* posted when the upcall may return */
	sem_t	waits;		/* posted when rmmod waits for the upcall */
	bool	returned;
	bool	too_soon;	/* true if rmmod did not wait for the upcall */
} stubs;

void host_on_srcu_wait(void)
{
	sem_post(&stubs.waits);
	usleep(100);
}

/* The ULP, whose module is unloaded --------------------------------------------- */

static int block_in_upcall(void)
{
	sem_post(&stubs.inside);
	sem_wait(&stubs.go_on);
	WRITE_ONCE(stubs.returned, true);
	return 0;
}

static int on_request(struct ddp_listener *l, struct ddp_session *ss,
		      const struct ddp_offer *o)
{
	return block_in_upcall();
}

static void on_refused(struct ddp_listener *l, enum iw_reason why)
{
	block_in_upcall();
}

static enum iw_reason on_established(struct ddp_session *ss,
				     const struct ddp_offer *o)
{
	block_in_upcall();
	return IW_OK;
}

static void on_peer_closed(struct ddp_session *ss)
{
	block_in_upcall();
}

static void on_closed(struct ddp_session *ss, enum iw_reason why,
		      const struct ddp_offer *o)
{
	block_in_upcall();
}

static const struct ddp_session_user user = {
	.request = on_request, .refused = on_refused, .established = on_established,
	.peer_closed = on_peer_closed, .closed = on_closed,
};

static struct ddp_session ss = { .user = &user };
static struct ddp_listener listener = { .user = &user };

/* The lower layer's worker -------------------------------------------------- */

static void *report_request(void *unused)
{
	ddp_session_report_request(&listener, &ss, NULL);
	return NULL;
}

static void *report_refused(void *unused)
{
	ddp_session_report_refused(&listener, IW_TIMEOUT);
	return NULL;
}

static void *report_established(void *unused)
{
	ddp_session_report_established(&ss, NULL);
	return NULL;
}

static void *report_peer_closed(void *unused)
{
	ddp_session_report_peer_closed(&ss);
	return NULL;
}

static void *report_closed(void *unused)
{
	ddp_session_report_closed(&ss, IW_LOCAL_CLOSE, NULL);
	return NULL;
}

/* rmmod ---------------------------------------------------------------------- */

static void *unload_ulp(void *unused)
{
	ddp_session_sync_upcalls();
	stubs.too_soon = !READ_ONCE(stubs.returned);
	sem_post(&stubs.waits);
	return NULL;
}

static void unload_ulp_during_upcall(struct kunit *test, void *(*worker)(void *))
{
	pthread_t w, rmmod;

	memset(&stubs, 0, sizeof(stubs));
	sem_init(&stubs.inside, 0, 0);
	sem_init(&stubs.go_on, 0, 0);
	sem_init(&stubs.waits, 0, 0);
	pthread_create(&w, NULL, worker, NULL);
	sem_wait(&stubs.inside);
	pthread_create(&rmmod, NULL, unload_ulp, NULL);
	/* rmmod waits, or has finished without waiting */
	sem_wait(&stubs.waits);
	sem_post(&stubs.go_on);
	pthread_join(w, NULL);
	pthread_join(rmmod, NULL);
	KUNIT_EXPECT_FALSE(test, stubs.too_soon);
}

static void unload_waits_for_request_upcall(struct kunit *test)
{
	unload_ulp_during_upcall(test, report_request);
}

static void unload_waits_for_refused_upcall(struct kunit *test)
{
	unload_ulp_during_upcall(test, report_refused);
}

static void unload_waits_for_established_upcall(struct kunit *test)
{
	unload_ulp_during_upcall(test, report_established);
}

static void unload_waits_for_peer_closed_upcall(struct kunit *test)
{
	unload_ulp_during_upcall(test, report_peer_closed);
}

static void unload_waits_for_closed_upcall(struct kunit *test)
{
	unload_ulp_during_upcall(test, report_closed);
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE(unload_waits_for_request_upcall),
	KUNIT_CASE(unload_waits_for_refused_upcall),
	KUNIT_CASE(unload_waits_for_established_upcall),
	KUNIT_CASE(unload_waits_for_peer_closed_upcall),
	KUNIT_CASE(unload_waits_for_closed_upcall),
	{}
};

static struct kunit_suite session_suite = {
	.name = "ddp_session",
	.test_cases = session_cases,
};

kunit_test_suite(session_suite);
