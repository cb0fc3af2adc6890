# ingot eval: what expressions give, how errors point at their place, exit codes, files, JSON.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1
. tests/expressions.sh

# fails CODE TEXT ARGUMENTS...: exit code, and the first line of what is said.
fails() {
    local code=$1 expected=$2 got status
    shift 2
    got=$("$ingot" eval "$@" 2>&1 >/dev/null </dev/null)
    status=$?
    [ "$status" = "$code" ] && [ "${got%%$'\n'*}" = "ingot eval: $expected" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected ingot eval: %s\n' \
        "$status" "$code" "$got" "$expected"
    return 1
}
wrong() { check "error: ${2//$'\n'/ | }" fails 1 "$1" -- "$2"; }

# ---- storage formats
gives '[0.  0.5 1.  1.5]' 'quantize(arange(4.0) / 2, "f8_e4m3")'
gives '[ 0 48 56 60]' 'packed_bytes(quantize(arange(4.0) / 2, "f8_e4m3"))'
gives '((2, 32), (36,))' 'w = quantize(ones([2, 32]), "q4_0"); (w.shape, packed_bytes(w).shape)'
wrong '1:1: format is a name in quotes, such as "q4_0"' 'quantize(ones([32]), 4)'
wrong '1:1: packed_bytes: the elements of x are plain; use ig_data' 'packed_bytes(ones([3]))'

# ---- numbers, as Python computes with them
gives 7 '1 + 2 * 3'
gives -4 '-2 ** 2'
gives 512 '2 ** 3 ** 2'
gives 0.25 '2 ** -2'
gives -4 '-7 // 2'
gives 1 '-7 % 2'
gives -0.5 '7.5 % -2'
gives 3.5 '7 / 2'
gives 6 '2 + 1 << 1'
gives 7 '1 | 2 ^ 4'
gives 3 '5 & 3 | 2'
gives True '1 + 1 == 2'
gives False '(1 < 2) & (2 < 1)'
gives -6 '~5'
gives 1 '- -1'
gives 1000255 '1_000_000 + 0xff'
gives 0.001 '1e-3'
gives 1e+16 '1e16'
gives inf '-(-inf)'
gives nan 'nan'
gives -9223372036854775808 '-9223372036854775808'
gives True 'true & True'
gives 2 'true + true'
gives 3.141592653589793 'pi'
gives 2 'e = 2; e'

# ---- arrays
gives '[1 2 3]' '[1, 2, 3]'
gives '[1.  2.5]' '[1, 2.5]'
gives '[ True False]' '[true, false]'
gives $'[[1 2]\n [3 4]]' '[[1, 2], [3, 4]]'
gives '[2. 3.]' 'array([1, 2], dtype=f32) + 1'
gives '[1 4 9]' '[1, 2, 3] ** 2'
gives '[ True False]' '[1, 5] < 3'
gives '[[19 22]
 [43 50]]' '[[1, 2], [3, 4]] @ [[5, 6], [7, 8]]'
gives '(2, 3)' 'x = zeros([2, 3]); x.shape'
gives '(3, 2)' 'zeros([2, 3]).T.shape'
gives '(5, 3, 2)' 'zeros([2, 3, 5]).T.shape'
gives '(2, 5, 3)' 'zeros([2, 3, 5]).mT.shape'
gives 3 'zeros([2, 3]).shape[-1]'
gives '(3, 5)' 'zeros([2, 3, 5]).shape[1:]'
gives 2 'zeros([2, 3]).ndim'
gives 6 'zeros([2, 3]).size'
gives f32 'zeros([2]).dtype'
gives True 'zeros([2]).dtype == float32'
gives f16 'astype([1.5], float16).dtype'
gives '[]' '[]'
gives '(2, 0)' '[[], []].shape'
gives 6 '[1, 2, 3].sum()'
gives '[4 6]' 'sum([[1, 2], [3, 4]], axis=0)'
gives '[[3]
 [7]]' 'sum([[1, 2], [3, 4]], axis=[1], keepdims=true)'
gives '[[1 2 3]
 [4 5 6]]' 'arange(1, 7).reshape([2, 3])'
gives '[[1 2 3]
 [4 5 6]]' 's = [2, 3]; arange(1, 7).reshape(s)'
