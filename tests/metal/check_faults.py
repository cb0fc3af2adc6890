#!/usr/bin/env python3
"""Failures of Metal: every message that can fail does so once, for every n; every command buffer of a small program fails
once. The command must say what failed, exit with 1 or 4, release everything, and never print a result that is wrong.
Devices that cannot be used are refused with the reason, and small ones say what does not fit. With IG_TEST_QUICK every sixth
message fails."""
import os
import re

from simulated import READY, prepare, run
from support.tally import check, finish, skip

# Maps, a reduction, a contraction, a copy to the host and back, a gather.
PROGRAM = ["eval", "--device", "metal",
           "x = arange(12000, dtype=\"f32\"); y = reshape(x, [100, 120]); z = y @ y.T; w = to_device(to_device(z, \"cpu\"), \"metal\"); "
           "sum(w) + x[7] + sum(take(x, arange(5), 0))"]
FUSED = ["eval", "--device", "metal", "sum(ones([1000, 1000, 10]))"]  # 38 MiB, if it were not fused
# A step of training, with gradients and new parameters, and a scatter.
STEP = ["eval", "--device", "metal",
        "x = normal(key(1), [16, 8]); w = normal(key(0), [8, 4]); b = zeros([4]); g = grad(mean(relu(x @ w + b)**2), [w, b]); "
        "w = w - 0.1 * g[0]; b = b - 0.1 * g[1]; sum(w) + sum(b) + sum(scatter_add(zeros([9]), arange(3), ones([3]), 0))"]


# Products by MPS, one of them with an epilogue.
PRODUCTS = ["eval", "--device", "metal",
            "x = uniform(key(1), [12, 20]); y = x @ x.T; sum(y) + sum(relu(x.T @ x - 1)) + sum(reshape(x, [3, 4, 20]) @ reshape(x, [3, 20, 4]))"]


def counted(program, **env):
    done = run(*program, METALSIM_COUNT=1, **env)
    found = re.search(r"(\d+) messages can fail, (\d+) command buffers", done.stderr)
    return done, int(found[1]), int(found[2])


def check_failure(name, done, right):
    """It reports the failure, or, where there is another way, computes the right result."""
    leaks = "leaked" in done.stderr or "assertion" in done.stderr
    if done.returncode == 0:
        check(name, done.stdout == right and not leaks, f"{done.stdout}{done.stderr}")
    else:
        check(name, done.returncode in (1, 4) and not leaks and not done.stdout and "ingot eval:" in done.stderr,
              f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def check_each(name, program, **env):
    done, messages, buffers = counted(program, **env)
    check(f"{name} runs", done.returncode == 0 and messages > 20 and buffers > 0, done.stderr)
    for n in range(1, messages + 1, 6 if os.environ.get("IG_TEST_QUICK") else 1):
        check_failure(f"{name}: message {n} of {messages} fails", run(*program, METALSIM_FAIL_AT=n, **env), done.stdout)
    for n in range(1, buffers + 1):
        failed = run(*program, METALSIM_FAIL_BUFFER=n, **env)
        check_failure(f"{name}: command buffer {n} of {buffers} fails", failed, done.stdout)
        # Batches are cut by time: a run may have fewer of them than the one before, but it has one.
        if failed.returncode or n == 1:
            check(f"{name}: command buffer {n}: Metal's reason is given", "Timeout" in failed.stderr, failed.stderr)


def check_devices():
    rows = [({"METALSIM_NO_DEVICE": 1}, "no device"), ({"METALSIM_FAMILY": 1005}, "Apple5"),
            ({"METALSIM_FAMILY": 1000}, "not an Apple GPU"), ({"IG_METAL": "off"}, "IG_METAL=off"),
            ({"IG_METAL": "/nonexistent"}, "does not load")]
    for env, why in rows:
        done = run("eval", "--device", "metal", "1 + arange(3)", **env)
        check(f"{env}: refused with the reason", done.returncode == 4 and why in done.stderr, done.stderr)
        done = run("devices", **env)
        check(f"{env}: 'devices' has the reason", done.returncode == 0 and why in done.stdout, done.stdout)
    for family in range(1007, 1011):
        done = run("devices", METALSIM_FAMILY=family)
        check(f"Apple{family - 1000} is shown, with its cores",
              f"Apple{family - 1000}" in done.stdout and re.search(r"metal:0.*?cores +8\n", done.stdout, re.S), done.stdout)
        done = run(*PROGRAM, METALSIM_FAMILY=family)
        check(f"Apple{family - 1000} computes", done.returncode == 0, done.stderr)


def check_memory():
    small = {"METALSIM_MEMORY_MIB": 96, "METALSIM_BUFFER_MIB": 48}
    done = run("devices", **small)
    check("the working set is shown", "96 MiB" in done.stdout, done.stdout)
    done = run(*FUSED, METALSIM_BUFFER_MIB=24)
    check("a fused sum needs no memory", done.returncode == 0, done.stderr)
    done = run("eval", "--device", "metal", "x = arange(9000000, dtype=\"f32\"); y = x + 1; z = x * 2; w = x - 3; sum(y * z * w) + sum(w) + sum(y) + sum(z)",
               **small)
    check("much memory: a result or a clear error", done.returncode == 0 or "the limit is 96 MiB" in done.stderr, done.stderr)


def main():
    if not READY:
        skip("failures of the simulated GPU", "clang 16 or newer is needed")
        finish()
    prepare(PROGRAM, STEP, FUSED, PRODUCTS)
    prepare(PRODUCTS, IG_MPS="on")
    check_each("a program", PROGRAM)
    check_each("a training step", STEP)
    check_each("products by MPS", PRODUCTS, IG_MPS="on")
    check_devices()
    check_memory()
    finish()


if __name__ == "__main__":
    main()
