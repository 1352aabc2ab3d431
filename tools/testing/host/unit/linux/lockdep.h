/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* No lockdep: host_mark_lock_taken() warns if a lock is taken twice */