gives '(1, 4, 3)' 'pad(zeros([1, 2, 1]), [[0, 0], [1, 1], [1, 1]]).shape'
gives '[3. 2.]' 'topk([1.0, 3.0, 2.0], 2)[0]'
gives '[1 2]' 'v, i = topk([1.0, 3.0, 2.0], 2); i'
gives $'[3. 2.]\n[1 2]' 'topk([1.0, 3.0, 2.0], 2)'
gives '[0 2]' 'nonzero([1, 0, 1])[0]'
gives '[1 2 3 4]' 'concat([[1, 2], [3, 4]])'
gives '(2, 2)' 'a = ones([2]); [a, a + 1].shape'
gives 32 'einsum("i,i->", [1, 2, 3], [4, 5, 6])'
gives '(3, 4)' 'split(key(0), 3).shape'
gives 3 'a = 1
b = 2  # a comment; not a statement
a + b'
gives '[1 2]' '[1,
  2]'
gives 1 'max([1, 0])'

# ---- what people type
gives '(3, 4)' 'x = arange(12); x.reshape(3, 4).shape'
gives '(2, 6)' 'x = arange(12); x.reshape(2, -1).shape'
gives '(2, 3)' 'zeros(2, 3).shape'
gives '(2, 3)' 'ones(2, 3, f64).shape'
gives '(2, 1)' 'zeros(2, 1).shape'
gives '(3, 2)' 'permute_dims(zeros(2, 3), 1, 0).shape'
gives '(2, 3)' 'normal(key(0), 2, 3).shape'
gives '[7 7]' 'full(2, 7)'
gives '[1 1 1]' 'broadcast_to([1], 3)'
gives 5 'x = 2; x += 3; x'
gives '[2 4]' 'x = [1, 2]; x *= 2; x'
gives 125 'x = 5; x **= 3; x'
gives 2 'x = 5; x //= 2; x'
gives '[[19 22]
 [43 50]]' 'x = array([[1, 2], [3, 4]]); x @= [[5, 6], [7, 8]]; x'
gives 3 '1 +
2'
gives 7 'x =
7; x'
gives 5 'max(3, 5)'
gives 1.5 'min(3, 1.5, 2)'
gives nan 'max(1.0, nan)'
gives 7.0 'x = 2.0; grad(max(x * 7.0, 3.0), x)'
gives 3 'np.sum([1, 2])'
gives 3.141592653589793 'np.pi'
gives '[0.5 0.5]' 'torch.softmax([0.0, 0.0], -1)'
gives f16 'jnp.zeros((2, 3), jnp.float16).dtype'
gives '(1, 3)' 'mx.ones(3)[np.newaxis].shape'
gives 4 'np = 4; np'
gives -5 $'\xef\xbb\xbf1 \u2212 2 \u00d7 3'
gives -1 $'1 \u2013 2'
gives True $'1\u00a0\u2264 2'
gives abc $'\u201cabc\u201d'
gives abc $'\u2018abc\u2019'
wrong '1:8: max of a number and a list; use maximum(x1, x2) for the larger of two' 'max(0, [1, 2])'
gives 0.70710677 'torch.std([1.0, 2.0])'
gives $'[2]\n[1]' 'torch.max([[1, 2]], 1)'
wrong "1:18: dtype takes a dtype, not an int" 'sum(ones(2, 2),0,1)' # axes are not gathered
gives '[3]' 'x = [1]; x[0] += 2; x'
wrong '1:12: only items of an array can be assigned, not of a tuple' 'x = 1, 2; x[0] = 2'
wrong "1:1: unknown name 'y'" 'y += 2'
wrong "1:3: unexpected '☃'" '1 ☃ 2'

