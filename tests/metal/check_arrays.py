#!/usr/bin/env python3
"""Arrays, training and kernels on the simulated GPU: every op in every dtype that the GPU has, in two orders of threads;
a training run with the CPU's bits; kernels in CUDA C with the CPU's results."""
import concurrent.futures
import json
import os
import re
import sys

from simulated import READY, ROOT, prepare, run
from support.tally import check, finish, skip

VERIFY = ["verify", "--quick", "--device", "metal"]
# In CI: every op in dtypes of each kind and width. --whole is every dtype.
DTYPES = "f32,bf16,i32,u8,i64"
KEYS = ["key", "split_key", "fold_in"]  # in u32 only
# Results and gradients have the CPU's bits: an op of each kind in CI.
SAME = ["verify", "--quick", "--same", "cpu,metal", "--dtype", "f32"]
SAME_OPS = ["exp", "sum", "softmax", "layer_norm", "matmul", "cumulative_sum", "sort", "argsort", "take", "scatter_add", "normal",
            "conv2d", "scaled_dot_product_attention"]
TRAIN = ["train", "digits", "--epochs", "1", "--quiet", "--math", "same"]
KERNELS = [
    ["saxpy", "--grid", "4", "--block", "256", "--arg", "n=1000", "--arg", "a=2", "--arg", "x=arange(1000.0)", "--arg",
     "y=ones:f32[1000]"],
    ["block_sum", "--grid", "5", "--block", "128", "--arg", "n=600", "--arg", "x=arange(600.0)", "--arg",
     "total=zeros:f32[5]"],
]
SOURCE = os.path.join(ROOT, "tests", "metal", "kernels.cu")


def tally(text):
    found = re.findall(r"^(\d+) passed, (\d+) failed", text, re.M)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, -1)


def op_names():
    return [op["name"] for op in json.loads(run("ops", "--json").stdout)["ops"]]


def check_verify(commands):
    """Each launch runs in two orders of threads, which must write the same bits."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for command, done in zip(commands, pool.map(lambda c: run(*c, METALSIM_TWICE=1, limit=900), commands)):
            passed, failed = tally(done.stdout)
            check(" ".join(command), done.returncode == 0 and failed == 0 and passed > 0,
                  f"exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}")


def check_training():
    cpu, gpu = run(*TRAIN, "--json"), run(*TRAIN, "--json", "--device", "metal")
    same = False
    if cpu.returncode == 0 and gpu.returncode == 0:
        losses = [re.findall(r'"[a-z_]*(?:loss|accuracy)": [^,}\]]+', done.stdout) for done in (cpu, gpu)]
        same = losses[0] == losses[1] and len(losses[0]) > 1
    check("train digits: loss and accuracy are the CPU's, bit by bit", same,
          f"{cpu.stdout[-600:]}\n{gpu.stdout[-600:]}{gpu.stderr[-2000:]}")


def check_kernels():
    for order in (0, 1):
        for kernel, *arguments in KERNELS:
            done = run("run", SOURCE, "-k", kernel, *arguments, "--device", "cpu,metal", METALSIM_ORDER=order)
            check(f"kernel {kernel} in order {order}", done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:])


def main():
    whole = "--whole" in sys.argv
    if not READY:
        skip("arrays on the simulated GPU", "clang 16 or newer is needed")
        finish()
    # One process for each op: one that fails while it is recorded costs only its own kernels.
    ops = op_names()
    commands = [[*VERIFY, "--op", op, *([] if whole or op in KEYS else ["--dtype", DTYPES])] for op in ops]
    commands += [[*SAME, "--op", op] for op in ops if op in SAME_OPS or (whole and op not in KEYS)]
    said = prepare(*commands, [*TRAIN, "--device", "metal"])
    check("every kernel passes the strict check", not said, said)
    check_verify(commands)
    check_training()
    check_kernels()
    finish()


if __name__ == "__main__":
    main()
