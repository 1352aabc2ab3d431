// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * failnth: make each allocation of a scene fail once.  A scene is a sequence of calls, see
 * failnth.h.  Round n makes the n-th allocation fail and then repeats the scene without failures.
 * A scene is done when it has fewer than n allocations in round n.
 *
 * There are three ways to inject failures.  "task" uses /proc/thread-self/fail-nth, for allocations
 * of this thread.  "slab" and "page" use failslab and fail_page_alloc, for allocations in any
 * context, including softirqs and workers.  failnth.sh, which runs this program, restricts both to
 * allocations with a function of this project's modules on the stack.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "failnth.h"

#define ROUNDS_MOST	20000	/* limit for one scene */
/* a scene is done after this number of successive rounds without a failure */
#define MISSES		5
#define SEARCH_MOST	500	/* maximum number of rounds of run_rounds_to_find_base() */
#define SEARCH_LEAP_AT	2	/* the round that increases the base by a leap */

struct setting setting = { .netdev = "t1" };

static unsigned long every = 1, first = 1;
static unsigned long injected, harmless, failed;
static unsigned long errnos[256];

int report_wrong_result(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	return WRONG;
}

long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Ways to inject failures ------------------------------------------------- */

static _Noreturn void die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_number(const char *path, unsigned long value)
{
	char text[32];
	int fd = open(path, O_WRONLY), len;

	len = snprintf(text, sizeof(text), "%lu", value);
	if (fd < 0 || write(fd, text, len) != len)
		die(path);
	close(fd);
}

static unsigned long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(path);
	close(fd);
	return strtoul(text, NULL, 0);
}

/*
 * A way to inject failures. failslab and fail_page_alloc count allocations; they neither show nor
 * reset their count. To fail the n-th allocation from now, their file "interval" gets @base + n,
 * and "times" gets 1. @base is the current count, or an upper bound of it while @sure is false. If
 * @base is too low, an earlier allocation fails. This is rare: it happens only if the kernel counts
 * further allocations before it has recorded and reported the last failure.
 */
struct way {
	const char	*name;
	const char	*dir;	/* in debugfs; NULL: fail-nth is used */
	unsigned long	base;
	bool		sure;
	unsigned long	leap;	/* step of @base, more than the allocations of a few rounds */
};

static struct way ways[] = {
	{ "task", NULL, 0, true, 0 },
	{ "slab", "failslab", 0, false, 3000 },
	{ "page", "fail_page_alloc", 0, false, 300 },
};

#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const char *make_attr_path(const struct way *w, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", w->dir, name);
	return path;
}

static void start_injecting_failures(struct way *w, unsigned long n)
{
	if (!w->dir) {
		write_number(FAIL_NTH, n);
		return;
	}
	/*
	 * At the last failure the count was equal to the interval.  If there was no failure, the
	 * count has not reached the interval yet.
	 */
	if (!w->base)
		w->base = read_number(make_attr_path(w, "interval"));
	write_number(make_attr_path(w, "interval"), w->base + n);
	write_number(make_attr_path(w, "times"), 1);
	write_number(make_attr_path(w, "probability"), 100);
}

/* Stop injecting failures. Return: true if an allocation has failed, false if none has */
static bool stop_injecting_failures(struct way *w)
{
	bool fired;

	if (!w->dir) {
		fired = !read_number(FAIL_NTH);
		write_number(FAIL_NTH, 0);
		return fired;
	}
	write_number(make_attr_path(w, "probability"), 0);
	fired = !read_number(make_attr_path(w, "times"));
	w->base = read_number(make_attr_path(w, "interval"));
	w->sure = fired;
	return fired;
}

/* Rounds ------------------------------------------------------------------ */

struct scene {
	const char	*name;
	scene_fn	*run;
};

static const struct scene scenes[] = {
	{ "verbs", run_verbs_scene },
	{ "traffic", run_traffic_scene },
	{ "reject", run_reject_scene },
	{ "drop", run_drop_scene },
	{ "modify", run_modify_scene },
	{ "device", run_device_scene },
};

static bool print_failure(const struct scene *s, const struct way *w, unsigned long n,
			  const char *what, int err)
{
	printf("# %s, %s %lu: %s: %s\n", s->name, w->name, n, what,
	       err == WRONG ? "see above" : strerror(err));
	return false;
}