# ---- named arrays
gives 2 "save('$temporary/n.npz', x=[1, 2], y=3.5); len(load('$temporary/n.npz'))"
gives '[1 2]' "load('$temporary/n.npz')['x']"
gives 3.5 "load('$temporary/n.npz').y"
gives $'x  i64 (2,)\ny  f64 ()' "load('$temporary/n.npz')"
gives '[2 4]' "a = load('$temporary/n.npz'); b = a.x * 2; b"
gives '[1. 2.]' "save('$temporary/n.safetensors', a=[1.0, 2.0]); load('$temporary/n.safetensors').a"
gives '[1.5]' "save('$temporary/m.npz', [1.5]); load('$temporary/m.npz').arr_0"
gives '[1 2]' "save('$temporary/copy.safetensors', load('$temporary/n.npz')); load('$temporary/copy.safetensors').x"
wrong "1:$((${#temporary} + 16)): there is no item 'z'; there are x, y" "load('$temporary/n.npz').z"
wrong "1:$((${#temporary} + 16)): a dict takes one key in quotes" "load('$temporary/n.npz')[0]"
gives '[2]' "savez('$temporary/o.npz', [1], [2]); load('$temporary/o.npz').arr_1"
wrong "1:$((${#temporary} + 21)): 'arr_0' is given twice" "save('$temporary/o.npz', [1], arr_0=2)"
wrong "1:$((${#temporary} + 21)): 'x' is given twice" "save('$temporary/o.npz', x=1, x=2)"
wrong '1:1: save takes a path and x, or a path and name=x, ...' 'save("x")'
wrong "1:$((${#temporary} + 20)): save has no option 'chunk'; did you mean 'chunks'?" "save('$temporary/o.zarr', 1, chunk=2)"
wrong "1:$((${#temporary} + 20)): save has no option 'x'; it has chunks, shards, compressors, codecs, fill_value, attributes, dimension_names, overwrite" "save('$temporary/o.zarr', 1, x=2)"
wrong "1:$((${#temporary} + 19)): 'chunks' is an option of .zarr and .h5 files; save to one, or leave it out" "save('$temporary/o.npy', 1, chunks=2)"
wrong "1:$((${#temporary} + 20)): 'chunks' takes a length for each axis, such as [100, 100], or one for all, not a string" "save('$temporary/o.zarr', 1, chunks='x')"
wrong "1:$((${#temporary} + 20)): 'chunks' takes a length for each axis, such as [100, 100], or one for all, not these items" "save('$temporary/o.zarr', 1, chunks=[1.5])"
wrong "1:$((${#temporary} + 20)): 'fill_value' takes a number, not a string" "save('$temporary/o.zarr', 1, fill_value='x')"
wrong "1:$((${#temporary} + 20)): 'overwrite' takes True or False, not an int" "save('$temporary/o.zarr', 1, overwrite=0)"
wrong "1:$((${#temporary} + 20)): 'attributes' takes a JSON object as text, such as '{\"units\": \"K\"}', not an int" "save('$temporary/o.zarr', 1, attributes=3)"
wrong "1:$((${#temporary} + 33)): 'compressors' and 'codecs' are the same option; give one of them" "save('$temporary/o.zarr', 1, codecs=None, compressors=None)"
wrong "1:$((${#temporary} + 20)): 'dimension_names' takes a list of names, such as [\"time\", \"x\"], not these items" "save('$temporary/o.zarr', 1, dimension_names=[1])"

# ---- indexing
x='x = arange(12).reshape([3, 4]); '
gives '[4 5 6 7]' "${x}x[1]"
gives 6 "${x}x[1, 2]"
gives '[1 5 9]' "${x}x[:, 1]"
gives '[11 10  9  8]' "${x}x[-1, ::-1]"
gives '[[ 0  2]
 [ 8 10]]' "${x}x[::2, ::2]"
gives '(1, 3, 4, 1)' "${x}x[None, ..., None].shape"
gives '[ 2 11]' "${x}x[[0, 2], [2, -1]]"
gives '[ 9 10 11]' "${x}x[x > 8]"
gives '[4 5]' "${x}n = 1; x[n, :n + 1]"
gives '[1 2]' "${x}i = array([1, 2]); x[0, i]"
gives 6 "${x}x[(1, 2)]"

