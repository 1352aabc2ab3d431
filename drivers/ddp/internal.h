/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations that the files of iw_ddp share. */
#ifndef _DDP_INTERNAL_H
#define _DDP_INTERNAL_H

#include <ddp/llp.h>
#include <ddp/mem.h>
#include <ddp/ulp.h>

struct ddp_rx_seg;
struct ddp_sock_callbacks;
struct net;
struct net_device;
struct sock;
struct sockaddr_storage;
struct socket;

/* rx.c: steps of the general receive path that rx_fast.c also uses */
enum iw_reason ddp_rx_admit_segment(struct ddp_stream *s, const struct ddp_rx_seg *g,
				    struct ddp_grant *grant);
/* Save an admitted segment and its grant until its page fault is resolved */
void ddp_rx_defer_segment(struct ddp_stream *s, const struct ddp_rx_seg *g,
			  const struct ddp_grant *grant);
/*
 * Admit, place and deliver the untagged segment @g, whose payload is at @body, or is read from @llp
 * if @body is NULL
 */
enum iw_reason ddp_rx_untagged_segment(struct ddp_stream *s, struct ddp_llp *llp, const void *body,
				       const struct ddp_rx_seg *g);
void ddp_rx_fail_segment(struct ddp_stream *s, enum iw_reason why,
			 const struct ddp_rx_seg *g);
/* Report the Writes counted in writes_unreported to the ULP; called before admit() and deliver() */
void ddp_rx_report_writes(struct ddp_stream *s);

/* rx_fast.c: try the fast path of a tagged segment */
bool ddp_rx_try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				 u32 len, enum iw_reason *why);

/* place.c: copying from and to registered memory */
enum iw_reason ddp_place_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					const struct ddp_hdr *h, u32 len, u8 rights);

/**
 * struct ddp_batch_dst - memory for the payloads of a batch
 * @m: range of the MR
 * @extent: if the MR has no blocks, the memory of this range, whose pages stay present until
 *	ddp_place_end_batch(); @extent.at is NULL if the MR has blocks
 */
struct ddp_batch_dst {
	struct ddp_sge		m;
	struct ddp_extent	extent;
};

u32 ddp_place_begin_batch(struct ddp_stream *s, const struct ddp_hdr *h, u32 each, u32 n,
			  struct ddp_batch_dst *d);
void ddp_place_batch(struct ddp_stream *s, const struct ddp_hdr *h,
		     const struct ddp_batch_dst *d, const struct ddp_rx_batch *b, u32 n);
void ddp_place_end_batch(struct ddp_stream *s, const struct ddp_batch_dst *d);

enum iw_reason ddp_place_next_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					     const void *body, u64 to, u32 len, bool last);
enum iw_reason ddp_place_untagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					  const void *body, struct ddp_cursor *to, u32 len);
enum iw_reason ddp_fetch_payload(struct ddp_stream *s, struct ddp_cursor *from,
				 void *dst, u32 len);
u32 ddp_cursor_get_page_off(struct ddp_cursor *c);
u32 ddp_fetch_payload_batch(struct ddp_stream *s, struct ddp_cursor *from, void *dst,
			    u32 stride, u32 each, u32 n);

/* sock.c: check whether the current process can create a socket */
bool ddp_sock_can_create(int protocol);
/* Set the lock classes of a new socket, or the lock class of an accepted one */
void ddp_sock_init_lock_class(struct sock *sk);
void ddp_sock_set_lock_class(struct sock *sk);

/* sock_owner.c: accept a connection on behalf of the owner of the listening socket */
int ddp_sock_accept(struct socket *listener, const struct ddp_sock_callbacks *orig_callbacks,
		    struct socket **sock);

/*
 * addr.c: find the interface that has the address @a, as rdma_cm does; NULL if none has it. The
 * caller must be in an RCU read-side section.
 */
const struct net_device *ddp_addr_find_dev(struct net *net, const struct sockaddr_storage *a);

/* paged.c: copying from and to MRs without a table of blocks, see ddp/mem.h */
bool ddp_paged_lock_extent(const struct ddp_region *r, u64 to, bool write,
			   struct ddp_extent *extent);
void ddp_paged_unlock_extent(const struct ddp_extent *extent);
enum iw_reason ddp_paged_copy_from_llp(const struct ddp_region *r, u64 to, u32 len,
				       struct ddp_llp *llp, bool last,
				       struct ddp_fault *w);
enum iw_reason ddp_paged_copy_to_flat(const struct ddp_region *r, u64 to, u32 len,
				      void *dst, struct ddp_fault *w);
u32 ddp_paged_scatter_to_buffers(const struct ddp_region *r, u64 to, void *dst, u32 stride,
				 u32 each, u32 n, struct ddp_fault *w);
enum iw_reason ddp_paged_copy_from_flat(const struct ddp_region *r, u64 to, u32 len,
					const void *src, bool last,
					struct ddp_fault *w);
enum iw_reason ddp_paged_apply_atomic(const struct ddp_region *r, u64 to,
				      void (*change)(void *arg, u64 *word), void *arg,
				      struct ddp_fault *w);

/* fault.c: page-fault requests of a stream's receive and transmit path */
void ddp_faults_init(struct ddp_stream *s);
void ddp_faults_cancel(struct ddp_stream *s);
void ddp_fault_clear_failure(struct ddp_fault *w, const struct ddp_region *r, u64 to,
			     u32 len, bool write);
enum iw_reason ddp_fault_request_pages(struct ddp_fault *w, const struct ddp_region *r,
				       u64 to, u32 len, bool write);

static inline void ddp_cursor_init(struct ddp_cursor *c,
				   const struct ddp_buf *buf)
{
	c->buf = buf;
	c->sge = 0;
	c->off = 0;
}

/* Set @c to byte @off of @buf */
static inline void ddp_cursor_seek(struct ddp_cursor *c,
				   const struct ddp_buf *buf, u32 off)
{
	ddp_cursor_init(c, buf);
	while (!buf->flat && c->sge < buf->nsge && off > buf->sge[c->sge].len)
		off -= buf->sge[c->sge++].len;
	c->off = off;
}

/* stag.c: check an access to the SGE @m, and take an in-flight reference to its MR */
enum iw_reason ddp_region_check_and_get(struct ddp_stream *s, const struct ddp_sge *m,
					u8 rights, struct ddp_region **r);
/*
 * Like ddp_region_check_and_get(), but use the cached MR reference *@held if possible, else
 * replace it
 */
enum iw_reason ddp_mr_cache_check_and_get(struct ddp_stream *s, struct ddp_region **held,
					  struct ddp_mr_hint *hint,
					  const struct ddp_sge *m, u8 rights);
void ddp_mr_cache_end_copy(struct ddp_region **held);
void ddp_mr_cache_drop(struct ddp_region **held);

#endif
