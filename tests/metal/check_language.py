#!/usr/bin/env python3
"""The strict check of the shading language: mistakes that Metal refuses are refused, and what Metal allows is not."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "sim"))
sys.path.insert(0, os.path.dirname(HERE))
import msl  # noqa: E402  pylint: disable=wrong-import-position
from support.tally import check, finish, skip  # noqa: E402  pylint: disable=wrong-import-position

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n\n"
MATRIX = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n\n"


def kernel(body, parameters="device float *x [[buffer(0)]]", head=HEAD):
    return f"{head}kernel void k({parameters})\n{{\n    {body}\n}}\n"


# Bodies that Metal refuses.
BAD_BODIES = [
    "thread float *p = x;", "threadgroup float *p = x;", "device int *p = x;", "float *p = x;",
    "double d = 1.0;", "long long n = 1;", "goto end; end: x[0] = 1;", "x[0] = erf(x[0]);", "x[0] = exp(1);",
    "threadgroup_barrier();", "uint u = as_type<uint>(1l);",
    "atomic_fetch_add_explicit(x, 1.0f, memory_order_relaxed);", "device atomic_ulong *a;", "x[0] = printf(\"a\");",
    "x[0] = max(1, 2u);", "x[0] = fmax(1.0h, 2.0f);", "float y = float2(1.0f, 2.0f);", "x[0] = simd_shuffle(1l, 0);",
    "simdgroup_matrix<float, 8, 8> m;", "int i = 0; device int *p = (device int *)&i;", "x[0] = missing(1.0f);",
    "auto f = [=](float y) { return y; };", "throw 1;",
]
# Whole sources that Metal refuses.
BAD_SOURCES = [
    kernel("", "device float *x [[buffer(31)]]"), kernel("", "device float *x [[buffer(0)]], device float *y [[buffer(0)]]"),
    kernel("", "device float *x"), kernel("", "thread float *x [[buffer(0)]]"), kernel("", "float x [[buffer(0)]]"),
    kernel("", "uint3 lane [[thread_index_in_simdgroup]]"), kernel("", "float i [[thread_position_in_grid]]"),
    kernel("", "uint3 i [[no_such_position]]"),
    kernel("", "uint3 i [[thread_position_in_grid]], uint g [[threadgroup_position_in_grid]]"),
    kernel("x[0] = 1;", "constant float *x [[buffer(0)]]"), kernel("", "threadgroup float *x [[buffer(0)]]"),
    "#define N 3\n" + kernel(""), HEAD + "void f() {}\n",
    kernel("simdgroup_matrix<float, 4, 4> m;", head=MATRIX),
]
# Bodies that Metal accepts.
GOOD_BODIES = [
    "threadgroup float s[32];\n    s[0] = x[0];\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n    x[0] = s[0];",
    "x[0] = fma(x[0], 2.0f, 1.0f) + sqrt(x[1]) + float(half(x[2]));",
    "atomic_fetch_add_explicit((device atomic_uint *)x, 1u, memory_order_relaxed);",
    "float4 v = float4(x[0], x[1], x[2], x[3]);\n    x[0] = v.x + v.w;", "x[0] = as_type<float>(uint(1) << 3);",
    "threadgroup_barrier(mem_flags::mem_none);", "thread float y = x[0];\n    thread float *p = &y;\n    x[0] = *p;", "x[0] = simd_shuffle(x[0], 3);",
]


def refused(clang, source):
    try:
        text, _ = msl.translate("check", source)
    except msl.Wrong as wrong:
        return str(wrong)
    return msl.compile_only(clang, text)


def main():
    clang = msl.find_clang()
    if not clang:
        skip("the strict check", "clang 16 or newer is needed")
        finish()
    for body in BAD_BODIES:
        check(f"'{body}' is refused", refused(clang, kernel(body)))
    for source in BAD_SOURCES:
        check(f"'{source}' is refused", refused(clang, source))
    for body in GOOD_BODIES:
        said = refused(clang, kernel(body))
        check(f"'{body}' is accepted", not said, said or "")
    said = refused(clang, kernel("simdgroup_matrix<float, 8, 8> m;\n    simdgroup_load(m, x, 8);\n"
                                 "    simdgroup_store(m, x, 8);", head=MATRIX))
    check("simdgroup matrices are accepted", not said, said or "")
    finish()


if __name__ == "__main__":
    main()