# ---- derivatives
gives 12.0 'x = 2.0; grad(x**3, x)'
gives 12.0 'x = 2.0; y = x**3; grad(grad(y, x), x)'
gives '[0. 2. 4.]' 'x = arange(3.0); grad(sum(x**2), x)'
gives $'5.0\n[0. 2. 4.]' 'x = arange(3.0); y = sum(x**2); print(y); grad(y, x)'
gives $'[10.5 34. ]\n12.0' 'w = [1.0, 2.0]; b = 0.5; grad(mean((w * [3.0, 4.0] + b)**2), [w, b])'
gives '(4.0, 3.0)' 'x = 3.0; y = 4.0; grad(x * y, (x, y))'
gives '(2.0,)' 'x = 1.0; grad(loss=x * x, x=[x])'
gives 3.0 'x = 2.0; y = x * x; z = y * 3; grad(z, y)'
gives 2.0 'x = 2.0; grad(x * stop_gradient(x), x)'
gives 7.389056 'x = 2.0; grad(exp(x), x)'
gives -0.9092974 'x = 2.0; grad(grad(sin(x), x), x)'
gives 5.0 'x = 2.0; a = [x, 3.0, x * x]; grad(sum(a), x)'
gives $'[[2.]\n [4.]]' 'f = [[1.0], [2.0]]; grad(sum(concat(f)**2), f)'
gives f64 'x = 2.0; a = ones([1], f64) * x; grad(sum(a), x); a.dtype'
gives f16 'x = 2.0; y = grad(x * x, x); (zeros([2], f16) + y).dtype'
gives f32 'x = ones([2]); s = 0.5; grad(sum(x * s), x).dtype'
gives '[1.]' 'w = [1, 0.5]; v = w[1:] * 2; grad(sum(w), w); v'
gives 0.1 'w = [0.1]; grad(sum(w), w); array(w, f64)[0]'
wrong '1:20: only floats have gradients, and this is the int 2; write 2.0' 'x = 2; grad(x**2,  x)'
wrong '1:31: only floats have gradients, and this is i64; use astype(x, f32)' \
    'x = arange(3); grad(sum(x)/2, x)'
wrong '1:15: only floats have gradients, and the loss is i64' 'x = 2.0; grad([1, 2], x)'
wrong '1:14: this number has no name, so nothing depends on it; give it one: x = 2.0' \
    'grad(2.0**2, 2.0)'
wrong '1:20: the loss does not depend on this' 'x = 2.0; grad(3.0, x)'
wrong '1:36: the loss does not depend on this' 'x = 2.0; y = 1.0; grad(x * x, [x,  y])'
wrong '1:24: the loss must be a scalar, and has shape (3,); take its sum or mean' \
    'x = arange(3.0); grad(x**2, x)'
wrong '1:20: grad differentiates by a name, an array or a list of these, not by a string' \
    'x = 1.0; grad(x*x, "x")'
wrong "1:1: grad takes a scalar and what to differentiate it by, grad(loss, x), or a function, grad(f)" 'grad(1.0)'
wrong "1:10: unknown op 'backward'; use ig.grad(loss)(x)" 'x = 1.0; backward(x)'

# ---- errors: what, where, why, what to do
wrong "1:5: unknown op 'sofmax'; did you mean 'softmax'?" '1 + sofmax([1, 2])'
wrong "1:1: unknown name 'y'" 'y + 1'
gives '[1 2]' 'concatenate([[1], [2]])'
gives 0.0 'arctan(0.0)'
wrong "1:1: unknown op 'frobnicate'; 'ingot ops' lists all ops" 'frobnicate([1.0])'
wrong "1:16: unknown dtype 'float31'; write f32, i64, bool and so on" 'zeros(2, dtype="float31")'
wrong "1:2: &, |, ^, ~, << and >> work on bits and take integers or bools; a power is written **" 'e^2'
wrong "1:13: get: 1 axis is indexed, but x has 0; give fewer" 'sum(ones(3))[0]'
wrong "1:1: unknown op 'softm'; did you mean 'softmax'?" 'softm([1.0])'
wrong "1:1: unknown op 'tsd'; did you mean 'std'?" 'tsd([1.0, 2.0])'
wrong "1:1: unknown op 'sbd'; 'ingot ops' lists all ops" 'sbd([1.0, 2.0])' # not 'std'
gives $'[[1]\n [2]]' 'vstack([[1], [2]])'
wrong "1:13: sum(x, axis=None, dtype=None, keepdims=False) has no argument 'axs'; did you mean 'axis'?" \
    'sum([1, 2], axs=0)'
