# Everything that needs a real GPU, in a few minutes: checks and times, each with a limit, written as they arrive.
#
#   tests/gpu.sh [PART...]     PART: verify same graphs verify-opencl sanitize programs train bench start steps text models opencl
#
# Without a PART all but verify-opencl run. OUT is the folder for results (build/gpu), DEVICE the device (cuda:0), JOBS the
# processes at a time (one for each core), LIMIT the seconds for all ops (170), PYTHON one with PyTorch and JAX. With FULL=1
# the ops are verified in full, not --quick. A part that reaches its limit is FAILED, with the results so far in OUT. With
# RESUME=1 and the same OUT, verify and same go on from there, so that several calls can share the work. `tests/run --stage gpu`
# runs some parts. Processes on one GPU take turns of milliseconds unless CUDA's MPS runs, so it is started for verify and
# same where it is installed.
#
#   DRY=1 tests/gpu.sh         on the fake driver, with few ops and tiny sizes: finds mistakes of this script
. tests/check.sh
out=${OUT:-build/gpu} device=${DEVICE:-cuda:0} jobs=${JOBS:-$(nproc)} limit=${LIMIT:-170} python=${PYTHON:-python3}
export INGOT=${INGOT:-build/ingot} NO_COLOR=1
mkdir -p "$out"
temporary=$(mktemp -d)
trap 'mps_stop; rm -rf "$temporary"' EXIT
dry=() quick=(--quick)
[ -z "${FULL:-}" ] || quick=()
if [ -n "${DRY:-}" ]; then
    fake=$(realpath "${BUILD:-build}/tests/fakecuda")
    export IG_CUDA=$fake/cuda.so IG_NVRTC=$fake/cuda.so IG_CUBLASLT=$fake/libraries.so IG_CUDNN=$fake/libraries.so IG_CUSOLVER=off IG_CUFFT=off
    export XDG_CACHE_HOME=$temporary/cache
    jobs=2 dry=(--dry)
fi
if ! "$INGOT" devices | grep -q "^$device "; then
    skip 'GPU' "there is no device $device"
    finish
    exit
fi

