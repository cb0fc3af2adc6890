#!/usr/bin/env python3
"""Kernels with wmma fragments (tests/kernels/wmma.cu) on the simulated GPU, where they are simdgroup matrices: the CPU's bits."""
import os
import tempfile

from simulated import ROOT, run
from support.tally import check, finish

SOURCE = os.path.join(ROOT, "tests", "kernels", "wmma.cu")


def integers(seed, shape, dtype="f16"):
    """Small integers, so that sums in half are exact in any order."""
    return f"astype(floor(uniform(key({seed}), {shape}) * 9) - 4, {dtype})"


# Threads, arguments as expressions or numbers, results.
KERNELS = {
    "tiles": (128, {"a": integers(1, "[32, 48]"), "b": integers(2, "[32, 48]"), "c": "zeros([32, 32])"}, ["c"]),
    "scaled": (32, {"a": integers(3, "[16, 16]"), "b": integers(4, "[16, 16]"), "c": integers(5, "[16, 16]", "f32"),
                    "alpha": 2, "beta": 0.5}, ["c"]),
    "oblong": (32, {"a": integers(6, "[512]"), "b": integers(7, "[128]"), "tall": "astype(zeros([32, 8]), f16)",
                    "wide": "astype(zeros([32, 8]), f16)"}, ["tall", "wide"]),
}


def results(folder, device, kernel, threads, arguments, outs):
    """The bytes of each result, or the message of a failed run."""
    words = ["run", SOURCE, "--device", device, "--kernel", kernel, "--block", str(threads)]
    for name, value in arguments.items():
        path = os.path.join(folder, f"{kernel}-{name}.npy")
        if isinstance(value, str):
            run("eval", value, "-o", path)
            value = path
        words += ["--arg", f"{name}={value}"]
    paths = [os.path.join(folder, f"{kernel}-{name}-{device}.npy") for name in outs]
    for name, path in zip(outs, paths):
        words += ["--out", f"{name}={path}"]
    done = run(*words)
    if done.returncode:
        return done.stderr
    found = []
    for path in paths:
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kernel, (threads, arguments, outs) in KERNELS.items():
            cpu, metal = (results(folder, device, kernel, threads, arguments, outs) for device in ("cpu", "metal"))
            fine = isinstance(cpu, list) and cpu == metal and all(any(data[128:]) for data in cpu)
            check(f"{kernel} of wmma.cu: the CPU's bits", fine, f"{cpu}\n{metal}"[:2000])
    finish()


if __name__ == "__main__":
    main()
