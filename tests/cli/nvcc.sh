# ingot nvcc: options and files of nvcc's command line, and the build tools that call it: make, CMake, setup.py. The
# programs run on the CPU and, if it is there, on OpenCL.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'ingot nvcc'
ingot=$(realpath "$ingot")
mkdir -p "$temporary/project/inc" "$temporary/tmp"
cd "$temporary/project" || exit 1
export TMPDIR=$temporary/tmp
devices=cpu
"$ingot" devices 2>/dev/null | grep -q '^opencl:0' && devices='cpu opencl:0'

# gives CODE OUTPUT WORDS...: exit code and output of a command.
gives() {
    local code=$1 expected=$2 output got
    shift 2
    output=$("$@" 2>&1)
    got=$?
    echo "exit code $got: $output"
    [ $got = "$code" ] && [[ "$output" == $expected ]]
}
nvcc() { "$ingot" nvcc "$@"; }
# on_devices OUTPUT PROGRAM...: on each device.
on_devices() {
    local expected=$1 device
    shift
    for device in $devices; do
        echo "$device"
        IG_DEVICE=$device gives 0 "$expected" "$@" || return 1
    done
}

cat >main.cpp <<'CPP'
#include "inc/sum.h"
#include <cstdio>
#ifdef __CUDACC__
#error this is a file of the host
#endif
int main(int n, char **) { std::printf("%d %d\n", sum(4 + n), in_c(2)); }
CPP
cat >inc/sum.h <<'H'
#pragma once
#ifdef __cplusplus
extern "C"
#endif
int in_c(int x);
#ifdef __cplusplus
int sum(int n);
#endif
H
echo '#include "inc/sum.h"
int in_c(int class) { return class + OFFSET; }' >part.c
echo '__device__ int thrice(int n) { return FACTOR * n; }' >inc/thrice.cuh
cat >sum.cu <<'CUDA'
#include "inc/sum.h"
#include <thrice.cuh>
template <typename T, int B> __global__ void add(T *to, int n)
{
    if (threadIdx.x < n)
        atomicAdd(to, (T)thrice((int)threadIdx.x + B));
}
int sum(int n)
{
    int *at, result = 0;
    cudaMalloc(&at, sizeof *at);
    cudaMemset(at, 0, sizeof *at);
    add<int, 1><<<1, 32>>>(at, n);
    cudaMemcpy(&result, at, sizeof *at, cudaMemcpyDeviceToHost);
    cudaFree(at);
    return result;
}
CUDA
options='-O2 -Iinc -DFACTOR=3 -D OFFSET=40'

check 'sources of three languages' nvcc $options -std=c++14 -arch=sm_80 -o one main.cpp part.c sum.cu
check 'and the program' on_devices '45 42' ./one
check 'the objects' nvcc $options -c -Xcompiler -fPIC,-Wall main.cpp part.c sum.cu -MD -MP
check 'a rule names the files of the program' gives 0 'sum.o : sum.cu inc/sum.h */inc/thrice.cuh
inc/sum.h:
*/inc/thrice.cuh:' cat sum.d
check 'the link' nvcc -o two main.o part.o sum.o -lm -L/nowhere -Xlinker --as-needed
mv inc/thrice.cuh inc/away
check 'the program needs no sources' gives 0 '45 42' ./two
mv inc/away inc/thrice.cuh
check 'preprocessed host code' nvcc $options -cuda sum.cu
check 'its object' c++ -c -o from.o sum.cu.cpp.ii
check 'a link of it' nvcc -o five main.o part.o from.o
check 'and the program' gives 0 '45 42' ./five
check 'an archive' nvcc $options -lib -o libsum.a sum.cu part.o
check 'a link with it' nvcc -o three main.o -L. -lsum
check 'and the program' gives 0 '45 42' ./three
check 'a shared library' nvcc -shared -o libsum.so sum.o part.o
check 'a link with that' nvcc -o four main.o libsum.so -Xlinker -rpath,.
check 'and the program' gives 0 '63 42' ./four more
check 'rules alone' gives 0 'sum.o : sum.cu inc/sum.h */inc/thrice.cuh' "$ingot" nvcc -Iinc -M sum.cu
printf '%s\n' '-Iinc "-DFACTOR=3"' '-DOFFSET=40 -c' >options.txt
check 'options from a file' nvcc --options-file options.txt -o again.o sum.cu
check 'CXX of several words' env CXX="env c++ -DWORDS=1" "$ingot" nvcc -dc -Iinc -DFACTOR=WORDS sum.cu -o words.o
check '-dlink' nvcc -dlink words.o -o linked.o

