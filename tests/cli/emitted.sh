# Emitted kernels that only long rows or large shapes reach have the bits of the CPU: on the device gang, and
# some of them through an OpenCL compiler.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# same DEVICE EXPRESSION: the device gives the CPU's bytes.
same() {
    "$ingot" eval --math same -o "$temporary/cpu.npy" "$2" &&
        "$ingot" eval --math same --device "$1" -o "$temporary/other.npy" "$2" &&
        cmp "$temporary/cpu.npy" "$temporary/other.npy"
}

while read -r line; do
    check "gang: $line" same gang "$line"
done <<'EOF'
sort(normal(key(0), [5000]))
v0 = compute(reshape(take(array([1], bool), arange(36) % 1), [9, 4])); norm(split(repeat(v0, 2))[0])
argsort(astype(normal(key(0), [2, 5000]) * 3, i32))
sort(astype(normal(key(0), [2, 9000]) * 30, i8), descending=true)
argsort(astype(normal(key(0), [9000]), f16), descending=true)
sort(astype(normal(key(0), [9000]), f64))
argsort(astype(bits(key(0), [2, 2049], u32), i64) * 5000000000)
argsort(normal(key(0), [4100, 3]).T, axis=1)
x = concat([normal(key(0), [3000]), zeros([2000]) * -1.0, zeros([2000]), full([1000], nan)]); sort(x)
x = concat([normal(key(0), [3000]), zeros([2000]) * -1.0, zeros([2000]), full([1000], nan)]); argsort(x, descending=true)
topk(normal(key(0), [2, 5000]), 7)[1]
scatter_add(zeros([70000]), astype(uniform(key(0), [9000]) * 70000, i64), normal(key(1), [9000]))
x = arange(5.0) + 1; grad(sum(take(flip(x), [0, 2, 4, 4, 1]) * [1.0, 2, 3, 4, 5]), x)
x = reshape(arange(12.0), (3, 4)); grad(sum(square(take(flip(x), [1, 0, 1], axis=0))), x)
cumulative_sum(normal(key(0), [200000]))
cumulative_sum(normal(key(0), [3, 70001]), axis=1)
cumulative_sum(normal(key(0), [1500, 5]), axis=0)
cumulative_prod(astype(uniform(key(0), [2, 3000]) + 0.5, f64), axis=1)
cumulative_sum(astype(normal(key(0), [7, 1500]), bf16), axis=1)
cumulative_sum(astype(normal(key(0), [5000]) * 50, i64))
sum(uniform(key(0), [100, 3000]))
sum(normal(key(0), [3000, 100]), axis=0)
sum(normal(key(0), [40, 65]), axis=0)
sum(astype(normal(key(0), [1025, 70]), bf16), axis=0)
max(normal(key(0), [3000, 100]), axis=0)
x = normal(key(0), [3000, 100]); y = exp(x); z = sum(y, axis=0); y + z
sum(uniform(key(0), [3, 100004]), axis=1)
uniform(key(0), [100, 40])
sum(astype(bits(key(0), [200000], u8), u32))
softmax(normal(key(0), [30, 1000]))
softmax(normal(key(0), [3, 33]) + 1)
layer_norm(normal(key(0), [7, 100]))
softmax(astype(normal(key(0), [30, 600]), f16))
normal(key(0), [70, 600]) @ normal(key(1), [600, 100])
normal(key(0), [3, 65, 301]) @ normal(key(1), [301, 7]) + normal(key(2), [7])
normal(key(0), [600, 68]).T @ normal(key(1), [132, 600]).T
normal(key(0), [250, 521]) @ normal(key(1), [521, 250]) + normal(key(2), [250])
normal(key(0), [300, 256]).T @ normal(key(1), [256, 300]).T
relu(astype(normal(key(0), [2, 128, 516]), f16) @ astype(normal(key(1), [516, 128]), f16))
normal(key(0), [127, 0]) @ normal(key(1), [0, 250])
astype(normal(key(0), [70, 520]), f64) @ astype(normal(key(1), [520, 66]), f64)
relu(astype(normal(key(0), [70, 520]), f16) @ astype(normal(key(1), [520, 72]), f16))
astype(normal(key(0), [70, 30]) * 50, i8) @ astype(normal(key(1), [30, 66]) * 50, i8)
astype(normal(key(0), [70, 300]) * 5000, i64) @ astype(normal(key(1), [300, 66]) * 5000, i64)
zeros([5, 0]) @ zeros([0, 8])
conv2d(normal(key(0), [2, 3, 10, 12]), normal(key(1), [8, 3, 3, 3]))
q = normal(key(0), [2, 64, 16]); scaled_dot_product_attention(q, q, q)
q = normal(key(0), [2, 2, 101, 17]); k = normal(key(1), [2, 2, 1301, 17]); scaled_dot_product_attention(q, k, k)
q = astype(normal(key(0), [2, 200, 64]), f16); scaled_dot_product_attention(q, q, q)
q = astype(normal(key(0), [100, 64]), f64); scaled_dot_product_attention(q, q, q)
q = normal(key(0), [40, 16]); k = normal(key(1), [5000, 16]); scaled_dot_product_attention(q, k, k)
q = normal(key(0), [3, 40, 16]); scaled_dot_product_attention(q, q, q, is_causal=true)
q = normal(key(0), [2, 130, 64]); scaled_dot_product_attention(q, q, q)
q = normal(key(0), [2, 3, 70, 32]); k = normal(key(1), [2, 3, 150, 32]); m = normal(key(2), [2, 1, 70, 150]) > 2.2; scaled_dot_product_attention(q, k, k, m)
q = normal(key(0), [140, 7]); k = normal(key(1), [3300, 7]); v = normal(key(2), [3300, 50]); scaled_dot_product_attention(q, k, v)
q = normal(key(0), [64, 70]).T; k = normal(key(1), [64, 90]).T; scaled_dot_product_attention(q, k, normal(key(2), [64, 90]).T)
q = normal(key(0), [2, 70, 80]); scaled_dot_product_attention(q, q, q)
EOF

