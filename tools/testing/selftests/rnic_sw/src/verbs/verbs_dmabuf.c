// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* MRs of dma-bufs: messages while the buffers stay in place and while they move. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "verbs_dmabuf.h"

#define PAGES	24u
#define TIMES	12u

/* The exporter ---------------------------------------------------------------- */

static int open_exporter_once(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/rnic_sw_exporter", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		skip("no module rnic_sw_exporter (the script run builds it)");
	return fd;
}

int buffer_create(size_t pages, uint32_t flags)
{
	struct exporter_new arg = { .pages = pages, .flags = flags };
	int fd = ioctl(open_exporter_once(), EXPORTER_NEW, &arg);

	CHECK(fd >= 0, "%m");
	return fd;
}

int buffer_try_request(unsigned long request, int fd)
{
	return ioctl(open_exporter_once(), request, &fd) ? errno : 0;
}

void buffer_move(int fd)
{
	int err = buffer_try_request(EXPORTER_MOVE, fd);

	CHECK(!err, "%s", strerror(err));
}

void buffer_revoke(int fd)
{
	int err = buffer_try_request(EXPORTER_REVOKE, fd);

	CHECK(!err, "%s", strerror(err));
}

void buffer_set_hold(int fd, enum exporter_hold how)
{
	struct exporter_held arg = { .fd = fd, .how = how };

	CHECK(!ioctl(open_exporter_once(), EXPORTER_HOLD, &arg), "%m");
}

struct exporter_info buffer_get_info(int fd)
{
	struct exporter_info info = { .fd = fd };

	CHECK(!ioctl(open_exporter_once(), EXPORTER_INFO, &info), "%m");
	return info;
}

void buffer_wait_blocked(int fd)
{
	const uint64_t until = now_ms() + scale_timeout(WC_MS);

	while (!buffer_get_info(fd).waiting) {
		CHECK(now_ms() < until, "the exporter must block a caller");
		sleep_ms(1);
	}
}

static void wait_unused(int fd, bool attached)
{
	const uint64_t until = now_ms() + scale_timeout(WC_MS);
	struct exporter_info i;

	while (i = buffer_get_info(fd),
	       i.mapped || i.begun || i.pinned || (attached && i.attached)) {
		CHECK(now_ms() < until, "attached %u, mapped %u, begun %u, pinned %u",
		      i.attached, i.mapped, i.begun, i.pinned);
		sleep_ms(10);
	}
}

void buffer_wait_unused(int fd)
{
	wait_unused(fd, false);
}

void buffer_wait_detached(int fd)
{
	wait_unused(fd, true);
}

/* Regions --------------------------------------------------------------------- */

void map_shared_buf(struct buf *b, int fd, size_t off, size_t len)
{
	memset(b, 0, sizeof(*b));
	b->len = b->map_len = len;
	b->map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	CHECK(b->map != MAP_FAILED, "%m");
	b->at = b->map;
}

/*
 * Check whether importers can follow a buffer that moves. They can if the kernel has
 * dma_buf_vmap_unlocked().
 */
static bool can_follow_moves(void)
{
	return has_kernel_function("dma_buf_vmap_unlocked");
}

/*
 * Check whether the exporters of this kernel keep a buffer in place while it is mapped for the CPU.
 * Otherwise the importer has to pin the buffer. Kernels with the function that is checked for
 * follow this rule, because the function was added later than the rule.
 */
static bool exporters_keep_mapped_buffers(void)
{
	return has_kernel_function("dma_buf_invalidate_mappings");
}

static void skip_unless_importer_pins(void)
{
	if (exporters_keep_mapped_buffers())
		skip("this kernel's exporters keep mapped buffers in place");
}

void register_shared_buf(struct buf *b, struct ibv_pd *pd, int fd, size_t off, int access)
{
	b->mr = ibv_reg_dmabuf_mr(pd, off, b->len, (uintptr_t)b->at, fd, access);
	if (!b->mr && errno == EOPNOTSUPP && !can_follow_moves())
		skip("this kernel's importers cannot follow buffers that move");
	if (!b->mr && errno == EOPNOTSUPP && access & IBV_ACCESS_REMOTE_ATOMIC)
		skip("no atomics to shared buffers on this machine");
	CHECK(b->mr, "%m");
}

