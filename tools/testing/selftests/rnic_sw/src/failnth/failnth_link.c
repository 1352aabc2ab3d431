// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Do the same as the commands rdma link add and rdma link del, in this process. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "failnth.h"

struct request {
	struct nlmsghdr	h;
	char		attrs[256];
};

static void init_request(struct request *r, int command)
{
	memset(r, 0, sizeof(*r));
	r->h.nlmsg_len = NLMSG_HDRLEN;
	r->h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
}

static void add_attr(struct request *r, int type, const void *value, size_t len)
{
	struct nlattr *a = (void *)((char *)r + NLMSG_ALIGN(r->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, value, len);
	r->h.nlmsg_len = NLMSG_ALIGN(r->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void add_text_attr(struct request *r, int type, const char *text)
{
	add_attr(r, type, text, strlen(text) + 1);
}

/* Send a request and read the reply into @answer.  Return: 0 or an errno */
static int send_request(const struct request *r, void *answer, size_t size)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), err = 0;
	struct nlmsghdr *h = answer;
	ssize_t n;

	if (fd < 0)
		return errno;
	n = send(fd, r, r->h.nlmsg_len, 0);
	if (n >= 0)
		n = recv(fd, answer, size, 0);
	if (n < 0)
		err = errno;
	else if (h->nlmsg_type == NLMSG_ERROR)
		err = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
	close(fd);
	return err;
}

int add_link(const char *dev, const char *netdev)
{
	char answer[1024];
	struct request r;

	init_request(&r, RDMA_NLDEV_CMD_NEWLINK);
	add_text_attr(&r, RDMA_NLDEV_ATTR_DEV_NAME, dev);
	add_text_attr(&r, RDMA_NLDEV_ATTR_LINK_TYPE, "rnic_sw");
	add_text_attr(&r, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return send_request(&r, answer, sizeof(answer));
}

/* Return: the index of the device if this message is about @dev, -1 otherwise */
static int find_index_in_message(struct nlmsghdr *h, const char *dev)
{
	char *at = NLMSG_DATA(h), *end = (char *)h + h->nlmsg_len;
	int index = -1;

	while (at + NLA_HDRLEN <= end) {
		struct nlattr *a = (void *)at;
		void *value = at + NLA_HDRLEN;

		if (a->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			memcpy(&index, value, sizeof(index));
		/* the attribute with the name follows the attribute with the index */
		if (a->nla_type == RDMA_NLDEV_ATTR_DEV_NAME && !strcmp(value, dev))
			return index;
		at += NLA_ALIGN(a->nla_len);
	}
	return -1;
}

/* Read the next part of a dump.  Return: false if it was the last one, true otherwise */
static bool read_dump_part(int fd, const char *dev, int *found)
{
	char answer[16384];
	struct nlmsghdr *h = (void *)answer;
	ssize_t n = recv(fd, answer, sizeof(answer), 0);

	for (; n > 0 && NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return false;
		if (*found < 0)
			*found = find_index_in_message(h, dev);
	}
	return n >= 0;
}

/* Return: the index of the device, or -1 */
static int find_device_index(const char *dev)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), found = -1;
	struct request r;

	if (fd < 0)
		return -1;
	init_request(&r, RDMA_NLDEV_CMD_GET);
	r.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (send(fd, &r, r.h.nlmsg_len, 0) >= 0)
		while (read_dump_part(fd, dev, &found))
			;
	close(fd);
	return found;
}

int delete_link(const char *dev)
{
	int index = find_device_index(dev);
	char answer[1024];
	struct request r;

	if (index < 0)
		return ENODEV;
	init_request(&r, RDMA_NLDEV_CMD_DELLINK);
	add_attr(&r, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	return send_request(&r, answer, sizeof(answer));
}
