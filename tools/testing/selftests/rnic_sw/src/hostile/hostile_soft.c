// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory of ODP MRs, which the program changes in every possible way while messages use it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "madvise.h"

#define LEN		(8ul << 20)
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/*
 * Open a userfaultfd. Return: the file descriptor, or -1 if the kernel does not support userfaultfd
 */
static int open_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/**
 * soft_create - allocate memory and register it as an ODP MR and as part of an implicit MR
 * @s: filled in; @s->all is the implicit MR, which covers the whole address space
 * @pd: protection domain of the MRs
 * @rights: IBV_ACCESS_*
 *
 * Return: true on success, false if the device does not support ODP.
 */
bool soft_create(struct soft *s, struct ibv_pd *pd, int rights)
{
	s->len = LEN;
	s->at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, ANON, -1, 0);
	if (s->at == MAP_FAILED)
		return false;
	s->faults = open_userfaultfd();
	s->file = memfd_create("hostile", MFD_CLOEXEC);
	if (s->file < 0 || ftruncate(s->file, LEN))
		return false;
	rights |= IBV_ACCESS_ON_DEMAND;
	s->mr = ibv_reg_mr(pd, s->at, LEN, rights);
	s->all = ibv_reg_mr(pd, NULL, SIZE_MAX, rights);
	return s->mr && s->all;
}

/* Return a random offset, mostly in the first 64 KiB of the memory, which most messages use */
static size_t choose_offset(void)
{
	return get_random_below(4) ? get_random_below(64 * 1024) : get_random_below(LEN);
}

struct ibv_sge make_soft_sge(const struct soft *s)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->at + choose_offset(),
		.length = get_random_below(3) ? get_random_below(9000) :
		get_random_below(256 * 1024),
		.lkey = s->mr->lkey,
	};

	if (get_random_below(3))
		return sge;
	sge.lkey = s->all->lkey;
	if (!get_random_below(100))
		sge.addr = (uint64_t)get_random_value() << get_random_below(33);
	return sge;
}

/* Fork a child, which shares the pages until it exits */
static void fork_sharing_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		usleep(get_random_below(3000));
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, get_random_below(2) ? WNOHANG : 0);
}

static void give_random_advice(uint8_t *at, size_t len)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_COLLAPSE,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_DONTFORK,
		MADV_DOFORK, MADV_WILLNEED,
	};

	madvise(at, len, advice[get_random_below(sizeof(advice) / sizeof(advice[0]))]);
}

/*
 * Remove the access to pages, and then restore it in another way. A message that uses the pages
 * between these two steps ends its connection.
 */
static void remove_and_restore_access(uint8_t *at, size_t len)
{
	if (get_random_below(2))
		munmap(at, len);
	else
		mprotect(at, len, get_random_below(2) ? PROT_NONE : PROT_READ);
	usleep(get_random_below(300));
	if (get_random_below(3))
		mmap(at, len, PROT_READ | PROT_WRITE, ANON | MAP_FIXED, -1, 0);
	else
		mprotect(at, len, PROT_READ | PROT_WRITE);
}

/* Map pages of the file, which is sometimes shorter than the mapping */
static void map_file_and_maybe_truncate(const struct soft *s, uint8_t *at, size_t len)
{
	if (get_random_below(3))
		mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->file,
		     choose_offset() / PAGE * PAGE);
	if (!get_random_below(3) && !ftruncate(s->file, get_random_below(LEN)))
		usleep(get_random_below(300));
	if (ftruncate(s->file, LEN))
		abort();
}

static void withhold_pages(const struct soft *s, uint8_t *at, size_t len)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)at, len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (!ioctl(s->faults, UFFDIO_REGISTER, &reg))
		madvise(at, len, MADV_DONTNEED);
}

/* Serve some page faults, or only wake the waiting threads, and sometimes unregister a range */
static void serve_faults(const struct soft *s, uint8_t *at, size_t len)
{
	struct uffdio_range range = { (uintptr_t)at, len };
	struct uffdio_zeropage zero;
	struct uffd_msg msg;

	while (read(s->faults, &msg, sizeof(msg)) == sizeof(msg)) {
		zero = (struct uffdio_zeropage){
			.range = { msg.arg.pagefault.address & ~(PAGE - 1), PAGE } };
		if (!get_random_below(8))
			ioctl(s->faults, UFFDIO_WAKE, &zero.range);
		else
			ioctl(s->faults, UFFDIO_ZEROPAGE, &zero);
	}
	if (!get_random_below(4))
		ioctl(s->faults, UFFDIO_UNREGISTER, &range);
}

static void advise_random_ranges(const struct soft *s)
{
	struct ibv_sge sge[3];
	int i;

	for (i = 0; i < 3; i++)
		sge[i] = make_soft_sge(s);
	ibv_advise_mr(s->mr->pd, get_random_below(4), get_random_below(2), sge,
		      get_random_below(4));
}

/**
 * soft_change_pages - do a random operation, mostly on the mapping of a random part of the memory
 * @s: the memory
 */
void soft_change_pages(const struct soft *s)
{
	uint8_t *at = s->at + choose_offset() / PAGE * PAGE;
	size_t rest = s->at + LEN - at, len = (1 + get_random_below(8)) * PAGE;

	if (!get_random_below(10) || len > rest)
		len = rest;
	switch (get_random_below(28)) {
	case 0:
		remove_and_restore_access(at, len);
		break;
	case 1:
		fork_sharing_child();
		break;
	case 2:
		mmap(at, len, PROT_READ | PROT_WRITE, ANON | MAP_FIXED, -1, 0);
		break;
	case 3:
		mremap(s->at + LEN / 2, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at);
		break;
	case 4:
		ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, s->at,
			     LEN - get_random_below(2) * PAGE, 0);
		break;
	case 5: case 6: case 7:
		advise_random_ranges(s);
		break;
	case 8: case 9:
		map_file_and_maybe_truncate(s, at, len);
		break;
	case 10:
		withhold_pages(s, at, len);
		break;
	case 11: case 12: case 13:
		serve_faults(s, at, len);
		break;
	default:
		give_random_advice(at, len);
	}
}
