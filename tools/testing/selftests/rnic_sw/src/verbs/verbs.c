// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * verbs: test the verbs API with both ends of a connection in one program; prints KTAP.  See
 * usage() for the options and verbs.h for the structure.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "verbs.h"

#define USUAL_SECONDS	30

struct setting setting = { .mib = 4 };

static const struct test *const groups[] = {
	buf_tests, data_tests, order_tests, post_tests, cq_tests, mr_tests,
	remote_tests, local_tests, atomic_tests, imm_tests, flush_tests,
	conn_tests, rough_tests, rings_tests, pack_tests, doorbell_tests, stream_tests, srq_tests,
	reset_tests, mw_tests, abi_tests, owner_tests, limit_tests, charge_tests, race_tests,
	cost_tests, show_tests, pace_tests, coalesce_tests,
	odp_mr_tests, odp_away_tests, odp_wrong_tests, odp_stuck_tests,
	odp_ends_tests, odp_storm_tests, odp_under_tests, dmabuf_tests, dmabuf_ends_tests,
	comp_tests, comp_race_tests, newer_tests,
};

void give_up(const char *file, int line, const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: failed: %s: ", file, line, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(FAIL);
}

/* Pipe to the parent, for the reason of a skip; -1 in the parent itself */
static int reason_fd = -1;

void skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(reason_fd, fmt, ap);
	va_end(ap);
	fflush(stdout);
	_exit(SKIP);
}

/*
 * Check whether the machine is slow: lockdep or KCSAN shows a debug kernel, QEMU in the name of the
 * CPU shows emulation
 */
static bool detect_slow_machine(void)
{
	bool slow = getenv("T_SLOW") || !access("/proc/lockdep", F_OK) ||
		    !access("/sys/kernel/debug/kcsan", F_OK);
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		slow |= strstr(line, "QEMU TCG") || strstr(line, "QEMU Virtual");
	if (f)
		fclose(f);
	return slow;
}

static bool is_slow_machine(void)
{
	static int slow = -1;

	if (slow < 0)
		slow = detect_slow_machine();
	return slow;
}

bool is_over_sctp(void)
{
	const char *llp = getenv("RNIC_SW_LLP");

	return llp && !strcmp(llp, "sctp");
}

uint32_t scale_rounds(uint32_t n)
{
	return is_slow_machine() ? n / 4 : n;
}

uint32_t scale_timeout(uint32_t n)
{
	return is_slow_machine() ? n * 4 : n;
}

bool is_kernel_before(int major, int minor)
{
	struct utsname u;
	int m, n;

	CHECK(!uname(&u) && sscanf(u.release, "%d.%d", &m, &n) == 2, "%m");
	return m < major || (m == major && n < minor);
}

static unsigned int get_time_limit(const struct test *t)
{
	return scale_timeout(t->seconds ? t->seconds : USUAL_SECONDS);
}

static void run_case_in_child(const struct test *t, int fd)
{
	reason_fd = fd;
	alarm(get_time_limit(t));
	t->run();
	fflush(stdout);
	_exit(PASS);
}

static bool print_result(const struct test *t, int nr, int status, const char *reason)
{
	bool died = WIFSIGNALED(status);
	int code = died ? FAIL : WEXITSTATUS(status);

	if (died && WTERMSIG(status) == SIGALRM)
		printf("# took too long\n");
	else if (died)
		printf("# killed by signal %d\n", WTERMSIG(status));
	if (code == SKIP)
		printf("ok %d %s # SKIP %s\n", nr, t->name, reason);
	else
		printf("%s %d %s\n", code ? "not ok" : "ok", nr, t->name);
	fflush(stdout);
	return code == PASS || code == SKIP;
}

static bool run_case(const struct test *t, int nr)
{
	char reason[256] = "";
	int fds[2], status = 0;
	pid_t pid;

	if (t->shows && *t->shows)
		printf("# %s: %s\n", t->name, t->shows);
	fflush(stdout);
	if (pipe(fds))
		return false;
	pid = fork();
	if (!pid) {
		close(fds[0]);
		run_case_in_child(t, fds[1]);
	}
	close(fds[1]);
	if (read(fds[0], reason, sizeof(reason) - 1) < 0)
		reason[0] = '\0';
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return print_result(t, nr, status, reason);
}

/*
 * Check whether a case is selected. Without names, all cases are selected except those that have to
 * be named. A name may be the start of case names and an asterisk.
 */
static bool is_wanted(const struct test *t, int n, char **names)
{
	size_t len;
	int i;

	if (!n)
		return !t->asked;
	for (i = 0; i < n; i++) {
		len = strlen(names[i]);
		if (!strcmp(t->name, names[i]))
			return true;
		if (!t->asked && len && names[i][len - 1] == '*' &&
		    !strncmp(t->name, names[i], len - 1))
			return true;
	}
	return false;
}

static int select_cases(int n, char **names, const struct test **out)
{
	const struct test *t;
	int count = 0;
	size_t g;

	for (g = 0; g < ARRAY_SIZE(groups); g++) {
		for (t = groups[g]; t->name; t++) {
			if (!is_wanted(t, n, names))
				continue;
			if (out)
				out[count] = t;
			count++;
		}
	}
	return count;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: verbs -a ADDRESS [options] [CASE...]\n"
		"  -a ADDRESS  address of the server's device\n"
		"  -s NETNS    network namespace of the server (default: the current one)\n"
		"  -c NETNS    network namespace of the client (default: the current one)\n"
		"  -6 ADDRESS  IPv6 address of the server's device\n"
		"  -m MIB      MiB to transfer in each case whose name begins with stream\n"
		"  -d          register memory for on-demand paging unless a case says otherwise\n"
		"  -l          list the cases and the requirements that they test\n"
		"CASE is the name of a case, or the start of names and an asterisk.\n");
	exit(2);
}

static void list_cases(int n, const struct test **tests)
{
	int i;

	for (i = 0; i < n; i++)
		printf("%-28s %s\n", tests[i]->name, tests[i]->shows);
}

static int run_cases(int n, const struct test **tests)
{
	int i, bad = 0;

	printf("KTAP version 1\n1..%d\n", n);
	for (i = 0; i < n; i++)
		bad += !run_case(tests[i], i + 1);
	return bad ? FAIL : PASS;
}

static bool parse_args(int argc, char **argv)
{
	bool listing = false;
	int opt;

	while ((opt = getopt(argc, argv, "a:s:c:6:m:dl")) != -1) {
		switch (opt) {
		case 'a':
			setting.addr = optarg;
			break;
		case 's':
			setting.server_ns = optarg;
			break;
		case 'c':
			setting.client_ns = optarg;
			break;
		case '6':
			setting.addr6 = optarg;
			break;
		case 'm':
			setting.mib = atoi(optarg);
			break;
		case 'd':
			setting.on_demand = true;
			break;
		case 'l':
			listing = true;
			break;
		default:
			usage();
		}
	}
	return listing;
}

int main(int argc, char **argv)
{
	const struct test *tests[512];
	bool listing = parse_args(argc, argv);
	int n;

	n = select_cases(argc - optind, argv + optind, NULL);
	if (!n || (size_t)n > ARRAY_SIZE(tests))
		usage();
	select_cases(argc - optind, argv + optind, tests);
	if (listing) {
		list_cases(n, tests);
		return PASS;
	}
	if (!setting.addr)
		usage();
	return run_cases(n, tests);
}
