// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * going ADDRESS PORT INTERFACE: delete the interface, and connect while its RDMA device is removed.
 *
 * The program calls rdma_connect() when the kernel reports that the interface is being deleted: the
 * device has been notified, but not removed yet.  The program prints the result.
 *
 * The program has real-time priority; the process that deletes the interface has normal priority.
 * Both share one CPU, so the call is made before the removal continues.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define PATIENCE	30	/* in seconds */

static int open_link_notifications(void)
{
	struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)&all, sizeof(all)))
		calls_die("netlink");
	return fd;
}

static bool has_link_deletion(struct nlmsghdr *msg, int len, int index)
{
	for (; NLMSG_OK(msg, len); msg = NLMSG_NEXT(msg, len)) {
		const struct ifinfomsg *link = NLMSG_DATA(msg);

		if (msg->nlmsg_type == RTM_DELLINK && link->ifi_index == index)
			return true;
	}
	return false;
}

static void wait_until_link_deleted(int fd, int index)
{
	char buf[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	int len;

	do {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			calls_die("recv");
	} while (!has_link_deletion((struct nlmsghdr *)buf, len, index));
}

static void delete_interface(const char *name)
{
	pid_t pid = fork();

	if (pid < 0)
		calls_die("fork");
	if (pid)
		return;
	calls_set_priority(0);
	execlp("ip", "ip", "link", "del", name, NULL);
	calls_die("ip");
}

int main(int argc, char **argv)
{
	struct rdma_conn_param param;
	struct rdma_cm_id *id;
	struct sockaddr_in to;
	cpu_set_t one;
	int fd, index;

	if (argc != 4)
		return 2;
	calls_init_from_args(&to, argv + 1, PATIENCE);
	id = calls_create_resolved_id(&to);
	param = calls_make_conn_param(calls_create_qp(id));
	index = if_nametoindex(argv[3]);
	fd = open_link_notifications();
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		calls_die("sched_setaffinity");
	calls_set_priority(CALLS_FIRST);
	delete_interface(argv[3]);
	wait_until_link_deleted(fd, index);
	printf("%s\n", rdma_connect(id, &param) ? strerrorname_np(errno) : "OK");
	wait(NULL);
	return 0;
}
