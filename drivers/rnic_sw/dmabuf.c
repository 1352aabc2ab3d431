// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that is not pinned: a buffer that another driver shares (dma-buf).
 *
 * It is copied to and from where its exporter maps it for the CPU, between the
 * exporter's begin and end of access.  A worker has it mapped when it is wanted; it is
 * let go when it has been left alone for a while, and when the region goes.  For so long
 * its exporter keeps it in place.  One that moves it all the same, or takes it away, says
 * so, and when it has been heard nobody copies: what is wanted then is mapped anew, or
 * cannot be had any more.
 *
 * The pages behind it are the exporter's own business, and nobody here looks at them.
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "dmabuf.h"
#include "gate.h"

MODULE_IMPORT_NS("DMA_BUF");

/* Left alone for so long: let go */
#define IDLE	(HZ / 10)

/*
 * How often it may be moved while it is being mapped, or memory be short: 1 ms later,
 * then twice as long each time
 */
#define TRIES	8
#define MOVED	1

/* Is a word of any mapping for the CPU one for its atomics, be it cached or not? */
#define ATOMICS	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_UML_X86) || \
		 IS_ENABLED(CONFIG_S390))

/**
 * struct rnic_dmabuf - a buffer
 * @b: what is alike about memory that is not pinned; @b.start: in the buffer
 * @device: attached
 * @buf: it, held
 * @attach: that we are told when it moves, unless @closed
 * @dir: DMA_BIDIRECTIONAL if it may be written
 * @look: is it still used?
 * @gone: its region is
 * @done: it has been given back
 * @mutex: mapping and letting go, which wait for the exporter
 * @begun: the end of an access is due
 * @closed: it has been given back
 * @moves: how often it was taken away; from here on under the buffer's lock
 * @map: where it is mapped, while @at is set
 * @gate: in front of @at
 * @at: where it is, or NULL
 * @used: since the last look
 */
struct rnic_dmabuf {
	struct rnic_bring		b;
	struct device			*device;
	struct dma_buf			*buf;
	struct dma_buf_attachment	*attach;
	enum dma_data_direction		dir;
	struct delayed_work		look;
	bool				gone;
	struct completion		done;

	struct mutex			mutex;	/* mapping and letting go */
	bool				begun;
	bool				closed;

	unsigned int			moves;
	struct iosys_map		map;
	struct rnic_gate		gate;
	void				*at;
	bool				used;
};

/* What DDP asks -------------------------------------------------------------- */

/* Rights have been looked at.  Mapped in one piece, all of it is there or nothing */
static bool rnic_dmabuf_run(void *mem, u64 at, bool write, struct ddp_run *run)
{
	struct rnic_dmabuf *d = container_of(mem, struct rnic_dmabuf, b);

	if (!rnic_gate_enter(&d->gate))
		return false;
	if (!d->at) {
		rnic_gate_leave(&d->gate);
		return false;
	}
	if (!READ_ONCE(d->used))
		WRITE_ONCE(d->used, true);
	run->at = d->at + at;
	run->lock = &d->gate.lock;
	return true;
}

/* Mapping and letting go ------------------------------------------------------ */

static void __rnic_dmabuf_point(struct rnic_dmabuf *d, void *at)
{
	rnic_gate_shut(&d->gate, true);
	WRITE_ONCE(d->at, at);
	rnic_gate_open(&d->gate);
}

/* When it returns nobody copies, nor will before it is mapped again */
static bool __unmap(struct rnic_dmabuf *d)
{
	dma_resv_assert_held(d->buf->resv);
	if (!d->at)
		return false;
	__rnic_dmabuf_point(d, NULL);
	compat_dmabuf_unmap(d->buf, d->attach, &d->map);
	return true;
}

/* What the CPU can use as memory, whatever is behind it */
static bool is_memory(const struct iosys_map *map)
{
	/* words are aligned in it as they are in the region: ddp_paged_atomic() */
	return !map->is_iomem && PAGE_ALIGNED((unsigned long)map->vaddr);
}

/*
 * Return: 0, and it stays; MOVED: to where it can stay, where access has not begun; or why
 * the CPU cannot have it.
 */
static int __settle(struct rnic_dmabuf *d, unsigned int moves)
{
	/* it may have been moved here, and not have arrived */
	long left = dma_resv_wait_timeout(d->buf->resv, DMA_RESV_USAGE_KERNEL, false,
					  MAX_SCHEDULE_TIMEOUT);

	if (left < 0)
		return left;
	if (!is_memory(&d->map))
		return -EOPNOTSUPP;
	return moves == d->moves ? 0 : MOVED;
}

