# The host side of whole CUDA programs: which headers and compilers they are built with, what is refused in one
# line, and that nothing is left behind when a run is ended from outside.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'the host side of CUDA programs'
ingot=$(realpath "$ingot")
mkdir -p "$temporary/work/sub/inner" "$temporary/work/mine" "$temporary/tmp"
cd "$temporary/work" || exit 1
export TMPDIR=$temporary/tmp

# gives CODE OUTPUT WORDS...: exit code and standard output and error of ingot run.
gives() {
    local code=$1 expected=$2 output got
    shift 2
    output=$("$ingot" run "$@" 2>&1)
    got=$?
    echo "exit code $got: $output"
    [ $got = "$code" ] && [[ "$output" == $expected ]]
}
nothing_left() { [ -z "$(ls "$TMPDIR")" ] || { ls -R "$TMPDIR"; return 1; }; }

# ---- headers ----

cat >helpers.cu <<'CUDA'
#include <helper_cuda.h>
#include "helper_string.h"
#include "cuda_types.h"
#include <cstdio>
__global__ void k(int *x) { *x = MINE; }
int main()
{
    int *x;
    checkCudaErrors(cudaMallocManaged(&x, 4));
    k<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    printf("%d %d %s\n", *x, helper_of_mine(), types_of_mine);
}
CUDA
cat >mine/helper_cuda.h <<'CUDA'
#pragma once
#include <cuda_runtime.h>
#define checkCudaErrors(call) (call)
#define MINE 41
CUDA
echo 'static int helper_of_mine() { return 42; }' >mine/helper_string.h
echo 'static const char types_of_mine[] = "mine";' >cuda_types.h
check "the program's folders come before our helpers" gives 0 '41 42 mine' -I mine helpers.cu
mkdir toolkit
echo '#error this is not for us' | tee toolkit/cuda_runtime_api.h >toolkit/cuda_runtime.h
check "CUDA's own folder is left out" gives 0 '41 42 mine' -I toolkit -I mine helpers.cu
cat >ours.cu <<'CUDA'
#include "helper_cuda.h"
#include <helper_functions.h>
#include <cstdio>
int main(int argc, char **argv)
{
    checkCudaErrors(cudaSetDevice(findCudaDevice(argc, (const char **)argv)));
    StopWatchInterface *timer = NULL;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    cudaDeviceSynchronize();
    sdkStopTimer(&timer);
    const float once = sdkGetTimerValue(&timer);
    puts(once > 0 && sdkGetAverageTimerValue(&timer) == once ? "ours" : "no time has passed");
    sdkResetTimer(&timer);
    if (sdkGetTimerValue(&timer) != 0)
        puts("not reset");
    sdkDeleteTimer(&timer);
}
CUDA
check 'our helpers, where the program has none' gives 0 ours ours.cu

echo '#pragma once
struct once { int x; };' >sub/once.h
echo '#include "../once.h"' >sub/inner/second.h
cat >once.cu <<'CUDA'
#include "sub/once.h"
#include "sub/inner/second.h"
#include <cstdio>
int main() { printf("%d\n", (int)sizeof(once)); }
CUDA
check 'one header by two names' gives 0 4 once.cu

# ---- virtual memory, which programs on NVIDIA GPUs do not have here ----

