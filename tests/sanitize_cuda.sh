# NVIDIA's compute-sanitizer over emitted kernels, a training step, library calls and CUDA programs, on a real GPU.
#
#   tests/sanitize_cuda.sh [TOOL...]    TOOL: memcheck racecheck initcheck synccheck (all four)
#
# It is not a part of `make test`: it needs a GPU and takes a minute or two. tests/gpu.sh runs it with everything else.
. tests/check.sh
ingot=${INGOT:-build/ingot}
device=${DEVICE:-cuda:0}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1 XDG_CACHE_HOME=$temporary/cache IG_SHUTDOWN=on
tools=${*:-memcheck racecheck initcheck synccheck}
if [ -z "$sanitizer" ] || ! "$ingot" devices | grep -q "^$device "; then
    skip 'compute-sanitizer' "there is no compute-sanitizer or no device $device"
    finish
    exit
fi

# NAME: ARGUMENTS of the command. Every kind of program is there, with ragged shapes.
works=(
    'maps: eval x = normal(key(0), [300, 70]); sum(relu(x * 2 + 1) / (1 + exp(-x.T[:, :]).T)) + sum(where(x > 0, x, x * x))'
    'reductions: eval x = normal(key(0), [301, 77]); sum(x) + sum(max(x, 0)) + sum(mean(x, 1)) + sum(x, 1)[5] + sum(argmax(x, 1))'
    'long-reductions: eval x = uniform(key(0), [3000001]); sum(x) + max(x) + sum(cumulative_sum(x)[-3:])'
    'chains: eval x = normal(key(0), [130, 1500]); sum(softmax(x) * layer_norm(x)) + sum(softmax(x[:, :33]))'
    'products: eval x = normal(key(0), [130, 67]); sum(x @ x.T) + sum((x @ x.T) @ x)'
    'products-same: eval --math=same x = normal(key(0), [130, 67]); sum(x @ x.T) + sum((x @ x.T) @ x)'
    'library: eval x = normal(key(0), [512, 512]); h = astype(x, bf16); sum(x @ x) + sum(astype(h @ h, f32))'
    'sorts: eval x = normal(key(0), [40001]); sum(sort(x)[:7]) + sum(argsort(x)[:7]) + sum(sort(reshape(x[:40000], [200, 200]))[3])'
    'indices: eval x = normal(key(0), [500, 9]); i = randint(key(1), [800], 0, 500); sum(take(x, i, axis=0)) + sum(x[i[:10]])'
    'attention: eval q = normal(key(0), [3, 130, 64]); sum(scaled_dot_product_attention(q, q, q)) + sum(astype(scaled_dot_product_attention(astype(q, f16), astype(q, f16), astype(q, f16)), f32))'
    'attention-tiles: eval q = normal(key(0), [70, 70, 16]); sum(scaled_dot_product_attention(q, q, q))'
    'attention-same: eval --math=same q = normal(key(0), [70, 70, 16]); sum(scaled_dot_product_attention(q, q, q))'
    'convolution: eval x = normal(key(0), [2, 3, 17, 17]); w = normal(key(1), [5, 3, 3, 3]); sum(conv2d(x, w))'
    'training: train digits --epochs 1 --batch 200 --quiet'
    'training-cnn: train digits --model cnn --epochs 1 --batch 700 --quiet'
)

# One work: alone (the kernels are compiled and cached), or under a tool. The exit code is the last line of the log.
work_run() {
    local tool=$1 work=${works[$2]} words=() log
    local name=${work%%: *} arguments=${work#*: }
    local verb=${arguments%% *}
    arguments=${arguments#* }
    log=$temporary/$tool.$name
    if [ "$verb" = train ]; then
        read -ra words <<<"$arguments"
    else
        while [[ $arguments == --* ]]; do
            words+=("${arguments%% *}")
            arguments=${arguments#* }
        done
        words+=("$arguments")
    fi
    local before=("$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 4)
    [ "$tool" = none ] && before=()
    timeout 80 "${before[@]}" "$ingot" "$verb" --device "$device" "${words[@]}" >"$log" 2>&1
    local code=$?
    echo "$code" >>"$log"
    [ "$tool" = none ] && return
    check "$tool $name" verdict "$log"
}
verdict() {
    [ "$(tail -n 1 "$1")" = 0 ] || { tail -n 30 "$1" && false; }
}

# Some at a time; each prints its own line.
all() {
    local tool
    for tool in "$@"; do
        for i in "${!works[@]}"; do
            while [ "$(jobs -rp | wc -l)" -ge 14 ]; do
                wait -n
            done
            work_run "$tool" "$i" &
        done
    done
    wait
}
all none
all $tools | tee "$temporary/lines"
passed=$(grep -c '^ok ' "$temporary/lines") failed=$(grep -c '^FAILED' "$temporary/lines")
finish
