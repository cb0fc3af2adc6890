#!/usr/bin/env python3
"""Counts what the kernels of the Metal device do on the simulator: bytes, FLOPs and instructions. Holds the rows COUNTED of
cli/bench/expected.def and the tables of docs/METAL.md against them. The same runs show that no kernel has a race (race.c): every
barrier has the mem_flags that it needs.

    check_counts.py           check
    check_counts.py --write   write both anew
"""
import math
import os
import platform
import re
import sys
import tempfile

from simulated import CACHE as KEPT
from simulated import READY, ROOT, prepare, run
from support.tally import check, finish, skip

DEFINITIONS = os.path.join(ROOT, "cli", "bench", "expected.def")
CACHE = KEPT + "-counted"
DOCUMENT = os.path.join(ROOT, "docs", "METAL.md")
BEGIN, END = "<!-- counted: check_counts.py --write -->\n", "<!-- end of counted -->\n"
CORE_SHARED, CORE_THREADS, LANES = 65536, 3072, 128  # metal-benchmarks
MEMORY_SHARE, INSTRUCTION_SHARE, MATRIX_SHARE, SHARED_BYTES = 0.8, 0.5, 101.7 / 128, 64  # expected.c
INSTRUCTIONS, COUNTS = 4, 9  # which of the counts of a row; how many it has
# The optimizer for another processor keeps other instructions; the table is that of one aarch64.
INSTRUCTION_TOLERANCE = 0.08 if platform.machine() in ("aarch64", "arm64") else 0.25
TOLERANCE = 0.03


def values(*shape, scale="* 2 - 1", kind="f32"):
    values.key += 1
    return f'to_device(astype(uniform(key({values.key}), {list(shape)}) {scale}, "{kind}"), "metal")'


values.key = 0


class Case:
    """A work of `ingot bench`, smaller. The counts of a unit are those of n, or the difference between n and less."""

    def __init__(self, work, unit, program, inputs, minimum, units, less=None):
        self.work, self.unit, self.program, self.inputs = work, unit, program, inputs
        self.minimum, self.units, self.less = minimum, units, less


