#pragma once
#include "../include/offset.cuh"

template <typename T> __global__ void twice(T *x) { *x = add_to(*x, *x); }

template <typename T> T run_twice(T *d)
{
    T h;
    twice<T><<<1, 1>>>(d);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}