cat >virtual.cu <<'CUDA'
#include <cstdio>
#include <cuda.h>
__global__ void put(int *x, int value) { *x = value; }
int main()
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t n;
    cuMemGetAllocationGranularity(&n, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CUdeviceptr range, larger;
    CUmemGenericAllocationHandle a, b;
    const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    int h[3];
    cuMemAddressReserve(&range, 2 * n, 0, 0, 0);
    cuMemCreate(&a, n, &prop, 0);
    cuMemCreate(&b, n, &prop, 0);
    cuMemMap(range, n, 0, a, 0);
    cuMemMap(range + n, n, 0, b, 0);
    cuMemSetAccess(range, 2 * n, &access, 1);
    put<<<1, 1>>>((int *)range, 7);
    put<<<1, 1>>>((int *)(range + n), 9);
    cuMemcpyDtoH(&h[0], range, 4);
    cuMemcpyDtoH(&h[1], range + n, 4);
    const int twice = cuMemMap(range + n, n, 0, a, 0), early = cuMemAddressFree(range, 2 * n);
    cuMemUnmap(range, 2 * n);
    cuMemAddressFree(range, 2 * n);
    cuMemAddressReserve(&larger, 4 * n, 0, 0, 0);
    cuMemMap(larger + 2 * n, n, 0, a, 0);
    cuMemcpyDtoH(&h[2], larger + 2 * n, 4);
    cuMemUnmap(larger + 2 * n, n);
    cuMemRelease(a);
    cuMemRelease(b);
    cuMemAddressFree(larger, 4 * n);
    printf("%d %d %d, %d %d %d\n", h[0], h[1], h[2], twice, early, cuMemUnmap(larger, n));
}
CUDA
check 'virtual memory moves with its bytes' gives 0 '7 9 7, 801 1 1' virtual.cu

# ---- compilers ----

cat >first.cu <<'CUDA'
#include "both.h"
__global__ void k(int *x) { *x = 6; }
int seven(void)
{
    int *x, n = 0;
    cudaMallocManaged(&x, 4);
    k<<<1, 1>>>(x);
    cudaDeviceSynchronize();
#pragma omp parallel num_threads(3)
#pragma omp atomic
    n++;
    return *x + n;
}
CUDA
cat >both.h <<'CUDA'
#ifdef __cplusplus
extern "C"
#endif
int seven(void);
CUDA
cat >second.c <<'C'
#include "both.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int class = seven(), *new = malloc(sizeof *new);
    *new = class;
    return printf("%d\n", *new) != 2;
}
C
check 'a file in C, which has main' gives 0 7 first.cu second.c
check 'main in the first file' gives 0 7 second.c first.cu
if echo '#include <omp.h>' | ${CXX:-c++} -fopenmp -x c++ -fsyntax-only - 2>/dev/null; then
    check '-fopenmp' gives 0 9 -fopenmp first.cu second.c
    check '-Xcompiler -fopenmp, and what nvcc takes' gives 0 9 -arch=sm_70 -Xcompiler -fopenmp,-O2 -std=c++17 \
        -rdc=true first.cu second.c
    check '-X -fopenmp' gives 0 9 -X -fopenmp first.cu second.c -- 64
else
    skip '-fopenmp' 'the compiler has none'
fi
cat >plain.c <<'C'
#include <cuda_runtime.h>
#include <stdio.h>
int run(int *at, int n);
int main(void)
{
    struct cudaDeviceProp p;
    int count = 0, values[4] = {1, 2, 3, 4}, *at = NULL;
    const float4 v = make_float4(1, 2, 3, 4);
    const dim3 one = {1, 1, 1};
    if (cudaGetDeviceCount(&count) != cudaSuccess || cudaSetDevice(0) || cudaGetDeviceProperties(&p, 0) ||
        cudaMalloc((void **)&at, sizeof values))
        return 1;
    cudaMemcpy(at, values, sizeof values, cudaMemcpyHostToDevice);
    if (run(at, 4))
        return 2;
    cudaMemcpy(values, at, sizeof values, cudaMemcpyDeviceToHost);
    cudaFree(at);
    printf("%d %d %d %g %u %s\n", count, p.warpSize, values[3], v.w, one.x, cudaGetErrorName(cudaSetDevice(3)));
    return cudaGetLastError() != cudaErrorInvalidDevice;
}
C
cat >launch.cu <<'CUDA'
__global__ void add(int *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 40; }
extern "C" int run(int *at, int n)
{
    add<<<1, 32>>>(at, n);
    return cudaDeviceSynchronize();
}
CUDA
called='1 32 44 4 1 cudaErrorInvalidDevice'
check 'a file in C that calls the runtime' gives 0 "$called" plain.c launch.cu
printf '#include <cuda.h>\nint main(void) { return 0; }\n' >driver.c
check 'a C file cannot call the driver API' gives 5 '*driver.c:1: C files can include only cuda_runtime.h of CUDA*' driver.c launch.cu
cat >named.cu <<'CUDA'
#include <stdio.h>
int main(int n, char **words) { for (int i = 1; i < n; i++) printf("%s ", words[i]); }
CUDA
check 'arguments that look like sources and options' gives 0 'absent.cu -X -fopenmp ' named.cu -- absent.cu -X -fopenmp
check '-X takes the next word' gives 0 '64 ' -X -O1 named.cu -- 64
check 'also before an option of nvcc' gives 0 '64 ' -X -fno-inline -arch=sm_70 named.cu 64
echo 'int main() { return GIVEN; }' >given.cu
CXX="env ${CXX:-c++} -DGIVEN=5" check 'CXX of several words' gives 5 '' given.cu
CXX='no-such-compiler -O1' check 'CXX that is not there' gives 4 "*no-such-compiler -O1' (CXX)*" given.cu