static int __map(struct rnic_dmabuf *d)
{
	unsigned int moves = d->moves;
	int err = compat_dmabuf_map(d->buf, d->attach, &d->map);

	if (err)
		return err;
	err = __settle(d, moves);
	if (err) {
		compat_dmabuf_unmap(d->buf, d->attach, &d->map);
		return err;
	}
	WRITE_ONCE(d->used, true);
	__rnic_dmabuf_point(d, d->map.vaddr);
	return 0;
}

static void end_access(struct rnic_dmabuf *d)
{
	if (d->begun)
		dma_buf_end_cpu_access(d->buf, d->dir);
	d->begun = false;
}

/* Before it is mapped: an exporter that has no more to give says so here */
static int begin_access(struct rnic_dmabuf *d)
{
	int err;

	/* of where it was before it moved */
	end_access(d);
	err = dma_buf_begin_cpu_access(d->buf, d->dir);
	d->begun = !err;
	return err;
}

/* Return: 0; MOVED meanwhile; or why it cannot be had */
static int try_to_map(struct rnic_dmabuf *d)
{
	unsigned int moves = READ_ONCE(d->moves);
	int err = begin_access(d);

	if (err)
		return err;
	dma_resv_lock(d->buf->resv, NULL);
	err = moves == d->moves ? __map(d) : MOVED;
	dma_resv_unlock(d->buf->resv);
	if (err)
		end_access(d);
	return err;
}

static void rnic_dmabuf_let_go(struct rnic_dmabuf *d)
{
	/* what has been copied is the exporter's to make known: no more of it, then the end */
	dma_resv_lock(d->buf->resv, NULL);
	__unmap(d);
	dma_resv_unlock(d->buf->resv);
	end_access(d);
}

/* Looks, which have a reference each ------------------------------------------ */

static void look_later(struct rnic_dmabuf *d)
{
	kref_get(&d->b.ref);
	/* the one that is due has its own */
	if (!queue_delayed_work(rnic_bring_looks(&d->b), &d->look, IDLE))
		rnic_bring_put(&d->b);
}

static void look_now(struct rnic_dmabuf *d)
{
	kref_get(&d->b.ref);
	if (mod_delayed_work(rnic_bring_looks(&d->b), &d->look, 0))
		rnic_bring_put(&d->b);
}

static void close_buffer(struct rnic_dmabuf *d)
{
	rnic_dmabuf_let_go(d);
	if (d->attach)
		dma_buf_detach(d->buf, d->attach);
	d->attach = NULL;
	d->closed = true;
}

/* Return: whether to look again */
static bool look(struct rnic_dmabuf *d)
{
	if (d->closed)
		return false;
	if (READ_ONCE(d->gone)) {
		close_buffer(d);
		complete_all(&d->done);
		return false;
	}
	if (READ_ONCE(d->used)) {
		WRITE_ONCE(d->used, false);
		return true;
	}
	rnic_dmabuf_let_go(d);
	return false;
}

static void rnic_dmabuf_look(struct work_struct *work)
{
	struct rnic_dmabuf *d = container_of(work, struct rnic_dmabuf, look.work);
	bool again = true;

	/* who maps it may wait for the exporter for long, and we do not for him */
	if (mutex_trylock(&d->mutex)) {
		again = look(d);
		mutex_unlock(&d->mutex);
	}
	if (again)
		look_later(d);
	rnic_bring_put(&d->b);
}

/* Return: 0, or why it cannot be had */
static int map_buffer(struct rnic_dmabuf *d)
{
	int err = d->closed ? -ENODEV : 0, tries;

	if (err || READ_ONCE(d->at))
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		if (tries)
			msleep(1 << (tries - 1));
		err = try_to_map(d);
		if (err != MOVED && err != -ENOMEM)
			break;
	}
	if (!err)
		look_later(d);
	/* who still wants what is moved all the time asks again */
	return err == MOVED ? 0 : err;
}

static int rnic_dmabuf_serve(struct rnic_bring *b,
			     const struct rnic_wanted *want)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);
	int err;

	mutex_lock(&d->mutex);
	err = map_buffer(d);
	mutex_unlock(&d->mutex);
	return err;
}

/* What the exporter says ------------------------------------------------------ */

/* The buffer's lock is held */
static void rnic_dmabuf_moves(struct dma_buf_attachment *attach)
{
	struct rnic_dmabuf *d = attach->importer_priv;

	WRITE_ONCE(d->moves, d->moves + 1);
	if (__unmap(d))
		rnic_bring_count(&d->b, RNIC_DMABUF_MOVES);
}