static struct {
	const struct buf *client;
	int c, s;
} files;

int get_shared_fd(const struct fixture *d, const struct buf *b)
{
	return b == &d->c ? files.c : files.s;
}

void move_shared_buf(struct buf *b)
{
	buffer_move(b == files.client ? files.c : files.s);
}

void shared_fixture_open(struct fixture *d, size_t pages, uint32_t flags)
{
	const size_t len = pages * get_page_size();

	pair_open(&d->p, &(struct opts){});
	files.client = &d->c;
	files.c = buffer_create(pages, flags);
	files.s = buffer_create(pages, flags);
	map_shared_buf(&d->c, files.c, 0, len);
	map_shared_buf(&d->s, files.s, 0, len);
	register_shared_buf(&d->c, d->p.c.pd, files.c, 0, RIGHTS_SHARED);
	register_shared_buf(&d->s, d->p.s.pd, files.s, 0, RIGHTS_SHARED);
}

void shared_fixture_close(struct fixture *d)
{
	odp_fixture_close(d);
	buffer_wait_detached(files.c);
	buffer_wait_detached(files.s);
	CHECK(!close(files.c) && !close(files.s), "%m");
}

/* Messages -------------------------------------------------------------------- */

static void test_messages(void)
{
	struct fixture d;

	shared_fixture_open(&d, PAGES, 0);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	shared_fixture_close(&d);
}

static void test_messages_during_buffer_moves(void)
{
	uint64_t was;
	struct fixture d;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	was = read_counter(&d.p.s, "dmabuf_moves");
	exchange_all_message_types(&d, d.s.len, 1, move_shared_buf);
	CHECK(read_counter(&d.p.s, "dmabuf_moves") > was, "the device must be notified of the move");
	exchange_while_changing_pages(&d, d.s.len, scale_rounds(TIMES) ?: 1, move_shared_buf);
	shared_fixture_close(&d);
}

static void transfer_pages(struct fixture *d, enum ibv_wr_opcode op)
{
	post_job(&d->p.c, &(struct job){
		.id = 1, .op = op, .flags = SIG, .b = &d->c, .len = d->s.len,
		.raddr = (uintptr_t)d->s.at, .rkey = d->s.mr->rkey });
	expect_success(d->p.c.scq, 1, op == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ :
							IBV_WC_RDMA_WRITE);
}

/*
 * An exporter that moves without notification cannot move a buffer while it is mapped for the CPU,
 * but it can move the buffer afterwards.
 */
static void test_silent_move_of_mapped_buffer(void)
{
	struct fixture d;
	int i, err;

	skip_unless_importer_pins();
	shared_fixture_open(&d, PAGES, EXPORTER_MOVES | EXPORTER_SILENT);
	for (i = 0; i < 8; i++) {
		buf_fill(&d.c, 0, d.c.len, i);
		transfer_pages(&d, IBV_WR_RDMA_WRITE);
		/* when the Read completes, the Write is placed */
		transfer_pages(&d, IBV_WR_RDMA_READ);
		err = buffer_try_request(EXPORTER_MOVE, files.s);
		CHECK(err == EBUSY || !buffer_get_info(files.s).mapped,
		      "a mapped buffer must not move: %s", strerror(err));
		transfer_pages(&d, IBV_WR_RDMA_READ);
		buf_expect_pattern(&d.c, 0, d.c.len, i);
		buffer_wait_unused(files.s);
		buffer_move(files.s);
		buf_expect_pattern(&d.s, 0, d.s.len, i);
	}
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	shared_fixture_close(&d);
}

/* The exporter moves the buffer when the importer pins it */
static void test_pin_moves(void)
{
	struct fixture d;

	skip_unless_importer_pins();
	shared_fixture_open(&d, PAGES, EXPORTER_MOVES | EXPORTER_PIN_MOVES);
	CHECK(buffer_get_info(files.s).moves == 1, "the buffer must be pinned, which moves it");
	CHECK(buffer_get_info(files.s).begins == 2, "access must begin again after the move");
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	shared_fixture_close(&d);
}

