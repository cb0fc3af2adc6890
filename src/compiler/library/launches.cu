/* Launches by kernels. A launch is a row: this head, then the arguments as CUDA packs them. Rows wait until the grid that
 * made them ends; then the module runs them (src/engine/module/children.c), which knows the head and the variables. */
struct CUstream_st;
struct CUevent_st;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchMaxDepthExceeded = 65,
    cudaErrorLaunchPendingCountExceeded = 69
};
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };
constexpr cudaStream_t cudaStreamTailLaunch = (cudaStream_t)3, cudaStreamFireAndForget = (cudaStream_t)4;

struct ig_launch_head {
    unsigned long long ig_kernel;
    unsigned ig_grid[3], ig_block[3];
    unsigned long long ig_shared, ig_bytes; /* bytes: of the row */
    unsigned ig_is_tail, ig_unused[3];
};
__device__ unsigned long long ig_launch_used; /* bytes */
__device__ unsigned ig_launch_depth, ig_launch_error, ig_launch_streams;
__device__ ulonglong2 ig_launch_rows[1 << 20];

__device__ inline void ig_launch_fail(cudaError_t ig_error) { atomicCAS(&ig_launch_error, 0u, (unsigned)ig_error); }

/* A row for the arguments; null if it cannot be launched. */
__device__ inline char *ig_launch_row(unsigned long long ig_kernel, dim3 ig_grid, dim3 ig_block, unsigned long ig_shared,
                                      cudaStream_t ig_stream, unsigned long long ig_bytes)
{
    const unsigned long long ig_all = (sizeof(ig_launch_head) + ig_bytes + 15) / 16 * 16;
    const unsigned long long ig_threads = (unsigned long long)ig_block.x * ig_block.y * ig_block.z;
    if (!ig_grid.x || !ig_grid.y || !ig_grid.z || ig_grid.y > 65535 || ig_grid.z > 65535 || ig_grid.x > 0x7fffffff ||
        !ig_threads || ig_block.x > 1024 || ig_block.y > 1024 || ig_block.z > 64 || ig_threads > 1024) {
        ig_launch_fail(cudaErrorInvalidConfiguration);
        return nullptr;
    }
    if (ig_launch_depth >= 24) {
        ig_launch_fail(cudaErrorLaunchMaxDepthExceeded);
        return nullptr;
    }
    const unsigned long long ig_offset = atomicAdd(&ig_launch_used, ig_all);
    if (ig_offset + ig_all > sizeof ig_launch_rows) {
        atomicAdd(&ig_launch_used, 0 - ig_all);
        ig_launch_fail(cudaErrorLaunchPendingCountExceeded);
        return nullptr;
    }
    ig_launch_head *ig_head = (ig_launch_head *)(ig_launch_rows + ig_offset / 16);
    ig_head->ig_kernel = ig_kernel;
    ig_head->ig_grid[0] = ig_grid.x;
    ig_head->ig_grid[1] = ig_grid.y;
    ig_head->ig_grid[2] = ig_grid.z;
    ig_head->ig_block[0] = ig_block.x;
    ig_head->ig_block[1] = ig_block.y;
    ig_head->ig_block[2] = ig_block.z;
    ig_head->ig_shared = ig_shared;
    ig_head->ig_bytes = ig_all;
    ig_head->ig_is_tail = ig_stream == cudaStreamTailLaunch;
    return (char *)(ig_head + 1);
}

__device__ inline void ig_launch_put(char *ig_at, unsigned long ig_offset) {}

template <typename ig_t, typename... ig_more>
__device__ inline void ig_launch_put(char *ig_at, unsigned long ig_offset, ig_t ig_value, ig_more... ig_rest)
{
    ig_offset = (ig_offset + alignof(ig_t) - 1) / alignof(ig_t) * alignof(ig_t);
    *(ig_t *)(ig_at + ig_offset) = ig_value;
    ig_launch_put(ig_at, ig_offset + sizeof(ig_t), ig_rest...);
}

template <typename... ig_t>
__device__ inline void ig_launch(unsigned long long ig_kernel, unsigned long long ig_bytes, dim3 ig_grid, dim3 ig_block,
                                 unsigned long ig_shared, cudaStream_t ig_stream, ig_t... ig_args)
{
    char *ig_at = ig_launch_row(ig_kernel, ig_grid, ig_block, ig_shared, ig_stream, ig_bytes);
    if (ig_at)
        ig_launch_put(ig_at, 0, ig_args...);
}

__device__ inline cudaError_t cudaPeekAtLastError() { return (cudaError_t)*(volatile unsigned *)&ig_launch_error; }
__device__ inline cudaError_t cudaGetLastError() { return (cudaError_t)atomicExch(&ig_launch_error, 0u); }

__device__ inline const char *cudaGetErrorString(cudaError_t ig_error)
{
    return ig_error == cudaSuccess                           ? "no error"
           : ig_error == cudaErrorInvalidValue               ? "invalid argument"
           : ig_error == cudaErrorMemoryAllocation           ? "out of memory"
           : ig_error == cudaErrorInvalidConfiguration       ? "invalid configuration argument"
           : ig_error == cudaErrorLaunchMaxDepthExceeded     ? "launch would exceed maximum depth of nested launches"
           : ig_error == cudaErrorLaunchPendingCountExceeded ? "launch failed because of the limit of pending launches"
                                                             : "unrecognized error code";
}

/* Grids of one parent run one after the other in the order of their launches, so streams and events need no work. */
__device__ inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ig_stream, unsigned ig_flags)
{
    *ig_stream = (cudaStream_t)(16ull + atomicAdd(&ig_launch_streams, 1u));
    return cudaSuccess;
}
__device__ inline cudaError_t cudaStreamDestroy(cudaStream_t ig_stream) { return cudaSuccess; }
__device__ inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ig_event, unsigned ig_flags)
{
    *ig_event = (cudaEvent_t)(16ull + atomicAdd(&ig_launch_streams, 1u));
    return cudaSuccess;
}
__device__ inline cudaError_t cudaEventRecord(cudaEvent_t ig_event, cudaStream_t ig_stream = nullptr) { return cudaSuccess; }
__device__ inline cudaError_t cudaStreamWaitEvent(cudaStream_t ig_stream, cudaEvent_t ig_event, unsigned ig_flags = 0) { return cudaSuccess; }
__device__ inline cudaError_t cudaEventDestroy(cudaEvent_t ig_event) { return cudaSuccess; }
__device__ inline cudaError_t cudaGetDevice(int *ig_device)
{
    *ig_device = 0;
    return cudaSuccess;
}
__device__ inline cudaError_t cudaGetDeviceCount(int *ig_n)
{
    *ig_n = 1;
    return cudaSuccess;
}

template <typename ig_t> __device__ inline cudaError_t cudaMalloc(ig_t **ig_at, unsigned long ig_bytes)
{
    *ig_at = (ig_t *)malloc(ig_bytes);
    return *ig_at || !ig_bytes ? cudaSuccess : cudaErrorMemoryAllocation;
}
__device__ inline cudaError_t cudaFree(void *ig_at)
{
    free(ig_at);
    return cudaSuccess;
}
