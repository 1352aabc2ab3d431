/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* No lockdep: a deadlock is noticed by the test's time limit */
