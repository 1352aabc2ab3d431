// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MRs on a buffer that another driver exports (dma-buf).
 *
 * DDP copies data through a kernel mapping that the exporter provides (dma_buf_vmap()). The
 * mapping is used only between the exporter's begin_cpu_access() and end_cpu_access(). This file
 * never uses the pages of the buffer.
 *
 * If an access finds that the buffer is not mapped, the page-fault worker maps it. The buffer is
 * unmapped when it has not been accessed for a while, when the exporter moves or revokes it, and
 * when the MR is destroyed. Before unmapping, the driver waits for copies in progress.
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
#include "inval_lock.h"

MODULE_IMPORT_NS("DMA_BUF");

/* Interval of idle checks in jiffies; a check unmaps a buffer not accessed since the last check */
#define IDLE_INTERVAL	(HZ / 10)

/*
 * TRIES: maximum number of attempts to map a buffer if the exporter moves it during the attempt
 * or memory is short. The first retry is after 1 ms; the delay doubles with each retry.
 *
 * MOVED: return value of functions of this file, if the exporter has moved the buffer meanwhile
 */
#define TRIES	8
#define MOVED	1

/* True on architectures whose atomic instructions work even on an uncached kernel mapping */
#define CPU_ATOMICS	(IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_UML_X86) || \
			 IS_ENABLED(CONFIG_S390))

/**
 * struct rnic_dmabuf - dma-buf of an MR
 * @b: part common to all memory that is not pinned; @b.start and @b.end are offsets in the
 *	buffer
 * @device: RDMA device that is attached to the buffer; reference held
 * @buf: the dma-buf; reference held
 * @attach: attachment, for which the exporter sends move notifications; NULL after the detach
 * @dir: DMA_BIDIRECTIONAL if the buffer may be written, else DMA_FROM_DEVICE
 * @idle_check: work item of the next idle check
 * @destroyed: true after the MR has been destroyed
 * @done: completed when the buffer has been unmapped and detached, after @destroyed was set
 * @mutex: serializes mapping and unmapping, but move notifications unmap without it; its
 *	holder may wait for the exporter; also protects @access_begun and @closed
 * @access_begun: true after begin_cpu_access(), until end_cpu_access()
 * @closed: true after the buffer has been detached and must not be mapped again
 * @moves: number of moves; the buffer's dma_resv lock protects writes of @moves, @map and @at
 * @map: the mapping, valid while @at is not NULL
 * @inval_lock: held for reading while a copy uses @at, and for writing while @at is changed
 * @at: kernel address of the buffer; NULL while it is not mapped
 * @accessed: true if the buffer was accessed or mapped after the last idle check; read and
 *	written without a lock
 */
struct rnic_dmabuf {
	struct rnic_unpinned	b;
	struct device			*device;
	struct dma_buf			*buf;
	struct dma_buf_attachment	*attach;
	enum dma_data_direction		dir;
	struct delayed_work		idle_check;
	bool				destroyed;
	struct completion		done;

	struct mutex			mutex;	/* serializes mapping and unmapping */
	bool				access_begun;
	bool				closed;

	unsigned int			moves;
	struct iosys_map		map;
	struct rnic_inval_lock		inval_lock;
	void				*at;
	bool				accessed;
};

/* Called by DDP ------------------------------------------------------------ */

/*
 * Implement ddp_mem_ops.extent. DDP has checked access rights and bounds. The mapping is
 * contiguous, so the whole range is present if the buffer is mapped; @extent->len is unchanged.
 *
 * Return: true with @extent->lock held for reading; false if the buffer is not mapped, or a
 * writer waits for the lock because it is going to change the mapping.
 */
static bool rnic_dmabuf_lock_extent(void *mem, u64 at, bool write, struct ddp_extent *extent)
{
	struct rnic_dmabuf *d = container_of(mem, struct rnic_dmabuf, b);

	if (!rnic_inval_read_trylock(&d->inval_lock))
		return false;
	if (!d->at) {
		rnic_inval_read_unlock(&d->inval_lock);
		return false;
	}
	if (!READ_ONCE(d->accessed))
		WRITE_ONCE(d->accessed, true);
	extent->at = d->at + at;
	extent->lock = &d->inval_lock.lock;
	return true;
}

/* Mapping and unmapping ---------------------------------------------------- */

/* Set the address that copies use, after waiting for copies that use the old address */
static void __rnic_dmabuf_set_addr(struct rnic_dmabuf *d, void *at)
{
	rnic_inval_write_lock(&d->inval_lock, true);
	WRITE_ONCE(d->at, at);
	rnic_inval_write_unlock(&d->inval_lock);
}

