# kernel(...) in ingot eval: what it gives, its gradients, the schedule, and mistakes with their exit codes.
. tests/check.sh
. tests/expressions.sh
ingot=$(realpath "${INGOT:-build/ingot}")
saxpy=$(realpath examples/cuda/02_saxpy.cu)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1
cd "$temporary" || exit 1

cat > k.cu <<'CUDA'
#ifndef POWER
#define POWER 3
#endif
__global__ void power(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = powf(x[i], POWER);
}
__global__ void power_grad(int n, const float *x, const float *grad_y, float *grad_x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grad_x[i] = POWER * powf(x[i], POWER - 1) * grad_y[i];
}
__global__ void power_grad_grad(int n, const float *x, const float *grad_y, const float *grad_grad_x,
                                float *grad_x, float *grad_grad_y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    grad_x[i] = POWER * (POWER - 1) * powf(x[i], POWER - 2) * grad_y[i] * grad_grad_x[i];
    grad_grad_y[i] = POWER * powf(x[i], POWER - 1) * grad_grad_x[i];
}
__global__ void scale(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void scale_grad(int n, float a, const float *x, const float *grad_y, float *grad_x, float *grad_a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { grad_x[i] = a * grad_y[i]; atomicAdd(grad_a, x[i] * grad_y[i]); }
}
__global__ void extremes(int n, const float *x, float *least, int *place)
{
    extern __shared__ float s[];
    int i = threadIdx.x;
    s[i] = i < n ? x[i] : INFINITY;
    __syncthreads();
    if (i) return;
    for (int k = 1; k < n; k++) if (s[k] < s[place[0]]) place[0] = k;
    least[0] = s[place[0]];
}
__global__ void table(int rows, int columns, int *y)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) y[r * columns + c] = 10 * r + c;
}
__global__ void positive(const float *x, float *y) { assert(x[0] > 0); y[0] = x[0]; }
template <typename T> __global__ void twice(int n, const T *x, T *y)
{
    if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}
CUDA
printf '__global__ void f(float *y) { y[0] = 1; }\n' > bad2.cu
printf '__global__ void k(float *y)\n{\n    y[0] = z;\n}\n' > bad.cu

# has TEXT ARGUMENTS...: what is said has the text.
has() {
    local expected=$1 got
    shift
    got=$("$ingot" eval "$@" 2>&1)
    [[ $got == *"$expected"* ]] && return
    printf 'got      %s\nexpected %s\n' "$got" "$expected"
    return 1
}

