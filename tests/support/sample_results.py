#!/usr/bin/env python3
"""Writes results of 'ingot bench' as two machines might have given them, for tests of what reads them:
a server with two ARM cores, and a notebook with a CPU of eight cores and a GPU.

usage: tests/support/sample_results.py FOLDER      writes FOLDER/server.json and FOLDER/notebook.json
"""
import json
import math
import os
import random
import sys

PASSES, SAMPLES = 10, 4
DTYPES = "bool i8 i16 i32 i64 u8 f16 bf16 f32 f64".split()

# name, kind, model, cores, peak flop/s of f32, peak byte/s, seconds for a launch
SERVER = [("cpu", "cpu", "Neoverse-V1", 2, 1.66e11, 3.4e10, 4e-6)]
NOTEBOOK = [("cpu", "cpu", "Apple M3", 8, 5.8e11, 9.5e10, 5e-6),
            ("gpu", "metal", "Apple M3 GPU, 10 cores", 10, 3.5e12, 9.2e10, 9e-5)]


def works():
    """work, size, dtype, group, extent, flops, bytes, share of the peak that it reaches"""
    for n in [64, 128, 256, 512, 1024, 2048]:
        yield "matmul", str(n), "f32", "compute", n, 2.0 * n**3, 12.0 * n * n, 0.88
    yield "matmul", "1024", "f64", "compute", 1024, 2.0 * 1024**3, 24.0 * 1024**2, 0.44
    yield "conv", "8x64x56", "f32", "compute", 8, 1.85e9, 2.7e7, 0.6
    yield "attention", "12x128x64", "f32", "compute", 12, 6.0e8, 4.7e6, 0.5
    for n, name in [(1 << 12, "4K"), (1 << 16, "64K"), (1 << 20, "1M"), (1 << 24, "16M")]:
        yield "sum", name, "f32", "memory", n, float(n), 4.0 * n, 0.9
        yield "triad", name, "f32", "memory", n, float(n), 12.0 * n, 0.85
    yield "softmax", "4096x1024", "f32", "memory", 4096, 2.5e7, 3.4e7, 0.7
    yield "sort", "1M", "f32", "memory", 1 << 20, 0.0, 8.0 * (1 << 20), 0.02
    yield "train_digits", "1498", "f32", "train", 0, 9.6e8, 2.1e7, 0.35
    yield "start", "1000", "f32", "latency", 0, 0.0, 0.0, 0.0
    yield "launch", "64", "f32", "latency", 64, 0.0, 0.0, 0.0


def samples(rng, seconds, noise):
    """A list for each pass: what the machine is like changes with the pass, and noise only adds."""
    out = []
    for _ in range(PASSES):
        state = 1 + 0.3 * noise * rng.gauss(0, 1)
        out.append([float(f"{seconds * state * (1 + noise * abs(rng.gauss(0, 1))):.6g}")
                    for _ in range(SAMPLES)])
    return out


def time_of(device, work, flops, size_bytes, share, threads):
    name, _, _, cores, peak_flops, peak_bytes, launch = device
    if work == "start":
        return {"cpu": 0.0061, "gpu": 0.043}[name] * (1.3 if cores == 2 else 1)
    part = threads / cores if threads and name == "cpu" else 1
    ramp = flops / (flops + 2e6) if flops else 1
    compute = flops / (peak_flops * max(share * ramp, 0.01) * part)
    memory = size_bytes / (peak_bytes * max(share, 0.02) * min(1, 0.35 + part))
    return launch + max(compute, memory)


def row(rng, device, work, threads, noise):
    work, size, dtype, group, extent, flops, size_bytes, share = work
    seconds = time_of(device, work, flops, size_bytes, share, threads)
    return {"work": work, "size": size, "dtype": dtype, "device": device[0], "group": group,
            "input": f"{work} of uniform values, seed 0", "math": "strict", "threads": threads,
            "extent": extent, "flops": flops, "bytes": size_bytes,
            "answer": "9f3c1d52" if work in ("sort", "sum") else None,
            "repeats": max(1, math.ceil(0.002 / seconds)), "warnings": [],
            "process": list(range(PASSES)), "seconds": samples(rng, seconds, noise)}


