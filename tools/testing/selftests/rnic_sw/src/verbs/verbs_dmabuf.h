/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common parts of the cases about dma-buf MRs (verbs_dmabuf.c).  The buffers are those of the test
 * module rnic_sw_exporter.
 */
#ifndef RNIC_SW_VERBS_DMABUF_H
#define RNIC_SW_VERBS_DMABUF_H

#include "exporter.h"
#include "verbs_odp.h"

#define RIGHTS_SHARED	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC)

/* Create a buffer and return its file descriptor; skip the case if the module is not loaded */
int buffer_create(size_t pages, uint32_t flags);
/* Make a request to the exporter for the buffer.  Return: 0 or an errno */
int buffer_try_request(unsigned long request, int fd);
void buffer_move(int fd);
void buffer_revoke(int fd);
void buffer_set_hold(int fd, enum exporter_hold how);
void buffer_wait_blocked(int fd);	/* wait until a caller of the exporter is blocked */
struct exporter_info buffer_get_info(int fd);
/*
 * buffer_wait_unused() waits until the buffer has no mapping, no CPU access in progress and no pin;
 * buffer_wait_detached() waits until it also has no attachment
 */
void buffer_wait_unused(int fd);
void buffer_wait_detached(int fd);

/* Map and register bytes [off, off + len) of the buffer */
void map_shared_buf(struct buf *b, int fd, size_t off, size_t len);
void register_shared_buf(struct buf *b, struct ibv_pd *pd, int fd, size_t off, int access);

/* Open a fixture whose buffers are dma-bufs of @pages pages; get the file descriptor of a buffer */
void shared_fixture_open(struct fixture *d, size_t pages, uint32_t flags);
int get_shared_fd(const struct fixture *d, const struct buf *b);
void shared_fixture_close(struct fixture *d);
/* Move a buffer of the fixture that was opened last */
void move_shared_buf(struct buf *b);

#endif
