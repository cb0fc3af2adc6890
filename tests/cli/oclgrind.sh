# Oclgrind, which interprets OpenCL kernels, finds nothing in those of array programs: no access outside a buffer, no
# data race, no wrong call. It has a device that is a GPU and one that is a CPU, whose kernels differ. The results are
# the CPU's bits. IG_TEST_QUICK: every third program.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

library=
for file in /usr/lib/oclgrind/liboclgrind-rt.so /usr/lib64/oclgrind/liboclgrind-rt.so; do
    [ -e "$file" ] && library=$file
done
if [ -z "$library" ]; then
    skip 'kernels in Oclgrind' 'Oclgrind is not there'
    finish
    exit
fi
export IG_CACHE=off OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 OCLGRIND_LOG="$temporary/log"

# clean DEVICE EXPRESSION: Oclgrind reports nothing, and the device gives the CPU's bytes.
clean() {
    rm -f "$temporary/log"
    IG_OPENCL=off "$ingot" eval --math same -o "$temporary/cpu.npy" "$2" &&
        IG_OPENCL=$library "$ingot" eval --math same --device "$1" -o "$temporary/other.npy" "$2" &&
        cmp "$temporary/cpu.npy" "$temporary/other.npy" || return 1
    [ ! -s "$temporary/log" ] || { head -20 "$temporary/log" && return 1; }
}

n=0
while read -r line; do
    n=$((n + 1))
    [ -z "${IG_TEST_QUICK:-}" ] || [ $((n % 3)) = 0 ] || continue
    check "GPU: $line" clean opencl:0 "$line"
    check "CPU: $line" clean opencl:2 "$line"
done <<'EOF'
relu(arange(1000.0)[::-3] * 0.5 - 20)
astype(normal(key(0), [33, 7]), f16).T + 1
sum(uniform(key(0), [40, 50]))
sum(uniform(key(0), [1, 3000]), axis=1)
max(uniform(key(0), [300, 5]), axis=0)
argmin(uniform(key(0), [5, 300]), axis=1)
softmax(normal(key(0), [5, 100]))
layer_norm(normal(key(0), [3, 1100]))
cross_entropy(normal(key(0), [5, 9]), [0, 8, 3, 1, 2])
normal(key(0), [33, 70]) @ normal(key(1), [70, 65])
q = normal(key(0), [2, 33, 8]); scaled_dot_product_attention(q, q, q)
conv2d(normal(key(0), [1, 2, 6, 7]), normal(key(1), [3, 2, 3, 3]))
max_pool2d(normal(key(0), [1, 2, 6, 8]), 2)
cumulative_sum(normal(key(0), [3, 1500]), axis=1)
cumulative_sum(normal(key(0), [5000]))
sort(normal(key(0), [3, 100]))
argsort(astype(normal(key(0), [2100]) * 30, i8))
topk(normal(key(0), [2, 300]), 5)[0]
searchsorted(arange(50.0), uniform(key(0), [70]) * 60)
take(normal(key(0), [9, 5]), [3, -1, 0], axis=0)
scatter_add(zeros([20]), [1, 1, 19, 3], [1.0, 2.0, 3.0, 4.0])
w = normal(key(0), [6, 4]); x = normal(key(1), [5, 6]); grad(cross_entropy(relu(x @ w), [0, 1, 2, 3, 0]), w)
EOF

# What it must find.
reports() { # TEXT, then the arguments of ingot
    rm -f "$temporary/log"
    local text=$1
    shift
    IG_OPENCL=$library "$ingot" "$@" >"$temporary/out" 2>&1
    grep -q "$text" "$temporary/log" 2>/dev/null || { cat "$temporary/out" "$temporary/log" && return 1; }
}
cat >"$temporary/wrong.cu" <<'EOF'
extern "C" __global__ void beyond(float *x) { x[threadIdx.x + (1 << 24)] = 1; }
extern "C" __global__ void race(float *x) { x[0] = threadIdx.x; }
EOF
for device in opencl:0 opencl:2; do
    check "a store beyond the end, $device" reports 'Invalid write' \
        eval --device $device "kernel(\"$temporary/wrong.cu\", \"beyond\", x=64, block=64)"
    check "a race, $device" reports 'data race' \
        eval --device $device "kernel(\"$temporary/wrong.cu\", \"race\", x=64, block=64)"
done
finish
