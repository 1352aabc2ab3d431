// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dma-buf exporter for tests. On request of a test its buffers move, are
 * revoked, or block importers. The old pages are freed at once after a move, so
 * that an importer that still uses them is detected.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "../selftests/rnic_sw/src/exporter.h"

MODULE_IMPORT_NS("DMA_BUF");

#define PAGES_MOST	4096

/* Protected by the buffer's dma_resv lock, except for the counters */
struct buffer {
	struct dma_buf	*dmabuf;
	u32		flags;
	u32		n;
	struct page	**pages;	/* NULL once revoked */
	struct page	**shadow;	/* the CPU's copy, or NULL */
	enum exporter_hold held;
	atomic_t	attached, mapped, begun, begins, moves, pinned, waiting;
};

static DECLARE_WAIT_QUEUE_HEAD(held_wq);
static atomic_t users = ATOMIC_INIT(0);

static void wait_while_held(struct buffer *b, enum exporter_hold how)
{
	if (READ_ONCE(b->held) != how)
		return;
	atomic_inc(&b->waiting);
	wait_event_idle(held_wq, READ_ONCE(b->held) != how ||
			!atomic_read(&users));
	atomic_dec(&b->waiting);
}

/* Pages -------------------------------------------------------------------- */

static void free_buffer_pages(struct buffer *b, struct page **pages)
{
	u32 i;

	if (!pages)
		return;
	for (i = 0; i < b->n; i++)
		if (pages[i])
			__free_page(pages[i]);
	kvfree(pages);
}

static struct page **alloc_buffer_pages(struct buffer *b)
{
	struct page **pages = kvcalloc(b->n, sizeof(*pages), GFP_KERNEL);
	u32 i;

	for (i = 0; pages && i < b->n; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i]) {
			free_buffer_pages(b, pages);
			return NULL;
		}
	}
	return pages;
}

static void copy_pages(struct buffer *b, struct page **to, struct page **from)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		memcpy(page_address(to[i]), page_address(from[i]), PAGE_SIZE);
}

/* dma-buf operations ------------------------------------------------------- */

static int exporter_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *a)
{
	struct buffer *b = dmabuf->priv;

	atomic_inc(&b->attached);
	return 0;
}

static void exporter_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *a)
{
	struct buffer *b = dmabuf->priv;

	atomic_dec(&b->attached);
}

/*
 * With EXPORTER_PIN_MOVES the first pin moves the buffer and notifies its
 * importers
 */
static int exporter_pin(struct dma_buf_attachment *a)
{
	struct buffer *b = a->dmabuf->priv;

	dma_resv_assert_held(a->dmabuf->resv);
	if (b->flags & EXPORTER_NO_PIN)
		return -ENOTSUPP;
	if (b->flags & EXPORTER_PIN_MOVES && !atomic_read(&b->moves)) {
		dma_buf_invalidate_mappings(a->dmabuf);
		atomic_inc(&b->moves);
	}
	atomic_inc(&b->pinned);
	return 0;
}

static void exporter_unpin(struct dma_buf_attachment *a)
{
	struct buffer *b = a->dmabuf->priv;

	dma_resv_assert_held(a->dmabuf->resv);
	atomic_dec(&b->pinned);
}

/* Warn and fail: DMA is not supported */
static struct sg_table *exporter_map(struct dma_buf_attachment *a,
				     enum dma_data_direction dir)
{
	WARN_ON_ONCE(1);
	return ERR_PTR(-EOPNOTSUPP);
}

static void exporter_unmap(struct dma_buf_attachment *a, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
}

static int exporter_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct buffer *b = dmabuf->priv;
	int err = 0;

	wait_while_held(b, EXPORTER_HOLD_BEGIN);
	dma_resv_lock(dmabuf->resv, NULL);
	if (!b->pages)
		err = -ENODEV;
	else if (b->shadow)
		copy_pages(b, b->shadow, b->pages);
	dma_resv_unlock(dmabuf->resv);
	if (err)
		return err;
	atomic_inc(&b->begun);
	atomic_inc(&b->begins);
	return 0;
}

static int exporter_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct buffer *b = dmabuf->priv;

	dma_resv_lock(dmabuf->resv, NULL);
	if (b->pages && b->shadow && dir != DMA_FROM_DEVICE)
		copy_pages(b, b->pages, b->shadow);
	dma_resv_unlock(dmabuf->resv);
	atomic_dec(&b->begun);
	return 0;
}

