// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Coverage of selected modules for syzkaller, on kernels without CONFIG_KCOV. The
 * module offers the interface of kcov (<linux/kcov.h>) for modules that are compiled
 * with -fsanitize-coverage, as RNIC_SW_KCOV=1 does for the modules of this tree.
 *
 * A task's file collects what the task itself executes. A file with
 * KCOV_REMOTE_ENABLE collects what softirqs and kernel threads execute, such as the
 * receive path and workers. This is not attributed to the task that caused it: each
 * such file gets all of it.
 *
 * The file rnic_sw_kcov in debugfs lists everything that has been executed since this
 * module was loaded.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kcov.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define MAX_WORDS	(16UL << 20)
#define CMP_WORDS	4

/* An open file in debugfs and its buffer; word 0 has the number of entries that follow */
struct cover {
	struct mutex		lock;	/* serializes the calls for this file */
	atomic_long_t		*area;	/* NULL before KCOV_INIT_TRACE */
	unsigned long		words;
	unsigned int		mode;	/* KCOV_TRACE_PC or KCOV_TRACE_CMP */
	struct task_struct	*task;	/* whose coverage it is; compared, not accessed */
	bool			remote;
	bool			enabled;
	struct hlist_node	by_task;	/* in tasks, if enabled and not remote */
	struct list_head	in_remotes;	/* if enabled and remote */
};

static DEFINE_HASHTABLE(tasks, 8);
static LIST_HEAD(remotes);
static DEFINE_SPINLOCK(covers_lock);	/* protects changes of tasks and remotes */
static struct dentry *file, *seen_file;

/*
 * The code of a module at the addresses that the coverage shows. syz-manager ignores
 * coverage outside of the range that x86-64 has for the kernel and its modules, and
 * compares the coverage of one boot with that of another. So each module has a part of
 * that range.
 */
struct text {
	const char	*name;
	const struct module *mod;	/* NULL while the module is not loaded */
	unsigned long	start, end;	/* the code, if some of it has been executed; otherwise 0 */
};

static struct text texts[] = {
	{ "iw_ddp" }, { "iw_mpa" }, { "iw_sctp_ddp" }, { "rnic_sw" },
};

#define NR_TEXTS	ARRAY_SIZE(texts)
#define TEXT_BYTES	(4UL << 20)
#define SHOWN_START	0xffffffffa0000000UL

static unsigned long *seen;	/* a bit for each byte of the shown range */

/*
 * Find the bounds of the code that contains @pc. Kernels have them in different members of
 * struct module. CPUs that do this at the same time find the same bounds.
 */
static notrace void find_text_bounds(struct text *t, const struct module *mod, unsigned long pc)
{
	unsigned long start = pc & PAGE_MASK, end = start;

	while (within_module_core(start - 1, mod))
		start -= PAGE_SIZE;
	while (within_module_core(end, mod))
		end += PAGE_SIZE;
	WRITE_ONCE(t->end, end);
	WRITE_ONCE(t->start, start);
}

static notrace bool has_code(struct text *t, unsigned long pc)
{
	const struct module *mod = READ_ONCE(t->mod);

	if (mod && !READ_ONCE(t->start) && within_module_core(pc, mod))
		find_text_bounds(t, mod, pc);
	return pc >= READ_ONCE(t->start) && pc < READ_ONCE(t->end);
}

/*
 * Return: where the shown range has the code at @pc; NR_TEXTS * TEXT_BYTES if the range has
 * not, as for functions that run only when a module is loaded
 */
static notrace unsigned long get_shown_offset(unsigned long pc)
{
	unsigned long i;

	for (i = 0; i < NR_TEXTS; i++)
		if (has_code(&texts[i], pc) && pc - texts[i].start < TEXT_BYTES)
			return i * TEXT_BYTES + pc - texts[i].start;
	return NR_TEXTS * TEXT_BYTES;
}

/*
 * Append @n words, and drop them if the buffer is full. Several CPUs can append to the
 * buffer of a remote file, so each entry is reserved before it is written.
 */
static notrace void append_entry(struct cover *c, const unsigned long *entry, unsigned int n)
{
	unsigned long at, i, count = atomic_long_read(c->area);

	do {
		at = 1 + count * n;
		if (count >= c->words || at + n > c->words)
			return;
	} while (!atomic_long_try_cmpxchg(c->area, &count, count + 1));
	for (i = 0; i < n; i++)
		atomic_long_set(&c->area[at + i], entry[i]);
}

static notrace void append_entry_if_mode_matches(struct cover *c, unsigned int mode,
						 const unsigned long *entry, unsigned int n)
{
	if (READ_ONCE(c->mode) == mode)
		append_entry(c, entry, n);
}

