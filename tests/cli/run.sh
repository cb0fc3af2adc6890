# ingot run: arguments, results, mistakes and exit codes.
. tests/check.sh
ingot=$(realpath "${INGOT:-build/ingot}")
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cd "$temporary" || exit 1

cat >two.cu <<'CUDA'
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
#ifndef EXTRA
#define EXTRA 0
#endif
template <typename T, int N> __global__ void times(const T *in, T *out)
{
    out[threadIdx.x] = in[threadIdx.x] * T(N) + T(EXTRA);
}
CUDA
cat >one.cu <<'CUDA'
#include "offset.h"
__global__ void put(int *out, double *more)
{
    extern __shared__ int room[];
    int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    room[i] = i + OFFSET;
    __syncthreads();
    out[i] = room[blockDim.x * blockDim.y * blockDim.z - 1 - i];
    more[0] = gridDim.x * 100 + gridDim.y * 10 + gridDim.z;
}
CUDA
mkdir headers
echo '#define OFFSET 5' >headers/offset.h
printf '__global__ void f(int *x) { assert(x[threadIdx.x] < 2); printf("%%d\\n", x[0]); }\n' >fails.cu
echo '__global__ void f(int *x) { x[0] = nothing; }' >wrong.cu
echo '__global__ void f(int *x) { x[threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, 1); }' >warp.cu

# gives CODE OUTPUT WORDS...: the exit code and what is on standard output and error together.
gives() {
    local code=$1 expected=$2 output
    shift 2
    output=$("$ingot" run "$@" 2>&1)
    local got=$?
    echo "exit code $got: $output"
    [ $got = "$code" ] && [[ "$output" == $expected ]]
}

xy=(-a x=ones:[8] -a y=zeros:[8])
saxpy=(two.cu -k saxpy --block 8 -a n=3)
check 'arguments' gives 0 'y = [[]2. 2. 2. 0. 0. 0. 0. 0.]' "${saxpy[@]}" -a a=2 "${xy[@]}"
check 'expressions use what stands before' gives 0 'y = [[]0. 2. 4.]' "${saxpy[@]}" -a a=n-1 \
    -a 'x=arange(n)' -a 'y=zeros(n)'
check 'a template, an argument called in' gives 0 'out = [[]0 3 6 9]' two.cu -k 'times<int,3>' -b 4 \
    -a 'in=arange(4)' -a out=zeros:[4]
check 'a macro' gives 0 'out = [[]1. 3.]' two.cu -k 'times<float, 2>' -b 2 -DEXTRA=1 \
    -a 'in=arange:[2]' -a out=zeros:[2]
check 'includes, shared memory, three dimensions' gives 0 'out = [[]12 11 10  9  8  7  6  5]*more = [[]234.]' \
    one.cu -I headers --grid 2x3,4 --block 2,2x2 --shared 32 -a out=zeros:[8] -a more=zeros:[1]
check 'files' gives 0 '' "${saxpy[@]}" -a a=1 "${xy[@]}" -o y.npy
check 'are read back' gives 0 'y = [[]1. 1. 1. 0. 0. 0. 0. 0.]' "${saxpy[@]}" -a a=0 -a x=y.npy -a y=y.npy
check 'of one of several' gives 0 '' one.cu -I headers -b 2 --shared 8 -a out=zeros:[2] -a more=zeros:[1] \
    -o out=o.npy
check 'times' gives 0 'cpu: median * ms (* runs, 99 % between *)' "${saxpy[@]}" -a a=1 "${xy[@]}" --time
check 'devices are compared' gives 0 'y = *y: the same bits on cpu and cpu' "${saxpy[@]}" -a a=1 \
    "${xy[@]}" --device cpu,cpu
check 'a missing device' gives 4 "*no device 'opencl:9'*" "${saxpy[@]}" -a a=1 "${xy[@]}" --device cpu,opencl:9
if "$ingot" devices | grep -q '^opencl:0'; then
    check 'so are those of other kinds' gives 0 'y = *y: the same bits on cpu and opencl:0' \
        "${saxpy[@]}" -a a=1 "${xy[@]}" --device cpu,opencl
    check 'shared memory, three dimensions there' gives 0 'out = [[]12 11 10  9  8  7  6  5]*more = [[]234.]' \
        one.cu -I headers --grid 2x3,4 --block 2,2x2 --shared 32 -a out=zeros:[8] -a more=zeros:[1] --device opencl
    check 'times there' gives 0 'opencl:0: median * ms (* runs, 99 % between *)' "${saxpy[@]}" -a a=1 \
        "${xy[@]}" --time --device opencl
    check 'printf there' gives 0 $'1\nx = *' fails.cu -a 'x=[1]' --device opencl
    check 'a failed assertion there' gives 1 "*fails.cu:1: block (0, 0, 0), thread (1, 0, 0): assertion 'x[[]threadIdx.x] < 2' failed" \
        fails.cu -b 2 -a 'x=[1, 2]' --device opencl
    check 'what it cannot do' gives 4 '*warp.cu:1:*IG-WARP*--device cpu*' \
        warp.cu -b 32 -a x=zeros:[32] --device opencl
    check 'nor check' gives 4 "*cannot check kernels; run it on 'cpu'" "${saxpy[@]}" -a a=1 "${xy[@]}" --check \
        --device opencl