static const struct dma_buf_attach_ops attach_ops = {
	.invalidate_mappings	= rnic_dmabuf_moves,
};

/* Life ------------------------------------------------------------------------ */

/*
 * The buffer is given back before its owner goes on, so that others see what has come
 * into it.  An exporter that keeps us waiting gets it later.
 */
static void rnic_dmabuf_end(struct rnic_bring *b)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);

	WRITE_ONCE(d->gone, true);
	look_now(d);
	rnic_bring_await(b, &d->done);
}

static void rnic_dmabuf_release(struct rnic_bring *b)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);

	if (!d->closed)
		close_buffer(d);
	dma_buf_put(d->buf);
	put_device(d->device);
	rnic_bring_free(b);
	kfree(d);
}

static const struct rnic_bring_ops dmabuf_ops = {
	.name		= "dma_buf",
	.workers	= 1,	/* what one wants is what all want */
	.waits		= RNIC_DMABUF_WAITS,
	.failed		= RNIC_DMABUF_WAITS_FAILED,
	.mem		= {
		.run	= rnic_dmabuf_run,
		.bring	= rnic_bring_ask,
		.forget	= rnic_bring_forget,
	},
	.serve		= rnic_dmabuf_serve,
	.end		= rnic_dmabuf_end,
	.release	= rnic_dmabuf_release,
};

/* May it be used like this?  As for a mapping of the file's, by how it was opened */
static int check_buffer(const struct dma_buf *buf, u64 offset, u64 length,
			int access)
{
	fmode_t mode = buf->file->f_mode;

	if (offset > buf->size || length > buf->size - offset)
		return -EINVAL;
	if (!(mode & FMODE_READ) ||
	    (ib_access_writable(access) && !(mode & FMODE_WRITE)))
		return -EACCES;
	if (access & IB_ACCESS_REMOTE_ATOMIC && !ATOMICS)
		return -EOPNOTSUPP;
	return buf->ops->vmap ? 0 : -EOPNOTSUPP;
}

/* Return: it, not attached; or NULL */
static struct rnic_dmabuf *alloc_buffer(struct rnic_dev *dev, u64 offset,
					u64 length, int access)
{
	struct rnic_dmabuf *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return NULL;
	if (rnic_bring_new(&d->b, &dmabuf_ops, dev, offset, length)) {
		kfree(d);
		return NULL;
	}
	d->b.read_only = !ib_access_writable(access);
	d->b.no_atomics = !ATOMICS;
	d->dir = d->b.read_only ? DMA_FROM_DEVICE : DMA_BIDIRECTIONAL;
	INIT_DELAYED_WORK(&d->look, rnic_dmabuf_look);
	init_completion(&d->done);
	mutex_init(&d->mutex);
	rnic_gate_init(&d->gate);
	return d;
}

static int attach_buffer(struct rnic_dmabuf *d)
{
	struct dma_buf_attachment *attach;

	/* an exporter that does not tell of moves may keep it in place for this */
	attach = dma_buf_dynamic_attach(d->buf, d->device, &attach_ops, d);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	d->attach = attach;
	/* whether it can be had at all is said here */
	return rnic_dmabuf_serve(&d->b, NULL);
}

/**
 * rnic_dmabuf_new - a buffer of another driver's
 * @dev: the device
 * @fd: whose file it is, to the calling program
 * @offset: where in it memory begins
 * @length: octets
 * @access: IB_ACCESS_*
 *
 * Return: it, or an error pointer: -EBADF, -EINVAL: no such buffer, or it ends before;
 * -EACCES: not opened for that; -EOPNOTSUPP: its exporter does not map it for the CPU
 * as memory, or this processor's atomics want a cache; what else the exporter says;
 * -ENOMEM.
 */
struct rnic_bring *rnic_dmabuf_new(struct rnic_dev *dev, int fd, u64 offset,
				   u64 length, int access)
{
	struct dma_buf *buf = dma_buf_get(fd);
	struct rnic_dmabuf *d = NULL;
	int err;

	if (IS_ERR(buf))
		return ERR_CAST(buf);
	err = check_buffer(buf, offset, length, access);
	if (!err) {
		d = alloc_buffer(dev, offset, length, access);
		err = d ? 0 : -ENOMEM;
	}
	if (err) {
		dma_buf_put(buf);
		return ERR_PTR(err);
	}
	d->buf = buf;
	d->device = get_device(&dev->ib.dev);
	err = attach_buffer(d);
	if (err) {
		rnic_bring_put(&d->b);
		return ERR_PTR(err);
	}
	return &d->b;
}
