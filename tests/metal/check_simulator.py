#!/usr/bin/env python3
"""What the simulator does as a GPU does: it contracts unless a pragma forbids it, flushes subnormal numbers when asked, holds
barriers to their mem_flags, and moves simdgroup matrices as Apple's library does."""
import os
import struct
import tempfile

from gpu import Gpu, Refused
from simulated import READY
from support.tally import check, finish, skip

HEAD = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\n%susing namespace metal;\n\n"
METAL, CLANG = "#pragma METAL fp contract(off)\n", "#pragma clang fp contract(off)\n"
ARITHMETIC = """static float product(float a, float b)
{
    return a * b;
}

kernel void arithmetic(device const float *x [[buffer(0)]], device float *y [[buffer(1)]])
{
    y[0] = x[0] * x[1] + x[2];
    const float p = x[0] * x[1];
    y[1] = p + x[2];
    y[2] = product(x[0], x[1]) + x[2];
    y[3] = x[3] * 0.5f;
    y[4] = x[4] + 0.0f;
}
"""
NEAR = 1 + 2.0**-12  # its square lies half way between two numbers, so that an fma gives 2^-24 and two roundings 0
LEAST, TINY = 2.0**-126, 2.0**-149
INPUT = struct.pack("<5f", NEAR, NEAR, -(1 + 2.0**-11), LEAST, TINY)

# Thread i stores and thread j loads; %s is what is between them.
EXCHANGE = """kernel void %s(device uint *x [[buffer(0)]], uint3 i [[thread_position_in_grid]])
{
    threadgroup uint s[64];
    %s
}

"""
FENCE = "threadgroup_barrier(mem_flags::mem_%s);"
SIMD = "simdgroup_barrier(mem_flags::mem_threadgroup);"
LOCAL, MEMORY = "s[i.x] = i.x; %s x[i.x] = s[%s];", "x[i.x] = i.x; %s uint y = x[%s]; threadgroup_barrier(mem_flags::mem_device); x[i.x] = y;"
OPPOSITE, NEIGHBOUR = "63 - i.x", "i.x ^ 1"
# The message about each kernel that has a race; None if it has none.
BARRIERS = [
    ("local_right", LOCAL % (FENCE % "threadgroup", OPPOSITE), None),
    ("local_missing", LOCAL % ("", OPPOSITE), "a race"),
    ("local_other_memory", LOCAL % (FENCE % "device", OPPOSITE), "mem_threadgroup"),
    ("local_none", LOCAL % (FENCE % "none", OPPOSITE), "mem_threadgroup"),
    ("local_both", LOCAL % ("threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);", OPPOSITE), None),
    ("memory_right", MEMORY % (FENCE % "device", OPPOSITE), None),
    ("memory_other", MEMORY % (FENCE % "threadgroup", OPPOSITE), "mem_device"),
    ("memory_none", MEMORY % (FENCE % "none", OPPOSITE), "mem_device"),
    ("simd_right", LOCAL % (SIMD, NEIGHBOUR), None),
    ("simd_too_small", LOCAL % (SIMD, OPPOSITE), "a race"),
    ("simd_none", LOCAL % ("simdgroup_barrier(mem_flags::mem_none);", NEIGHBOUR), "mem_threadgroup"),
    ("own_value", LOCAL % (FENCE % "none", "i.x"), None),
    ("read_first", "s[i.x] = i.x; %s uint y = s[63 - i.x]; %s s[i.x] = y; x[i.x] = y;" % (FENCE % "threadgroup", FENCE % "none"), None),
    ("read_unordered", "s[i.x] = i.x; %s uint y = s[63 - i.x]; s[i.x] = y; x[i.x] = y;" % (FENCE % "threadgroup"), "a race"),
    ("atomic", "atomic_fetch_add_explicit((device atomic_uint *)x, 1u, memory_order_relaxed); s[i.x] = i.x;", None),
]
MATRIX = """kernel void move(device const float *x [[buffer(0)]], device float *y [[buffer(1)]])
{
    simdgroup_matrix<float, 8, 8> m;
    simdgroup_load(m, x, 20, ulong2(%d, %d), %s);
    simdgroup_store(m, y, 20, ulong2(%d, %d), %s);
}
"""