fi
check 'the seed matters' not cmp <("$ingot" run "${saxpy[@]}" -a a=1 -a x=normal:[8] -a y=zeros:[8]) \
    <("$ingot" run "${saxpy[@]}" -a a=1 -a x=normal:[8] -a y=zeros:[8] --seed 1)

check 'a misspelt kernel' gives 2 "*no kernel 'saxpi'; did you mean 'saxpy'?" two.cu -k saxpi
check 'several kernels' gives 2 '*has several kernels; choose one*put, take' <(
    echo '__global__ void put() {} __global__ void take() {}')
check 'a misspelt parameter' gives 2 "*no parameter 'z'; its parameters are n, a, x, y" "${saxpy[@]}" -a z=1
check 'a missing argument' gives 2 "*'a' (float) is not given" "${saxpy[@]}" "${xy[@]}"
check 'a number for a pointer' gives 2 "*give an array*" "${saxpy[@]}" -a x=1
check 'an array for a number' gives 2 "*give a number" "${saxpy[@]}" -a 'a=[1, 2]'
check 'numbers that would change' gives 2 "*points to f32*" "${saxpy[@]}" -a 'x=astype([1], f64) / 3'
check 'a bad expression' gives 2 "*--arg a: 1:6:*" "${saxpy[@]}" -a 'a=1 +* 2'
check 'a missing file' gives 5 "*nothing.npy*" "${saxpy[@]}" -a x=nothing.npy
check 'a missing source' gives 5 "*nothing.cu: *" nothing.cu
check 'a bad grid' gives 2 "*--grid takes*" two.cu -g 0x1
check 'too many threads' gives 2 "*IG-THREADS*" two.cu -k saxpy -b 2000 -a n=1 -a a=1 "${xy[@]}"
check 'a missing device' gives 4 "*no device 'vulkan' that runs kernels; there are: cpu*" "${saxpy[@]}" \
    -a a=1 "${xy[@]}" --device vulkan
check 'a broken assertion' gives 1 '*assertion failed: x[[]threadIdx.x] < 2, by thread (1, 0, 0)*' \
    fails.cu -b 2 -a 'x=[1, 2]'
check 'printf' gives 0 '*1*x = [[]1]' fails.cu -a 'x=[1]'
check 'mistakes in the source' gives 5 "wrong.cu:1:36: error: unknown name 'nothing'*" wrong.cu -a x=zeros:[1]
check 'a checked launch' gives 0 'y = *no mistake was found' "${saxpy[@]}" -a a=1 "${xy[@]}" --check
check 'an access out of bounds' gives 1 '*two.cu:5:*' two.cu -k saxpy --block 8 -a n=8 -a a=1 -a x=ones:[4] \
    -a y=zeros:[8] --check
check 'the same as JSON' gives 1 '{*"findings": [[]{"kind": "out of bounds"*"devices": [[]]}' two.cu -k saxpy \
    --block 8 -a n=8 -a a=1 -a x=ones:[4] -a y=zeros:[8] --check --json
check 'a profile' gives 0 'y = *a [*] x[[]i]*' "${saxpy[@]}" -a a=1 "${xy[@]}" --profile