static int exporter_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *b = dmabuf->priv;
	void *at;

	wait_while_held(b, EXPORTER_HOLD_MAP);
	if (!b->pages)
		return -ENODEV;
	at = vmap(b->shadow ?: b->pages, b->n, VM_MAP, PAGE_KERNEL);
	if (!at)
		return -ENOMEM;
	if (b->flags & EXPORTER_IOMEM)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)at);
	else
		iosys_map_set_vaddr(map, at);
	atomic_inc(&b->mapped);
	return 0;
}

static void exporter_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct buffer *b = dmabuf->priv;

	vunmap(map->is_iomem ? (void __force *)map->vaddr_iomem : map->vaddr);
	atomic_dec(&b->mapped);
}

static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct buffer *b = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	dma_resv_lock(b->dmabuf->resv, NULL);
	if (b->pages && vmf->pgoff < b->n)
		ret = vmf_insert_pfn(vmf->vma, vmf->address,
				     page_to_pfn(b->pages[vmf->pgoff]));
	dma_resv_unlock(b->dmabuf->resv);
	return ret;
}

static const struct vm_operations_struct vm_ops = {
	.fault	= exporter_fault,
};

static int exporter_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &vm_ops;
	vma->vm_private_data = dmabuf->priv;
	return 0;
}

static void exporter_release(struct dma_buf *dmabuf)
{
	struct buffer *b = dmabuf->priv;

	WARN_ON(atomic_read(&b->attached) || atomic_read(&b->mapped) ||
		atomic_read(&b->begun) || atomic_read(&b->pinned));
	free_buffer_pages(b, b->pages);
	free_buffer_pages(b, b->shadow);
	kfree(b);
}

#define OPS_ALL							\
	.attach			= exporter_attach,		\
	.detach			= exporter_detach,		\
	.map_dma_buf		= exporter_map,			\
	.unmap_dma_buf		= exporter_unmap,		\
	.begin_cpu_access	= exporter_begin_cpu_access,		\
	.end_cpu_access		= exporter_end_cpu_access,			\
	.mmap			= exporter_mmap,		\
	.release		= exporter_release

static const struct dma_buf_ops fixed_ops = {
	OPS_ALL,
	.vmap	= exporter_vmap,
	.vunmap	= exporter_vunmap,
};

static const struct dma_buf_ops moving_ops = {
	OPS_ALL,
	.pin	= exporter_pin,
	.unpin	= exporter_unpin,
	.vmap	= exporter_vmap,
	.vunmap	= exporter_vunmap,
};

static const struct dma_buf_ops unmapped_ops = {
	OPS_ALL,
};

/* Requests of tests -------------------------------------------------------- */

static const struct dma_buf_ops *choose_ops(u32 flags)
{
	if (flags & EXPORTER_NOT_MAPPED)
		return &unmapped_ops;
	return flags & EXPORTER_MOVES ? &moving_ops : &fixed_ops;
}

static void free_buffer(struct buffer *b)
{
	free_buffer_pages(b, b->pages);
	free_buffer_pages(b, b->shadow);
	kfree(b);
}

static struct buffer *alloc_buffer(const struct exporter_new *arg)
{
	struct buffer *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	b->n = arg->pages;
	b->flags = arg->flags;
	b->pages = alloc_buffer_pages(b);
	if (b->flags & EXPORTER_SHADOW)
		b->shadow = alloc_buffer_pages(b);
	if (!b->pages || (b->flags & EXPORTER_SHADOW && !b->shadow)) {
		free_buffer(b);
		return NULL;
	}
	return b;
}