cat >monitor.cu <<'CUDA'
#include <cstdio>
#include <cuda_runtime.h>
#include <nvml.h>
int main()
{
    unsigned n = 0, clock = 0;
    char bus[16], name[256], bad[] = "ffff:ff:ff.0";
    nvmlDevice_t device, same;
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    sprintf(bus, "%04x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    nvmlReturn_t e = nvmlInit();
    e = e ? e : nvmlDeviceGetCount(&n);
    e = e ? e : nvmlDeviceGetHandleByIndex(0, &device);
    e = e ? e : nvmlDeviceGetHandleByPciBusId(bus, &same);
    e = e ? e : nvmlDeviceGetName(device, name, sizeof name);
    e = e ? e : nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock);
    printf("%s, %u, %d %d %u, %s\n", nvmlErrorString(e), n, device == same, name[0] != 0, clock,
           nvmlErrorString(nvmlDeviceGetHandleByPciBusId(bad, &same)));
}
CUDA
check 'a program that asks NVML' nvcc -o monitor monitor.cu -lnvidia-ml
check 'and the program' gives 0 'Success, 1, 1 1 1000, Not Found' ./monitor

# ---- device code of several files ----

cat >shared.cuh <<'CUDA'
#pragma once
struct point {
    float x, y;
    __host__ __device__ point(float a, float b) : x(a), y(b) {}
};
enum kind { SUM, PRODUCT };
template <typename T> struct box {
    T value;
    __device__ T get() const { return value; }
};
namespace ops
{
__device__ float apply(kind k, point p);
}
__device__ float unbox(box<float> b);
extern __device__ int calls;
extern __constant__ float factors[2];
CUDA
cat >device.cu <<'CUDA'
#include "shared.cuh"
#define SCALE 2
static __device__ float scale(float x) { return SCALE * x; }
__device__ int calls = 100;
__constant__ float factors[2] = {3, 5};
static __device__ int own = 7;
namespace ops
{
__device__ float apply(kind k, point p)
{
    atomicAdd(&calls, own);
    return scale(k == SUM ? p.x + p.y : p.x * p.y);
}
}
__device__ float unbox(box<float> b) { return b.get() * factors[1]; }
static __global__ void add(float *x) { *x += scale(1); }
void add_on_device(float *x) { add<<<1, 1>>>(x); }
CUDA
cat >linked.cu <<'CUDA'
#include "shared.cuh"
#include <cstdio>
#define SCALE 10
static __device__ float scale(float x) { return SCALE * x; }
static __device__ int own = 1;
__global__ void k(float *x, point p)
{
    box<float> b = {2};
    calls += own;
    *x = ops::apply(PRODUCT, p) + scale(1) + factors[0] + unbox(b);
}
static __global__ void add(float *x) { *x += scale(100); }
void add_on_device(float *x);
int main()
{
    float *x, h = 0;
    int n = 0;
    cudaMalloc(&x, sizeof *x);
    k<<<1, 1>>>(x, point(3, 4));
    add<<<1, 1>>>(x);
    add_on_device(x);
    cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&n, calls, sizeof n);
    printf("%g %d %s\n", h, n, cudaGetErrorString(cudaGetLastError()));
}
CUDA
# 3 * 4 * 2 + 10 + 3 + 2 * 5, then 1000 and 2 more; 100 + 1 + 7
check '-dc' nvcc -dc linked.cu device.cu
check 'its link' nvcc -rdc=true -o linked linked.o device.o
check 'functions, variables and types of two files' on_devices '1049 108 no error' ./linked
check 'the same by ingot run' gives 0 '1049 108 no error' "$ingot" run linked.cu device.cu
check 'without -rdc' nvcc -o unlinked linked.cu device.cu
check 'it is refused' gives 0 "*linked.cu:9:5: error: extern variable 'calls' is not defined*-rdc=true*" ./unlinked

