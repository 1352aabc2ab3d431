// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * failnth: every allocation of a scene fails once.  A round has the n-th one
 * fail, one with nothing failing follows, until a round has fewer than n.
 *
 * The kernel has three ways.  "task": /proc/thread-self/fail-nth, what this
 * thread asks for itself.  "slab" and "page": failslab and fail_page_alloc, in
 * whatever context, softirqs and workers included.  Which allocations count is
 * the filter's business, which is set before: see failnth.sh.
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

#define ROUNDS_MOST	20000	/* of one scene: there is an end */
#define MISSES		5	/* in succession: there are no more */
#define SEARCH_MOST	500	/* rounds */
#define SEARCH_LEAP_AT	2

struct setting setting = { .netdev = "t1" };

static unsigned long every = 1, first = 1;
static unsigned long injected, harmless, failed;
static unsigned long errnos[256];

int wrong(const char *fmt, ...)
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

/* The ways ---------------------------------------------------------------- */

static _Noreturn void die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(1);
}

static void set(const char *path, unsigned long value)
{
	char text[32];
	int fd = open(path, O_WRONLY), len;

	len = snprintf(text, sizeof(text), "%lu", value);
	if (fd < 0 || write(fd, text, len) != len)
		die(path);
	close(fd);
}

static unsigned long get(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(path);
	close(fd);
	return strtoul(text, NULL, 0);
}

/*
 * The kernel goes on counting from round to round, and does not say how far it
 * is: to fail the next but n is to fail every (@base + n)-th, once.  @base is
 * what it has counted; as long as @sure is false, that or more.  Rarely less: the
 * kernel counts on until it has noted, and said if it has to, which one fails.
 */
struct way {
	const char	*name;
	const char	*dir;	/* in debugfs; NULL: fail-nth */
	unsigned long	base;
	bool		sure;
	unsigned long	leap;	/* more than are counted in some rounds */
};

static struct way ways[] = {
	{ "task", NULL, 0, true, 0 },
	{ "slab", "failslab", 0, false, 3000 },
	{ "page", "fail_page_alloc", 0, false, 300 },
};

#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const char *attr_of(const struct way *w, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", w->dir, name);
	return path;
}

static void arm(struct way *w, unsigned long n)
{
	if (!w->dir) {
		set(FAIL_NTH, n);
		return;
	}
	/* the last one that failed, or else none was counted up to there */
	if (!w->base)
		w->base = get(attr_of(w, "interval"));
	set(attr_of(w, "interval"), w->base + n);
	set(attr_of(w, "times"), 1);
	set(attr_of(w, "probability"), 100);
}

/* Return: whether one was made to fail */
static bool disarm(struct way *w)
{
	bool fired;

	if (!w->dir) {
		fired = !get(FAIL_NTH);
		set(FAIL_NTH, 0);
		return fired;
	}
	set(attr_of(w, "probability"), 0);
	fired = !get(attr_of(w, "times"));
	w->base = get(attr_of(w, "interval"));
	w->sure = fired;
	return fired;
}

/* Rounds ------------------------------------------------------------------ */

struct scene {
	const char	*name;
	scene_fn	*run;
};

static const struct scene scenes[] = {
	{ "verbs", scene_verbs },
	{ "traffic", scene_traffic },
	{ "reject", scene_reject },
	{ "drop", scene_drop },
	{ "device", scene_device },
};

static bool tell(const struct scene *s, const struct way *w, unsigned long n,
		 const char *what, int err)
{
	printf("# %s, %s %lu: %s: %s\n", s->name, w->name, n, what,
	       err == WRONG ? "as said above" : strerror(err));
	return false;
}

/* One round.  Return: whether all is as it should be */
static bool one_round(const struct scene *s, struct way *w, unsigned long n,
		      bool *fired)
{
	long began = now_ms(), took;
	int err;

	arm(w, n);
	err = s->run();
	*fired = disarm(w);
	took = now_ms() - began;
	if (took > 5000)
		printf("# %s, %s %lu: took %ld ms\n", s->name, w->name, n, took);
	if (err == WRONG)
		return tell(s, w, n, "wrong", err);
	if (!*fired)
		return err ? tell(s, w, n, "failed by itself", err) : true;
	injected++;
	if (err)
		failed++;
	else
		harmless++;
	errnos[err < 256 ? err : 255]++;
	err = s->run();
	return err ? tell(s, w, n, "and then, with nothing failing", err) : true;
}

/*
 * Where the kernel's count is not known one failure, wherever, makes it so.  It
 * comes when the count has reached @base, unless it was beyond that: then @base
 * has to get ahead of it first.
 */
static bool make_sure(const struct scene *s, struct way *w)
{
	bool fired;
	int n;

	for (n = 0; n < SEARCH_MOST && !w->sure; n++)
		if (!one_round(s, w, n == SEARCH_LEAP_AT ? w->leap : 1, &fired))
			return false;
	return true;
}

/*
 * How many there are is not the same in each round: a timer may come in between,
 * or who destroys a queue pair comes before the worker that makes its association,
 * which then makes none.  So the end is where several rounds have fewer.
 */
static bool all_rounds(const struct scene *s, struct way *w, unsigned long *n)
{
	int missed = 0;
	bool fired;

	if (!make_sure(s, w))
		return false;
	/* a scene without any: that is an end, too */
	if (!w->sure)
		return true;
	for (*n = first; *n < ROUNDS_MOST; *n += missed ? 0 : every) {
		if (!one_round(s, w, *n, &fired))
			return false;
		missed = fired ? 0 : missed + 1;
		if (missed == MISSES)
			return true;
		if (missed && !make_sure(s, w))
			return false;
	}
	wrong("%s, %s: no end after %lu", s->name, w->name, *n);
	return false;
}

static bool play(const struct scene *s, struct way *w)
{
	long began = now_ms();
	unsigned long was = injected, n = 0;
	bool good = all_rounds(s, w, &n);

	printf("# %s, %s: %lu allocations made to fail, of some %lu; %ld s\n",
	       s->name, w->name, injected - was, n, (now_ms() - began) / 1000);
	fflush(stdout);
	return good;
}

static void sum_up(void)
{
	int i;

	printf("# %lu allocations made to fail, %lu did no harm, %lu did\n",
	       injected, harmless, failed);
	for (i = 1; i < 256; i++)
		if (errnos[i])
			printf("# %6lu times: %s\n", errnos[i], strerror(i));
	printf("injected %lu\n", injected);
}

static bool wanted(const char *name, const char *list)
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
		"  -a ADDRESS  of the device\n"
		"  -i NETDEV   to make a device on (t1)\n"
		"  -w WAY,...  of task, slab, page (all)\n"
		"  -e N        only every N-th allocation\n"
		"  -f N        from the N-th on\n"
		"Scenes: verbs traffic reject drop device\n");
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

static bool play_all(const struct scene *s, const char *which)
{
	size_t w;
	int err;

	/* what is made the first time only */
	err = s->run();
	if (err)
		return tell(s, &ways[0], 0, "fails, with nothing failing", err);
	for (w = 0; w < ARRAY_SIZE(ways); w++)
		if (wanted(ways[w].name, which) && !play(s, &ways[w]))
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
		good = play_all(&scenes[i], which);
	}
	sum_up();
	return !good;
}