def rows_of(rng, devices, noise):
    rows = []
    for device in devices:
        threads = device[3] if device[0] == "cpu" else 0
        rows += [row(rng, device, work, threads, noise) for work in works()
                 if not (device[0] == "gpu" and work[2] == "f64")]
        if device[0] == "cpu":
            for n in sorted({1, 2, 4, device[3]}):
                if n <= device[3]:
                    rows.append(row(rng, device, ("matmul_threads", f"1024/{n}", "f32", "scaling", n, 2.0 * 1024**3,
                                                  12.0 * 1024**2, 0.88 - 0.01 * n), n, noise))
                    rows.append(row(rng, device, ("chain_threads", f"16M/{n}", "f32", "scaling", n, float(1 << 24),
                                                  12.0 * (1 << 24), 0.85), n, noise))
    return rows


def ops_of(devices):
    table = [("map", "add subtract multiply divide exp log sin cos tanh relu sigmoid where astype abs sqrt"),
             ("reduce", "sum prod max min any all mean"), ("scan", "cumulative_sum cumulative_prod"),
             ("sort", "sort argsort searchsorted"), ("contract", "matmul tensordot einsum conv2d"),
             ("move", "concat stack pad roll"), ("write", "scatter scatter_add")]
    ops = []
    for name, _, _, *_ in devices:
        for cls, names in table:
            for op in names.split():
                native, fallback = list(DTYPES), []
                if name == "gpu":
                    native, fallback = ["i32", "u8", "f16", "bf16", "f32"], ["i64", "f64"]
                    if cls in ("sort", "scan"):
                        native, fallback = [], ["i32", "i64", "f32", "f64"]
                ops.append({"name": op, "class": cls, "device": name, "native": " ".join(native),
                            "fallback": " ".join(fallback),
                            "refused": " ".join(d for d in DTYPES if d not in native + fallback)})
    return ops


def peaks_of(kind, cores, peak_flops, peak_bytes):
    if kind != "cpu":
        return [{"of": "f32", "threads": 0, "rate": peak_flops}, {"of": "bytes", "threads": 0, "rate": peak_bytes}]
    peaks = []
    for n in sorted({1, 2, 4, cores}):
        if n <= cores:
            peaks.append({"of": "f32", "threads": n, "rate": peak_flops * n / cores})
            peaks.append({"of": "f64", "threads": n, "rate": peak_flops * n / cores / 2})
            peaks.append({"of": "bytes", "threads": n, "rate": peak_bytes * min(1, 0.35 + n / cores)})
    return peaks


def result(devices, seed, system, arch, noise, **more):
    rng = random.Random(seed)
    return {"schema": 1, "verb": "bench", "version": "0.1.0", "compiler": "gcc 12.2.0",
            "started": "2026-11-15T08:30:00Z", "command": "ingot bench -o FILE", "settings": [], "math": "strict",
            "system": system, "arch": arch, "virtual_machine": None, "complete": True, "seconds": 61.5,
            "disturbances": [], "devices": [
                {"name": name, "kind": kind, "model": model, "level": "bf16" if kind == "cpu" else None,
                 "isa": "neon fp16 dotprod bf16 i8mm" if kind == "cpu" else None,
                 "driver": None if kind == "cpu" else "Metal 3.2", "cores": cores,
                 "performance_cores": 4 if cores == 8 else 0, "efficiency_cores": 4 if cores == 8 else 0,
                 "threads": cores if kind == "cpu" else 0, "quota": 0, "memory": (4 if cores == 2 else 24) << 30,
                 "memory_limit": (3 if cores == 2 else 18) << 30,
                 "cache": [65536, 1 << 20, 32 << 20] if cores == 2 else [131072, 16 << 20, 0],
                 "peak_flops": peak_flops, "peak_bytes": peak_bytes,
                 "peaks": peaks_of(kind, cores, peak_flops, peak_bytes)}
                for name, kind, model, cores, peak_flops, peak_bytes, _ in devices],
            "ops": ops_of(devices), "rows": rows_of(rng, devices, noise), **more}


def server(seed=1, **more):
    more = {"virtual_machine": "kvm", "settings": ["IG_BLAS=off", "IG_NUM_THREADS=2"], "disturbances": ["load 1.4 on 2 cores before the run"], **more}
    return result(SERVER, seed, "Linux 6.1.0", "aarch64", 0.01, **more)


def notebook(seed=2, **more):
    return result(NOTEBOOK, seed, "macOS 15.1", "arm64", 0.015, **{"compiler": "clang 16.0.0", **more})


def write(folder, name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for a_name, a_result in [("server.json", server()), ("notebook.json", notebook())]:
        print(write(sys.argv[1], a_name, a_result))
