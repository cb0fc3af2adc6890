// Runs the cases that CASES(X) names on the device and on the host, and compares what they recorded.
#include "cases.h"

HD void run_all(Out *out)
{
    int n = 0;
    CASES(RUN_CASE)
}

__global__ void run(Out *out) { run_all(out); }

static int run_cases()
{
    static const char *const names[] = {CASES(NAME_CASE)};
    static Out host[sizeof names / sizeof *names], device[sizeof names / sizeof *names];
    Out *d;
    cudaMalloc(&d, sizeof device);
    cudaMemset(d, 0, sizeof device);
    run<<<1, 1>>>(d);
    if (cudaMemcpy(device, d, sizeof device, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    run_all(host);
    cudaFree(d);
    return compare(names, host, device, sizeof names / sizeof *names);
}