/* Register two MRs of one buffer: after a move, both must use the new location */
static void test_two_regions(void)
{
	const size_t len = PAGES * get_page_size();
	struct fixture d;

	pair_open(&d.p, &(struct opts){});
	files.client = NULL;
	files.s = files.c = buffer_create(2 * PAGES, EXPORTER_MOVES);
	map_shared_buf(&d.c, files.c, 0, len);
	map_shared_buf(&d.s, files.c, len, len);
	register_shared_buf(&d.c, d.p.c.pd, files.c, 0, RIGHTS_SHARED);
	register_shared_buf(&d.s, d.p.s.pd, files.c, len, RIGHTS_SHARED);
	exchange_all_message_types(&d, len, 1, move_shared_buf);
	exchange_while_changing_pages(&d, len, scale_rounds(TIMES) ?: 1, move_shared_buf);
	odp_fixture_close(&d);
	buffer_wait_detached(files.c);
}

/* Register a part of the buffer that starts inside a page, with an IOVA of the same page offset */
static void test_part(void)
{
	const size_t page = get_page_size(), off = 3 * page + 100;
	struct fixture d;

	shared_fixture_open(&d, PAGES, 0);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	d.s.mr = ibv_reg_dmabuf_mr(d.p.s.pd, off, 5000, 0x70000000 + 100, files.s,
				   RIGHTS_SHARED);
	CHECK(d.s.mr, "%m");
	buf_fill(&d.c, 0, 5000, 8);
	memset(d.s.at, 0x5a, d.s.len);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c, .len = 5000,
		.raddr = 0x70000000 + 100, .rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	post_job(&d.p.c, &(struct job){
		.id = 2, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c, .off = 6000,
		.len = 5000, .raddr = 0x70000000 + 100, .rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
	CHECK(!memcmp(d.c.at, d.c.at + 6000, 5000), "the data read back must be the same");
	CHECK(!memcmp(d.c.at, d.s.at + off, 5000), "the data must be in this part");
	CHECK(d.s.at[off - 1] == 0x5a && d.s.at[off + 5000] == 0x5a, "no other byte may change");
	/* read one byte after the end of the MR, which is inside the buffer */
	post_job(&d.p.c, &(struct job){
		.id = 3, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c, .len = 5000,
		.raddr = 0x70000000 + 101, .rkey = d.s.mr->rkey });
	expect_status(d.p.c.scq, 3, IBV_WC_REM_ACCESS_ERR);
}

/*
 * Other devices see received data only after end_cpu_access(), which must be called soon after the
 * last message, and immediately at deregistration. A later message must send data that other
 * devices have written.
 */
static void test_seen_by_others(void)
{
	struct fixture d;

	shared_fixture_open(&d, PAGES, EXPORTER_SHADOW);
	buffer_wait_unused(files.c);
	buf_fill(&d.c, 0, d.c.len, 1);
	transfer_pages(&d, IBV_WR_RDMA_WRITE);
	wait_all_placed_by_read(&d);
	buffer_wait_unused(files.s);
	buf_expect_pattern(&d.s, 0, d.s.len, 1);
	buf_fill(&d.s, 0, d.s.len, 2);
	transfer_pages(&d, IBV_WR_RDMA_READ);
	CHECK(buffer_get_info(files.c).begins > 1, "access must begin again");
	buffer_wait_unused(files.c);
	buf_expect_pattern(&d.c, 0, d.c.len, 2);
	transfer_pages(&d, IBV_WR_RDMA_WRITE);
	wait_all_placed_by_read(&d);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	d.s.mr = NULL;
	CHECK(!buffer_get_info(files.s).begun, "access must have ended");
	CHECK(!memcmp(d.s.at + 1, d.c.at + 1, d.s.len - 1), "the buffer must have what was sent");
	shared_fixture_close(&d);
}

/* An MR must keep the buffer and the exporter's module referenced */
static void test_file_closed(void)
{
	const char *refs = "/sys/module/rnic_sw_exporter/refcnt";
	struct fixture d;
	long was;

	shared_fixture_open(&d, PAGES, EXPORTER_MOVES);
	was = read_number_in(refs, "");
	CHECK(!munmap(d.s.map, d.s.map_len) && !close(files.s), "%m");
	d.s.map = NULL;
	buf_fill(&d.c, 0, d.c.len, 3);
	transfer_pages(&d, IBV_WR_RDMA_WRITE);
	buf_clear(&d.c);
	transfer_pages(&d, IBV_WR_RDMA_READ);
	buf_expect_pattern(&d.c, 0, d.c.len, 3);
	CHECK(read_number_in(refs, "") == was, "the module must stay referenced: %ld, not %ld",
	      read_number_in(refs, ""), was);
	odp_fixture_close(&d);
	while (read_number_in(refs, "") >= was)
		sleep_ms(10);
}

/* Objects --------------------------------------------------------------------- */

static void register_and_expect_failure(struct ibv_pd *pd, int want, uint64_t off, size_t len,
					int fd,
					int access, int line)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, off, len, off, fd, access);

	CHECK(!mr, "line %d: must be refused", line);
	CHECK(errno == want, "line %d: %m, want %s", line, strerror(want));
}

