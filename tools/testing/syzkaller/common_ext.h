// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Pseudo system calls of dev_infiniband_rnic_sw.txt. syzkaller includes this file, named
// common_ext.h, in its executor and in the C programs that it makes of its inputs.

#if SYZ_EXECUTOR
#include <sched.h>

#define SYZ_HAVE_SETUP_EXT_TEST 1
// Return to the network namespace of the bed, because the devices are on its interfaces.
static void setup_ext_test()
{
	if (setns(kInitNetNsFd, CLONE_NEWNET))
		fail("setns failed");
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_open
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define RNIC_MINORS 32

// Check whether uverbs device number @n is the RDMA device @name.
static int rnic_is_device(int n, const char* name)
{
	char path[64], found[64] = {};
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/uverbs%d/ibdev", n);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, found, sizeof(found) - 1);
	close(fd);
	found[len > 0 ? len : 0] = 0;
	found[strcspn(found, "\n")] = 0;
	return !strcmp(found, name);
}

// Create the verbs context of @fd, with IB_USER_VERBS_CMD_GET_CONTEXT and struct rnic_sw_alloc_ctx.
static int rnic_create_context(int fd)
{
	struct {
		uint32 command;
		uint16 in_words, out_words;
		uint64 response;
		uint32 comp_mask, reserved;
	} cmd = {};
	// struct ib_uverbs_get_context_resp and struct rnic_sw_alloc_ctx_resp
	uint32 resp[6];
	cmd.in_words = sizeof(cmd) / 4;
	cmd.out_words = sizeof(resp) / 4;
	cmd.response = (uint64)resp;
	return write(fd, &cmd, sizeof(cmd)) == (ssize_t)sizeof(cmd) ? 0 : -1;
}

// syz_ext_rnic_open(name): open the RDMA device of this name, with a context.
static long syz_ext_rnic_open(volatile long name)
{
	int n = 0;
	while (n < RNIC_MINORS && !rnic_is_device(n, (const char*)name))
		n++;
	if (n == RNIC_MINORS) {
		errno = ENODEV;
		return -1;
	}
	char path[64];
	snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", n);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && rnic_create_context(fd)) {
		int err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_link_add || __NR_syz_ext_rnic_link_delete || __NR_syz_ext_rnic_details
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// From rdma/rdma_netlink.h: client RDMA_NL_NLDEV, its commands and attributes
#define RNIC_NLDEV(command) ((5 << 10) + (command))
#define RNIC_NLDEV_CMD_GET 1
#define RNIC_NLDEV_CMD_NEWLINK 3
#define RNIC_NLDEV_CMD_DELLINK 4
#define RNIC_ATTR_DEV_INDEX 1
#define RNIC_ATTR_DEV_NAME 2
#define RNIC_ATTR_NDEV_NAME 51
#define RNIC_ATTR_LINK_TYPE 65
#define RNIC_ATTR_DRIVER_DETAILS 97

struct rnic_request {
	struct nlmsghdr hdr;
	char attrs[512];
};

static void rnic_add_attr(struct rnic_request* req, int type, const void* data, size_t len)
{
	struct nlattr attr = {(uint16)(NLA_HDRLEN + len), (uint16)type};
	char* end = (char*)req + NLMSG_ALIGN(req->hdr.nlmsg_len);
	memcpy(end, &attr, sizeof(attr));
	memcpy(end + NLA_HDRLEN, data, len);
	req->hdr.nlmsg_len = NLMSG_ALIGN(req->hdr.nlmsg_len) + NLA_ALIGN(attr.nla_len);
}

// Add a name, cut to 32 characters, the maximum that the kernel reads.
static void rnic_add_name_attr(struct rnic_request* req, int type, long name)
{
	char text[33] = {};
	strncpy(text, (const char*)name, sizeof(text) - 1);
	rnic_add_attr(req, type, text, strlen(text) + 1);
}

static void rnic_init_request(struct rnic_request* req, int command, int flags)
{
	memset(req, 0, sizeof(*req));
	req->hdr.nlmsg_len = NLMSG_HDRLEN;
	req->hdr.nlmsg_type = RNIC_NLDEV(command);
	req->hdr.nlmsg_flags = NLM_F_REQUEST | flags;
}

// Send @req. Return: the socket that receives the response, or -1.
static int rnic_send(struct rnic_request* req)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (fd >= 0 && send(fd, req, req->hdr.nlmsg_len, 0) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

// Send @req, and return the error in its acknowledgement.
static long rnic_request_ack(struct rnic_request* req)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		char rest[1024];
	} resp = {};
	int fd = rnic_send(req);
	if (fd < 0)
		return -1;
	ssize_t len = recv(fd, &resp, sizeof(resp), 0);
	close(fd);
	if (len < (ssize_t)(NLMSG_HDRLEN + sizeof(int)))
		return -1;
	errno = -resp.err.error;
	return resp.err.error ? -1 : 0;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_link_add
// syz_ext_rnic_link_add(name, netdev): rdma link add NAME type rnic_sw netdev NETDEV
static long syz_ext_rnic_link_add(volatile long name, volatile long netdev)
{
	struct rnic_request req;
	rnic_init_request(&req, RNIC_NLDEV_CMD_NEWLINK, NLM_F_ACK);
	rnic_add_name_attr(&req, RNIC_ATTR_DEV_NAME, name);
	rnic_add_attr(&req, RNIC_ATTR_LINK_TYPE, "rnic_sw", sizeof("rnic_sw"));
	rnic_add_name_attr(&req, RNIC_ATTR_NDEV_NAME, netdev);
	return rnic_request_ack(&req);
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_link_delete || __NR_syz_ext_rnic_details
// Get the index of the device if a message of a dump is about the device @name. Return: the index, or -1.
static long rnic_match_device(struct nlmsghdr* msg, const char* name)
{
	long index = -1;
	int found = 0;
	char* end = (char*)msg + msg->nlmsg_len;
	char* at = (char*)NLMSG_DATA(msg);
	while (at + NLA_HDRLEN <= end) {
		struct nlattr* attr = (struct nlattr*)at;
		if (attr->nla_len < NLA_HDRLEN || at + attr->nla_len > end)
			break;
		if (attr->nla_type == RNIC_ATTR_DEV_INDEX)
			index = *(uint32*)(at + NLA_HDRLEN);
		if (attr->nla_type == RNIC_ATTR_DEV_NAME)
			found = !strcmp(at + NLA_HDRLEN, name);
		at += NLA_ALIGN(attr->nla_len);
	}
	return found ? index : -1;
}

// Read a dump of all devices from @fd, which consists of any number of datagrams. Return: the index of
// the device @name, or -1.
static long rnic_find_index(int fd, const char* name)
{
	static __thread char dump[16384] __attribute__((aligned(8)));
	for (;;) {
		ssize_t len = recv(fd, dump, sizeof(dump), 0);
		if (len <= 0)
			return -1;
		for (struct nlmsghdr* msg = (struct nlmsghdr*)dump; NLMSG_OK(msg, len); msg = NLMSG_NEXT(msg, len)) {
			if (msg->nlmsg_type == NLMSG_DONE || msg->nlmsg_type == NLMSG_ERROR)
				return -1;
			long index = rnic_match_device(msg, name);
			if (index >= 0)
				return index;
		}
	}
}

// Get the index of the device @name. Return: the index, or -1.
static long rnic_get_index(const char* name)
{
	struct rnic_request req;
	rnic_init_request(&req, RNIC_NLDEV_CMD_GET, NLM_F_DUMP);
	int fd = rnic_send(&req);
	long index = fd < 0 ? -1 : rnic_find_index(fd, name);
	if (fd >= 0)
		close(fd);
	if (index < 0)
		errno = ENODEV;
	return index;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_link_delete
// syz_ext_rnic_link_delete(name): rdma link delete NAME
static long syz_ext_rnic_link_delete(volatile long name)
{
	struct rnic_request req;
	long index = rnic_get_index((const char*)name);
	if (index < 0)
		return -1;
	uint32 number = index;
	rnic_init_request(&req, RNIC_NLDEV_CMD_DELLINK, NLM_F_ACK);
	rnic_add_attr(&req, RNIC_ATTR_DEV_INDEX, &number, sizeof(number));
	return rnic_request_ack(&req);
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_details
// syz_ext_rnic_details(name, command): rdma -dd resource show qp, or cq, mr, srq, dev NAME. Return: the
// number of bytes.
static long syz_ext_rnic_details(volatile long name, volatile long command)
{
	static __thread char dump[16384] __attribute__((aligned(8)));
	struct rnic_request req;
	long index = rnic_get_index((const char*)name);
	if (index < 0)
		return -1;
	uint32 number = index;
	unsigned char details = 1;
	rnic_init_request(&req, command, NLM_F_DUMP);
	rnic_add_attr(&req, RNIC_ATTR_DEV_INDEX, &number, sizeof(number));
	rnic_add_attr(&req, RNIC_ATTR_DRIVER_DETAILS, &details, sizeof(details));
	int fd = rnic_send(&req);
	if (fd < 0)
		return -1;
	long sum = 0;
	for (;;) {
		ssize_t len = recv(fd, dump, sizeof(dump), 0);
		struct nlmsghdr* msg = (struct nlmsghdr*)dump;
		if (len < (ssize_t)NLMSG_HDRLEN || msg->nlmsg_type == NLMSG_DONE || msg->nlmsg_type == NLMSG_ERROR)
			break;
		sum += len;
	}
	close(fd);
	return sum;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_map
#include <sys/mman.h>

// syz_ext_rnic_map(fd, key, bytes, offset): map a ring. Return: the ring's address.
static long syz_ext_rnic_map(volatile long fd, volatile long key, volatile long bytes, volatile long offset)
{
	char* map = (char*)mmap(0, (uint32)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, key);
	return map == MAP_FAILED ? -1 : (long)(map + (uint32)offset);
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_post
#include <string.h>

// syz_ext_rnic_post(ring, offset, slots, stride, wr, len): copy a work request into the next slot of
// the ring at @ring + @offset, and advance prod. An address that is not mapped faults, which the
// executor catches.
static long syz_ext_rnic_post(volatile long ring, volatile long offset, volatile long slots, volatile long stride,
			      volatile long wr, volatile long len)
{
	char* hdr = (char*)ring + (uint32)offset;
	uint32 prod = *(volatile uint32*)hdr;
	uint32 slot = (uint32)slots ? prod % (uint32)slots : 0;
	uint32 size = (uint32)len < 4096 ? (uint32)len : 4096;
	memcpy(hdr + 128 + (size_t)slot * (uint32)stride, (void*)wr, size);
	__atomic_store_n((uint32*)hdr, prod + 1, __ATOMIC_RELEASE);
	return 0;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_poke
// syz_ext_rnic_poke(ring, offset, value): write a 32-bit word of a ring.
static long syz_ext_rnic_poke(volatile long ring, volatile long offset, volatile long value)
{
	*(volatile uint32*)((char*)ring + (uint32)offset) = (uint32)value;
	return 0;
}
#endif

#if SYZ_EXECUTOR || __NR_syz_ext_rnic_event
#include <errno.h>
#include <poll.h>
#include <unistd.h>

// syz_ext_rnic_event(fd, resp, wait_ms): read the next event of an rdma_cm file; wait for it at most
// @wait_ms. RDMA_USER_CM_CMD_GET_EVENT alone would wait without limit.
static long syz_ext_rnic_event(volatile long fd, volatile long resp, volatile long wait_ms)
{
	struct pollfd poller = {(int)fd, POLLIN, 0};
	struct {
		uint32 cmd;
		uint16 in, out;
		uint64 response;
	} cmd = {12, 8, 324, (uint64)resp};
	if (poll(&poller, 1, (uint32)wait_ms) != 1) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, &cmd, sizeof(cmd)) < 0 ? -1 : 0;
}
#endif