wrong "1:13: axis takes an int or ints, not a string" "sum([1, 2], 'x')"
gives '(3, 6)' 'sum = 3; sum, sum * 2' # a variable does not hide the op
wrong "1:1: 'true' is a constant; choose another name" 'true = 3'
wrong "1:1: the truth of an array of 2 elements is not clear; use any(x) or all(x), or & | ~ and where(condition, x1, x2) for each element" \
    'array([1, 2]) and True'
wrong "1:1: 'class' is not supported: there are only arrays and functions" 'class A'
wrong "1:1: '(' is never closed" '(1 + 2'
wrong "1:4: ')' does not close '['" '[1,)'
wrong "1:3: ')' closes nothing" '1 )'
wrong "1:1: the string is never closed" '"abc'
wrong "1:5: a value is expected here, but the statement ends" '1 + '
wrong "1:3: division by zero; write inf or nan if you mean them" '1 / 0'
wrong "1:21: the integer result does not fit in 64 bits; make an operand a float" \
    '9223372036854775807 + 1'
wrong "1:1: the integer does not fit in 64 bits; write it as a float (1.000e+20)" \
    '100000000000000000000'
wrong "1:1: the number is too large for a float; write inf if you mean infinity" '1e999'
wrong "1:1: the list is ragged: its items have different lengths or depths; make them alike" \
    '[[1, 2], [3]]'
wrong "1:5: unexpected '?'" 'a = ?'
wrong "2:5: unknown name 'bet'; did you mean 'beta'?" $'beta = 1\n1 + bet'
wrong "1:1: 'zeros' is an op; call it: zeros(shape, dtype=None)" 'zeros'
gives '[1. 2.]' 'f32([1, 2])'
wrong "1:1: 'f32' is a dtype; write f32(x)" 'f32(1, 2)'
wrong "1:1: 2 names for 3 values" 'a, b = (1, 2, 3)'

caret() { "$ingot" eval 'x = 1; x + sofmax(x)' 2>&1 | sed -n "$1p"; }
line_is() { [ "$(caret "$1")" = "$2" ] || { caret "$1"; return 1; }; }
check 'the line that is wrong' line_is 2 '  x = 1; x + sofmax(x)'
check 'the caret under it' line_is 3 '             ^~~~~~'
long_line=$(printf '1 + %.0s' {1..900})
longest() { "$ingot" eval "$1" 2>&1 | wc -L; }
check 'a long line is not printed whole' test "$(longest "${long_line}b${long_line}1")" -lt 120
check 'nor is a long name' test "$(longest "$(printf 'a%.0s' {1..20000})")" -lt 120
check 'nor a long option' test "$(longest "--$(printf 'a%.0s' {1..20000})")" -lt 120

deep=$(printf '(%.0s' {1..300})1$(printf ')%.0s' {1..300})
wrong '1:201: brackets are nested deeper than 200 levels' "$deep"
minuses=$(printf -- '-%.0s' {1..300})
wrong '1:200: the expression is nested deeper than 200 levels' "${minuses}1"
check 'a sum of 900 terms' prints 901 "1$(printf '+1%.0s' {1..900})"
check 'a sum of 2000 terms is refused' not prints 2001 "1$(printf '+1%.0s' {1..2000})"

# ---- exit codes
code() {
    local expected=$1 status
    shift
    "$ingot" "$@" </dev/null >"$temporary/out" 2>&1
    status=$?
    [ "$status" = "$expected" ] || { echo "exit code $status"; cat "$temporary/out"; return 1; }
}
check 'exit 0' code 0 eval 1
check 'exit 1: an error' code 1 eval 1/0
check 'exit 2: no expression' code 2 eval
check 'exit 2: an empty program' code 2 eval ''
check 'exit 2: unknown option' code 2 eval --ful 1
check 'exit 2: unknown verb' code 2 evla 1
check 'exit 2: bad thread count' code 2 eval --threads=x 1
check 'exit 2: bad size' code 2 eval --memory-limit lots 1
check 'exit 4: no such device' code 4 eval --device nowhere 1
check 'exit 5: no such npy' code 5 eval 'load("/nonexistent/x.npy")'
printf 'not an npy' >"$temporary/bad.npy"
check 'exit 5: a bad npy' code 5 eval "load('$temporary/bad.npy')"
check 'exit 5: no such program' code 5 eval -f /nonexistent/program
check 'exit 5: an output that cannot be written' code 5 eval -o /nonexistent/y.npy 1
check 'exit 5: a file that cannot be saved' code 5 eval 'save("/nonexistent/y.npy", 1)'
check 'exit 2: -o - with --json' code 2 eval -o - --json 1
check 'exit 1: more memory than allowed' code 1 eval --memory-limit 1MiB \
    'normal(key(0), [1000, 1000]) + 1'
