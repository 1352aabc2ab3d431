/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty: the tests pin no memory */