#define REFUSED(want, ...)	register_and_expect_failure(p.c.pd, want, __VA_ARGS__, __LINE__)

static void test_refusals(void)
{
	const size_t page = get_page_size(), len = 2 * page;
	struct ibv_mr *mr;
	struct pair p;
	int fd;

	fd = buffer_create(2, 0);
	pair_open(&p, &(struct opts){});
	REFUSED(EINVAL, 0, 0, fd, RIGHTS_ALL);
	REFUSED(EINVAL, 0, len + 1, fd, RIGHTS_ALL);
	REFUSED(EINVAL, 1, len, fd, RIGHTS_ALL);
	REFUSED(EINVAL, len, 1, fd, RIGHTS_ALL);
	REFUSED(EINVAL, -page, len, fd, RIGHTS_ALL);
	REFUSED(EINVAL, 0, len, fd, IBV_ACCESS_REMOTE_WRITE);
	REFUSED(EINVAL, 0, len, fd, RIGHTS_ALL | IBV_ACCESS_ON_DEMAND);
	REFUSED(EINVAL, 0, len, fd, RIGHTS_ALL | IBV_ACCESS_MW_BIND);
	REFUSED(EBADF, 0, len, 999, RIGHTS_ALL);
	REFUSED(EINVAL, 0, len, create_memfd_of_pages(2), RIGHTS_ALL);
	CHECK(!buffer_get_info(fd).attached, "no attachment may be left");
	fd = buffer_create(2, EXPORTER_NOT_MAPPED);
	REFUSED(EOPNOTSUPP, 0, len, fd, RIGHTS_ALL);
	fd = buffer_create(2, EXPORTER_IOMEM);
	REFUSED(EOPNOTSUPP, 0, len, fd, RIGHTS_ALL);
	CHECK(!buffer_get_info(fd).attached && !buffer_get_info(fd).mapped &&
	      !buffer_get_info(fd).begun, "nothing may be left");
	fd = buffer_create(2, EXPORTER_MOVES | EXPORTER_IOMEM);
	REFUSED(EOPNOTSUPP, 0, len, fd, RIGHTS_ALL);
	buffer_wait_detached(fd);
	if (!exporters_keep_mapped_buffers()) {
		fd = buffer_create(2, EXPORTER_MOVES | EXPORTER_NO_PIN);
		REFUSED(EOPNOTSUPP, 0, len, fd, RIGHTS_ALL);
		buffer_wait_detached(fd);
	}
	fd = buffer_create(2, EXPORTER_READ_ONLY);
	REFUSED(EACCES, 0, len, fd, IBV_ACCESS_LOCAL_WRITE);
	REFUSED(EACCES, 0, len, fd, RIGHTS_ALL);
	mr = ibv_reg_dmabuf_mr(p.c.pd, 0, len, 0, fd, IBV_ACCESS_REMOTE_READ);
	CHECK(mr && !ibv_dereg_mr(mr), "%m");
	pair_close(&p);
}

/*
 * Reregister a dma-buf MR, which libibverbs refuses: for this call, change the type that libibverbs
 * has stored after the struct ibv_mr to that of an ordinary MR. A program need not use libibverbs,
 * so the kernel must handle the command.
 */
