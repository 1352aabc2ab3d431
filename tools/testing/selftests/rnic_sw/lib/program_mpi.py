# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Each rank of programs/mpi.sh runs this program: it sends to the next rank and receives from
the previous one, in sizes below and above each threshold between send protocols, and then
gathers from all ranks."""
import sys

from mpi4py import MPI

SIZES = (0, 1, 100, 4096, 16385, 65537, 1 << 20)


def make_bytes(size, seed):
    """Return size bytes that are different for each seed, such as a rank."""
    some = bytes((7 * i + 41 * seed + (i >> 8)) & 255 for i in range(4093))
    return bytearray((some * (size // len(some) + 1))[:size])


def main():
    """Run the test and return the exit status."""
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    wrong = []
    for size in SIZES:
        got = bytearray(size)
        world.Sendrecv([make_bytes(size, rank), MPI.BYTE], after, 5,
                       [got, MPI.BYTE], before, 5)
        if got != make_bytes(size, before):
            wrong.append(size)
    if world.allgather(make_bytes(5000, rank)) != [make_bytes(5000, n) for n in range(ranks)]:
        wrong.append("gathered")
    print(f"rank {rank}: wrong data: {wrong}" if wrong else
          f"rank {rank}: all data is right", flush=True)
    return 1 if wrong else 0


sys.exit(main())
