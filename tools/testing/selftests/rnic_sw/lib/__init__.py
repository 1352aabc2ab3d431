# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What the test scripts are made of, in shell and in Python; none of it is run by itself."""
