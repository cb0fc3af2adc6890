# NVIDIA's compute-sanitizer over emitted kernels, a training step, library calls and CUDA programs, on a real GPU.
#
#   tests/sanitize_cuda.sh [TOOL...]    TOOL: memcheck racecheck initcheck synccheck (all four)
#
# It is not a part of `make test`: it needs a GPU and takes a minute. All tools run at a time.
. tests/check.sh
ingot=${INGOT:-build/ingot}
device=${DEVICE:-cuda:0}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1 XDG_CACHE_HOME=$temporary/cache
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
    'products-same: eval --math same x = normal(key(0), [130, 67]); sum(x @ x.T) + sum((x @ x.T) @ x)'
    'library: eval x = normal(key(0), [512, 512]); h = astype(x, bf16); sum(x @ x) + sum(astype(h @ h, f32))'
    'sorts: eval x = normal(key(0), [40001]); sum(sort(x)[:7]) + sum(argsort(x)[:7]) + sum(sort(reshape(x[:40000], [200, 200]))[3])'
    'indices: eval x = normal(key(0), [500, 9]); i = randint(key(1), [800], 0, 500); sum(take(x, i, axis=0)) + sum(x[i[:10]])'
    'attention: eval q = normal(key(0), [3, 130, 64]); sum(scaled_dot_product_attention(q, q, q)) + sum(astype(scaled_dot_product_attention(astype(q, f16), astype(q, f16), astype(q, f16)), f32))'
    'convolution: eval x = normal(key(0), [2, 3, 17, 17]); w = normal(key(1), [5, 3, 3, 3]); sum(conv2d(x, w))'
    'training: train digits --epochs 1 --quiet'
    'training-cnn: train digits --model cnn --epochs 1 --batch 700 --quiet'
)

# One work under one tool; its log stays.
sanitize() {
    local tool=$1 name=${2%%: *} arguments=${2#*: } verb options=() log=$temporary/$1.${2%%: *}.log
    verb=${arguments%% *}
    arguments=${arguments#* }
    if [ "$verb" = train ]; then
        read -ra options <<<"$arguments"
    else
        while [[ $arguments == --* ]]; do
            options+=("${arguments%% *}")
            arguments=${arguments#* }
            options+=("${arguments%% *}")
            arguments=${arguments#* }
        done
        options+=("$arguments")
    fi
    timeout 90 "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 4 \
        "$ingot" "$verb" --device "$device" "${options[@]}" >"$log" 2>&1
    echo $? >"$log.code"
}

verdict() {
    local log=$temporary/$1.${2%%: *}.log
    [ "$(cat "$log.code" 2>/dev/null)" = 0 ] && return
    tail -n 30 "$log"
    return 1
}

for work in "${works[@]}"; do # kernels are compiled once
    sanitize memcheck "$work" &
done
wait
for tool in $tools; do
    [ "$tool" = memcheck ] && continue
    for work in "${works[@]}"; do
        sanitize "$tool" "$work" &
    done
    wait
done
for tool in $tools; do
    for work in "${works[@]}"; do
        check "$tool ${work%%: *}" verdict "$tool" "$work"
    done
done
finish
