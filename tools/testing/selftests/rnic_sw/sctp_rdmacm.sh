#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp_rdmacm.sh: rdmacm.sh over SCTP.

export T_LLP=sctp
. "$(dirname "$(readlink -f "$0")")/rdmacm.sh"