# ---- what is refused ----

check 'an unknown option' gives 2 "*unknown option '-quick'*" "$ingot" nvcc -c -quick sum.cu
check 'intermediate code of another compiler' gives 4 "*'-ltoir' is not supported: *source text*" "$ingot" nvcc -ltoir sum.cu
check 'device code of a C++ file' gives 2 "*'main.cpp' has no device code*" "$ingot" nvcc -ptx main.cpp
check 'no input' gives 2 '*name a source file*' "$ingot" nvcc -c
check 'a file that is not there' gives 5 "*cannot read 'none.cu'*" "$ingot" nvcc -c none.cu
mkdir -p system/cub
echo '#error the header of the system' >system/cub/cub.cuh
printf '%s\n' '#include <cstdio>' '#include <cub/cub.cuh>' 'int main() {}' >library.cu
check "a library of NVIDIA's on the compiler's own path" \
    gives 5 "library.cu:2:10: error: 'cub/cub.cuh' belongs to CUB*" env CPATH=system "$ingot" nvcc -c library.cu
check 'also in ingot run' gives 5 "library.cu:2:10: error: 'cub/cub.cuh' belongs to CUB*" env CPATH=system "$ingot" run library.cu
printf '%s\n' 'int main() {' '    return missing();' '}' >broken.cu
printf '#include <cuda.h>\nCUgraph graph;\nint first() { return cuGraphCreate(&graph, 0); }\n' >driver.cpp
check 'a missing part of the driver API in C++ files is one line' \
    gives 1 'driver.cpp:2: this part of the CUDA driver API is not supported (CUgraph, cuGraphCreate*); use the runtime API*' "$ingot" nvcc -c driver.cpp
cat >load.cpp <<'CPP'
#include <cstdio>
#include <cuda.h>
int main(int, char **argv)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr y;
    int n[2] = {};
    if (cuInit(0) || cuModuleLoad(&m, argv[1]) || cuModuleGetFunction(&f, m, argv[2]) || cuMemAlloc(&y, sizeof n))
        return 1;
    void *args[] = {&y};
    if (cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, 0, args, 0) || cuMemcpyDtoH(n, y, sizeof n))
        return 2;
    printf("%d %d\n", n[0], n[1]);
}
CPP
printf '#define BASE 40\n' >base.h
printf '#include "base.h"\nnamespace inner { __global__ void k(int *y) { y[threadIdx.x] = BASE + ADD * threadIdx.x; } }\n' >loaded.cu
check 'a program that loads a module' "$ingot" nvcc -o load load.cpp -lcuda
for kind in fatbin cubin ptx; do
    check "nvcc -$kind" "$ingot" nvcc -$kind -DADD=2 loaded.cu
    check "the module of -$kind" gives 0 '40 42' ./load loaded.$kind _ZN5inner1kEPi
done
rm base.h
check 'the module without its header' on_devices '40 42' ./load loaded.fatbin inner::k
check "the compiler's messages about the program" gives 5 '*broken.cu:2:*missing*' "$ingot" nvcc -c broken.cu

# ---- build tools ----

cat >Makefile <<'MAKE'
NVCC = nvcc
objects = main.o sum.o part.o
made: $(objects)
	$(NVCC) -o $@ $^
%.o: %.cu
	$(NVCC) $(FLAGS) -gencode arch=compute_70,code=sm_70 -Xptxas -v -lineinfo -c $< -o $@ -MMD -MF $*.d
%.o: %.cpp
	$(NVCC) $(FLAGS) -c $< -o $@
%.o: %.c
	$(NVCC) $(FLAGS) -c $< -o $@
