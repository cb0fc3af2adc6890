#!/bin/sh
# Checks that nvcc accepts kernels/math.cuh without a warning about it, for every function of the op table's
# expressions, and that an NVIDIA GPU, if there is one, gives the CPU's bits. Skipped, and said so, where there is no nvcc. (That our own front end runs it with the same bits is
# tests/unit/test_kernel_math.c.)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if ! [ -x "$nvcc" ]; then
    echo "skipped: nvcc is not installed"
    exit 0
fi
{
    echo '#include "math.cuh"'
    for real in float double; do
        echo "__global__ void all_$real($real *d, const $real *a, const $real *b)"
        echo "{"
        sed -n 's/^static __device__ inline R m_\([a-z0-9_]*\)(R x) .*/    d[0] += m_\1(a[0]);/p
                s/^static __device__ inline R m_\([a-z0-9_]*\)(R x, R y) .*/    d[0] += m_\1(a[0], b[0]);/p
                s/^static __device__ inline int m_\([a-z0-9_]*\)(R x) .*/    d[0] += m_\1(a[0]);/p' \
            "$here/../../kernels/math_each.cuh"
        echo "}"
    done
} > "$work/all.cu"
"$nvcc" -fmad=false -arch=sm_90 -I"$here/../../kernels" -c -o "$work/all.o" "$work/all.cu" 2> "$work/log" || {
    cat "$work/log"
    exit 1
}
# Functions that nobody calls are no news.
if grep -v '177-D' "$work/log" | grep -q 'warning\|error'; then
    cat "$work/log"
    exit 1
fi
echo "nvcc: $(grep -c ' m_' "$work/all.cu") calls compiled"

if ! nvidia-smi > /dev/null 2>&1; then
    echo "skipped: there is no NVIDIA GPU to run them"
    exit 0
fi
include="-I$here/../../kernels -I$here/../../src -I$here/../.. -I$here"
# shellcheck disable=SC2086
"$nvcc" -w -O2 -fmad=false -arch=native $include -o "$work/gpu" "$here/vmath_bits.cu"
# shellcheck disable=SC2086
gcc -std=gnu11 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off $include -o "$work/cpu" \
    "$here/vmath_bits.c" -lm
"$work/cpu" > "$work/cpu.txt"
"$work/gpu" > "$work/gpu.txt"
if ! diff "$work/cpu.txt" "$work/gpu.txt"; then
    echo "the GPU's bits differ from the CPU's"
    exit 1
fi
echo "same bits on CPU and GPU: $(wc -l < "$work/gpu.txt") functions, f32 and f64"