/* Record what the caller executes: a task, a softirq or a kernel thread */
static notrace void record_entry(unsigned int mode, const unsigned long *entry, unsigned int n)
{
	struct cover *c;

	/* a reader of RCU; cover_release() waits for it */
	preempt_disable_notrace();
	if (!in_task() || current->flags & PF_KTHREAD) {
		if (!in_hardirq() && !in_nmi())
			list_for_each_entry_rcu(c, &remotes, in_remotes, true)
				append_entry_if_mode_matches(c, mode, entry, n);
	} else {
		hash_for_each_possible_rcu_notrace(tasks, c, by_task, (unsigned long)current)
			if (c->task == current)
				append_entry_if_mode_matches(c, mode, entry, n);
	}
	preempt_enable_notrace();
}

/* Called by compiled code -------------------------------------------------- */

void __sanitizer_cov_trace_pc(void);
notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long at = get_shown_offset(_RET_IP_), pc = SHOWN_START + at;

	if (at >= NR_TEXTS * TEXT_BYTES)
		return;
	if (!test_bit(at, seen))
		set_bit(at, seen);
	record_entry(KCOV_TRACE_PC, &pc, 1);
}
EXPORT_SYMBOL(__sanitizer_cov_trace_pc);

static notrace void record_cmp(unsigned long type, u64 a, u64 b, unsigned long pc)
{
	const unsigned long entry[CMP_WORDS] = { type, a, b, SHOWN_START + get_shown_offset(pc) };

	record_entry(KCOV_TRACE_CMP, entry, CMP_WORDS);
}

#define TRACE_CMP(name, type, flags)					\
	void __sanitizer_cov_trace_##name(type a, type b);		\
	notrace void __sanitizer_cov_trace_##name(type a, type b)	\
	{								\
		record_cmp(flags, a, b, _RET_IP_);			\
	}								\
	EXPORT_SYMBOL(__sanitizer_cov_trace_##name)

TRACE_CMP(cmp1, u8, KCOV_CMP_SIZE(0));
TRACE_CMP(cmp2, u16, KCOV_CMP_SIZE(1));
TRACE_CMP(cmp4, u32, KCOV_CMP_SIZE(2));
TRACE_CMP(cmp8, unsigned long, KCOV_CMP_SIZE(3));
TRACE_CMP(const_cmp1, u8, KCOV_CMP_SIZE(0) | KCOV_CMP_CONST);
TRACE_CMP(const_cmp2, u16, KCOV_CMP_SIZE(1) | KCOV_CMP_CONST);
TRACE_CMP(const_cmp4, u32, KCOV_CMP_SIZE(2) | KCOV_CMP_CONST);
TRACE_CMP(const_cmp8, unsigned long, KCOV_CMP_SIZE(3) | KCOV_CMP_CONST);

/* @arg: the number of cases, the width of the value in bits, and each case */
void __sanitizer_cov_trace_switch(unsigned long value, void *arg);
notrace void __sanitizer_cov_trace_switch(unsigned long value, void *arg)
{
	u64 i, *cases = arg;

	if (cases[1] < 8 || cases[1] > 64)
		return;
	for (i = 0; i < cases[0]; i++)
		record_cmp(KCOV_CMP_SIZE(ilog2(cases[1] / 8)) | KCOV_CMP_CONST,
			   cases[2 + i], value, _RET_IP_);
}
EXPORT_SYMBOL(__sanitizer_cov_trace_switch);

/* The file ----------------------------------------------------------------- */

static int cover_open(struct inode *inode, struct file *f)
{
	struct cover *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	f->private_data = c;
	return nonseekable_open(inode, f);
}

/*
 * Stop collecting. A reader that has found @c may still append to it. If @c is enabled
 * again for another task, such a reader continues in the wrong chain of the hash table:
 * it ends there as well, and only misses an entry of its own.
 */
static void cover_disable(struct cover *c)
{
	if (!c->enabled)
		return;
	spin_lock(&covers_lock);
	if (c->remote)
		list_del_rcu(&c->in_remotes);
	else
		hash_del_rcu(&c->by_task);
	spin_unlock(&covers_lock);
	c->enabled = false;
}

static int cover_release(struct inode *inode, struct file *f)
{
	struct cover *c = f->private_data;

	cover_disable(c);
	synchronize_rcu();
	vfree(c->area);
	kfree(c);
	return 0;
}

/*
 * Collect the coverage of the calling task, or that of softirqs and kernel threads. Unlike
 * kcov, this module does not notice the end of a task, so a file that is still enabled
 * belongs to a task that has ended, and moves to the caller.
 */
static int cover_enable(struct cover *c, unsigned long mode, bool remote)
{
	if (!c->area || mode > KCOV_TRACE_CMP)
		return -EINVAL;
	cover_disable(c);
	c->mode = mode;
	c->remote = remote;
	c->task = current;
	c->enabled = true;
	spin_lock(&covers_lock);
	if (remote)
		list_add_rcu(&c->in_remotes, &remotes);
	else
		hash_add_rcu(tasks, &c->by_task, (unsigned long)current);
	spin_unlock(&covers_lock);
	return 0;
}

static int cover_enable_remote(struct cover *c, const struct kcov_remote_arg __user *from)
{
	struct kcov_remote_arg arg;

	if (copy_from_user(&arg, from, sizeof(arg)))
		return -EFAULT;
	return cover_enable(c, arg.trace_mode, true);
}

static int cover_init_trace(struct cover *c, unsigned long words)
{
	if (c->area)
		return -EBUSY;
	if (words < 2 || words > MAX_WORDS)
		return -EINVAL;
	c->area = vmalloc_user(PAGE_ALIGN(words * sizeof(*c->area)));
	c->words = words;
	return c->area ? 0 : -ENOMEM;
}

static int cover_run_ioctl(struct cover *c, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KCOV_INIT_TRACE:
		return cover_init_trace(c, arg);
	case KCOV_ENABLE:
		return cover_enable(c, arg, false);
	case KCOV_REMOTE_ENABLE:
		return cover_enable_remote(c, (void __user *)arg);
	case KCOV_DISABLE:
		if (!c->enabled)
			return -EINVAL;
		cover_disable(c);
		return 0;
	default:
		return -ENOTTY;
	}
}

