// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Common parts of the cases about on-demand paging: buffers, and messages between them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "verbs_odp.h"

bool has_kernel_function(const char *function)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	bool has = false;

	CHECK(f, "%m");
	while (!has && fgets(line, sizeof(line), f))
		has = sscanf(line, "%*s %*s %255s", name) == 1 && !strcmp(name, function);
	fclose(f);
	return has;
}

void odp_pair_open(struct pair *p, const struct opts *o)
{
	struct ibv_device_attr_ex attr = {};

	pair_open(p, o);
	CHECK(!ibv_query_device_ex(p->c.id->verbs, NULL, &attr), "%m");
	if (attr.odp_caps.general_caps & IBV_ODP_SUPPORT)
		return;
	CHECK(!has_kernel_function("mmu_interval_notifier_insert"), "ODP must be offered");
	skip("no on-demand paging in this kernel: CONFIG_MMU_NOTIFIER");
}

static void map_buf(struct buf *b, size_t pages, int flags, int fd)
{
	memset(b, 0, sizeof(*b));
	b->len = b->map_len = pages * get_page_size();
	b->map = mmap(NULL, b->map_len, PROT_READ | PROT_WRITE, flags, fd, 0);
	CHECK(b->map != MAP_FAILED, "%zu pages: %m", pages);
	b->at = b->map;
}

void pages_create(struct buf *b, size_t pages)
{
	map_buf(b, pages, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

void pages_map(struct buf *b, size_t pages, int fd)
{
	map_buf(b, pages, MAP_SHARED, fd);
}

int create_memfd_of_pages(size_t pages)
{
	int fd = memfd_create("rnic_sw-verbs", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, pages * get_page_size()), "%m");
	return fd;
}

void pages_free(struct buf *b)
{
	if (b->mr)
		CHECK(!ibv_dereg_mr(b->mr), "%m");
	if (b->map)
		CHECK(!munmap(b->map, b->map_len), "%m");
	memset(b, 0, sizeof(*b));
}

static void register_both_bufs(struct fixture *d)
{
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ODP);
	buf_reg(&d->s, d->p.s.pd, RIGHTS_ODP);
}

static void create_and_map_memfd(struct buf *b, size_t pages)
{
	int fd = create_memfd_of_pages(pages);

	pages_map(b, pages, fd);
	CHECK(!close(fd), "%m");
}

void odp_fixture_open(struct fixture *d, size_t pages)
{
	odp_pair_open(&d->p, &(struct opts){});
	create_and_map_memfd(&d->c, pages);
	create_and_map_memfd(&d->s, pages);
	register_both_bufs(d);
}

void odp_fixture_open_private(struct fixture *d, size_t pages)
{
	odp_pair_open(&d->p, &(struct opts){});
	pages_create(&d->c, pages);
	pages_create(&d->s, pages);
	register_both_bufs(d);
}

void odp_fixture_free(struct fixture *d)
{
	pages_free(&d->c);
	pages_free(&d->s);
	pair_free(&d->p);
}

void odp_fixture_close(struct fixture *d)
{
	pair_disconnect(&d->p);
	odp_fixture_free(d);
}

bool is_page_present(const void *at)
{
	const off_t where = (uintptr_t)at / get_page_size() * sizeof(uint64_t);
	static int fd = -1;
	uint64_t entry;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip("no /proc/self/pagemap: CONFIG_PROC_PAGE_MONITOR");
	CHECK(pread(fd, &entry, sizeof(entry), where) == sizeof(entry), "%m");
	return entry >> 63;
}

void skip_without_file(const char *path, const char *config)
{
	if (access(path, F_OK))
		skip("no %s: %s", path, config);
}

void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f), "%s: %m", path);
}

