#!/usr/bin/env python3
"""Arrays, training and kernels on the simulated GPU: every op in every dtype that the GPU has, in two orders of threads;
long rows and large shapes, random graphs, and a training run, with the CPU's bits; kernels in CUDA C with the CPU's results."""
import concurrent.futures
import filecmp
import json
import os
import re
import tempfile

from simulated import READY, ROOT, close, prepare, read, run
from support.tally import check, finish, skip

QUICK = bool(os.environ.get("IG_TEST_QUICK"))
VERIFY = ["verify", "--quick", "--device", "metal"]
KEYS = ["key", "split_key", "fold_in"]  # in u32 only
# Results and gradients have the CPU's bits.
SAME = ["verify", "--quick", "--same", "cpu,metal", "--dtype", "f32"]
# With IG_TEST_QUICK: an op of each kind, in f32.
SOME = ["exp", "tanh", "sum", "uniform", "cumulative_prod", "softmax", "layer_norm", "matmul", "cumulative_sum", "sort", "argsort", "take",
        "scatter_add", "normal", "conv2d", "scaled_dot_product_attention"]
# Random graphs: fused against one by one, and with the CPU's bits. Those with f64 are refused.
GRAPHS = [["verify", "--graphs", "10" if QUICK else "200", "--same", "cpu,metal", "--seed", "1"]]
TRAIN = ["train", "digits", "--epochs", "1", "--quiet", "--math", "same"]
KERNELS = [
    ["saxpy", "--grid", "4", "--block", "256", "--arg", "n=1000", "--arg", "a=2", "--arg", "x=arange(1000.0)", "--arg",
     "y=ones:f32[1000]"],
    ["block_sum", "--grid", "5", "--block", "128", "--arg", "n=600", "--arg", "x=arange(600.0)", "--arg",
     "total=zeros:f32[5]"],
    ["conversions", "--grid", "4", "--block", "256", "--arg", "n=1000", "--arg", "x=(arange(1000.0) - 300) ** 3 * 77.7", "--arg",
     "halves=zeros:u16[4000]", "--arg", "whole=zeros:i32[4000]"],
]
SOURCE = os.path.join(ROOT, "tests", "metal", "kernels.cu")
# Expressions of tests/cli/emitted.sh: with IG_TEST_QUICK those with one of these texts, else all that have no f64.
LONG = ["topk(", "scatter_add(", "[3, 70001]", "[5000]) * 50, i64", "[3, 65, 301]", "is_causal"]
# Without --math same, products are sums in another order, by simdgroup matrices. The sums are positive.
STRICT = ["uniform(key(0), [3, 65, 301]) @ uniform(key(1), [301, 7]) + uniform(key(2), [7])",
          "relu(astype(uniform(key(0), [70, 90]), f16) @ astype(uniform(key(1), [90, 72]), f16))",
          "uniform(key(0), [90, 68]).T @ uniform(key(1), [132, 90]).T",
          "q = uniform(key(0), [2, 61, 17]); k = uniform(key(1), [2, 301, 17]); scaled_dot_product_attention(q, k, k)"]


def tally(text):
    found = re.findall(r"^(\d+) passed, (\d+) failed", text, re.M)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, -1)


def op_names():
    return SOME if QUICK else [op["name"] for op in json.loads(run("ops", "--json", "--device", "cpu").stdout)["ops"]]


def verify_commands():
    """One process for each op: one that fails while it is recorded costs only its own kernels."""
    for name in op_names():
        if not QUICK:
            yield [*VERIFY, "--op", name]
        if name not in KEYS:
            yield [*SAME, "--op", name]


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


def long_lines():
    with open(os.path.join(ROOT, "tests", "cli", "emitted.sh"), encoding="utf-8") as file:
        block = re.search(r"same gang \"\$line\"\ndone <<'EOF'\n(.*?)\nEOF", file.read(), re.S)[1]
    lines = [line for line in block.splitlines() if "f64" not in line]
    return [line for line in lines if not QUICK or any(text in line for text in LONG)]


def results(text, math, folder):
    """The files of the CPU and of the GPU, where each launch runs in two orders of threads; and what the latter said."""
    found = []
    for device in ("cpu", "metal"):
        path = os.path.join(folder, f"{abs(hash(text))}.{device}.npy")
        done = run("eval", "--math", math, "--device", device, "-o", path, text, METALSIM_TWICE=1)
        found.append(path if done.returncode == 0 else os.devnull)
    return (*found, done.stderr)


def check_long(lines):
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line, (cpu, gpu, said) in zip(lines, pool.map(lambda line: results(line, "same", folder), lines)):
            check(f"{line}: the CPU's bits", gpu != os.devnull and filecmp.cmp(cpu, gpu, shallow=False), said)
        for line, (cpu, gpu, said) in zip(STRICT, pool.map(lambda line: results(line, "strict", folder), STRICT)):
            check(f"{line}: the CPU's values", gpu != os.devnull and close(read(cpu), read(gpu), 1e-3 if "f16" in line else 1e-5), said)


def check_kernels():
    for order in (0, 1):
        for kernel, *arguments in KERNELS:
            done = run("run", SOURCE, "-k", kernel, *arguments, "--device", "cpu,metal", METALSIM_ORDER=order)
            check(f"kernel {kernel} in order {order}", done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:])


def main():
    if not READY:
        skip("arrays on the simulated GPU", "clang 16 or newer is needed")
        finish()
    commands = [*verify_commands(), *GRAPHS]
    lines = long_lines()
    said = prepare(*commands, [*TRAIN, "--device", "metal"], *[["eval", "--math", "same", "--device", "metal", line] for line in lines],
                   *[["eval", "--device", "metal", line] for line in STRICT])
    check("every kernel passes the strict check", not said, said)
    check_verify(commands)
    check_long(lines)
    check_training()
    check_kernels()
    finish()


if __name__ == "__main__":
    main()
