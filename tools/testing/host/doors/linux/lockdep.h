/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Nobody to tell: what waits for itself does not come back, and the test's time is over */
