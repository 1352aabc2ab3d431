# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""rows.py: the rows of the table that scripts/program-table makes, and how each is judged.

In the commands {dev} is the device, {net} its interface, {addr} its address, {gid} the index of
its GID, {port} a port that no other run has used, {dir} a directory of the run, and {lib} the
directory of the selftests.
"""
import dataclasses

BY_HAND = "by ibv_modify_qp()"
BY_CM = "by rdma_cm"

# What the checked output proves: that the data is right, that a rate was measured, or only that the
# program has ended well
DATA = "data"
RATE = "rate"
END = "end"


@dataclasses.dataclass
class Row:
    """A program, its two commands, and the output that proves that it has worked."""
    name: str
    connects: str
    server: str             # "" if the client starts all processes itself
    client: str
    proofs: tuple           # regular expressions that the client's output must match
    shows: str = RATE       # what the proofs show: DATA, RATE or END
    stays: bool = False     # the server does not exit by itself
    partial: tuple = ()     # (regular expression of an error, words): the data passes before it
    quiet: str = ""         # a regular expression that the client's output may not match
    port: int = 0           # port of a program that always uses the same one
    limit: int = 60         # time limit of the client, in seconds
    must: bool = True       # it has to work on rnic_sw


# Table of a bandwidth test: size, iterations, peak, average, message rate
BW = (r"^ *65536 +\d+ +\S+ +[\d.]*[1-9][\d.]* ",)
LAT = (r"^ *2 +\d+ +[\d.]+ +[\d.]+ +[\d.]+",)
ATOMIC = (r"^ *8 +\d+ +\S+ +[\d.]*[1-9][\d.]* ",)
CREDIT = (r"Failed to deallocate PD", "the data passes, and then the program fails to free its objects")


def make_perftest_rows(program, proofs, **more):
    """Return the rows of a program of perftest: connected by hand, and by rdma_cm."""
    common = f"{program} -F -d {{dev}} -p {{port}} -n 500"
    late = "env LD_PRELOAD={lib}/out/late_connect.so "
    return [Row(program, BY_HAND, f"{common} -x {{gid}}", f"{common} -x {{gid}} {{addr}}", proofs, **more),
            Row(f"{program} -R", BY_CM, f"{common} -R", f"{late}{common} -R {{addr}}", proofs, **more)]


def make_pingpong_row(program, **more):
    """Return the row of one of libibverbs' ping-pong programs, which compares the data with -c."""
    common = f"{program} -d {{dev}} -g {{gid}} -p {{port}} -n 200"
    return Row(program, BY_HAND, f"{common} -c", f"{common} -c {{addr}}", ("^200 iters in",), DATA,
               quiet="invalid data", **more)


def make_qperf_row(test, cm, **more):
    """Return the row of a test of qperf."""
    late = "env LD_PRELOAD={lib}/out/late_connect.so "
    option = " -cm 1" if cm else ""
    return Row(f"qperf{option} {test}", BY_CM if cm else BY_HAND, "qperf -lp {port}",
               f"{late}qperf -lp {{port}} -t 1{option} {{addr}} {test}",
               (r"(bw|latency|msg_rate) += +[\d.]*[1-9]",), stays=True, **more)


def make_stream_row(name, client):
    """Return the row of a program of rsockets."""
    return Row(name, BY_CM, f"{name} -b {{addr}} -p {{port}} -S 65536 -C 100 -T v",
               client, ("^custom +64k +100 ",), DATA)


def make_fio_row(verb):
    common = "fio --ioengine=rdma --bs=64k --size=4m --iodepth=4 --port={port}"
    return Row(f"fio --verb={verb}", BY_CM, f"{common} --name=server --rw=read --verb=send",
               f"{common} --name=client --hostname={{addr}} --rw=write --verb={verb}",
               (r"\(groupid=0, jobs=1\): err= 0",))


