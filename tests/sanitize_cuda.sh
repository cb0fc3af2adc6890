# NVIDIA's compute-sanitizer over emitted kernels, a training step, library calls and CUDA programs, on a real GPU.
#
#   tests/sanitize_cuda.sh [TOOL...]    TOOL: memcheck racecheck initcheck synccheck (all four)
#
# JOBS is the number of processes at a time (15), LIMIT the seconds for one of them (100), WORKS a pattern that the names of works
# match (all).
# It needs a GPU and takes a minute or two. tests/gpu.sh runs it with everything else.
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

# NAME: [VARIABLE=VALUE...] ARGUMENTS of the command. Every kind of program is there, with ragged shapes; the longest come first.
half="q = astype(normal(key(0), [3, 130, 64]), f16); k = astype(normal(key(1), [3, 197, 64]), f16)"
works=(
    "training-cnn: train $temporary/images.npz --model cnn --epochs 2 --batch 30 --quiet"
    "training-cnn-own: IG_CUDNN=off IG_CUBLASLT=off train $temporary/images.npz --model cnn --epochs 2 --batch 30 --quiet"
    'library: eval x = normal(key(0), [512, 512]); h = astype(x, bf16); sum(x @ x) + sum(astype(h @ h, f32))'
    'convolution: eval x = normal(key(0), [2, 3, 17, 17]); w = normal(key(1), [5, 3, 3, 3]); r = grad(sum(conv2d(x, w)), (x, w)); sum(r[0]) + sum(r[1])'
    'training: train digits --epochs 1 --batch 200 --quiet'
    'sorts: eval x = normal(key(0), [40001]); sum(sort(x)[:7]) + sum(argsort(x)[:7]) + sum(topk(x, 5)[0]) + sum(sort(reshape(x[:40000], [200, 200]))[3])'
    "attention-gradient: eval $half; v = k * 0.5; r = grad(sum(scaled_dot_product_attention(q, k, v)), (q, k, v)); sum(astype(r[0], f32)) + sum(astype(r[1], f32)) + sum(astype(r[2], f32))"
    "attention-wide: eval ${half//64/128}; r = grad(sum(scaled_dot_product_attention(q, k, k, is_causal=true)), (q, k)); sum(astype(r[0], f32)) + sum(astype(r[1], f32))"
    'attention: eval q = normal(key(0), [3, 130, 64]); h = astype(q, f16); sum(scaled_dot_product_attention(q, q, q)) + sum(astype(scaled_dot_product_attention(h, h, h), f32))'
    'attention-f32-gradient: eval q = normal(key(0), [3, 70, 32]); sum(grad(sum(scaled_dot_product_attention(q, q, q)), q))'
    'attention-turns: eval q = astype(normal(key(0), [140, 60, 64]), f16); k = astype(normal(key(1), [140, 1030, 64]), f16); sum(astype(scaled_dot_product_attention(q, k, k), f32))'
    'attention-tiles: eval q = normal(key(0), [70, 70, 16]); sum(scaled_dot_product_attention(q, q, q))'
    'attention-same: eval --math=same q = normal(key(0), [70, 70, 16]); sum(scaled_dot_product_attention(q, q, q))'
    'maps: eval x = normal(key(0), [300, 70]); sum(relu(x * 2 + 1) / (1 + exp(-x.T[:, :]).T)) + sum(where(x > 0, x, x * x))'
    'reductions: eval x = normal(key(0), [301, 77]); sum(x) + sum(max(x, 0)) + sum(mean(x, 1)) + sum(x, 1)[5] + sum(argmax(x, 1))'
    'long-reductions: eval x = uniform(key(0), [300001]); sum(x) + max(x) + sum(cumulative_sum(x)[-3:])'
    'chains: eval x = normal(key(0), [130, 1500]); sum(softmax(x) * layer_norm(x)) + sum(softmax(x[:, :33]))'
    'products: IG_CUBLASLT=off eval x = normal(key(0), [130, 67]); sum(x @ x.T) + sum((x @ x.T) @ x)'
    'products-own: IG_CUBLASLT=off eval x = astype(normal(key(0), [300, 272]), bf16); sum(astype(x @ x.T, f32)) + sum(astype(x.T @ x, f32))'
    'products-epilogue: eval x = astype(normal(key(0), [1500, 272]), f16); w = astype(normal(key(1), [1501, 272]), f16); b = astype(normal(key(2), [1501]), f16); z = x @ w.T + b; sum(astype(gelu(z), f32)) + sum(astype(relu(x @ w.T), f32))'
    'products-wide: IG_CUBLASLT=off eval x = astype(normal(key(0), [2100, 520]), f16); w = astype(normal(key(1), [760, 520]), f16); sum(astype(x @ w.T, f32))'
    'attention-short: eval q = astype(normal(key(0), [3, 5, 70, 64]), f16); k = astype(normal(key(1), [3, 5, 97, 64]), f16); m = reshape(arange(291) % 3 > 0, [3, 1, 1, 97]); sum(astype(scaled_dot_product_attention(q, k, k, mask=m), f32)) + sum(astype(scaled_dot_product_attention(q, k, k), f32))'
    'products-tf32: IG_CUBLASLT=off eval --math=tf32 x = normal(key(0), [300, 270]); sum(x @ x.T)'
    'products-same: eval --math=same x = normal(key(0), [130, 67]); sum(x @ x.T) + sum((x @ x.T) @ x)'
    'convolution-own: IG_CUDNN=off eval x = normal(key(0), [2, 3, 17, 17]); w = normal(key(1), [5, 3, 3, 3]); r = grad(sum(conv2d(x, w)), (x, w)); sum(r[0]) + sum(r[1])'
    'indices: eval x = normal(key(0), [500, 9]); i = randint(key(1), [800], 0, 500); sum(take(x, i, axis=0)) + sum(x[i[:10]]) + sum(grad(sum(take(x, i, axis=0) * 2), x))'
    'replays: eval --time x = normal(key(0), [64, 70]); softmax(x * 2) + sum(x, 0)'
    'kernels: eval x = arange(1000.0); sum(kernel("examples/cuda/02_saxpy.cu", "saxpy", n=1000, a=2.0, x=x, y=1000))'
    'shared: run examples/cuda/05_reduction.cu --kernel sum_shared --grid 4 --block 256 --arg n=10000 --arg x=ones:f32[n] --arg sums=zeros:f32[4]'
    'histogram: run examples/cuda/07_histogram.cu --kernel histogram_shared --grid 4 --block 64 --arg n=1000 --arg x=zeros:u8[n] --arg bins=zeros:u32[8]'
    "copies: eval -o=$temporary/copies.npy normal(key(0), [700001])"
)