/*
 * Unmap the buffer if it is mapped. On return no copy is in progress, and no copy can start
 * before the buffer is mapped again. The caller must hold the buffer's dma_resv lock.
 *
 * Return: true if the buffer was mapped, false if it was not.
 */
static bool __unmap_buffer(struct rnic_dmabuf *d)
{
	dma_resv_assert_held(d->buf->resv);
	if (!d->at)
		return false;
	__rnic_dmabuf_set_addr(d, NULL);
	compat_dmabuf_unmap(d->buf, d->attach, &d->map);
	return true;
}

/* Check whether the CPU can access the mapping like ordinary memory */
static bool is_cpu_memory(const struct iosys_map *map)
{
	/*
	 * The mapping must begin at a page boundary, because ddp_paged_apply_atomic() checks only
	 * whether the offset in the buffer is aligned, not the kernel address.
	 */
	return !map->is_iomem && PAGE_ALIGNED((unsigned long)map->vaddr);
}

/*
 * Wait until the CPU can use a new mapping. @moves is the value of d->moves before the mapping.
 *
 * Return: 0; MOVED if the buffer was moved after @moves was read, so that begin_cpu_access() must
 * be called again; or a negative errno if the CPU cannot use the mapping.
 */
static int __wait_until_mapping_usable(struct rnic_dmabuf *d, unsigned int moves)
{
	/*
	 * The exporter may still be copying the data to the buffer's present location.
	 * Wait for the fences of such work.
	 */
	long left = dma_resv_wait_timeout(d->buf->resv, DMA_RESV_USAGE_KERNEL, false,
					  MAX_SCHEDULE_TIMEOUT);

	if (left < 0)
		return left;
	if (!is_cpu_memory(&d->map))
		return -EOPNOTSUPP;
	return moves == d->moves ? 0 : MOVED;
}

static int __map_buffer(struct rnic_dmabuf *d)
{
	unsigned int moves = d->moves;
	int err = compat_dmabuf_map(d->buf, d->attach, &d->map);

	if (err)
		return err;
	err = __wait_until_mapping_usable(d, moves);
	if (err) {
		compat_dmabuf_unmap(d->buf, d->attach, &d->map);
		return err;
	}
	WRITE_ONCE(d->accessed, true);
	__rnic_dmabuf_set_addr(d, d->map.vaddr);
	return 0;
}

static void end_buffer_access(struct rnic_dmabuf *d)
{
	if (d->access_begun)
		dma_buf_end_cpu_access(d->buf, d->dir);
	d->access_begun = false;
}

/*
 * Call begin_cpu_access(). The caller must do this before it maps the buffer: if the exporter can
 * no longer provide the buffer, the call fails, and the buffer must not be mapped.
 */
static int begin_buffer_access(struct rnic_dmabuf *d)
{
	int err;

	/* if the buffer was moved, end the access to its previous location first */
	end_buffer_access(d);
	err = dma_buf_begin_cpu_access(d->buf, d->dir);
	d->access_begun = !err;
	return err;
}

/*
 * Try once to map the buffer. The caller must hold d->mutex.
 *
 * Return: 0; MOVED if the exporter has moved the buffer meanwhile; or a negative errno.
 */
static int try_map_buffer(struct rnic_dmabuf *d)
{
	unsigned int moves = READ_ONCE(d->moves);
	int err = begin_buffer_access(d);

	if (err)
		return err;
	dma_resv_lock(d->buf->resv, NULL);
	err = moves == d->moves ? __map_buffer(d) : MOVED;
	dma_resv_unlock(d->buf->resv);
	if (err)
		end_buffer_access(d);
	return err;
}

static void rnic_dmabuf_unmap(struct rnic_dmabuf *d)
{
	/*
	 * Unmap the buffer before end_cpu_access(). Otherwise a copy could write data after the
	 * exporter has made the CPU's writes visible to its device.
	 */
	dma_resv_lock(d->buf->resv, NULL);
	__unmap_buffer(d);
	dma_resv_unlock(d->buf->resv);
	end_buffer_access(d);
}

/* Idle checks: each queued check holds a reference to the memory ------------ */

static void schedule_idle_check(struct rnic_dmabuf *d)
{
	kref_get(&d->b.ref);
	/* drop the reference if a check was queued already: that check has its own reference */
	if (!queue_delayed_work(rnic_unpinned_get_idle_wq(&d->b), &d->idle_check, IDLE_INTERVAL))
		rnic_unpinned_put(&d->b);
}

/* Queue an idle check without delay, whether or not a delayed one is queued */
static void expedite_idle_check(struct rnic_dmabuf *d)
{
	kref_get(&d->b.ref);
	if (mod_delayed_work(rnic_unpinned_get_idle_wq(&d->b), &d->idle_check, 0))
		rnic_unpinned_put(&d->b);
}