long read_number_in(const char *path, const char *word)
{
	FILE *f = fopen(path, "r");
	char line[256];
	long n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, strlen(word)))
			n = strtol(line + strlen(word), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* Messages ------------------------------------------------------------------ */

/* Fill the source with the pattern of @seed and the sink with another one */
static void fill_source_and_sink(struct buf *from, struct buf *to, size_t off, size_t len,
				 uint32_t seed, away_fn *away)
{
	buf_fill(from, off, len, seed);
	buf_fill(to, off, len, ~seed);
	if (!away)
		return;
	away(from);
	away(to);
}

static void send_one_message(struct fixture *d, bool back, size_t off, size_t len, uint32_t seed,
			     away_fn *away)
{
	const struct end *from = back ? &d->p.s : &d->p.c, *to = back ? &d->p.c : &d->p.s;
	struct buf *source = back ? &d->s : &d->c, *sink = back ? &d->c : &d->s;

	fill_source_and_sink(source, sink, off, len, seed, away);
	post_recv(to, 1, sink, off, len);
	post_send(from, 2, source, off, len);
	expect_recv(to->rcq, 1, len);
	expect_success(from->scq, 2, IBV_WC_SEND);
	buf_expect_pattern(sink, off, len, seed);
}

void exchange_send(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away)
{
	send_one_message(d, false, off, len, seed, away);
	send_one_message(d, true, off, len, seed + 1, away);
}

static struct job make_job(struct fixture *d, enum ibv_wr_opcode op, size_t off, size_t len)
{
	return (struct job){
		.id = 3, .op = op, .flags = SIG, .b = &d->c, .off = off, .len = len,
		.raddr = (uintptr_t)d->s.at + off, .rkey = d->s.mr->rkey,
	};
}

void odp_write_and_check(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away)
{
	struct job j = make_job(d, IBV_WR_RDMA_WRITE, off, len);

	fill_source_and_sink(&d->c, &d->s, off, len, seed, away);
	post_job(&d->p.c, &j);
	expect_success(d->p.c.scq, 3, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(d);
	buf_expect_pattern(&d->s, off, len, seed);
}

void exchange_read(struct fixture *d, size_t off, size_t len, uint32_t seed, away_fn *away)
{
	struct job j = make_job(d, IBV_WR_RDMA_READ, off, len);

	fill_source_and_sink(&d->s, &d->c, off, len, seed, away);
	post_job(&d->p.c, &j);
	expect_success(d->p.c.scq, 3, IBV_WC_RDMA_READ);
	buf_expect_pattern(&d->c, off, len, seed);
}

void exchange_fetch_add(struct fixture *d, uint32_t at, uint64_t value, away_fn *away)
{
	uint64_t old = value * 0x9e3779b97f4a7c15;

	*get_word(&d->s, at) = old;
	*get_word(&d->c, at) = ~old;
	if (away) {
		away(&d->c);
		away(&d->s);
	}
	post_atomic(&d->p.c, &(struct atom){
		.id = 4, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .flags = SIG,
		.value = value, .sink = &d->c, .at = at, .target = &d->s, .to = at });
	expect_atomic(d->p.c.scq, 4, IBV_WR_ATOMIC_FETCH_AND_ADD);
	CHECK(*get_word(&d->c, at) == old, "%llx was returned, %llx was the value before",
	      (unsigned long long)*get_word(&d->c, at), (unsigned long long)old);
	CHECK(*get_word(&d->s, at) == old + value, "the sum is %llx, want %llx",
	      (unsigned long long)*get_word(&d->s, at), (unsigned long long)(old + value));
}

void exchange_all_message_types(struct fixture *d, size_t len, uint32_t seed, away_fn *away)
{
	const size_t page = get_page_size();
	const struct { size_t off, len; } at[] = {
		{ 0, len }, { 13, len - 13 }, { page - 1, 2 }, { len - page / 2, 100 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++, seed += 8) {
		exchange_send(d, at[i].off, at[i].len, seed, away);
		odp_write_and_check(d, at[i].off, at[i].len, seed + 3, away);
		exchange_read(d, at[i].off, at[i].len, seed + 4, away);
		exchange_fetch_add(d, at[i].off / sizeof(uint64_t), seed, away);
	}
}

struct taker {
	struct fixture	*d;
	away_fn		*away;
	bool		stop;
	uint32_t	times;
};

static void *keep_changing_pages(void *arg)
{
	struct taker *t = arg;

	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		t->away(&t->d->s);
		t->away(&t->d->c);
		__atomic_add_fetch(&t->times, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

/* Repeat the messages @times times, and until @away has been applied at least once */
void exchange_while_changing_pages(struct fixture *d, size_t len, uint32_t times, away_fn *away)
{
	struct taker t = { .d = d, .away = away };
	pthread_t thread;
	uint32_t i;

	CHECK(!pthread_create(&thread, NULL, keep_changing_pages, &t), "%m");
	for (i = 0; i < times || !__atomic_load_n(&t.times, __ATOMIC_RELAXED); i++)
		exchange_all_message_types(d, len, i * 64, NULL);
	__atomic_store_n(&t.stop, true, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL), "%m");
	printf("# pages changed %u times meanwhile\n", t.times);
}