# .cpp files may use names of CUDA's.
cat >names.cpp <<'CPP'
struct float3 { float x, y, z; };
template <typename T> T max(T a, T b, T c) { return a > b ? a > c ? a : c : b > c ? b : c; }
float3 dim3 = {1, 2, 3};
int half() { return (int)max(dim3.x, dim3.y, dim3.z); }
CPP
cat >uses.cu <<'CUDA'
#include <cstdio>
int half();
__global__ void k() {}
int main() { printf("%d\n", half()); }
CUDA
check 'a C++ file has its own names' gives 0 3 uses.cu names.cpp

# Functions without a return statement: nvcc's default build survives them.
cat >no_return.cu <<'CUDA'
#include <cstdio>
__global__ void k(int *x) { *x = 3; }
int run(int *x)
{
    for (int i = 0; i < 2; i++)
        k<<<1, 1>>>(x + i);
}
int main()
{
    int *x;
    cudaMallocManaged(&x, 8);
    run(x);
    cudaDeviceSynchronize();
    printf("%d %d\n", x[0], x[1]);
}
CUDA
check 'a function without a return statement' gives 0 '3 3' no_return.cu

# ---- refused in one line ----

# refused TEXT PROGRAM: a line with the text in it, perhaps with advice in a second one, and exit code 5.
refused() {
    local output got
    output=$("$ingot" run "$2" 2>&1)
    got=$?
    echo "exit code $got: $output"
    [ $got = 5 ] && [ "$(echo "$output" | wc -l)" -le 2 ] && [[ "$output" == *"$1"* ]]
}
program() { printf '#include <cuda.h>\n%s\n__global__ void k() {}\nint main()\n{\n    %s\n}\n' "$2" "$3" >"$1"; }
program graph.cu '' 'cudaGraphDebugDotPrint(0, "g.dot", 0);'
program texture.cu 'texture<float, 2> t;' 'cudaBindTexture(0, t, 0, 0);'
program driver.cu '' 'CUgraph g; cuGraphCreate(&g, 0);'
program library.cu '#include <thrust/async/sort.h>' ''
program functor.cu '#include <thrust/device_vector.h>
#include <thrust/for_each.h>
struct add { int *p; __device__ void operator()(int i) const { atomicAdd(p, i); } };' \
    'thrust::device_vector<int> v(3); thrust::for_each(v.begin(), v.end(), add{v.data().get()});'
program blas.cu '#include <cublas_v2.h>' 'cublasHandle_t h; cublasCreate(&h);'
program call.cu '' 'cudaNoSuchCall(1);'
check 'a part of CUDA graphs' refused 'graph.cu:6: this part of CUDA graphs is not supported (cudaGraphDebugDotPrint' graph.cu
check 'texture references' refused 'texture.cu:2: texture references, mipmaps and views are not supported' texture.cu
check 'the driver API' refused 'driver.cu:6: this part of the CUDA driver API is not supported' driver.cu
check 'a header of Thrust that is not here' refused 'library.cu:2:10: error: ' library.cu
program old.cu '' 'return 0;'
check 'an older standard means C++17' gives 0 '*' -std=c++11 old.cu
check 'a functor of Thrust with atomics' gives 134 '*functions of algorithms run on the host here*' functor.cu
check 'cuBLAS' refused 'blas.cu:2:10: error: ' blas.cu
check 'a call that is not here' refused 'is not supported (cudaNoSuchCall)' call.cu
program own.cu '' 'graph_of_mine(3);'
check "the program's own mistakes are the compiler's to tell" gives 5 '*graph_of_mine*did not compile*' own.cu

