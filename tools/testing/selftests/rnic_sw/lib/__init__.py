# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Parts that the test scripts in shell and in Python share; these files are not run themselves."""
