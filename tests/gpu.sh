# Everything that needs a real GPU, in a few minutes: checks and times, each with a limit, written as they arrive.
#
#   tests/gpu.sh [PART...]     PART: verify same sanitize programs train bench start steps text models opencl (all)
#
# OUT is the folder for results (build/gpu), DEVICE the device (cuda:0), JOBS the processes at a time (15), LIMIT the seconds
# for all ops (170), PYTHON one with PyTorch and JAX. A part that reaches its limit is FAILED, with the results so far in OUT.
# It is not a part of `make test`. Processes on one GPU take turns of milliseconds unless CUDA's MPS runs.
#
#   DRY=1 tests/gpu.sh         on the fake driver, with few ops and tiny sizes: finds mistakes of this script
. tests/check.sh
out=${OUT:-build/gpu} device=${DEVICE:-cuda:0} jobs=${JOBS:-15} limit=${LIMIT:-170} python=${PYTHON:-python3}
export INGOT=${INGOT:-build/ingot} NO_COLOR=1
mkdir -p "$out"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
dry=()
if [ -n "${DRY:-}" ]; then
    fake=$(realpath "${BUILD:-build}/tests/fakecuda")
    export IG_CUDA=$fake/cuda.so IG_NVRTC=$fake/cuda.so IG_CUBLASLT=$fake/libraries.so IG_CUDNN=$fake/libraries.so
    export XDG_CACHE_HOME=$temporary/cache
    jobs=2 dry=(--dry)
fi
if ! "$INGOT" devices | grep -q "^$device "; then
    skip 'GPU' "there is no device $device"
    finish
    exit
fi

# Ops that every device is asked about; in a dry run some of each class.
ops() {
    if [ -n "${DRY:-}" ]; then
        printf '%s\n' add softmax sort matmul take
    else
        "$INGOT" ops --json --device "$device" | grep -o '{"name": "[a-z0-9_]*", "class"' | cut -d'"' -f4
    fi
}

# each NAME SECONDS ARGUMENTS...: `ingot verify ARGUMENTS --op OP` of all ops, some at a time. A line for each op goes to
# OUT/NAME.txt as soon as it is known: the op, its exit code (4: nothing to check), how many cases passed and failed.
each() {
    local name=$1 seconds=$2
    shift 2
    : >"$out/$name.txt"
    one() {
        local op=$1 said code began=$SECONDS
        shift
        said=$(timeout 170 "$INGOT" verify "$@" --op "$op" 2>&1)
        code=$?
        echo "$op $code $(tail -n 1 <<<"$said"), $((SECONDS - began)) s" >>"$ONE_OUT"
        [ "$code" = 0 ] || { echo "== $op"; tail -n 12 <<<"$said"; } >>"$ONE_OUT.failures"
    }
    export -f one
    rm -f "$out/$name.txt.failures"
    ops | ONE_OUT=$out/$name.txt timeout "$seconds" xargs -P "$jobs" -I OP bash -c 'one "$@"' - OP "$@"
    local wanted done_ wrong
    wanted=$(ops | wc -l) done_=$(wc -l <"$out/$name.txt")
    wrong=$(awk '$2 != 0' "$out/$name.txt")
    echo "$done_ of $wanted ops, $(awk '{n += $3} END {print n + 0}' "$out/$name.txt") cases passed"
    [ -z "$wrong" ] && [ "$done_" = "$wanted" ] || { printf '%s\n' "$wrong" && false; }
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

part_verify() { check "verify, all ops" each verify "$limit" --quick --device "$device"; }
part_same() { check "the CPU's bits, all ops" each same "$limit" --quick --same "cpu,$device"; }
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
    make -s build/tests/unit/text_tool
    for i in 1 2 3 4 5 6 7 8; do
        timed "models-$i" 100 env INGOT_PART="$i/8" INGOT_DEVICES="$device" INGOT_SAME_DEVICES="$device" \
            "$python" tests/test_text_models.py >"$temporary/models-$i" 2>&1 &
        pids+=($!)
    done
    for i in "${!pids[@]}"; do
        wait "${pids[$i]}"
        code=$?
        check "text models against transformers, part $((i + 1))" [ "$code" = 0 ]
        cat "$temporary/models-$((i + 1))"
    done
    grep -h ' passed\|^skipped' "$out"/models-?.txt
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

for part in ${*:-verify same sanitize programs train bench start steps text models opencl}; do
    began=$SECONDS
    "part_$part"
    echo "         $part: $((SECONDS - began)) s"
done 2>&1 | tee "$out/summary.txt"
passed=$(grep -c '^ok ' "$out/summary.txt") failed=$(grep -c '^FAILED' "$out/summary.txt")
skipped=$(grep -c '^skipped' "$out/summary.txt")
finish
