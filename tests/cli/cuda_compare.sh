# ingot run --compare, and what is said where CUDA is missing.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'comparisons of CUDA programs'

# A program whose output depends on the device.
cat >"$temporary/program.cu" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__global__ void nothing() {}
int main()
{
    const char *how = getenv("HOW");
    const bool other = strcmp(getenv("IG_CUDA_DEVICE"), "opencl") == 0;
    nothing<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf("pi is 3.14159%d, count 7\n", other ? 3 : 2);
    if (how && !strcmp(how, "far"))
        printf("x = %g\n", other ? 1.5 : 1.25);
    if (how && !strcmp(how, "integer"))
        printf("n = %d\n", other ? 100000 : 100001);
    if (how && !strcmp(how, "order"))
        printf(other ? "b\na\n" : "a\nb\n");
    if (how && !strcmp(how, "more") && other)
        printf("one more\n");
    return how && !strcmp(how, "code") && other;
}
EOF
source=$temporary/program.cu
if ! "$ingot" devices 2>/dev/null | grep -q '^opencl:0'; then
    skip 'comparisons of CUDA programs' 'there is no second device (OpenCL)'
    source=
fi

# The exit code and a text on stderr.
says() {
    local code=$1 text=$2
    shift 2
    "$@" >"$temporary/out" 2>"$temporary/err" </dev/null
    local got=$?
    [ $got = "$code" ] && grep -qF -- "$text" "$temporary/err" && return
    echo "exit code $got"
    cat "$temporary/err"
    return 1
}
compare() { HOW=$1 "$ingot" run --device cpu --compare opencl "${@:2}" "$source"; }

if [ -n "$source" ]; then
    check 'the same, but for a last digit' says 0 'printed the same 1 line; of 1 numbers' compare none
    check 'prints the first output once' test "$(cat "$temporary/out")" = 'pi is 3.141592, count 7'
    check 'a number that differs' says 1 'line 2 differs' compare far
    check 'both lines are shown' grep -qF 'opencl: x = 1.5' "$temporary/err"
    check 'within a tolerance' says 0 'difference is 0.17' compare far --tolerance 0.2
    check 'an integer that differs' says 1 'n = 100001' compare integer --tolerance 0.2
    check 'another order' says 0 'in another order' compare order
    check 'one line more' says 1 'cpu: (no such line)' compare more
    check 'another exit code' says 1 'the exit code is 0 on cpu and 1 on opencl' compare code
fi
check 'a kernel on two devices' says 0 'y: the same bits on cpu and' "$ingot" run examples/cuda/02_saxpy.cu --grid 2 \
    --block 32 --arg n=20 --arg a=2 --arg 'x=arange:f32[n]' --arg 'y=ones:f32[n]' --compare cpu
check 'not with --json' says 2 'leave out --json' "$ingot" run --compare cpu --json "$temporary/program.cu"

# ---- what is missing ----

check 'no driver' says 4 "IG_CUDA=off" env IG_CUDA=off "$ingot" run --device cuda tests/cuda/vector_add.cu
check 'no driver: the other device is named' grep -q "'--device cpu'" "$temporary/err"
check 'no driver: nothing is compared' says 4 "IG_CUDA=off" env IG_CUDA=off "$ingot" run --device cuda --compare cpu \
    tests/cuda/vector_add.cu
check 'nothing was printed' test ! -s "$temporary/out"
idle=${INGOT_TESTS:-build/tests}/cuda/idle.so
if [ -f "$idle" ]; then
    without_nvrtc() { env IG_CUDA="$idle" IG_NVRTC=/none IG_CACHE=off "$ingot" run --device cuda "$@"; }
    check 'no NVRTC' says 4 'NVRTC, the compiler of kernels, was not found' without_nvrtc tests/cuda/vector_add.cu
    check 'no NVRTC: the other device is named' grep -q "'--device cpu'" "$temporary/err"
    check 'only one GPU' says 4 "there is no device 'cuda:1'" env IG_CUDA="$idle" "$ingot" run --device cuda:1 \
        tests/cuda/vector_add.cu
    ends() {
        "${@:2}" >"$temporary/out" 2>"$temporary/err" </dev/null
        [ $? = "$1" ]
    }
    with_idle() { env IG_CUDA="$idle" "$ingot" run --device cuda "$@"; }
    with_idle tests/cuda/vector_add.cu >/dev/null 2>"$temporary/err"
    if grep -q 'NVRTC.*not found' "$temporary/err"; then
        skip 'options for NVRTC' 'there is no NVRTC'
    else
        # Kernels do nothing there: the program finds its results wrong, but launches.
        check 'options for NVRTC' ends 1 with_idle -use_fast_math -fmad=false -lineinfo -ftz=true -std=c++20 \
            tests/cuda/vector_add.cu
        refuse 'NVRTC has no complaint' grep -q NVRTC "$temporary/err"
        check "'gpu' is an NVIDIA GPU" ends 1 env IG_CUDA="$idle" "$ingot" run --device gpu tests/cuda/vector_add.cu
        refuse 'and NVRTC compiles for it' grep -q NVRTC "$temporary/err"
        check 'a bad option for NVRTC' says 1 'expects true or false' with_idle -prec-div=maybe tests/cuda/vector_add.cu
    fi
else
    skip 'messages without NVRTC' 'there is no driver for tests (make tests)'
fi
finish