# ---- kernels as functions of the host ----

cat >parameters.cu <<'CUDA'
#include <cstdio>
template <typename T> __global__ void add(const T &x, T *y, int, const float *) { *y += x; }
template <typename T> __global__ void which(T *x) { *x = 1; }
template <> __global__ void which(float *x) { *x = 2; }
int main()
{
    int *x;
    float *f;
    cudaMallocManaged(&x, 8);
    cudaMallocManaged(&f, 8);
    x[0] = 3;
    x[1] = 4;
    add<<<1, 1>>>(x[0], x + 1, 0, f);
    which<<<1, 1>>>(f);
    which<<<1, 1>>>(x);
    const cudaError_t error = cudaDeviceSynchronize();
    printf("%d %d %g %s\n", x[0], x[1], f[0], cudaGetErrorString(error));
}
CUDA
check 'references, parameters without names, deduced specializations' gives 0 '1 7 2 no error' parameters.cu

# ---- what is left behind ----

cat >waits.cu <<'CUDA'
#include <cstdio>
#include <unistd.h>
__global__ void k() {}
int main()
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        sleep(1);
}
CUDA
# A compiler that starts a process of its own, leaves a file, and does not end.
cat >slow-compiler <<'SH'
#!/bin/sh
case "$*" in *--version*) exit ;; esac
touch "$TMPDIR/left.s"
sh -c 'echo $$ >started; exec sleep 1000'
SH
chmod +x slow-compiler

gone() { # a process that ended and was not yet collected is gone, too
    local i
    for i in $(seq 600); do
        [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null && return
        [ -d /proc/self ] || kill -0 "$1" 2>/dev/null || return
        sleep 0.1
    done
    return 1
}
# ended SIGNAL CODE FILE: the process whose number appears in the file is gone, and so are our files.
ended() {
    local signal=$1 code=$2 file=$3 command started i got
    shift 3
    rm -f "$file"
    set -m # background processes do not ignore SIGINT
    if [ "$file" = started ]; then
        CXX=$PWD/slow-compiler "$ingot" run -D SIGNAL="$signal" waits.cu >printed &
    else
        "$ingot" run waits.cu >"$file" &
    fi
    command=$!
    for i in $(seq 3000); do
        [ -s "$file" ] && break
        sleep 0.1
    done
    started=$(cat "$file")
    kill -s "$signal" "$command"
    wait "$command"
    got=$?
    echo "exit code $got, process $started"
    [ $got = "$code" ] && [ -n "$started" ] && gone "$started" && nothing_left
}
check 'SIGTERM ends the program' ended TERM 143 printed
check 'SIGINT ends the program' ended INT 130 printed
# Under nohup the signal is ignored, and children inherit that.
ignored=$(sed -n 's/^SigIgn:[^0-9a-f]*//p' /proc/self/status 2>/dev/null)
if ((0x${ignored:-0} & 1)); then
    skip 'SIGHUP ends the program' 'SIGHUP is ignored here'
else
    check 'SIGHUP ends the program' ended HUP 129 printed
fi
check 'SIGTERM ends the compiler' ended TERM 143 started
check 'SIGINT ends the compiler' ended INT 130 started

echo '#include <cstdio>
int main() { for (int i = 0; i < 100000; i++) puts("many lines of text"); }' >prints.cu
closed_pipe() { "$ingot" run "$@" | head -n 1 | grep . && nothing_left; }
check 'a closed pipe' closed_pipe prints.cu
check 'a closed pipe, JSON' closed_pipe --json prints.cu
full_disk() {
    local output
    output=$( (ulimit -f 4; "$ingot" run -D FULL waits.cu) 2>&1)
    echo "exit code $?: $output"
    [[ "$output" == *'cannot write'* ]] && nothing_left
}
check 'a full disk' full_disk
check 'nothing is left' nothing_left
finish