# CUDA's MPS lets processes use a GPU at the same time. It is for the checks alone: times are those of a GPU without it.
mps_start() {
    command -v nvidia-cuda-mps-control >/dev/null && [[ $device == cuda* ]] && [ -z "${DRY:-}" ] || return 0
    export CUDA_MPS_PIPE_DIRECTORY=$temporary/mps CUDA_MPS_LOG_DIRECTORY=$temporary/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d || unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
mps_stop() {
    [ -n "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || return 0
    echo quit | nvidia-cuda-mps-control
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# each NAME SECONDS ARGUMENTS...: `ingot verify ARGUMENTS` of all ops, by several processes. What was seen of an op and dtype
# goes to OUT/NAME.txt as soon as it is known (see cli/verify/work.c); with RESUME what passed there is not checked again.
each() {
    local name=$1 seconds=$2 said code some=()
    shift 2
    [ -n "${RESUME:-}" ] || rm -f "$out/$name.txt"
    [ -z "${DRY:-}" ] || some=(--op add,softmax,sort,matmul,take --dtype f32,i32)
    said=$(timeout --foreground -k 20 -s TERM "$seconds" \
        "$INGOT" verify "${quick[@]}" "${some[@]}" --jobs "$jobs" --record "$out/$name.txt" "$@" 2>&1)
    code=$?
    printf '%s\n' "$said" >"$out/$name.report.txt"
    tail -n 2 <<<"$said"
    [ $code = 0 ] || { grep -A 2 '^FAILED' <<<"$said"; false; }
}

# timed NAME SECONDS COMMAND...: its output goes to OUT/NAME.txt, and its last lines are shown if it fails.
timed() {
    local name=$1 seconds=$2
    shift 2
    local limit=(timeout "$seconds")
    [ "$(type -t "$1")" = function ] && limit=()
    "${limit[@]}" "$@" >"$out/$name.txt" 2>&1 || { tail -n 25 "$out/$name.txt" && false; }
}

losses() { "$INGOT" train digits --quiet --json --math same "$@" | grep -o '"loss": [^]]*'; }
same_losses() {
    local mine
    mine=$(losses "$@" --device "$device") && [ -n "$mine" ] && [ "$mine" = "$(losses "$@" --device cpu)" ]
}

part_verify() {
    mps_start
    check "verify, all ops" each verify "$limit" --device "$device"
    check "overrides against own kernels" timed overrides 170 env INGOT_DEVICE="$device" "$python" tests/test_overrides.py
    mps_stop
}
part_same() {
    mps_start
    check "the CPU's bits, all ops" each same "$limit" --same "cpu,$device"
    mps_stop
}
# Random graphs: fused against one by one, and the CPU's bits. GRAPHS says how many.
part_graphs() {
    local quick=()
    [ -n "${DRY:-}" ] && return # graphs need a driver that computes
    mps_start
    check "random graphs" each graphs "$limit" --same "cpu,$device" --graphs "${GRAPHS:-5000}"
    mps_stop
}
# Processes take turns on the GPU, but nearly all of the time goes to compilers.
part_verify-opencl() {
    "$INGOT" devices | grep -q '^opencl:0 ' || { skip 'verify, OpenCL' 'there is no device opencl:0'; return; }
    [ -n "${DRY:-}" ] && return # compilers for CPUs take seconds
    check "verify, all ops, OpenCL" each verify-opencl "$limit" --device opencl:0
}
part_sanitize() {
    for tool in memcheck racecheck initcheck synccheck; do
        check "compute-sanitizer $tool" timed "sanitize-$tool" 150 env DEVICE="$device" bash tests/sanitize_cuda.sh "$tool"
    done
}
part_programs() {
    [ -n "${DRY:-}" ] && return # they need a driver that runs images of NVRTC
    check "programs print what nvcc's print" timed programs 170 bash tests/cli/cuda_gpu.sh
}
part_train() {
    check "digits: the CPU's losses" same_losses --epochs 1
    [ -n "${DRY:-}" ] || check "digits, CNN: the CPU's losses" same_losses --epochs 1 --model cnn
}
part_bench() {
    check "bench/gpu" timed bench 300 "$python" bench/gpu --device "$device" --rounds 1 --minutes 4 --work '^(?!distilbert)' \
        --out "$out/bench.jsonl" "${dry[@]}"
}
# What a warm start consists of: the host's spans of a timeline.
start_spans() {
    local trace=$temporary/start.json
    for _ in 1 2; do
        "$INGOT" eval --device "$device" --trace "$trace" 'mean(ones([1000, 1000]) @ ones([1000, 1000]))' || return
    done
    "$python" - "$trace" <<'END'
import collections
import json
import sys

spans = collections.Counter()
for event in json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]:
    if event.get("ph") == "X":
        spans[event["name"]] += event["dur"] / 1000
for name, ms in spans.most_common(20):
    print(f"{ms:9.2f} ms  {name}")
END
}
part_start() {
    local bench=("$python" bench/start --device "$device" --rounds "${DRY:-3}" --out "$out/start.jsonl")
    [ -n "${DRY:-}" ] || check "bench/start" timed start 100 "${bench[@]}"
    check "what a start consists of" timed start-spans 60 start_spans
    cat "$out/start-spans.txt"
}
part_steps() {
    [ -n "${DRY:-}" ] && return # the peers are needed
    local bench=("$python" bench/run --device "$device" --python "$(command -v "$python")" --no-save)
    make -s build/bench/ours
    check "bench/run: training steps" timed steps 170 \
        "${bench[@]}" --work 'train_*' --peers torch,torch.compile,jax --seconds 6
    check "bench/run: launches" timed launches 60 "${bench[@]}" --work 'graph20*' --peers torch --seconds 2
}
part_text() {
    [ -n "${DRY:-}" ] && return # a whole network takes too long there
    check "DistilBERT" timed text 200 "$python" bench/gpu --device "$device" --rounds 1 --minutes 2.5 --work distilbert \
        --peers torch,compile,graphs --out "$out/text.jsonl"
}
# In several processes, since each network starts a process and compiles kernels.
part_models() {
    [ -n "${DRY:-}" ] && return # transformers is needed
    local pids=() i code
    # It needs only ingot.h; make would ask for what unit tests need.
    mkdir -p build/tests/unit
    ${CC:-cc} -O1 -Iinclude tests/unit/text_tool.c -o build/tests/unit/text_tool -Lbuild -lingot -Wl,-rpath,"$PWD/build" -lm
    rm -f "$out"/models-*.txt
    for i in $(seq "$jobs"); do
        timed "models-$i" 100 env INGOT_PART="$i/$jobs" INGOT_DEVICES="$device" INGOT_SAME_DEVICES="$device" \
            "$python" tests/test_text_models.py >"$temporary/models-$i" 2>&1 &
        pids+=($!)
    done
    for i in "${!pids[@]}"; do
        wait "${pids[$i]}"
        code=$?
        check "text models against transformers, part $((i + 1))" [ "$code" = 0 ]
        cat "$temporary/models-$((i + 1))"
    done
    grep -h ' passed\|^skipped' "$out"/models-*.txt
}
part_opencl() {
    "$INGOT" devices | grep -q '^opencl:0 ' || { skip 'bench/gpu, OpenCL' 'there is no device opencl:0'; return; }
    [ -n "${DRY:-}" ] && return
    check "bench/gpu, OpenCL" timed opencl 120 "$python" bench/gpu --device opencl:0 --rounds 1 --minutes 1.5 \
        --peers torch --work '^(relu|sum|softmax|layer_norm|sort 16M u32|matmul f32 4096( same)?$)' --out "$out/opencl.jsonl"
    cat "$out/opencl.txt"
    check "bench/opencl: first result, training step" timed opencl-start 120 "$python" bench/opencl --rounds 2 --work '[ft]*'
    cat "$out/opencl-start.txt"
}

for part in ${*:-verify same graphs sanitize programs train bench start steps text models opencl}; do
    began=$SECONDS
    "part_$part"
    echo "         $part: $((SECONDS - began)) s"
done 2>&1 | tee "$out/summary.txt"
passed=$(grep -c '^ok ' "$out/summary.txt") failed=$(grep -c '^FAILED' "$out/summary.txt")
skipped=$(grep -c '^skipped' "$out/summary.txt")
finish