/* Do one round.  Return: true if the scene behaved as expected, false otherwise */
static bool run_round(const struct scene *s, struct way *w, unsigned long n,
		      bool *fired)
{
	long began = now_ms(), took;
	int err;

	start_injecting_failures(w, n);
	err = s->run();
	*fired = stop_injecting_failures(w);
	took = now_ms() - began;
	if (took > 5000)
		printf("# %s, %s %lu: took %ld ms\n", s->name, w->name, n, took);
	if (err == WRONG)
		return print_failure(s, w, n, "wrong", err);
	if (!*fired)
		return err ? print_failure(s, w, n, "failed without an injected failure", err) : true;
	injected++;
	if (err)
		failed++;
	else
		harmless++;
	errnos[err < 256 ? err : 255]++;
	err = s->run();
	return err ? print_failure(s, w, n, "failed in the repetition without failures", err) : true;
}

/*
 * Find the kernel's count of allocations if it is unknown: run rounds until an allocation fails.
 * At this moment the count is equal to the interval, and so to the new base. If the count was
 * already higher than the base, the leap makes the base exceed it.
 */
static bool run_rounds_to_find_base(const struct scene *s, struct way *w)
{
	bool fired;
	int n;

	for (n = 0; n < SEARCH_MOST && !w->sure; n++)
		if (!run_round(s, w, n == SEARCH_LEAP_AT ? w->leap : 1, &fired))
			return false;
	return true;
}

/*
 * The number of allocations differs between rounds: a timer may run, or a QP may be destroyed
 * before the worker allocates its association.  Therefore the scene is done only when several
 * rounds in succession have no failure.
 */
static bool run_all_rounds(const struct scene *s, struct way *w, unsigned long *n)
{
	int missed = 0;
	bool fired;

	if (!run_rounds_to_find_base(s, w))
		return false;
	/*
	 * if the scene makes no allocation of this kind, the count stays unknown, and the scene is
	 * done
	 */
	if (!w->sure)
		return true;
	for (*n = first; *n < ROUNDS_MOST; *n += missed ? 0 : every) {
		if (!run_round(s, w, *n, &fired))
			return false;
		missed = fired ? 0 : missed + 1;
		if (missed == MISSES)
			return true;
		if (missed && !run_rounds_to_find_base(s, w))
			return false;
	}
	report_wrong_result("%s, %s: no end after %lu allocations", s->name, w->name, *n);
	return false;
}

static bool run_scene(const struct scene *s, struct way *w)
{
	long began = now_ms();
	unsigned long was = injected, n = 0;
	bool good = run_all_rounds(s, w, &n);

	printf("# %s, %s: %lu allocations made to fail, of about %lu; %ld s\n",
	       s->name, w->name, injected - was, n, (now_ms() - began) / 1000);
	fflush(stdout);
	return good;
}

static void print_summary(void)
{
	int i;

	printf("# %lu allocations made to fail: %lu scenes succeeded, %lu failed\n",
	       injected, harmless, failed);
	for (i = 1; i < 256; i++)
		if (errnos[i])
			printf("# %6lu times: %s\n", errnos[i], strerror(i));
	printf("injected %lu\n", injected);
}

static bool is_way_selected(const char *name, const char *list)
{
	size_t len = strlen(name);
	const char *at;

	for (at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return !list;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: failnth -a ADDRESS [options] SCENE...\n"
		"  -a ADDRESS  address of the device iw0\n"
		"  -i NETDEV   network interface for the device that a scene creates (t1)\n"
		"  -w WAY,...  list of task, slab, page (all of them)\n"
		"  -e N        fail only every N-th allocation\n"
		"  -f N        start at the N-th allocation\n"
		"SCENE is one of: verbs traffic reject drop modify device\n");
	exit(2);
}

static const char *parse_args(int argc, char **argv)
{
	const char *which = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "a:i:w:e:f:")) != -1) {
		switch (opt) {
		case 'a':
			setting.addr = optarg;
			break;
		case 'i':
			setting.netdev = optarg;
			break;
		case 'w':
			which = optarg;
			break;
		case 'e':
			every = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			first = strtoul(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (!setting.addr || !every || !first || optind == argc)
		usage();
	return which;
}

static bool run_scene_in_selected_ways(const struct scene *s, const char *which)
{
	size_t w;
	int err;

	/* run the scene once without failures, because some allocations are made only once */
	err = s->run();
	if (err)
		return print_failure(s, &ways[0], 0, "fails without an injected failure", err);
	for (w = 0; w < ARRAY_SIZE(ways); w++)
		if (is_way_selected(ways[w].name, which) && !run_scene(s, &ways[w]))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	const char *which = parse_args(argc, argv);
	bool good = true;
	size_t i;

	for (; good && optind < argc; optind++) {
		for (i = 0; i < ARRAY_SIZE(scenes); i++)
			if (!strcmp(argv[optind], scenes[i].name))
				break;
		if (i == ARRAY_SIZE(scenes))
			usage();
		good = run_scene_in_selected_ways(&scenes[i], which);
	}
	print_summary();
	return !good;
}