def arithmetic(pragmas, **settings):
    """Which of one expression, two statements and a function were contracted; what became of subnormal numbers."""
    gpu = Gpu(**settings)
    y = bytearray(20)
    code = ARITHMETIC + "".join(f"// {key}\n" for key in settings)
    source = code.replace("kernel void", pragmas[5:] + "kernel void") if pragmas.startswith("late:") else HEAD % pragmas + code
    library = gpu.library(source if source.startswith("#include") else HEAD % "" + source)
    gpu.launch(gpu.pipeline(library, "arithmetic"), (1, 1, 1), (1, 1, 1), {0: bytearray(INPUT), 1: y})
    out = struct.unpack("<5f", y)
    return [value != 0 for value in out[:3]], list(out[3:])


def check_arithmetic(folder):
    for name, pragmas, contracted in [("Apple's pragma", METAL, False), ("clang's pragma", CLANG, False), ("both", METAL + CLANG, False),
                                      ("no pragma", "", True), ("a pragma after a function", "late:" + METAL, True)]:
        found, _ = arithmetic(pragmas)
        check(f"contraction with {name}", found == [contracted] * 3, str(found))
    found, _ = arithmetic(METAL + CLANG, METALSIM_CONTRACT=1, METALSIM_CACHE=folder)
    check("contraction by a compiler that knows no pragma", found == [True] * 3, str(found))
    _, kept = arithmetic(METAL)
    check("subnormal numbers are kept", kept == [LEAST / 2, TINY], str(kept))
    _, flushed = arithmetic(METAL, METALSIM_FLUSH=1)
    check("subnormal numbers are flushed", flushed == [0, 0], str(flushed))


def said_of(gpu, library, name):
    try:
        gpu.launch(gpu.pipeline(library, name), (1, 1, 1), (64, 1, 1), {0: bytearray(256)})
    except Refused as refused:
        return str(refused)
    return ""


def check_barriers(folder):
    gpu = Gpu(METALSIM_RACES=1, METALSIM_CACHE=folder)
    library = gpu.library(HEAD % METAL + "".join(EXCHANGE % (name, body) for name, body, _ in BARRIERS))
    for name, _, race in BARRIERS:
        said = said_of(gpu, library, name)
        check(f"barriers: {name}", ("a race" in said and race in said) if race else not said, said)
    os.environ["METALSIM_FLAGS"] = "0"
    check("a GPU without fences", "mem_threadgroup" in said_of(gpu, library, "local_right"))
    del os.environ["METALSIM_FLAGS"]


def check_matrices():
    """An element (row, column) of a matrix at the origin (x, y) is at [y + row][x + column]; transposed, at [x + column][y + row].
    So the origin is in the coordinates of the matrix, as in the library of metal-flash-attention."""
    gpu = Gpu()
    data = [float(i) for i in range(400)]
    for transposed in [(False, False), (False, True), (True, False), (True, True)]:
        load, store = (3, 5), (7, 1)
        words = [str(t).lower() for t in transposed]
        library = gpu.library(HEAD % METAL + MATRIX % (*load, words[0], *store, words[1]))
        y = bytearray(1600)
        gpu.launch(gpu.pipeline(library, "move"), (1, 1, 1), (32, 1, 1), {0: bytearray(struct.pack("<400f", *data)), 1: y})
        want = [0.0] * 400
        for row in range(8):
            for column in range(8):
                at = [(x + column) * 20 + y_ + row if t else (y_ + row) * 20 + x + column
                      for (x, y_), t in zip((load, store), transposed)]
                want[at[1]] = data[at[0]]
        check(f"a matrix is loaded and stored, transposed: {transposed}", list(struct.unpack("<400f", y)) == want)


def main():
    if not READY:
        skip("the simulator", "clang 16 or newer is needed")
        finish()
    with tempfile.TemporaryDirectory() as folder:
        check_arithmetic(os.path.join(folder, "contract"))
        check_barriers(os.path.join(folder, "races"))
    check_matrices()
    finish()


if __name__ == "__main__":
    main()
