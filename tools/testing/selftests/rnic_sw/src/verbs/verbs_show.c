// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The program rdma of iproute2 must show the objects of this process and their counters. */
#include <stdarg.h>

#include "verbs.h"

#define LENGTH	1000

static char shown[65536];

/* Run a command and store its output in @shown as one line, so that its layout does not matter */
static void run_command(const char *fmt, ...)
{
	char command[256];
	va_list ap;
	size_t n;
	FILE *f;
	char *c;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r");
	CHECK(f, "%m");
	n = fread(shown, 1, sizeof(shown) - 2, f);
	CHECK(!pclose(f), "%s", command);
	shown[n] = 0;
	for (c = shown; *c; c++)
		if (*c == '\n')
			*c = ' ';
	strcpy(c, " ");
}

static const char *get_device_name(const struct end *e)
{
	return ibv_get_device_name(e->id->verbs->device);
}

/* Return: the value of attribute @name of the first object that has the attribute */
static const char *get_shown_value(const char *name)
{
	static char value[64];
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "%s ", name);
	for (at = shown; (at = strstr(at, key)); at++) {
		if (at == shown || (at[-1] != ' ' && at[-1] != '_'))
			continue;
		if (sscanf(at + strlen(key), "%63s", value) == 1)
			return value;
	}
	CHECK(false, "no %s in: %s", name, shown);
	return NULL;
}

static void expect_shown_value(const char *name, const char *value)
{
	const char *got = get_shown_value(name);

	CHECK(!strcmp(got, value), "%s is %s, want %s: %s", name, got, value,
	      shown);
}

static unsigned long get_shown_number(const char *name)
{
	return strtoul(get_shown_value(name), NULL, 10);
}

static void show_one_qp(const struct end *e)
{
	run_command("rdma -dd resource show qp link %s/1 lqpn %u", get_device_name(e),
		    e->qp->qp_num);
}

static void expect_shown_llp_values(void)
{
	expect_shown_value("llp", is_over_sctp() ? "sctp" : "tcp");
	expect_shown_value("phase", "full");
	if (is_over_sctp()) {
		get_shown_number("stream");
	} else {
		expect_shown_value("mpa_revision", "2");
		get_shown_value("crc");
		expect_shown_value("tx_markers", "off");
	}
	CHECK(get_shown_number("mulpdu") > 500, "%s", shown);
	CHECK(get_shown_number("mulpdu") <= 65536, "%s", shown);
}

/* rdma must show the state of a QP that is connected, has posted work, or is in the error state */
static void test_show_qp(void)
{
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .ird = 5, .ord = 3 }, LENGTH);
	for (i = 0; i < 4; i++)
		post_recv(&d.p.s, i, &d.s, 0, LENGTH);
	post_send(&d.p.c, 7, &d.c, 0, LENGTH);
	expect_success(d.p.c.scq, 7, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 0, LENGTH);
	show_one_qp(&d.p.c);
	expect_shown_value("stage", "rts");
	expect_shown_llp_values();
	expect_shown_value("ird", "5");
	expect_shown_value("ord", "3");
	expect_shown_value("reads_out", "0");
	expect_shown_value("sq_posted", "0");
	expect_shown_value("sq_busy", "0");
	CHECK(!strstr(shown, "end "), "%s", shown);
	show_one_qp(&d.p.s);
	expect_shown_value("rq_posted", "3");
	move_to_error(&d.p.c);
	show_one_qp(&d.p.c);
	expect_shown_value("stage", "error");
	expect_shown_value("end", "local-abort");
	fixture_free(&d);
}

/* rdma must show no lower layer for a QP that is not connected */
static void test_show_idle_qp(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	show_one_qp(&p.c);
	expect_shown_value("stage", "idle");
	CHECK(!strstr(shown, "llp "), "%s", shown);
	pair_free(&p);
}

static void test_show_mr(void)
{
	struct ibv_mr *mr;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, LENGTH);
	mr = ibv_reg_mr(d.p.c.pd, d.c.at, 77, IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_READ);
	CHECK(mr, "%m");
	run_command("rdma -dd resource show mr dev %s pid %d mrlen 77", get_device_name(&d.p.c),
		    getpid());
	expect_shown_value("kind", "user");
	expect_shown_value("valid", "yes");
	expect_shown_value("rights", "local_read,local_write,remote_read");
	expect_shown_value("windows", "no");
	CHECK(!ibv_dereg_mr(mr), "%m");
	fixture_close(&d);
}

static bool show_and_find_two_completions(struct fixture *d)
{
	run_command("rdma -dd resource show cq dev %s pid %d", get_device_name(&d->p.c),
		    getpid());
	return strstr(shown, "unpolled 2 ");
}

static void test_show_cq(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .cqe = 64, .events = true }, LENGTH);
	for (i = 0; i < 3; i++)
		post_recv(&d.p.s, i, &d.s, 0, LENGTH);
	for (i = 0; i < 3; i++)
		post_send(&d.p.c, i, &d.c, 0, LENGTH);
	expect_success(d.p.c.scq, 0, IBV_WC_SEND);
	expect_success(d.p.c.scq, 1, IBV_WC_SEND);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	CHECK(!ibv_req_notify_cq(d.p.c.scq, 1), "%m");
	expect_recv(d.p.s.rcq, 0, LENGTH);
	for (i = 0; i < 100 && !show_and_find_two_completions(&d); i++)
		sleep_ms(10);
	CHECK(strstr(shown, "unpolled 2 "), "%s", shown);
	CHECK(strstr(shown, "armed solicited"), "%s", shown);
	expect_shown_value("overrun", "no");
	expect_recv(d.p.s.rcq, 1, LENGTH);
	expect_recv(d.p.s.rcq, 2, LENGTH);
	fixture_close(&d);
}