if [ -n "${WORKS:-}" ]; then
    kept=()
    for work in "${works[@]}"; do
        [[ ${work%%: *} =~ $WORKS ]] && kept+=("$work")
    done
    works=("${kept[@]}")
fi

# initcheck does not see the stores of cuBLASLt's bf16 products, and reports our kernels that read them. It runs without
# the libraries.
without_libraries=(IG_CUBLASLT=off IG_CUDNN=off)

# One work: alone (the kernels are compiled and cached), or under a tool. The exit code is the last line of the log.
work_run() {
    local tool=$1 work=${works[$2]} words=() variables=() log began=$SECONDS
    local name=${work%%: *} arguments=${work#*: }
    while [[ $arguments == IG_* ]]; do
        variables+=("${arguments%% *}")
        arguments=${arguments#* }
    done
    local verb=${arguments%% *}
    arguments=${arguments#* }
    log=$temporary/$tool.$name
    if [ "$verb" != eval ]; then
        read -ra words <<<"$arguments"
    else
        while [[ $arguments == -* ]]; do
            words+=("${arguments%% *}")
            arguments=${arguments#* }
        done
        words+=("$arguments")
    fi
    local before=("$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 4)
    [ "$tool" = initcheck ] && variables+=("${without_libraries[@]}")
    [ "$tool" = none ] && before=()
    timeout "${LIMIT:-100}" env "${variables[@]}" "${before[@]}" "$ingot" "$verb" --device "$device" "${words[@]}" >"$log" 2>&1
    local code=$?
    echo "$code" >>"$log"
    [ "$tool" = none ] && return
    check "$tool $name, $((SECONDS - began)) s" verdict "$log"
}
verdict() {
    [ "$(tail -n 1 "$1")" = 0 ] || { grep '^=====' "$1" | head -n 25; tail -n 4 "$1" && false; }
}

# Some at a time; each prints its own line.
all() {
    local tool i
    for i in "${!works[@]}"; do
        for tool in "$@"; do
            # Without the libraries these are the works of the same name with -own.
            [[ $tool == initcheck && ${works[i]} =~ ^(training-cnn|library|convolution): ]] && continue
            while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-15}" ]; do
                wait -n
            done
            work_run "$tool" "$i" &
        done
    done
    wait
}
"$ingot" eval "save(\"$temporary/images.npz\", x=normal(key(0), [90, 8, 8]), y=randint(key(1), [90], 0, 3))" --quiet
all none
all $tools | tee "$temporary/lines"
passed=$(grep -c '^ok ' "$temporary/lines") failed=$(grep -c '^FAILED' "$temporary/lines")
finish