IG_MEMORY_LIMIT=1MiB check 'exit 1: more memory than IG_MEMORY_LIMIT' code 1 eval 'normal(key(0), [1000, 1000]) + 1'
IG_MEMORY_LIMIT=1MiB check '--memory-limit overrides it' code 0 eval --memory-limit 8MiB 'normal(key(0), [1000, 1000]) + 1'
says() { "$ingot" "${@:2}" 2>&1 </dev/null | grep -qF -- "$1" || { "$ingot" "${@:2}"; return 1; }; }
check 'the nearest option' says "unknown option '--ful'; did you mean '--full'?" eval --ful 1
check 'the nearest verb' says "unknown verb 'evla'; did you mean 'eval'?" evla
check 'an option by =' says '901' eval --threads=1 '900 + 1'
check 'the range of --threads' says "--threads takes a whole number from 1 to 4096, not '0'" eval --threads 0 1
check 'sizes are for readers' says 'this evaluation needs 3.6 TiB, but the memory limit is 23.5 GiB' eval \
    --memory-limit 23.5GiB 'ones(10**6, 10**6)'
IG_MEMORY_LIMIT=lots check 'a bad IG_MEMORY_LIMIT' says 'IG_MEMORY_LIMIT=lots is ignored: it is not a size such as 4GiB' eval 'normal(key(0), [9])'
twice='var(normal(key(0), [10**6]))'
check 'a value is computed again if it does not fit' says 'computes again to fit in 1 MiB:' eval --explain --memory-limit 1MiB "$twice"
check 'with the same bits' prints "$("$ingot" eval "$twice")" --memory-limit 1MiB "$twice"
check 'a transform that cannot fit is refused before its tables are made' says 'fft needs 8 TiB, but the memory limit is' eval \
    'fft(ones([4]), n=2**40)'
check 'words are one expression' prints 2 5 -3
check 'words with operators' prints 17 2 + 3 '*' 5

# ---- files, standard input
check '-o' code 0 eval 'arange(6).reshape([2, 3])' -o "$temporary/x.npy"
check 'load' prints $'[[0 1 2]\n [3 4 5]]' "load('$temporary/x.npy')"
check 'the issue: load, flip, softmax, -o' code 0 eval \
    "x = load('$temporary/x.npy'); softmax(x[:, ::-1] * 1.0, axis=-1)" -o "$temporary/y.npy"