# fails CODE TEXT EXPRESSION: exit code, and the first line of what is said.
fails() {
    local got status
    got=$("$ingot" eval -- "$3" 2>&1 >/dev/null)
    status=$?
    [ "$status" = "$1" ] && [ "${got%%$'\n'*}" = "ingot eval: $2" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected ingot eval: %s\n' "$status" "$1" "$got" "$2"
    return 1
}
wrong() { check "error: $3" fails "$1" "$2" "$3"; }

# ---- values
check 'an example, with zeros' prints '[ 0.  2.  4.  6.  8. 10. 12. 14.]' \
    "x = arange(0.0, 8.0); kernel(\"$saxpy\", \"saxpy\", n=8, a=2, x=x, y=8)"
check 'an example, in order, with an array' prints '[1. 3. 5.]' \
    "kernel(\"$saxpy\", \"saxpy\", 3, 2.0, [0.0, 1.0, 2.0], ones([3]))"
gives '[ 1.  8. 27.]' 'kernel("k.cu", "power", n=3, x=[1.0, 2.0, 3.0], y=3)'
gives '[ 1. 16. 81.]' 'kernel("k.cu", "power", n=3, x=[1.0, 2.0, 3.0], y=3, defines="POWER=4")'
gives '[-7. 19.]' 'x = [1.0, 2.0, 3.0]; y = kernel("k.cu", "power", n=3, x=x, y=(3,)) - 8; y[::2]'
gives $'[[ 0  1  2  3  4]\n [10 11 12 13 14]]' 'kernel("k.cu", "table", 2, 5, (2, 5), block=(2, 2))'
gives $'[1.]\n[2]' \
    'kernel("k.cu", "extremes", n=3, x=[3.0, 2.0, 1.0], least=1, place=1, grid=1, block=4, shared=16)'
gives 2 'least, place = kernel("k.cu", "extremes", 3, [3.0, 2.0, 1.0], 1, 1, grid=1, block=4, shared=16); place[0]'
gives '[2 4]' 'kernel("k.cu", "twice<int>", 2, array([1, 2], i32), 2)'

# ---- gradients
gives '[ 3. 12. 27.]' \
    'x = [1.0, 2.0, 3.0]; y = kernel("k.cu", "power", n=3, x=x, y=3, gradient="power_grad"); grad(sum(y), x)'
gives '[ 6. 12.]' \
    'x = [1.0, 2.0]; y = kernel("k.cu", "power", 2, x, 2, gradient=["power_grad", "power_grad_grad"]); grad(sum(grad(sum(y), x)), x)'
gives 3.0 \
    'a = 2.0; x = [1.0, 2.0]; grad(sum(kernel("k.cu", "scale", n=2, a=a, x=x, y=2, gradient="scale_grad")), a)'
wrong 1 "1:61: grad: kernel 'power' was made without a gradient kernel; name one where it is made, or pass its inputs through stop_gradient if they are meant as constants" \
    'x = [1.0, 2.0]; y = kernel("k.cu", "power", n=2, x=x, y=2); grad(sum(y), x)'

# ---- as any op
check explained has 'kernel    | power<<<2, 2>>> | x0 -> t0 ' --explain \
    'kernel("k.cu", "power", n=3, x=[1.0, 2.0, 3.0], y=3, block=2) + 1'
check 'equal ones are one program' has 'device cpu: 8 nodes in 3 programs' --explain \
    'x = arange(3.0); kernel("k.cu", "power", 1, x, 1) + kernel("k.cu", "power", 1, x, 1)'
check verified has ' 0 failed' --verify 'exp(-kernel("k.cu", "power", n=9, x=arange(9.0), y=9))'
check traced has '' --trace t.json 'kernel("k.cu", "power", n=9, x=arange(9.0), y=9)'
check 'the timeline names it' grep -q 'power<<<1, 256>>>' t.json
check 'ingot ops lists it' grep -q 'kernel(path, name' <("$ingot" ops)

# ---- mistakes
wrong 5 "1:1: bad.cu:3:12: error: unknown name 'z'" 'kernel("bad.cu", "k", y=1)'
wrong 5 '1:5: no.cu: No such file or directory' 'y = kernel("no.cu", "k", y=1)'
wrong 1 "1:1: there is no kernel 'twic' in bad2.cu; it has f" 'kernel("bad2.cu", "twic", y=1)'
wrong 1 "1:1: kernel 'power' has no parameter 'z'; it has n, x, y" 'kernel("k.cu", "power", z=1)'
wrong 1 "1:1: kernel 'power': 'y' (float *) is not given" 'kernel("k.cu", "power", 2, [1.0, 2.0])'
wrong 1 "1:1: kernel 'power': 'x' is a const float *, but the array is i64; convert with astype" \
    'kernel("k.cu", "power", 2, [1, 2], 2)'
wrong 1 '1:42: a kernel takes numbers, arrays and shapes, not a string' 'kernel("k.cu", "power", 2, [1.0, 2.0], y="a")'
wrong 1 '1:41: this takes one to three lengths, such as 256 or (16, 16)' 'kernel("k.cu", "power", n=1, y=1, block=0)'
wrong 1 '1:8: kernel("k.cu", "name", ...) takes a string here, not an int' 'kernel(1)'
wrong 1 '1:1: kernel needs a file and the name of a kernel in it: kernel("k.cu", "saxpy", n=8, x=x, y=8)' 'kernel("k.cu")'
wrong 1 "1:1: kernel 'positive': assertion failed: x[0] > 0, by thread (0, 0, 0) of block (0, 0, 0), at k.cu:47" \
    'kernel("k.cu", "positive", [-1.0], 1)'
finish