cat >structs.cu <<'SOURCE'
struct inner { float3 p; short n[2]; };
struct item { int id; inner in; unsigned char flag; const float *none; };
__global__ void k(item s, float2 v, item *all, float *y)
{
    y[0] = s.id + s.in.p.z + s.in.n[1] + s.flag;
    y[1] = v.x - v.y;
    y[2] = all[1].in.p.x;
    all[0].id = 258;
}
SOURCE
structs=(structs.cu -a 'v={.y = 1}' -a 'all=zeros:[2]' -a y=zeros:[3])
check 'structs' gives 0 '*y = [[]17. -1.  0.]' "${structs[@]}" -a 's={1, {{2, 3, 4}, {5, 6.0}}, .flag = 2 * 3, .none = 0,}'
check 'what is not given is 0' gives 0 '*y = [[] 7. -1.  0.]' "${structs[@]}" -a 's={.flag = 7}'
check 'arrays of structs' gives 0 'all =*[[][[]2 1 *' "${structs[@]}" -a 's={}'
check 'a missing brace' gives 2 "*--arg s: '{' is missing before the fields of 'in', at '2}'" "${structs[@]}" -a 's={1, 2}'
check 'too many fields' gives 2 "*too many fields for 'p', at '4}}}'" "${structs[@]}" -a 's={1, {{1, 2, 3, 4}}}'
check 'an unknown field' gives 2 "*there is no such field in 's', at 'x = 1}'" "${structs[@]}" -a 's={.x = 1}'
check 'a number that does not fit' gives 2 "*no such number in 'u8', at '256}'" "${structs[@]}" -a 's={.flag = 256}'
check 'a fraction for an integer' gives 2 "*no such number in 'i32', at '1.5}'" "${structs[@]}" -a 's={1.5}'
check 'a pointer in a struct' gives 2 "*a pointer in a struct can only be 0: 'none', at '8}'" "${structs[@]}" -a 's={.none = 8}'
check 'a number for a vector' gives 2 "*'{' is missing before the fields of 'v', at '1'" structs.cu -a v=1
check 'bytes that are not structs' gives 2 "*points to item of 32 bytes, but the array has 4 bytes, which is not a multiple" structs.cu -a 's={}' \
    -a 'v={}' -a 'all=zeros:f32[1]' -a y=zeros:[3]
check 'which structs' gives 2 "*give zeros:[[]N], a .npy file, or say a dtype" structs.cu -a 'all=ones:[1]'
python3 - <<'PYTHON'
import struct
item = struct.pack("<i3f2hB3xq", 1, 9, 2, 3, 4, 5, 6, 0)
head = "{'descr': [('id', '<i4'), ('rest', 'V28')], 'fortran_order': False, 'shape': (2,), }".ljust(117) + "\n"
for name, data in ("records.npy", item * 2), ("short.npy", item[:-1]):
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
PYTHON
check 'records' gives 0 '*y = [[] 0. -1.  9.]' structs.cu -a 's={}' -a 'v={0, 1}' -a all=records.npy -a y=zeros:[3]
check 'records of another size' gives 5 "*have 31 bytes in total, which is not a multiple of the 32 of a item" structs.cu -a all=short.npy
check 'no source' gives 2 '*name a file*'

# ---- native code
# Each type of index has its functions, so that the compiler's library can be loaded
cat >gather.cu <<'CUDA'
__global__ void gather(const int *a, const unsigned *b, const long long *c, const unsigned long long *d, const float *x,
                       float *y)
{
    y[a[threadIdx.x]] = x[b[threadIdx.x]] + x[c[threadIdx.x]] * 2 + x[d[threadIdx.x]] * 3;
}
CUDA
gather() {
    "$ingot" run gather.cu --block 40 -a a=arange:i32[40] -a b=arange:u32[40] -a c=arange:i64[40] -a d=arange:u64[40] \
        -a x=arange:f32[40] -a y=zeros:f32[40]
}
# A loop that ends by a flag in shared memory
cat >settle.cu <<'CUDA'
__global__ void settle(int *x)
{
    __shared__ int v[40], changed;
    const int t = threadIdx.x;
    v[t] = x[t] * 7 % 40;
    do {
        __syncthreads();
        changed = 0;
        const int most = t ? max(v[t - 1], v[t]) : v[t];
        __syncthreads();
        if (most != v[t]) {
            v[t] = most;
            changed = 1;
        }
        __syncthreads();
    } while (changed);
    x[t] = v[t];
}
CUDA
settle() { "$ingot" run settle.cu --block 40 -a x=arange:i32[40]; }
compiled() {
    rm -rf kept && mkdir kept && IG_CACHE=off IG_NATIVE=wait IG_KEEP_KERNELS=kept "$1" >native.txt && ls kept &&
        [ -f "kept/$1-40x1x1.so" ] && IG_NATIVE=off "$1" | cmp - native.txt
}
if command -v gcc cc clang >/dev/null; then
    check 'native code of indices in memory' compiled gather
    check 'native code of a loop that a flag in shared memory ends' compiled settle
else
    skip 'native code' 'there is no C compiler'
fi
finish
