#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp_verbs.sh: verbs.sh over SCTP.

export T_LLP=sctp
. "$(dirname "$(readlink -f "$0")")/verbs.sh"
