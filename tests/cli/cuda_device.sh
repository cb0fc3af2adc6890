# The device cuda:0 without a GPU: the command on the fake driver of tests/fakecuda, whose results are real.
. tests/check.sh
ingot=${INGOT:-build/ingot}
fake=$(realpath "${BUILD:-build}/tests/fakecuda")
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1 XDG_CACHE_HOME=$temporary/cache IG_CUBLASLT=off IG_CUDNN=off IG_CUSOLVER=off IG_CUFFT=off
export IG_CUDA=$fake/cuda.so IG_NVRTC=$fake/cuda.so

# ends CODE TEXT ARGUMENTS...: the exit code, and TEXT is in what is said.
ends() {
    local code=$1 expected=$2 got status
    shift 2
    got=$("$ingot" "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && [[ $got == *"$expected"* ]] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$expected"
    return 1
}

# ---- libraries: each place has one that the system's loader does not find, since the first one it sees is broken
found() { # PATH SETTING...: devices prints the path of cuBLASLt
    local path=$1
    shift
    env -u IG_CUBLASLT -u CUDA_HOME -u CUDA_PATH -u VIRTUAL_ENV -u CONDA_PREFIX LD_LIBRARY_PATH="$temporary/broken" "$@" \
        "$ingot" devices 2>&1 | grep -A 1 '^  libraries' | grep -qF "cuBLASLt: $path" && return
    env -u IG_CUBLASLT LD_LIBRARY_PATH="$temporary/broken" "$@" "$ingot" devices | grep -A 8 '^  libraries'
    return 1
}
places=("home/lib64" "target/targets/some-linux/lib" "kit/lib64" "venv/lib/python3.9/site-packages/nvidia/cu13/lib"
    "conda/lib" "path/lib/python3.9/site-packages/nvidia/cublas/lib")
for place in "${places[@]}"; do
    mkdir -p "$temporary/$place"
    cp "$fake/libraries.so" "$temporary/$place/libcublasLt.so.12"
done
mkdir -p "$temporary"/{broken,links,kit/bin,path/bin}
touch "$temporary"/broken/libcublasLt.so{,.12,.13}
cp /bin/true "$temporary/kit/bin/nvcc"
cp /bin/true "$temporary/path/bin/python3"
ln -s "$temporary/kit/bin/nvcc" "$temporary/links/nvcc"
at() { printf '%s/%s/libcublasLt.so.12' "$temporary" "${places[$1]}"; }
check 'a library in CUDA_HOME' found "$(at 0)" CUDA_HOME="$temporary/home"
check 'a library of a target in CUDA_PATH' found "$(at 1)" CUDA_PATH="$temporary/target"
check 'a library of the nvcc on the PATH' found "$(at 2)" PATH="$temporary/links:/bin:/usr/bin"
check 'a library of a Python environment' found "$(at 3)" PATH=/bin:/usr/bin VIRTUAL_ENV="$temporary/venv"
check 'a library of a Conda environment' found "$(at 4)" PATH=/bin:/usr/bin CONDA_PREFIX="$temporary/conda"
check 'a library of the Python on the PATH' found "$(at 5)" PATH="$temporary/path/bin:/bin:/usr/bin"
check 'a library that a setting names' found "$fake/libraries.so" IG_CUBLASLT="$fake/libraries.so"
check 'a library that is switched off' ends 0 'cuFFT: not found; own kernels compute Fourier transforms; unset IG_CUFFT' devices

# ---- results
check 'it is listed' ends 0 'fake GPU 0' devices
for op in add exp softmax matmul sort sum cumulative_sum take scatter_add; do
    check "verify $op" ends 0 ', 0 failed' verify --quick --device cuda:0 --op "$op" --dtype f32
done

# ---- the texts are CUDA C++ for another compiler, too, without any header: clang checks them in the fake NVRTC
clang=$(command -v clang-19 || command -v clang || true)
if [ "$clang" ] && echo 'int x;' | "$clang" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_90 -fsyntax-only - 2>/dev/null; then
    echo '__global__ void f(long long *x) { atomicAdd(x, 1LL); }' >"$temporary/long.cu"
    texts() { # CODE TEXT ARGUMENTS...
        XDG_CACHE_HOME=$temporary/texts FAKE_CUDA_CLANG=$clang FAKE_CUDA_HEADER=$(realpath tests/fakecuda/nvrtc.cuh) ends "$@"
    }
    check 'clang: a random graph' texts 0 ', 0 failed' verify --graphs 1 --device cuda:0
    check 'clang: conversions' texts 0 ', 0 failed' verify --quick --device cuda:0 --op astype,floor_divide,bitwise_left_shift --dtype f16,u8
    check 'clang refuses a function that CUDA lacks' texts 1 'no matching function' run --device cuda:0 "$temporary/long.cu" --kernel f \
        --grid 1 --block 1 --arg x=zeros:i64[1]
else
    skip 'texts of kernels by clang' 'there is no clang that compiles for NVIDIA GPUs'
fi
# Sums of integers wrap: they have the same kernel in all modes. Those of floats do not.
kernels() {
    local expected=$1 code="reshape(arange(900, dtype=\"$2\"), [30, 30])" first
    "$ingot" eval --device cuda:0 --math strict "x = $code; sum(x @ x)" && first=$(find "$XDG_CACHE_HOME" -type f | wc -l) &&
        "$ingot" eval --device cuda:0 --math same "x = $code; sum(x @ x)" &&
        [ $(($(find "$XDG_CACHE_HOME" -type f | wc -l) - first)) "$expected" 0 ]
}
check 'integers have one kernel in all modes' kernels = i16
check 'floats have two' kernels -gt f32
wrong_results() { # of a device whose kernels do nothing: each process that meets one is replaced
    FAKE_CUDA_IDLE=1 "$ingot" verify --quick --jobs 2 --device cuda:0 --op add,exp,sin --dtype f32 --record "$temporary/record" >"$temporary/said"
    [ $? = 1 ] && [ "$(grep -c ' f32 .*plain.0.*got .*expected' "$temporary/record")" = 3 ]
}
check 'failures of several processes' wrong_results
check 'several processes' ends 0 ', 0 failed' verify --quick --jobs 2 --device cuda:0 --op add,exp --dtype f32,i32
few_texts() { # 12 if each kernel of a gradient is compiled alone
    FAKE_CUDA_LOG=$temporary/same XDG_CACHE_HOME=$temporary/empty \
        "$ingot" verify --quick --same cpu,cuda:0 --op matmul --dtype f32 >"$temporary/said" &&
        grep -q ', 0 failed' "$temporary/said" && [ "$(grep -c nvrtcCompileProgram "$temporary/same")" -le 3 ]
}
check 'kernels of gradients are compiled together' few_texts
check 'an op without gradients' ends 0 ', 0 failed' verify --quick --same cpu,cuda:0 --op less_equal,take --dtype f32,i32
losses() { "$ingot" train digits --quiet --json "$@" | grep -o '"loss": [^]]*'; }
check 'a training has the losses of the CPU' bash -c "
    $(declare -f losses); ingot='$ingot'
    [ -n \"\$(losses --epochs 1)\" ] && [ \"\$(losses --epochs 1 --device cuda:0)\" = \"\$(losses --epochs 1)\" ]"

check 'also with many processors, whose tiles are smaller' bash -c "
    $(declare -f losses); ingot='$ingot'; export FAKE_CUDA_CORES=132
    [ \"\$(losses --epochs 1 --batch 32 --device cuda:0)\" = \"\$(losses --epochs 1 --batch 32)\" ]"

# ---- a timeline with the times of the device: one span for each program, each timed by the driver
traced() {
    FAKE_CUDA_LOG=$temporary/calls "$ingot" eval --device cuda:0 --trace "$temporary/t.json" \
        'x = normal(key(0), [30, 70]); sum(sort(cumulative_sum(x, axis=0)))' >"$temporary/said" && python3 - "$temporary" <<'END'
import json, sys
spans = [e for e in json.load(open(sys.argv[1] + "/t.json"))["traceEvents"] if e.get("cat") == "program"]
timed = open(sys.argv[1] + "/calls").read().count("cuEventElapsedTime")
assert len(spans) >= 2 and timed >= len(spans) and all(e["dur"] > 0 for e in spans), (timed, spans)
END
}
check 'a timeline has the times of the device' traced

# ---- a thread that loads cuBLASLt is started before the context is opened, and only if a product needs the library
early() {
    IG_CUBLASLT=$fake/libraries.so "$ingot" eval --device cuda:0 --trace "$temporary/early.json" \
        'sum(ones([200, 200]) @ ones([200, 200]))' >"$temporary/said" && python3 - "$temporary/early.json" <<'END'
import json, sys
span = {e["name"]: e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("ph") == "X"}
assert span["begin to load cuBLASLt"]["ts"] < span["open the context"]["ts"] < span["choose an algorithm"]["ts"], span
END
}
not_loaded() {
    IG_CUBLASLT=$fake/libraries.so "$ingot" eval --device cuda:0 --trace "$temporary/small.json" \
        'sum(ones([20, 20]) @ ones([20, 20]))' >"$temporary/said" && ! grep -q 'cuBLASLt' "$temporary/small.json"
}
check 'cuBLASLt is loaded while the context is opened' early
check 'it is not loaded for a small product' not_loaded

# ---- a benchmark times the device's work, not only its launches
waits() {
    rm -f "$temporary/calls"
    FAKE_CUDA_LOG=$temporary/calls "$ingot" bench --quick --seconds 1 --quiet --device cuda:0 --only launch || return
    local launches=$(grep -c 'cuLaunchKernel\|cuGraphLaunch' "$temporary/calls")
    # a few launches prepare the work; nobody waits for these alone
    [ "$launches" -gt 100 ] && [ "$(grep -c cuStreamSynchronize "$temporary/calls")" -ge $((launches - 20)) ]
}
check 'a benchmark waits for the device' waits

# ---- the end: the system closes the GPU, unless IG_SHUTDOWN asks the command to
closes() {
    rm -f "$temporary/calls"
    [ "$(FAKE_CUDA_LOG=$temporary/calls IG_SHUTDOWN=$1 "$ingot" eval --device cuda:0 'sum(ones(3))')" = 3.0 ] || return
    [ "$(grep -c cuDevicePrimaryCtxRelease "$temporary/calls")" = "$2" ]
}
check 'IG_SHUTDOWN=on closes the GPU' closes on 1
case $ingot in
    *asan* | *tsan* | *coverage*) skip 'the GPU is left to the system' 'sanitizers and coverage close it' ;;
    *) check 'else it is left to the system' closes '' 0 ;;
esac
driver_spans() { # from the first call of the driver on
    "$ingot" eval --device cuda:0 --trace "$temporary/driver.json" 'sum(ones(3))' >"$temporary/said" &&
        grep -q 'load libcuda' "$temporary/driver.json" && grep -q 'start the driver' "$temporary/driver.json"
}
check 'a timeline begins before the driver' driver_spans

# ---- small products: their inputs are __restrict__, outputs never are
small() {
    mkdir "$temporary/kernels"
    FAKE_CUDA_CORES=132 IG_KEEP_KERNELS=$temporary/kernels "$ingot" eval --device cuda:0 \
        'x = ones([20, 30]); w = ones([30, 10]); b = sum(w, axis=0); sum(relu(x @ w + b))' >"$temporary/said" || return
    [ "$(cat "$temporary/said")" = 12000.0 ] && grep -lq '__restrict__ p' "$temporary"/kernels/*.cu &&
        grep -q 'define m0_TILE \(4\|8\|16\)$' "$temporary"/kernels/*.cu || return
    ! grep -h 'define PARAMS' "$temporary"/kernels/*.cu | grep -v const | grep -q __restrict__
}
check 'a small product has small tiles and restricted inputs' small

# ---- gelu is fused into a large product only where the device's own kernel can compute it: see test_cuda_product.c
alone() {
    "$ingot" eval -o "$temporary/x.npy" 'astype(ones([520, 256]), f16)' &&
        "$ingot" eval --device cuda:0 --explain "x = load('$temporary/x.npy'); gelu(x @ x.T)" | grep '2 map .* gelu_erf'
}
check 'gelu is a kernel of its own without tensor maps' alone

# ---- two GPUs
second() { FAKE_CUDA_DEVICES=2 ends "$@"; }
check 'both are listed' second 0 'fake GPU 1' devices
check 'verify on the second' second 0 ', 0 failed' verify --quick --device cuda:0,cuda:1 --op softmax --dtype f32
check 'the same bits on both' second 0 'cuda:1' verify --quick --same cuda:0,cuda:1 --op sum --dtype f32
check 'arrays move' second 0 '[0. 2. 4.]' eval --device cuda:0 'x = arange(0, 3) * 1.0; to_device(to_device(x, "cuda:1") * 2, "cpu")'
check 'a training on the second' bash -c "
    $(declare -f losses); ingot='$ingot'; export FAKE_CUDA_DEVICES=2
    [ \"\$(losses --epochs 1 --device cuda:1)\" = \"\$(losses --epochs 1)\" ]"
check 'a third is not there' second 4 "there is no device 'cuda:2'" eval --device cuda:2 '1 + 1'

# ---- compiling shows progress on a terminal, and nothing elsewhere
compiling() {
    XDG_CACHE_HOME=$temporary/cold python3 - "$ingot" <<'PYTHON'
import os, pty, subprocess, sys
command = [sys.argv[1], "eval", "--device", "cuda:0", "sum(sqrt(arange(0, 5)) + 0.25)"]
piped = subprocess.run(command, capture_output=True, env=dict(os.environ, XDG_CACHE_HOME=os.environ["XDG_CACHE_HOME"] + "2"))
assert piped.stdout == b"7.3962646\n" and not piped.stderr, piped
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(command[0], command)
said = b""
try:
    while more := os.read(fd, 65536):
        said += more
except OSError:
    pass
os.waitpid(pid, 0)
clear = b"\r\x1b[K"
assert b"\rcompiling kernels for cuda:0: 1\x1b[K" in said and said.endswith(clear + b"7.3962646\r\n"), said
PYTHON
}
check 'kernels are counted on a terminal while they are compiled' compiling

# ---- failures
lost() { FAKE_CUDA_LOSE=$1 ends 4 "$2" eval --device cuda:0 'sum(sqrt(arange(1, 100)))'; }
check 'a lost device is named as such' lost 1 'restart the process'
check 'and how it was lost' lost 1 'CUDA_ERROR_ILLEGAL_ADDRESS'
no_nvrtc() { IG_NVRTC=$temporary/none.so XDG_CACHE_HOME=$temporary/empty ends 1 "$1" eval --device cuda:0 'sqrt(2 + arange(0, 3))'; }
check 'a missing NVRTC names its package' no_nvrtc 'nvidia-cuda-nvrtc'
check 'and OpenCL as another way' no_nvrtc 'OpenCL'
driver() { IG_CUDA=$1 ends "${@:2}"; }
check 'an old driver' driver "$fake/old.so" 4 'it is too old' eval --device cuda:0 '1 + 1'
check 'a driver without graphs' driver "$fake/plain.so" 0 ', 0 failed' verify --quick --device cuda:0 --op add --dtype f32
memory() { FAKE_CUDA_MEMORY=$1 ends "${@:2}"; }
check 'memory that is short' memory 4000 1 'the smallest limit that works' eval --device cuda:0 'sum(sort(sqrt(arange(0, 4000))))'
check 'memory that is enough for blocks' memory 400000 0 '543655.5' eval --device cuda:0 'x = exp(arange(0, 200000) / 200000); sum(x[::-1] + 1)'
finish
