/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty: the files under test use nothing from it */
