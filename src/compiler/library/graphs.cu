/* The condition of a node of a graph: a handle is its address. */
typedef unsigned long long cudaGraphConditionalHandle;

__device__ inline void cudaGraphSetConditional(cudaGraphConditionalHandle ig_handle, unsigned ig_value)
{
    *(unsigned *)ig_handle = ig_value;
}