/* Unmap and detach the buffer, so that it cannot be mapped again */
static void unmap_and_detach_buffer(struct rnic_dmabuf *d)
{
	rnic_dmabuf_unmap(d);
	if (d->attach)
		dma_buf_detach(d->buf, d->attach);
	d->attach = NULL;
	d->closed = true;
}

/*
 * If the MR has been destroyed, unmap and detach the buffer. Otherwise unmap the buffer if it
 * was not accessed since the last check. The caller must hold d->mutex.
 *
 * Return: true if another check must be scheduled, because the buffer was accessed or mapped since
 * the last check; false if the buffer is not mapped any more.
 */
static bool unmap_buffer_if_idle_or_destroyed(struct rnic_dmabuf *d)
{
	if (d->closed)
		return false;
	if (READ_ONCE(d->destroyed)) {
		unmap_and_detach_buffer(d);
		complete_all(&d->done);
		return false;
	}
	if (READ_ONCE(d->accessed)) {
		WRITE_ONCE(d->accessed, false);
		return true;
	}
	rnic_dmabuf_unmap(d);
	return false;
}

static void rnic_dmabuf_idle_work(struct work_struct *work)
{
	struct rnic_dmabuf *d = container_of(work, struct rnic_dmabuf, idle_check.work);
	bool again = true;

	/*
	 * Do not wait for the mutex, but schedule another check: the page-fault worker holds the
	 * mutex while it waits for the exporter, possibly for a long time.
	 */
	if (mutex_trylock(&d->mutex)) {
		again = unmap_buffer_if_idle_or_destroyed(d);
		mutex_unlock(&d->mutex);
	}
	if (again)
		schedule_idle_check(d);
	rnic_unpinned_put(&d->b);
}

/*
 * Map the buffer unless it is mapped, with up to TRIES attempts.
 *
 * Return: 0, also if the exporter moved the buffer during each attempt; or a negative errno if
 * the buffer cannot be mapped.
 */
static int map_buffer_with_retries(struct rnic_dmabuf *d)
{
	int err = d->closed ? -ENODEV : 0, tries;

	if (err || READ_ONCE(d->at))
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		if (tries)
			msleep(1 << (tries - 1));
		err = try_map_buffer(d);
		if (err != MOVED && err != -ENOMEM)
			break;
	}
	if (!err)
		schedule_idle_check(d);
	/*
	 * Return 0 if the buffer was moved during each attempt. The stream then retries, finds
	 * that the buffer is not mapped, and raises another page fault.
	 */
	return err == MOVED ? 0 : err;
}

static int rnic_dmabuf_serve_fault(struct rnic_unpinned *b,
				   const struct rnic_fault_range *want)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);
	int err;

	mutex_lock(&d->mutex);
	err = map_buffer_with_retries(d);
	mutex_unlock(&d->mutex);
	return err;
}

/* Notifications from the exporter ------------------------------------------ */

/*
 * Unmap the buffer because the exporter moves or revokes it. The exporter calls this function
 * with the buffer's dma_resv lock held.
 */
static void rnic_dmabuf_move_notify(struct dma_buf_attachment *attach)
{
	struct rnic_dmabuf *d = attach->importer_priv;

	WRITE_ONCE(d->moves, d->moves + 1);
	if (__unmap_buffer(d))
		rnic_unpinned_count_event(&d->b, RNIC_DMABUF_MOVES);
}

static const struct dma_buf_attach_ops attach_ops = {
	.invalidate_mappings	= rnic_dmabuf_move_notify,
};

/* Lifetime ----------------------------------------------------------------- */

/*
 * Let an idle check unmap and detach the buffer of a destroyed MR. Wait for the check, so that the
 * data written to the buffer are visible to other devices when the deregistration of the MR
 * returns. If the exporter blocks, the wait ends with a timeout, and the check continues later.
 */
static void rnic_dmabuf_shutdown(struct rnic_unpinned *b)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);

	WRITE_ONCE(d->destroyed, true);
	expedite_idle_check(d);
	rnic_unpinned_wait_released(b, &d->done);
}

static void rnic_dmabuf_release(struct rnic_unpinned *b)
{
	struct rnic_dmabuf *d = container_of(b, struct rnic_dmabuf, b);

	if (!d->closed)
		unmap_and_detach_buffer(d);
	dma_buf_put(d->buf);
	put_device(d->device);
	rnic_unpinned_teardown(b);
	kfree(d);
}