# ---- rows in registers: each is read once, and only the last points of a thread are checked against its end
read_once() {
    local kept=$temporary/kept
    rm -rf "$kept" && mkdir "$kept" && IG_KEEP_KERNELS=$kept "$ingot" eval --device gang "$1" >/dev/null &&
        [ "$(grep -ho '= p[0-9]*\[' "$kept"/*.cu | wc -l)" = "$2" ]
}
for columns in 4 128 129 1000 1024; do
    "$ingot" eval -o "$temporary/x.npy" "normal(key(0), [11, $columns]) * 40"
    x="x = load('$temporary/x.npy')"
    for rest in 'softmax(x)' 'log_softmax(x)' 'layer_norm(x)' 'layer_norm(astype(x, f64))' 'softmax(astype(x, f16))' \
        'z = x * 3; concat([z, layer_norm(z)])'; do
        check "gang: $columns columns: $rest" same gang "$x; $rest"
    done
done
check 'softmax reads its input once' read_once "$x; softmax(x)" 1
check 'layer_norm reads its input once' read_once "$x; layer_norm(x)" 1
check 'a stored row is not read again' read_once "$x; z = x * 3; layer_norm(z) * 2 + z" 1

# ---- halves: what is moved keeps the bits of a NaN; what is computed is converted by one instruction
# halves NAMES EXPRESSION: the functions of these names convert.
halves() {
    local kept=$temporary/halves
    rm -rf "$kept" && mkdir "$kept" && IG_KEEP_KERNELS=$kept "$ingot" eval --device gang -o "$temporary/y.npy" "$2" &&
        [ "$(grep -ho '[a-z0-9]*_[a-z0-9]*_f32[a-z_]*(\|round_b*f16[a-z_]*(' "$kept"/*.cu | sort -u | tr -d '\n')" = "$1" ]
}
"$ingot" eval -o "$temporary/h.npy" 'astype(normal(key(0), [40]), f16)'
h="x = load('$temporary/h.npy')"
check 'arithmetic converts halves quickly' halves 'f16_of_f32_quick(f16_to_f32_quick(round_f16_quick(' "$h; exp(x) + x"
check 'a moved half keeps its NaN' halves 'f16_of_f32(f16_to_f32(' "$h; concat([x, x])"
check 'a half that is moved and computed with, too' halves \
    'f16_of_f32(f16_of_f32_quick(f16_to_f32(f16_to_f32_quick(round_f16_quick(' "$h; z = x * 2; concat([where(z > 1, x, x[::-1]), z])"