def make_libfabric_row(name, provider, kind):
    common = f"fi_pingpong -p {provider} -e {kind} -d {{dev}} -c -I 10 -S 65536"
    return Row(name, BY_CM, f"{common} -B {{port}}", f"{common} -P {{port}} {{addr}}", ("^64k +10 ",), DATA)


def make_open_mpi_row(name, options, connects, **more):
    return Row(name, connects, "", "env FI_VERBS_IFACE={net} mpirun --allow-run-as-root --oversubscribe -np 2 "
               f"--mca plm isolated --mca oob_tcp_if_include lo {options} "
               "python3 {lib}/lib/program_mpi.py",
               ("rank 0: all data is right", "rank 1: all data is right"), DATA, limit=120, **more)


def make_valkey_row():
    """Return the row of valkey, which is built by scripts/build-program, in {valkey}."""
    cli = "{valkey}/src/valkey-cli --rdma -h {addr} -p {port}"
    return Row("valkey", BY_CM, "{valkey}/src/valkey-server --port 0 --save '' --dir {dir} --rdma-bind {addr} "
               "--rdma-port {port} --loadmodule {valkey}/src/valkey-rdma.so",
               "bash -c 'head -c 1000003 /dev/urandom >{dir}/value; "
               f"{cli} -x SET key <{{dir}}/value && {cli} --raw GET key | head -c 1000003 | cmp - {{dir}}/value && "
               "echo the value is the same'", ("^the value is the same",), DATA, stays=True)


PERFTEST = [make_perftest_rows("ib_write_bw", BW), make_perftest_rows("ib_read_bw", BW), make_perftest_rows("ib_send_bw", BW, partial=CREDIT),
            make_perftest_rows("ib_atomic_bw", ATOMIC), make_perftest_rows("ib_write_lat", LAT), make_perftest_rows("ib_send_lat", LAT)]

ROWS = [
    make_pingpong_row("ibv_rc_pingpong"),
    make_pingpong_row("ibv_srq_pingpong"),
    make_pingpong_row("ibv_uc_pingpong", must=False),
    make_pingpong_row("ibv_ud_pingpong", must=False),
    *(by_hand for by_hand, _ in PERFTEST),
    Row("ib_write_bw without -x", BY_HAND, "ib_write_bw -F -d {dev} -p {port} -n 500",
        "ib_write_bw -F -d {dev} -p {port} -n 500 {addr}", BW),
    make_qperf_row("rc_bw", False),
    Row("rping", BY_CM, "rping -s -a {addr} -p {port} -C 30 -S 4000 -V",
        "rping -c -v -a {addr} -p {port} -C 30 -S 4000 -V", ("ping data: rdma-ping-29",), DATA,
        quiet="wait for RDMA_|post send error|data mismatch"),
    Row("ucmatose", BY_CM, "ucmatose -b {addr}", "ucmatose -s {addr}",
        ("data transfers complete", "return status 0"), port=7471, shows=END),
    make_stream_row("rstream", "rstream -s {addr} -p {port} -S 65536 -C 100 -T v"),
    Row("udaddy", BY_CM, "udaddy -b {addr}", "udaddy -s {addr}",
        ("data transfers complete", "return status 0"), port=7174, shows=END, must=False),
    *(by_cm for _, by_cm in PERFTEST),
    make_qperf_row("rc_bw", True),
    make_qperf_row("rc_compare_swap_mr", True),
    make_fio_row("write"),
    make_fio_row("read"),
    make_libfabric_row("fi_pingpong, connected", "verbs", "msg"),
    make_libfabric_row("fi_pingpong, connectionless", "'verbs;ofi_rxm'", "rdm"),
    make_open_mpi_row("Open MPI, libfabric", "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'", BY_CM),
    make_open_mpi_row("Open MPI, UCX",
                      "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any "
                      "-x UCX_TLS=self,rc_v,ud_v -x UCX_NET_DEVICES={dev}:1", BY_HAND, must=False),
    make_valkey_row(),
]
