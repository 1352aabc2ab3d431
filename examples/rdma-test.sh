#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# rdma-test.sh ADDRESS: exchange data between a server and a client of rping, and compare it.
#
# For the examples in this directory, as the program to test. Replace it with the test of your own
# program.
# The script fails if there is no RDMA device with ADDRESS, or if data arrives changed.
# To run it: ./with-rdma.sh ./rdma-test.sh 192.0.2.1
set -eu
rping -s -a "$1" -C 10 -V &
until ss -Htln "sport = :7174" | grep -q .; do
	kill -0 $!			# stop waiting if the server has failed
	sleep 0.1
done
timeout 60 rping -c -a "$1" -C 10 -V -v
wait $!