# The payload of a NaN: 0x7e55 ("U~") in all elements.
nans() {
    { head -c 128 "$temporary/h.npy"; printf "U~%.0s" {1..40}; } >"$temporary/nans.npy"
    same gang "x = load('$temporary/nans.npy'); concat([where(x > 1, x[::-1], x), astype(x, f32)[:3]])" &&
        same gang "x = load('$temporary/nans.npy'); concat([x[::-1], x])" &&
        [ "$(tail -c 80 "$temporary/other.npy" | od -v -An -tx2 | tr -s ' ' '\n' | sort -u | tr -d '\n')" = 7e55 ]
}
check 'the payload of a NaN' nans

# ---- large tiles: 128 x 128 sums for a block of 256 threads
large() {
    local kept=$temporary/large
    rm -rf "$kept" && mkdir "$kept" && IG_KEEP_KERNELS=$kept "$ingot" eval --math "$1" --device gang "$2" >/dev/null &&
        grep -q '#define c0_LARGE 1' "$kept"/*.cu && grep -q '#define c0_THREADS 256' "$kept"/*.cu
}
product='normal(key(0), [250, 30]) @ normal(key(1), [30, 250])'
check 'a product has large tiles' large same "$product"
check 'in strict mode, too' large strict "$product"
not_large() { ! large "$@"; }
check 'few rows have small ones' not_large same 'normal(key(0), [60, 30]) @ normal(key(1), [30, 250])'

# Attention has tiles of 64 rows and keys, if a row of the result has at most 64 elements.
tiles() {
    local kept=$temporary/tiles
    rm -rf "$kept" && mkdir "$kept" && IG_KEEP_KERNELS=$kept "$ingot" eval --math "$1" --device gang \
        "q = normal(key(0), [$2]); scaled_dot_product_attention(q, q, q)" >/dev/null && cat "$kept"/*.cu | grep "$3"
}
check 'attention has large tiles' tiles strict '2, 70, 32' '#include "contract_attend.cu"'
check 'in mode same, too' tiles same '2, 70, 32' '#include "contract_attend.cu"'
check 'with long rows of the result, it has small ones' tiles same '2, 70, 80' '#include "contract_chain.cu"'

# The scores of attention, 32 KiB, exist by rows: the only temporary is the scaled input.
attention() {
    "$ingot" eval -o "$temporary/q.npy" 'normal(key(0), [2, 64, 16])' &&
        "$ingot" eval --device gang --explain \
            "q = load('$temporary/q.npy'); scaled_dot_product_attention(q, q, q)" |
        grep 'temporaries 8192 B'
}
check 'attention: scores are never in memory as a whole' attention

# What reads two products element by element joins the epilogue of one of them.
gated() {
    "$ingot" eval --device "$1" --explain \
        "x = normal(key(0), [3, 40]); silu(x @ ones([40, 50])) * (x @ zeros([40, 50]))" | grep 'contract sigmoid multiply multiply'
}
check 'gang: a gate joins a product' gated gang
check 'cpu: a gate joins a product' gated cpu

# A norm of one short row is one launch; a long row is divided among blocks.
one_row() {
    "$ingot" eval --device gang --explain "x = normal(key(0), [1, $1]); rms_norm(x, ones([$1]), axes=[-1])" | grep "$2"
}
check 'the norm of a short row is a chain' one_row 300 '2|map'
check 'the norm of a long row is not' one_row 9000 '2 map'

if ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1; then
    while read -r line; do
        check "opencl: $line" same opencl "$line"
    done <<'EOF'
argsort(normal(key(0), [2, 5000]))
sort(astype(normal(key(0), [9000]) * 30, i8), descending=true)
normal(key(0), [3, 65, 301]) @ normal(key(1), [301, 7]) + normal(key(2), [7])
softmax(normal(key(0), [3, 1500]))
cumulative_sum(normal(key(0), [3, 70001]), axis=1)
cumulative_sum(astype(normal(key(0), [7, 1500]), bf16), axis=1)
sum(uniform(key(0), [3, 100004]), axis=1)
EOF
fi
finish