check 'what was written' prints '(2, 3)' "load('$temporary/y.npy').shape"
piped_array() { "$ingot" eval -o - 'print(7); [1, 2]' 2>/dev/null | cmp - "$temporary/p.npy"; }
check 'an array to compare with' code 0 eval '[1, 2]' -o "$temporary/p.npy"
check '-o - writes to standard output' piped_array
check 'and not into a file' test ! -e ./-
check '-o FILE.npz' code 0 eval '[1, 2]' -o "$temporary/q.npz"
check 'what was written there' prints '[1 2]' "load('$temporary/q.npz').arr_0"
check 'save' prints '' "save('$temporary/z.npy', [1.5])"
check 'what was saved' prints '[1.5]' "load('$temporary/z.npy')"
check 'save a table' prints '' "save('$temporary/t.csv', [[1.5, -2.0], [nan, 1e-20]])"
check 'it is text' cmp <(printf '1.5,-2.0\nnan,1e-20\n') "$temporary/t.csv"
check 'a table with tabs' prints '' "save('$temporary/t.tsv', [[1, 2], [3, 4]])"
check 'its text' cmp <(printf '1\t2\n3\t4\n') "$temporary/t.tsv"
check 'a list' prints '' "save('$temporary/t.txt', arange(3) == 1)"
check 'a line for each' cmp <(printf '0\n1\n0\n') "$temporary/t.txt"
check 'load it' prints '[0 1 0]' "load('$temporary/t.txt')"
bits() { [ "$("$ingot" eval "x = uniform(key(1), [99, 3], dtype=$1); save('$temporary/u.csv', x); all(astype(load('$temporary/u.csv'), $1) == x)")" = True ]; }
check 'f32 comes back to the last bit' bits f32
check 'f64 comes back' bits f64
check 'f16 comes back' bits f16
table() { printf "$1" >"$temporary/t.$2" && prints "$3" "x = load('$temporary/t.$2'); $4"; }
check 'a header, blanks, an empty line, CRLF' table 'a,"b, c"\r\n 1 , 2\r\n\r\n"3",4\r\n' csv $'[[1 2]\n [3 4]]' x
check 'a comment, an empty field' table '# a\n1,\n2,3\n' csv $'[[ 1. nan]\n [ 2.  3.]]' x
check 'blanks between' table '  1   2 \n 3\t4' txt $'[[1 2]\n [3 4]]' x
check 'an empty first field' table '\t1\n2\t3\n' tsv $'[[nan  1.]\n [ 2.  3.]]' x
check 'dtypes' table '1\n9223372036854775807\n' csv $'i64\n9223372036854775807' 'print(x.dtype); x[1]'
check 'too large for i64' table '1\n9223372036854775808\n' csv 'f64' 'x.dtype'
check 'one column is one axis' table '1\n2\n' csv '(2,)' 'x.shape'
check 'one row is two' table '1,2\n' csv '(1, 2)' 'x.shape'
badly() { printf "$1" >"$temporary/b.csv" && says "$2" eval "load('$temporary/b.csv')"; }
check 'a word' badly '1,2\n3,x\n' "field 2 of line 2 is 'x', not a number"
check 'a second header' badly 'a,b\nc,d\n' "field 1 of line 2 is 'c', not a number"
check 'a short line' badly '1,2\n3\n' 'line 2 has 1 fields, and the lines before have 2'
check 'no numbers' badly 'a,b\n' 'it has no line with numbers'
check 'hexadecimal' badly '1\n0x10\n' "is '0x10', not a number"
check 'three axes' says 'the array has 3 dimensions, and a table has two' eval "save('$temporary/c.csv', ones([2, 2, 2]))"
check 'another suffix' says 'one array is saved as .npy, .csv, .tsv or .txt' eval "save('$temporary/c.xlsx', 1)"
check 'options of stores' says "chunks: the number of lengths is 2, and the array has 1 dimensions; give one for each" eval "save('$temporary/o.zarr', ones(3), chunks=[1, 2])"
check 'nothing is left' test ! -e "$temporary/c.csv" -a ! -e "$temporary/c.xlsx"
printf 'a = 2\n# a comment\n\na * 21\n' >"$temporary/program"
check '-f' prints 42 -f "$temporary/program"
piped() { [ "$(printf 'a = 2; a * 21' | "$ingot" eval -)" = 42 ]; }
check 'standard input' piped
printf 'a = 2\na * b\n' >"$temporary/program"
check 'an error in a file' fails 1 "$temporary/program:2:5: unknown name 'b'" -f "$temporary/program"
check 'print()' prints $'[1 2]\n3' 'print([1, 2]); 3'
check '--quiet' prints '' --quiet 1

# ---- JSON, --full, --time, --explain
json() { "$ingot" eval --json "$@" | python3 -m json.tool >/dev/null; }
json_is() {
    local pick="import json, sys; print(json.load(sys.stdin)$1)"
    [ "$("$ingot" eval --json "$2" | python3 -c "$pick")" = "$3" ]
}
check 'JSON of an array' json_is "['value']" '[[1, 2], [3, 4]]' '[[1, 2], [3, 4]]'
check 'JSON dtype' json_is "['dtype']" 'zeros([2], f16)' f16
check 'JSON shape' json_is "['shape']" 'zeros([2, 0])' '[2, 0]'
check 'JSON schema' json_is "['schema']" 1 1
check 'JSON of nan and inf' json_is "['value']" 'array([nan, inf, -inf, 1.5])' \
    "['nan', 'inf', '-inf', 1.5]"