static void test_show_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_recv_wr wr = {}, *bad;
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .srq = 16 }, LENGTH);
	for (i = 0; i < 5; i++)
		CHECK(!ibv_post_srq_recv(d.p.s.srq, &wr, &bad), "%m");
	CHECK(!ibv_modify_srq(d.p.s.srq, &attr, IBV_SRQ_LIMIT), "%m");
	run_command("rdma -dd resource show srq dev %s pid %d", get_device_name(&d.p.s),
		    getpid());
	if (!strstr(shown, "posted "))
		skip("this kernel does not call drivers for details of an SRQ");
	expect_shown_value("posted", "5");
	expect_shown_value("free", "11");
	expect_shown_value("limit", "2");
	expect_shown_value("broken", "no");
	fixture_close(&d);
}

static void send_messages(struct fixture *d, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		post_recv(&d->p.s, i, &d->s, 0, LENGTH);
		post_send(&d->p.c, i, &d->c, 0, LENGTH);
		expect_success(d->p.c.scq, i, IBV_WC_SEND);
		expect_recv(d->p.s.rcq, i, LENGTH);
	}
}

static void bind_counter(const struct end *e)
{
	run_command("rdma statistic qp bind link %s/1 lqpn %u", get_device_name(e),
		    e->qp->qp_num);
}

/* Show the counter sets to which QPs of this process are bound */
static void show_counters(const struct end *e)
{
	run_command("rdma statistic qp show link %s/1", get_device_name(e));
}

/* A counter set counts while the QP is bound; the device's counters must include all sets */
static void test_count_qp(void)
{
	uint64_t sends, octets;
	struct pair other;
	char name[16];
	struct fixture d;

	fixture_open(&d, &(struct opts){}, LENGTH);
	pair_open_like(&other, &d.p);
	sends = read_counter(&d.p.c, "tx_sends");
	octets = read_counter(&d.p.c, "tx_bytes");
	send_messages(&d, 2);
	bind_counter(&d.p.c);
	send_messages(&d, 3);
	post_recv(&other.s, 0, &d.s, 0, LENGTH);
	post_send(&other.c, 0, &d.c, 0, LENGTH);
	expect_success(other.c.scq, 0, IBV_WC_SEND);
	expect_recv(other.s.rcq, 0, LENGTH);
	show_counters(&d.p.c);
	snprintf(name, sizeof(name), "<%u>", d.p.c.qp->qp_num);
	CHECK(strstr(shown, name), "%s not in: %s", name, shown);
	expect_shown_value("tx_sends", "3");
	expect_shown_value("tx_bytes", "3000");
	expect_shown_value("tx_segments", "3");
	expect_shown_value("rx_bytes", "0");
	run_command("rdma statistic qp unbind link %s/1 cntn %lu lqpn %u",
		    get_device_name(&d.p.c), get_shown_number("cntn"), d.p.c.qp->qp_num);
	show_counters(&d.p.c);
	CHECK(!strstr(shown, "tx_sends"), "%s", shown);
	send_messages(&d, 1);
	expect_counter_increase(&d.p.c, "tx_sends", sends, 7);
	expect_counter_increase(&d.p.c, "tx_bytes", octets, 7000);
	pair_close(&other);
	fixture_close(&d);
}

/* When a bound QP ends, no count may be lost, and the reason must be counted once */
static void test_count_ending_qp(void)
{
	uint64_t sends, aborts;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, LENGTH);
	sends = read_counter(&d.p.s, "rx_sends");
	aborts = read_counter(&d.p.c, "end_local_abort");
	bind_counter(&d.p.c);
	bind_counter(&d.p.s);
	send_messages(&d, 2);
	move_to_error(&d.p.c);
	show_counters(&d.p.c);
	CHECK(strstr(shown, "end_local_abort 1 "), "%s", shown);
	expect_counter_increase(&d.p.s, "rx_sends", sends, 2);
	expect_counter_increase(&d.p.c, "end_local_abort", aborts, 1);
	rdma_destroy_qp(d.p.c.id);
	d.p.c.qp = NULL;
	expect_counter_increase(&d.p.c, "end_local_abort", aborts, 1);
	fixture_free(&d);
}

/*
 * With automatic binding per process, all QPs of a process must count in one set, from their
 * creation on
 */
static void test_count_process(void)
{
	struct pair other = {};
	struct fixture d = {};

	pair_prepare(&other, &(struct opts){});
	run_command("rdma statistic qp set link %s/1 auto pid on", get_device_name(&other.c));
	pair_free(&other);
	fixture_open(&d, &(struct opts){}, LENGTH);
	pair_open_like(&other, &d.p);
	send_messages(&d, 3);
	show_counters(&d.p.c);
	expect_shown_value("tx_sends", "3");
	expect_shown_value("rx_sends", "3");
	CHECK(get_shown_number("pid") == (unsigned long)getpid(), "%s", shown);
	pair_close(&other);
	show_counters(&d.p.c);
	expect_shown_value("tx_sends", "3");
	fixture_close(&d);
	pair_prepare(&other, &(struct opts){});
	show_counters(&other.c);
	expect_shown_value("tx_sends", "0");
	run_command("rdma statistic qp set link %s/1 auto off", get_device_name(&other.c));
	pair_free(&other);
}

#define T(fn)	CASE(#fn, test_##fn, 0, "")

const struct test show_tests[] = {
	T(show_qp),
	T(show_idle_qp),
	T(show_mr),
	T(show_cq),
	T(show_srq),
	T(count_qp),
	T(count_ending_qp),
	T(count_process),
	{}
};