-include *.d
MAKE
rm -f ./*.o ./*.d
check 'a Makefile' make -s NVCC="$ingot nvcc" FLAGS="$options"
check 'its program' gives 0 '45 42' ./made
touch inc/thrice.cuh
check 'CC and CXX that name nvcc' gives 0 '' env CC="$ingot nvcc" CXX=/opt/cuda/bin/nvcc "$ingot" nvcc -DOFFSET=1 -c part.c main.cpp
check 'it builds what a changed header concerns' gives 0 '*sum.cu*' make NVCC="$ingot nvcc" FLAGS="$options"

toolkit=$temporary/cuda
check 'a toolkit folder' nvcc --toolkit "$toolkit"
check 'its version' gives 0 '*release 12.0, V12.0*' "$toolkit/bin/nvcc" --version
cat >bare.c <<'C'
int cudaSetDevice(int device), sum(int n);
int main(void) { return cudaSetDevice(0) || cudaSetDevice(3) != 101 || sum(5) != 45; }
C
sed '/sum\.h/d; s/^int sum/extern "C" &/' sum.cu >bare_sum.cu
check 'the object of a launch' nvcc $options -c bare_sum.cu
check "a link of C that calls the runtime, without nvcc" \
    ${CC:-cc} -w -o bare bare.c bare_sum.o -L"$toolkit/lib64" -Wl,-rpath,"$toolkit/lib64" -lcudart -lstdc++ -lm
check 'and the program' ./bare
if command -v cmake >/dev/null; then
    cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(sums LANGUAGES C CXX CUDA)
find_package(CUDAToolkit REQUIRED)
include_directories(inc)
add_compile_definitions(FACTOR=3 OFFSET=40)
add_library(sums STATIC sum.cu part.c)
set_target_properties(sums PROPERTIES CUDA_SEPARABLE_COMPILATION ON POSITION_INDEPENDENT_CODE ON)
add_executable(made main.cpp)
target_link_libraries(made sums CUDA::cudart)
CMAKE
    check 'CMake finds the compiler' gives 0 '*CUDA compiler identification is NVIDIA 12.0*Detecting CUDA compiler ABI info - done*' \
        cmake -S . -B cmake -DCMAKE_CUDA_COMPILER="$toolkit/bin/nvcc"
    check 'and builds' cmake --build cmake
    check 'the program' gives 0 '45 42' cmake/made
else
    skip CMake 'it is not installed'
fi
if python3 -c 'import setuptools' 2>/dev/null; then
    cat >setup.py <<'PY'
import os
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

home = os.environ["CUDA_HOME"]

class build(build_ext):
    def build_extensions(self):
        self.compiler.src_extensions.append(".cu")
        usual = self.compiler._compile
        def compile(obj, src, ext, cc_args, extra, pp):
            if not src.endswith(".cu"):
                return usual(obj, src, ext, cc_args, [], pp)
            self.spawn([home + "/bin/nvcc", *pp, "-c", src, "-o", obj, "--compiler-options", "'-fPIC'", *extra])
        self.compiler._compile = compile
        super().build_extensions()
    def get_ext_filename(self, name):
        return name + ".so"
    def get_export_symbols(self, extension):
        return []

setup(name="sums", ext_modules=[Extension(
    "sums", ["sum.cu", "part.c", "entry.cpp"], include_dirs=["inc", home + "/include"],
    define_macros=[("FACTOR", "3"), ("OFFSET", "40")], library_dirs=[home + "/lib64"], libraries=["cudart"],
    runtime_library_dirs=[home + "/lib64"], extra_compile_args=["-O2", "-std=c++17", "--expt-relaxed-constexpr"])],
    cmdclass={"build_ext": build})
PY
    cat >entry.cpp <<'CPP'
#include "inc/sum.h"
#include <cuda_runtime.h>
extern "C" int entry(int n)
{
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices == 1 ? sum(n) + in_c(0) : -1;
}
CPP
    check 'setup.py' env CUDA_HOME="$toolkit" python3 setup.py -q build_ext --build-lib python
    check 'its module' gives 0 85 python3 -c 'import ctypes; print(ctypes.CDLL("python/sums.so").entry(5))'
else
    skip setup.py 'Python has no setuptools'
fi
check 'no files are left' gives 0 '' ls "$TMPDIR"
finish