static int create_buffer(const struct exporter_new *arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct buffer *b;
	int fd;

	if (!arg->pages || arg->pages > PAGES_MOST)
		return -EINVAL;
	b = alloc_buffer(arg);
	if (!b)
		return -ENOMEM;
	info.ops = choose_ops(arg->flags);
	info.size = (size_t)b->n << PAGE_SHIFT;
	info.flags = arg->flags & EXPORTER_READ_ONLY ? O_RDONLY : O_RDWR;
	info.priv = b;
	b->dmabuf = dma_buf_export(&info);
	if (IS_ERR(b->dmabuf)) {
		fd = PTR_ERR(b->dmabuf);
		free_buffer(b);
		return fd;
	}
	fd = dma_buf_fd(b->dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(b->dmabuf);
	return fd;
}

/*
 * Remove all mappings of the pages. Return: 0, or -EBUSY if the buffer is still
 * in use
 */
static int remove_mappings(struct buffer *b)
{
	dma_resv_assert_held(b->dmabuf->resv);
	if (b->flags & EXPORTER_SILENT && atomic_read(&b->pinned))
		return -EBUSY;
	unmap_mapping_range(b->dmabuf->file->f_mapping, 0, 0, 1);
	if (b->flags & EXPORTER_SILENT)
		return 0;
	dma_buf_invalidate_mappings(b->dmabuf);
	return atomic_read(&b->mapped) ? -EBUSY : 0;
}

static int move_buffer(struct buffer *b)
{
	struct page **pages = alloc_buffer_pages(b), **old = pages;
	int err;

	if (!pages)
		return -ENOMEM;
	dma_resv_lock(b->dmabuf->resv, NULL);
	err = b->pages ? remove_mappings(b) : -ENODEV;
	if (!err) {
		old = b->pages;
		copy_pages(b, pages, old);
		b->pages = pages;
		atomic_inc(&b->moves);
	}
	dma_resv_unlock(b->dmabuf->resv);
	free_buffer_pages(b, old);
	return err;
}

static int revoke_buffer(struct buffer *b)
{
	struct page **old = NULL;
	int err;

	dma_resv_lock(b->dmabuf->resv, NULL);
	err = remove_mappings(b);
	if (!err)
		swap(b->pages, old);
	dma_resv_unlock(b->dmabuf->resv);
	free_buffer_pages(b, old);
	return err;
}

static void set_hold(struct buffer *b, u32 how)
{
	WRITE_ONCE(b->held, how);
	wake_up_all(&held_wq);
}

static void fill_info(struct buffer *b, struct exporter_info *info)
{
	info->attached = atomic_read(&b->attached);
	info->mapped = atomic_read(&b->mapped);
	info->begun = atomic_read(&b->begun);
	info->begins = atomic_read(&b->begins);
	info->moves = atomic_read(&b->moves);
	info->pinned = atomic_read(&b->pinned);
	info->waiting = atomic_read(&b->waiting);
}

/* Arguments of the ioctls; most begin with the buffer's file descriptor */
union exporter_arg {
	s32			fd;
	struct exporter_new	new;
	struct exporter_info	info;
	struct exporter_held	held;
};

static int run_request(struct buffer *b, unsigned int cmd, union exporter_arg *arg)
{
	switch (cmd) {
	case EXPORTER_MOVE:
		return move_buffer(b);
	case EXPORTER_REVOKE:
		return revoke_buffer(b);
	case EXPORTER_INFO:
		fill_info(b, &arg->info);
		return 0;
	case EXPORTER_HOLD:
		set_hold(b, arg->held.how);
		return 0;
	}
	return -ENOTTY;
}

static int run_request_on_fd(unsigned int cmd, union exporter_arg *arg)
{
	struct dma_buf *dmabuf = dma_buf_get(arg->fd);
	int err = -EINVAL;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->owner == THIS_MODULE)
		err = run_request(dmabuf->priv, cmd, arg);
	dma_buf_put(dmabuf);
	return err;
}

static long exporter_ioctl(struct file *file, unsigned int cmd, unsigned long p)
{
	void __user *user = (void __user *)p;
	union exporter_arg arg;
	long err;

	if (_IOC_SIZE(cmd) > sizeof(arg) ||
	    copy_from_user(&arg, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == EXPORTER_NEW)
		return create_buffer(&arg.new);
	err = run_request_on_fd(cmd, &arg);
	if (!err && _IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user(user, &arg, _IOC_SIZE(cmd)))
		err = -EFAULT;
	return err;
}

static int exporter_open(struct inode *inode, struct file *file)
{
	atomic_inc(&users);
	return 0;
}

static int exporter_close(struct inode *inode, struct file *file)
{
	if (atomic_dec_and_test(&users))
		wake_up_all(&held_wq);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner		= THIS_MODULE,
	.open		= exporter_open,
	.release	= exporter_close,
	.unlocked_ioctl	= exporter_ioctl,
};

static struct miscdevice exporter = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "rnic_sw_exporter",
	.fops	= &exporter_fops,
};

module_misc_device(exporter);

MODULE_DESCRIPTION("Shared buffers that tests move and take away");
MODULE_LICENSE("Dual BSD/GPL");