def vector(n):
    return lambda scale=1: {"x": values(n // scale)}


def index_inputs(n, kind):
    return lambda scale=1: {"x": values(n // scale, scale="* 99", kind=kind),
                            "i": values(n // scale, scale=f"* {n // scale}", kind="i32")}


# Works whose kernels exchange values through memory: without the flags of their barriers they race.
FENCED = ["sum", "cumulative_sum", "softmax", "layer_norm", "random_mean", "sort", "scatter_add", "matmul", "attention", "conv"]
N = 65536
CASES = [
    Case("chain", "BYTE", "maximum(sqrt(abs(x * y + z)) - x, y)",
         lambda scale=1: {name: values(N) for name in "xyz"}, 16 * N, 16 * N),
    Case("copy", "BYTE", f"concat([x[{N // 2}:], x[:{N // 2}]])", vector(N), 8 * N, 8 * N),
    Case("triad", "BYTE", "x + 3 * y", lambda scale=1: {"x": values(N), "y": values(N)}, 12 * N, 12 * N),
    Case("sum", "BYTE", "sum(x)", vector(8 * N), 32 * N, 32 * N),
    Case("cumulative_sum", "BYTE", "cumulative_sum(x)", vector(2 * N), 16 * N, 16 * N),
    Case("softmax", "BYTE", "softmax(x)", lambda scale=1: {"x": values(64, 1000)}, 8 * 64000, 8 * 64000),
    Case("layer_norm", "BYTE", "layer_norm(x, w, b)",
         lambda scale=1: {"x": values(64, 1000), "w": values(1000), "b": values(1000)}, 8 * 64000, 8 * 64000),
    Case("max_pool", "BYTE", "max_pool2d(x, [2, 2])", lambda scale=1: {"x": values(2, 8, 56, 56)}, 5 * 50176, 5 * 50176),
    Case("random_mean", "ELEMENT", "mean(uniform(key(0), [512, 512]))", lambda scale=1: {}, 0, 512 * 512),
    Case("sort", "ELEMENT", "sort(x)", vector(2 * N), 16 * N, 2 * N, less=2),
    Case("gather", "BYTE", "take(x, i, 0)", index_inputs(N, "f32"), 12 * N, 12 * N),
    Case("scatter_add", "BYTE", "scatter_add(x * 0, i, x, 0)", index_inputs(2 * N, "i32"), 24 * N, 24 * N, less=2),
    Case("matmul", "FLOP", "x @ y", lambda scale=1: {"x": values(256, 256), "y": values(256, 256)}, 12 * 256**2, 2 * 256**3),
    Case("attention", "FLOP", "scaled_dot_product_attention(q, k, v)",
         lambda scale=1: {name: values(2, 128, 64) for name in "qkv"}, 16 * 2 * 128 * 64, 4 * 2 * 128 * 128 * 64),
    Case("conv", "FLOP", "conv2d(x, w, padding=1)", lambda scale=1: {"x": values(1, 64, 28, 28), "w": values(64, 64, 3, 3)},
         4 * (2 * 784 * 64 + 64 * 64 * 9), 2 * 784 * 64 * 64 * 9),
]


def command(case, scale=1):
    inputs = case.inputs(scale)
    text = "".join(f"{name} = {value}; " for name, value in inputs.items()) + case.program
    return ["eval", *([] if inputs else ["--device", "metal"]), text]


def launches(case, scale):
    """The rows of counts of one evaluation."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".counts") as file:
        done = run(*command(case, scale), METALSIM_COUNTS=file.name, METALSIM_CACHE=CACHE, METALSIM_RACES=1)
        if done.returncode:
            raise RuntimeError(f"{case.work}: {done.stderr}")
        return [line.split() for line in file.read().splitlines()]


def total(rows):
    """different bytes, all bytes, FLOPs, instructions, those of matrices, bytes of threadgroup memory"""
    number = [[int(word) for word in row[1:]] for row in rows]
    return [sum(r[5] + r[6] for r in number), sum(r[3] + r[4] for r in number), sum(r[9] for r in number),
            sum(r[10] for r in number), sum(r[11] for r in number), sum(r[7] + r[8] for r in number)]


def counted(case):
    """The row of a work: kernels, minimum of an element, moved, requested, flops, instructions, those of matrices, bytes
    of threadgroup memory that are moved, and that are taken, threads."""
    rows = launches(case, 1)
    sums, part = total(rows), 1
    if case.less:
        part = 1 - 1 / case.less
        sums = [a - b for a, b in zip(sums, total(launches(case, case.less)))]
    names = list(dict.fromkeys(row[0] for row in rows))
    most = max(rows, key=lambda row: (int(row[3]), int(row[2])))
    minimum, units = case.minimum * part, case.units * part
    moved = [max(1, s / minimum) if minimum else 0 for s in sums[:2]]  # a random gather does not touch all of its input
    return (" ".join(names), case.minimum / case.units if case.unit == "ELEMENT" else 0, *moved, sums[2] / units,
            sums[3] / units, sums[4] / units, sums[5] / units, int(most[3]), int(most[2]))


# ---- the file and the document --------------------------------------------------------------------


def row_text(case, row):
    numbers = ", ".join(f"{x:.4g}" for x in row[1:8])
    return f'COUNTED({case.work}, "{row[0]}", {case.unit}, {numbers}, {row[8]}, {row[9]})'


def read_rows(text):
    pattern = r'^COUNTED\((\w+), "([^"]*)", (\w+), ([^)]*)\)$'
    return {work: (unit, kernels, [float(x) for x in numbers.split(",")])
            for work, kernels, unit, numbers in re.findall(pattern, text, re.M)}


def read_chips(text):
    found = re.findall(r'^CHIP\("([^"]+)", (\d+), (\d+), ([\d.]+)\)$', text, re.M)
    return [(name, int(cores), float(clock) * 1e6, float(rate) * 1e9) for name, cores, clock, rate in found]


def fraction(chip, row):
    """The expected part of the peak: of the bandwidth, or of the FLOP/s. The unit's own minimum is 1."""
    unit, _, (minimum, moved, _, _, instructions, matrix, shared_moved, *_) = row
    _, cores, clock, bandwidth = chip
    rate = cores * LANES * clock
    arithmetic = max(((instructions - matrix) / INSTRUCTION_SHARE + matrix / MATRIX_SHARE) / rate,
                     shared_moved / (MEMORY_SHARE * SHARED_BYTES * cores * clock))
    if unit == "FLOP":  # of large ones: their bytes do not matter
        return 1 / (2 * rate) / arithmetic
    least = (minimum if unit == "ELEMENT" else 1) / bandwidth
    return least / max(least * moved / MEMORY_SHARE, arithmetic) if least else INSTRUCTION_SHARE


def in_core(shared, threads):
    return min(CORE_THREADS // threads, CORE_SHARED // shared if shared else math.inf) * threads


def tables(text):
    chips, rows = read_chips(text), read_rows(text)
    out = ["| work of bench | kernels | moved / minimum | requested / minimum | FLOP | instructions | of matrices | threadgroup bytes | "
           "for each | threadgroup memory | threads | in a core |", "|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|"]
    for work, (unit, kernels, (_, moved, requested, flops, instructions, matrix, local, shared, threads)) in rows.items():
        bytes_text = [f"{x:.3g}" if x else "no memory" for x in (moved, requested)]
        out.append(f"| {work} | {kernels} | {bytes_text[0]} | {bytes_text[1]} | {flops:.3g} | {instructions:.3g} | {matrix:.3g} | {local:.3g} | "
                   f"{unit.lower()} | {shared:.0f} | {threads:.0f} | {in_core(int(shared), int(threads))} |")
    out += ["", "| chip | GPU cores | clock | f32 peak | bandwidth |", "|---|--:|--:|--:|--:|"]
    for name, cores, clock, bandwidth in chips:
        out.append(f"| {name[6:]} | {cores} | {clock / 1e6:.0f} MHz | {2e-12 * cores * LANES * clock:.2f} TFLOP/s | "
                   f"{bandwidth / 1e9:.0f} GB/s |")
    out += ["", "| expected part of the peak | of | " + " | ".join(chip[0][6:] for chip in chips) + " |",
            "|---|---|" + "--:|" * len(chips)]
    for work, row in rows.items():
        of = "FLOP/s" if row[0] == "FLOP" else "bandwidth" if row[0] == "BYTE" or row[2][0] else "instructions"
        out.append(f"| {work} | {of} | " + " | ".join(f"{100 * fraction(chip, row):.0f} %" for chip in chips) + " |")
    return "\n".join(out) + "\n"


def with_rows(text, rows):
    kept = re.sub(r"^COUNTED\(\w+, \"[^\n]*\n", "", text, flags=re.M)
    at = kept.index("/* clang-format on */")
    return kept[:at].rstrip("\n") + "\n\n" + "\n".join(rows) + "\n" + kept[at:]


def with_tables(document, text):
    before, rest = document.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END)[1]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check_fences():
    """The negative control of the check for races."""
    for case in CASES:
        done = run(*command(case), METALSIM_CACHE=CACHE, METALSIM_RACES=1, METALSIM_FLAGS=0)
        races = done.returncode != 0 and "a race" in done.stderr
        check(f"{case.work}: {'a race' if case.work in FENCED else 'no race'} where barriers order no memory",
              races == (case.work in FENCED), done.stderr)


def near(which, a, b):
    tolerance = INSTRUCTION_TOLERANCE if which == INSTRUCTIONS else TOLERANCE
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + 0.002


def main():
    if not READY:
        skip("counts of kernels", "clang 16 or newer is needed")
        finish()
    os.makedirs(CACHE, exist_ok=True)
    prepare(*[command(case) for case in CASES], METALSIM_CACHE=CACHE, METALSIM_COUNTS="/dev/null")
    if "--write" in sys.argv:
        text = with_rows(read(DEFINITIONS), [row_text(case, counted(case)) for case in CASES])
        write(DEFINITIONS, text)
        write(DOCUMENT, with_tables(read(DOCUMENT), tables(text)))
        return
    text = read(DEFINITIONS)
    rows = read_rows(text)
    check("the table has all works", set(rows) == {case.work for case in CASES})
    for case in CASES:
        unit, kernels, numbers = rows.get(case.work, ("", "", []))
        row = counted(case)
        same = unit == case.unit and kernels == row[0] and len(numbers) == COUNTS and all(map(near, range(COUNTS), numbers, row[1:]))
        check(f"{case.work}: counts are those of expected.def", same,
              f"{unit} {kernels} {numbers}\ncounted: {row}\ncheck_counts.py --write updates the file and docs/METAL.md")
    check_fences()
    check("docs/METAL.md has the table", read(DOCUMENT) == with_tables(read(DOCUMENT), tables(text)))
    finish()


if __name__ == "__main__":
    main()