static const struct rnic_unpinned_ops dmabuf_ops = {
	.name		= "dma_buf",
	.workers	= 1,	/* one mapping serves all requests */
	.faults		= RNIC_DMABUF_WAITS,
	.failed		= RNIC_DMABUF_WAITS_FAILED,
	.mem		= {
		.extent	= rnic_dmabuf_lock_extent,
		.fault_in	= rnic_fault_queue_request,
		.cancel	= rnic_fault_cancel_request,
	},
	.serve		= rnic_dmabuf_serve_fault,
	.shutdown	= rnic_dmabuf_shutdown,
	.release	= rnic_dmabuf_release,
};

/*
 * Check that an MR with the access flags @access can be created on a range of the buffer. As for
 * mmap(), the mode in which the file of the dma-buf was opened limits the access.
 *
 * Return: 0 or a negative errno, see rnic_dmabuf_new().
 */
static int check_buffer_access(const struct dma_buf *buf, u64 offset, u64 length,
			       int access)
{
	fmode_t mode = buf->file->f_mode;

	if (offset > buf->size || length > buf->size - offset)
		return -EINVAL;
	if (!(mode & FMODE_READ) ||
	    (ib_access_writable(access) && !(mode & FMODE_WRITE)))
		return -EACCES;
	if (access & IB_ACCESS_REMOTE_ATOMIC && !CPU_ATOMICS)
		return -EOPNOTSUPP;
	return buf->ops->vmap ? 0 : -EOPNOTSUPP;
}

/*
 * Allocate and initialize the state of an MR's buffer, except @buf, @device and @attach.
 *
 * Return: the state; NULL if memory is short, the quota is used up, or the task is being killed.
 */
static struct rnic_dmabuf *alloc_dmabuf_state(struct rnic_dev *dev, u64 offset,
					      u64 length, int access)
{
	struct rnic_dmabuf *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return NULL;
	if (rnic_unpinned_init(&d->b, &dmabuf_ops, dev, offset, length)) {
		kfree(d);
		return NULL;
	}
	d->b.read_only = !ib_access_writable(access);
	d->b.no_atomics = !CPU_ATOMICS;
	d->dir = d->b.read_only ? DMA_FROM_DEVICE : DMA_BIDIRECTIONAL;
	INIT_DELAYED_WORK(&d->idle_check, rnic_dmabuf_idle_work);
	init_completion(&d->done);
	mutex_init(&d->mutex);
	rnic_inval_lock_init(&d->inval_lock);
	return d;
}

static int attach_and_map_buffer(struct rnic_dmabuf *d)
{
	struct dma_buf_attachment *attach;

	/*
	 * An exporter that cannot send move notifications may pin the buffer from here until
	 * dma_buf_detach().
	 */
	attach = dma_buf_dynamic_attach(d->buf, d->device, &attach_ops, d);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	d->attach = attach;
	/* map the buffer now, so that the registration fails if the buffer cannot be mapped */
	return rnic_dmabuf_serve_fault(&d->b, NULL);
}

/**
 * rnic_dmabuf_new - attach to a buffer of another driver, for an MR
 * @dev: the device
 * @fd: file descriptor of the dma-buf in the calling process
 * @offset: first byte, as an offset in the buffer
 * @length: length in bytes
 * @access: IB_ACCESS_*
 *
 * May sleep.
 *
 * Return: the memory, with a reference that the caller must drop with rnic_unpinned_shutdown() or
 * rnic_unpinned_put(); or an error pointer:
 *
 * * -EBADF: @fd is not open
 * * -EINVAL: @fd is not a dma-buf, or the range is outside the buffer
 * * -EACCES: the file was not opened for reading, or not for writing although @access has a
 *   right to write
 * * -EOPNOTSUPP: the exporter cannot map the buffer as memory of the CPU; or @access has remote
 *   atomics, and atomic instructions of the architecture may require cached memory
 * * -ENOMEM: memory is short, the quota is used up, or the task is being killed
 * * any other error of the exporter
 */
struct rnic_unpinned *rnic_dmabuf_new(struct rnic_dev *dev, int fd, u64 offset,
				      u64 length, int access)
{
	struct dma_buf *buf = dma_buf_get(fd);
	struct rnic_dmabuf *d = NULL;
	int err;

	if (IS_ERR(buf))
		return ERR_CAST(buf);
	err = check_buffer_access(buf, offset, length, access);
	if (!err) {
		d = alloc_dmabuf_state(dev, offset, length, access);
		err = d ? 0 : -ENOMEM;
	}
	if (err) {
		dma_buf_put(buf);
		return ERR_PTR(err);
	}
	d->buf = buf;
	d->device = get_device(&dev->ib.dev);
	err = attach_and_map_buffer(d);
	if (err) {
		rnic_unpinned_put(&d->b);
		return ERR_PTR(err);
	}
	return &d->b;
}
