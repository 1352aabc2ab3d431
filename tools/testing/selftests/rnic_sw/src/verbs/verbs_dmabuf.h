/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Buffers of another driver's (verbs_dmabuf.c): the driver is the tests' own. */
#ifndef RNIC_SW_VERBS_DMABUF_H
#define RNIC_SW_VERBS_DMABUF_H

#include "exporter.h"
#include "verbs_odp.h"

#define RIGHTS_SHARED	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC)

/* A buffer's file; or the case is skipped */
int buffer_new(size_t pages, uint32_t flags);
int buffer_try(unsigned long request, int fd);
void buffer_move(int fd);
void buffer_revoke(int fd);
void buffer_hold(int fd, enum exporter_hold how);
void buffer_awaited(int fd);	/* returns when somebody waits for what is held */
struct exporter_info buffer_info(int fd);
/* Nobody has it mapped any more, or is between begin and end; nor attached */
void buffer_left(int fd);
void buffer_given_back(int fd);

/* Octets [off, off + len) of the file, mapped and registered */
void shared_map(struct buf *b, int fd, size_t off, size_t len);
void shared_reg(struct buf *b, struct ibv_pd *pd, int fd, size_t off, int access);

/* A desk with such buffers, each of so many pages, and their files */
void shared_desk(struct desk *d, size_t pages, uint32_t flags);
int shared_fd(const struct desk *d, const struct buf *b);
void shared_close(struct desk *d);
/* Of the desk opened last */
void shared_move(struct buf *b);

#endif