static int rereg_by_command(struct buf *b, int what, void *at, int access)
{
	struct {
		struct ibv_mr	mr;
		int		type;
	} *known = (void *)b->mr;
	const int type = known->type;
	int err;

	CHECK(ibv_rereg_mr(b->mr, what, NULL, at, b->len, access), "the library must refuse");
	known->type = 0;
	err = ibv_rereg_mr(b->mr, what, NULL, at, b->len, access) ? errno : 0;
	known->type = type;
	return err;
}

/* The rights of an MR may change, but must not exceed those of its registration */
static void test_rereg_cannot_add_rights(void)
{
	const int rights = IBV_REREG_MR_CHANGE_ACCESS, read = IBV_ACCESS_REMOTE_READ;
	struct fixture d;
	int err;

	shared_fixture_open(&d, 2, 0);
	buf_fill(&d.s, 0, d.s.len, 6);
	CHECK(!rereg_by_command(&d.s, rights, d.s.at, read), "%m");
	transfer_pages(&d, IBV_WR_RDMA_READ);
	buf_expect_pattern(&d.c, 0, d.c.len, 6);
	CHECK(!rereg_by_command(&d.s, rights, d.s.at, RIGHTS_SHARED), "%m");
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	register_shared_buf(&d.s, d.p.s.pd, files.s, 0, read);
	err = rereg_by_command(&d.s, rights, d.s.at, RIGHTS_SHARED);
	CHECK(err == EOPNOTSUPP, "%s", strerror(err));
	err = rereg_by_command(&d.s, rights, d.s.at, read | IBV_ACCESS_ON_DEMAND);
	CHECK(err == EOPNOTSUPP, "%s", strerror(err));
	buf_fill(&d.s, 0, d.s.len, 7);
	transfer_pages(&d, IBV_WR_RDMA_READ);
	buf_expect_pattern(&d.c, 0, d.c.len, 7);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = 1,
		.raddr = (uintptr_t)d.s.at, .rkey = d.s.mr->rkey });
	expect_both_qps_in_error(&d);
}

/* Create a dma-buf from a memfd with the kernel's udmabuf driver */
static int create_udmabuf(int file, size_t len)
{
	struct udmabuf_create arg = { .memfd = file, .size = len };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (dev < 0)
		skip("no /dev/udmabuf: CONFIG_UDMABUF");
	CHECK(!fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), "%m");
	fd = ioctl(dev, UDMABUF_CREATE, &arg);
	CHECK(fd >= 0 && !close(dev), "%m");
	return fd;
}

/* Neither closing nor changing the memfd may affect the MR */
static void create_and_register_udmabuf(struct buf *b, struct ibv_pd *pd)
{
	const size_t len = PAGES * get_page_size();
	int file, fd;

	file = memfd_create("rnic_sw-verbs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(file >= 0 && !ftruncate(file, len), "%m");
	fd = create_udmabuf(file, len);
	map_shared_buf(b, file, 0, len);
	register_shared_buf(b, pd, fd, 0, RIGHTS_SHARED);
	CHECK(!close(fd) && ftruncate(file, len / 2), "the file must not be truncated");
	CHECK(!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1), "%m");
	CHECK(!close(file), "%m");
}

static void test_udmabuf(void)
{
	struct fixture d;

	pair_open(&d.p, &(struct opts){});
	create_and_register_udmabuf(&d.c, d.p.c.pd);
	create_and_register_udmabuf(&d.s, d.p.s.pd);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	odp_fixture_close(&d);
}

#define T(fn, s)	CASE("dmabuf_" #fn, test_##fn, s, "")

const struct test dmabuf_tests[] = {
	T(messages, 0),
	CASE("dmabuf_moved", test_messages_during_buffer_moves, 60, ""),
	CASE("dmabuf_silent", test_silent_move_of_mapped_buffer, 60, ""),
	T(pin_moves, 0), T(two_regions, 60), T(part, 0), T(seen_by_others, 0),
	T(file_closed, 0), T(refusals, 0),
	CASE("dmabuf_changed", test_rereg_cannot_add_rights, 0, ""),
	T(udmabuf, 0),
	{}
};
