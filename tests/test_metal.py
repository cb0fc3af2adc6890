#!/usr/bin/env python3
"""Kernels as Metal's text, run: compiled by clang as C++ for OpenCL, each thread of a group one of the machine's.

Simdgroup matrices are those of tests/metal, which have their meaning, so that what becomes of wmma fragments is
compared with the CPU's answers, bit by bit. Planted mistakes in the text show that a difference is seen.
"""
import ctypes
import os
import re
import subprocess
import tempfile

import numpy as np

from support.tally import check, finish, skip
from test_translate import INGOT, METAL, ROOT, for_clang, metal_compiler, translate

SOURCE = os.path.join(ROOT, "tests", "kernels", "wmma.cu")
HEAD = re.compile(r"^kernel void (\w+)\((.*?)\)\n\{", re.M | re.S)
PARAM = re.compile(r"(device|constant) ([\w ]+?) ([*&])\w+ \[\[buffer\((\d+)\)\]\]")
SHARED = re.compile(r"^    threadgroup (\w+) (\w+)\[(\d+)\];", re.M)
INPUTS = {"thread_position_in_threadgroup": "metal_position()[0]", "threadgroup_position_in_grid": "metal_position()[1]"}
random = np.random.default_rng(7)


def halves(*shape):
    """Small integers, so that sums in half are exact whatever their order."""
    return random.integers(-4, 5, shape).astype(np.float16)


KERNELS = {
    "tiles": (128, {"a": halves(32, 48), "b": halves(32, 48), "c": np.zeros((32, 32), np.float32)}),
    "scaled": (32, {"a": halves(16, 16), "b": halves(16, 16), "c": random.integers(-9, 9, (16, 16)).astype(np.float32),
                    "alpha": np.float32(2), "beta": np.float32(0.5)}),
    "oblong": (32, {"a": halves(512), "b": halves(128), "tall": np.zeros((32, 8), np.float16),
                    "wide": np.zeros((32, 8), np.float16)}),
}
# What stands in the text, and a mistake for it.
MISTAKES = [("tiles", ", 48u, true)", ", 48u, false)"), ("tiles", "a[i][k], b[k][j]", "a[i][k], b[j][k]"),
            ("scaled", "by_columns ? j * stride + i", "by_columns ? i * stride + j"),
            ("scaled", "i / 2 % COLUMNS", "i % COLUMNS")]


def enter(text):
    """The function that calls the kernel with what run.c has for it."""
    name, params = HEAD.search(text).groups()
    arguments = []
    for param in re.split(r",\s+(?=device|constant|uint)", params):
        found = PARAM.match(param)
        if found:
            space, kind, form, n = found.groups()
            arguments.append(f"{'*' if form == '&' else ''}(__{'global' if space == 'device' else 'constant'} {kind} *)"
                             f"(ulong)buffers[{n}]")
        else:
            arguments.append(f"make_uint3({INPUTS[param.split('[[')[1].rstrip(']')]}, 0, 0)")
    return ("\nextern \"C\" __generic const uint *metal_position(void);\n"
            "namespace metal { void threadgroup_barrier(mem_flags) { metal_wait(true); } }\n"
            "extern \"C\" void metal_enter(__generic void *__generic *buffers)\n"
            f"{{\n    {name}({', '.join(arguments)});\n}}\n")


def as_function(text):
    """The kernel as a function that the machine can call: its shared memory is that of the one group that runs."""
    for kind, name, n in SHARED.findall(text):
        text = text.replace(f"threadgroup {kind} {name}[{n}];", f"threadgroup {kind} *{name} = (threadgroup {kind} *)"
                            f"(__generic {kind} *)memory_of_{name};")
        text = text.replace("kernel void", f"static __global {kind} memory_of_{name}[{n}];\nkernel void")
    return text.replace("kernel void", "static void")


def build(folder, compiler, text):
    paths = [os.path.join(folder, name) for name in ("kernel.clcpp", "kernel.o", "kernel.so")]
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write(as_function(for_clang(text)) + enter(text))
    options = [o for o in METAL if o != "-fsyntax-only"]
    subprocess.run([compiler, *options, "-O1", "-ffp-contract=off", "-fPIC", "-c", paths[0], "-o", paths[1]], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", paths[2], paths[1], os.path.join(ROOT, "tests/metal/run.c"),
                    "-pthread"], check=True)
    return ctypes.CDLL(paths[2])


def run_metal(compiler, text, threads, values):
    """What the arrays are afterwards."""
    arrays = {name: np.array(value) for name, value in values.items()}
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays.values()))
    with tempfile.TemporaryDirectory() as folder:
        if build(folder, compiler, text).metal_run(threads, 1, pointers):
            raise RuntimeError("the threads could not be started")
    return arrays


def run_cpu(kernel, threads, values):
    with tempfile.TemporaryDirectory() as folder:
        command = [INGOT, "run", SOURCE, "--kernel", kernel, "--block", str(threads)]
        for name, value in values.items():
            path = os.path.join(folder, name + ".npy")
            np.save(path, value)
            command += ["--arg", f"{name}={path if value.shape else value}"]
        outs = [name for name in values if name in ("c", "tall", "wide")]
        for name in outs:
            command += ["--out", f"{name}={os.path.join(folder, name)}.out.npy"]
        subprocess.run(command, check=True, capture_output=True)
        return {name: np.load(os.path.join(folder, name + ".out.npy")) for name in outs}


def main():
    compiler = metal_compiler()
    if not compiler:
        skip("all", "clang 16 or newer is needed")
        finish()
    texts = {k["kernel"]: k["text"] for k in translate(SOURCE, "metal")}
    for name, (threads, values) in KERNELS.items():
        wanted, got = run_cpu(name, threads, values), run_metal(compiler, texts[name], threads, values)
        same = all(np.array_equal(wanted[k], got[k]) and wanted[k].any() for k in wanted)
        off = "".join(f"\n{k}:\n{wanted[k] - got[k]}" for k in wanted if not same)
        check(f"{name} of wmma.cu as metal, run", same, off)
    for name, right, mistake in MISTAKES:
        threads, values = KERNELS[name]
        assert right in texts[name], right
        wanted = run_cpu(name, threads, values)
        got = run_metal(compiler, texts[name].replace(right, mistake), threads, values)
        seen = not all(np.array_equal(wanted[k], got[k]) for k in wanted)
        check(f"'{mistake}' in {name} is seen", seen)
    finish()


if __name__ == "__main__":
    main()
