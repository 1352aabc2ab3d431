// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Run a fuzz target without libFuzzer on random inputs. An input depends only on a seed
 * and on its number, so that it can be repeated on any machine. If an input fails, remove
 * bytes from it as long as it still fails, and save and run the rest.
 *
 * usage: PROGRAM SEED [FIRST [COUNT [SECONDS]]]
 *	Runs COUNT inputs from number FIRST on (default: number 0), but at most for
 *	SECONDS. The rest of a failing input is saved in the file FUZZ_SAVE (default:
 *	./fuzz-input); if FUZZ_SAVE is empty, the input is only reported.
 * usage: PROGRAM ./FILE
 *	Runs the input in FILE; the name has to contain a slash.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define LENGTH_MAX	1024
#define INPUT_SECONDS	20	/* time limit of one input */
#define SHRINK_SECONDS	15	/* time limit for reducing the size of a failing input */
#define MANY		1000	/* after this number of inputs fuzz_check_coverage() must return true */

/*
 * A target may define this function, to print what the inputs have tested. It returns
 * false if that was not everything.
 */
bool fuzz_check_coverage(void) __attribute__((weak));

struct inputs {
	u64		seed;
	unsigned long	first, count;
	time_t		until;
};

struct one {
	size_t	len;
	u8	bytes[LENGTH_MAX];
};

/* Number of the input that runs, which the parent process reads */
static volatile unsigned long *running;

static u32 draw_number(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void make_input(struct one *one, u64 seed, unsigned long number)
{
	static const u16 most[] = { 64, 256, 256, 256, LENGTH_MAX };
	u64 state = seed ^ number * 0x9e3779b97f4a7c15ull;
	size_t i;

	draw_number(&state);
	draw_number(&state);
	one->len = 12 + draw_number(&state) % (most[draw_number(&state) % ARRAY_SIZE(most)] - 12);
	for (i = 0; i < one->len; i++)
		one->bytes[i] = draw_number(&state);
}

/* Run the inputs; called in a child process, which a failing input ends */
static int run_inputs(const struct inputs *in)
{
	const unsigned long end = in->first + in->count;
	static struct one one;

	for (*running = in->first; *running < end && time(NULL) < in->until; ++*running) {
		make_input(&one, in->seed, *running);
		alarm(INPUT_SECONDS);
		LLVMFuzzerTestOneInput(one.bytes, one.len);
	}
	alarm(0);
	printf("seed %llu: %lu inputs\n", (unsigned long long)in->seed, *running - in->first);
	if (!fuzz_check_coverage || fuzz_check_coverage() || *running - in->first < MANY)
		return 0;
	fprintf(stderr, "BROKEN: reached: the inputs do not test everything\n");
	return 1;
}

/* Wait for a child process. Return: true if it has ended successfully */
static bool wait_and_check_child_success(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Run one input in a child process. Return: true if it does not fail */
static bool run_input_in_child(const struct one *one, bool silent)
{
	pid_t child = fork();

	if (child)
		return wait_and_check_child_success(child);
	if (silent) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	alarm(INPUT_SECONDS);
	LLVMFuzzerTestOneInput(one->bytes, one->len);
	_exit(0);
}

/* Remove @n bytes from offset @at on */
static void remove_bytes(struct one *one, size_t at, size_t n)
{
	memmove(one->bytes + at, one->bytes + at + n, one->len - at - n);
	one->len -= n;
}

static void shrink_input(struct one *one)
{
	const time_t until = time(NULL) + SHRINK_SECONDS;
	struct one smaller;
	size_t n, at;

	for (n = one->len / 2; n; n /= 2) {
		for (at = 0; at + n <= one->len && time(NULL) < until;) {
			smaller = *one;
			remove_bytes(&smaller, at, n);
			if (run_input_in_child(&smaller, true))
				at += n;
			else
				*one = smaller;
		}
	}
}

static void save_input(const struct one *one, const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(one->bytes, 1, one->len, file) != one->len || fclose(file))
		perror(path);
}

/* Report the input at which the child process has ended */
static void report_shrink_and_save_input(const char *program, const struct inputs *in)
{
	const char *path = getenv("FUZZ_SAVE") ?: "./fuzz-input";
	static struct one one;

	fprintf(stderr, "# input %lu of seed %llu fails; to repeat: %s %llu %lu\n", *running,
		(unsigned long long)in->seed, program, (unsigned long long)in->seed, *running);
	make_input(&one, in->seed, *running);
	if (run_input_in_child(&one, true)) {
		fprintf(stderr, "# the input fails only after others\n");
		return;
	}
	if (!*path)
		return;
	shrink_input(&one);
	save_input(&one, path);
	fprintf(stderr, "# %zu bytes are enough; to repeat: %s %s\n", one.len, program, path);
	run_input_in_child(&one, false);
}

static int run_file(const char *path)
{
	static struct one one;
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		return 2;
	}
	one.len = fread(one.bytes, 1, sizeof(one.bytes), file);
	fclose(file);
	return !run_input_in_child(&one, false);
}

static unsigned long parse_number_argument(int argc, char **argv, int which, unsigned long other)
{
	return argc > which ? strtoul(argv[which], NULL, 0) : other;
}

int main(int argc, char **argv)
{
	struct inputs in;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: %s SEED [FIRST [COUNT [SECONDS]]]\n", argv[0]);
		return 2;
	}
	if (strchr(argv[1], '/'))
		return run_file(argv[1]);
	in = (struct inputs) {
		.seed = strtoull(argv[1], NULL, 0),
		.first = parse_number_argument(argc, argv, 2, 0),
		.count = parse_number_argument(argc, argv, 3, 1),
		.until = time(NULL) + parse_number_argument(argc, argv, 4, 1000000000),
	};
	running = mmap(NULL, sizeof(*running), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (running == MAP_FAILED)
		abort();
	child = fork();
	if (!child)
		return run_inputs(&in);
	if (wait_and_check_child_success(child))
		return 0;
	report_shrink_and_save_input(argv[0], &in);
	return 1;
}