static long cover_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	struct cover *c = f->private_data;
	long err;

	mutex_lock(&c->lock);
	err = cover_run_ioctl(c, cmd, arg);
	mutex_unlock(&c->lock);
	return err;
}

static int cover_mmap(struct file *f, struct vm_area_struct *vma)
{
	struct cover *c = f->private_data;
	int err = -EINVAL;

	mutex_lock(&c->lock);
	if (c->area)
		err = remap_vmalloc_range(vma, c->area, vma->vm_pgoff);
	mutex_unlock(&c->lock);
	return err;
}

static const struct file_operations cover_fops = {
	.owner		= THIS_MODULE,
	.open		= cover_open,
	.release	= cover_release,
	.mmap		= cover_mmap,
	.unlocked_ioctl	= cover_ioctl,
	.compat_ioctl	= cover_ioctl,
};

/* Modules ------------------------------------------------------------------ */

/* A line of a function with its module, as addresses in a call trace have them */
static void show_seen_lines(struct seq_file *m, unsigned long i)
{
	unsigned long at = i * TEXT_BYTES, end = at + TEXT_BYTES;

	if (!texts[i].start)
		return;
	for_each_set_bit_from(at, seen, end)
		seq_printf(m, "%pS\n", (void *)(texts[i].start + at % TEXT_BYTES));
}

static int seen_show(struct seq_file *m, void *unused)
{
	unsigned long i;

	for (i = 0; i < NR_TEXTS; i++)
		show_seen_lines(m, i);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(seen);

static struct text *find_text(const char *name)
{
	unsigned long i;

	for (i = 0; i < NR_TEXTS; i++)
		if (!strcmp(texts[i].name, name))
			return &texts[i];
	return NULL;
}

/* The module loader calls this function for one module at a time */
static int on_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;
	struct text *t = find_text(mod->name);

	if (t && event == MODULE_STATE_COMING)
		WRITE_ONCE(t->mod, mod);
	if (t && event == MODULE_STATE_GOING) {
		WRITE_ONCE(t->mod, NULL);
		WRITE_ONCE(t->start, 0);
		WRITE_ONCE(t->end, 0);
	}
	return NOTIFY_OK;
}

static struct notifier_block on_module_nb = { .notifier_call = on_module_event };

static int __init cover_init(void)
{
	int err;

	seen = vzalloc(NR_TEXTS * TEXT_BYTES / BITS_PER_BYTE);
	if (!seen)
		return -ENOMEM;
	err = register_module_notifier(&on_module_nb);
	if (err) {
		vfree(seen);
		return err;
	}
	/* unsafe: the file holds a reference to this module, so it cannot be removed in use */
	file = debugfs_create_file_unsafe("kcov", 0600, NULL, NULL, &cover_fops);
	seen_file = debugfs_create_file("rnic_sw_kcov", 0400, NULL, NULL, &seen_fops);
	return 0;
}

static void __exit cover_exit(void)
{
	debugfs_remove(seen_file);
	debugfs_remove(file);
	unregister_module_notifier(&on_module_nb);
	vfree(seen);
}

module_init(cover_init);
module_exit(cover_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("kcov for modules that are compiled with -fsanitize-coverage");