check 'JSON of a tuple' json_is "['value']" 'zeros([2, 3]).shape' '[2, 3]'
check 'JSON of several arrays' json_is "['value'][1]['value']" 'topk([1.0, 2.0], 1)' '[1]'
check 'JSON of a string' json_is "['value']" '"a\"b"' 'a"b'
check 'JSON of a time' json --time '1 + array([1])'
check 'JSON of u64' json_is "['value']" '~zeros([1], u64)' '[18446744073709551615]'
check 'JSON of a schedule' json --explain 'zeros([2]) + 1'
summary() { [ "$("$ingot" eval "$@" 'arange(2000)' | tr -d '[]' | wc -w)" = "$words" ]; }
words=7 && check 'long arrays are shortened' summary
words=2000 && check '--full' summary --full
check '--time' says 'median' eval --time 'ones([10]) + 1'
check '--explain --time explains' says 'nodes in' eval --explain --time 'ones([10]) + 1'
check '--explain --time times' says 'median' eval --explain --time 'ones([10]) + 1'
check '--explain --time of an assignment' says 'nodes in' eval --explain --time 'x = ones([10]) + 1'
check '--verify --time verifies' says 'operations, 0 failed' eval --verify --time 'exp(ones([10]))'
check 'JSON of a schedule and a time' json --explain --time 'zeros([2]) + 1'
check '--explain' code 0 eval --explain 'relu(zeros([64, 64]) @ ones([64, 64]) + 1)'
check 'the issue: the first example' code 0 eval 'a = normal(key(0), [1000, 1000]); mean(a @ a.T)'
plain() { ! "$ingot" eval 'x +' 2>&1 | grep -q $'\033'; }
check 'no color where it is not wanted' plain

# ---- the other verbs
check 'ingot devices' says cpu devices
devices_json() { "$ingot" devices --json | python3 -m json.tool >/dev/null; }
check 'ingot devices --json' devices_json
check 'ingot devices --json says what runs where' says '"runs_arrays": true' devices --json
off() { IG_OPENCL=off "$ingot" "$@" 2>&1; }
off_says_why() { off eval --device opencl 1 | grep -q 'IG_OPENCL=off'; }
check 'an absent device says why' off_says_why
check 'a device that is not here: exit code 4' code 4 eval --device vulkan 1
check 'arrays on another device' says '[1. 2. 4.]' eval --device gang 'exp2(arange(3.0))'
check 'the device of an array' says 'cpu' eval 'arange(3).device'
check 'an array moves' says 'gang' eval 'to_device(arange(3), "gang").device'
check 'two devices do not mix' says "to_device" eval 'arange(3) + to_device(arange(3), "gang")'
asks_for_opencl() { LD_DEBUG=files "$ingot" "$@" 2>&1 </dev/null | grep -q 'file=libOpenCL'; }
leaves_opencl_alone() { ! asks_for_opencl eval 1+1; }
if asks_for_opencl devices; then
    check 'arrays on the CPU load no OpenCL' leaves_opencl_alone
else
    skip 'arrays on the CPU load no OpenCL' 'this loader has no LD_DEBUG'
fi
check 'ingot ops' says 'softmax(x, axis=-1)' ops
check 'ingot ops softmax' says 'class: composite' ops softmax
check 'ingot ops grad' says 'derivative of loss' ops grad
check 'ingot ops sofmax' says "did you mean 'softmax'?" ops sofmax
check 'ingot --version' says 'ingot 0.' --version
check 'ingot --help' says 'ingot VERB' --help
check 'ingot eval --help' says '--memory-limit SIZE' eval --help
check 'ingot alone' code 2
# ---- the program on standard input
piped() { [ "$(printf '%s' "$1" | "$ingot" eval)" = "$2" ]; }
check 'a program in a pipe' piped '1+1' 2
check 'of several lines' piped $'x = 3\nx * 2\n' 6
nothing() { printf ' \n' | "$ingot" eval; }
refuse 'nothing in a pipe' nothing
finish
