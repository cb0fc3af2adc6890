# ingot run --check and --profile of whole programs: each of tests/cuda/planted has the mistakes that its
# comment says, and no others. That right programs raise no alarm is in cuda_programs.sh.
#
# The comment: `finds: text` for each mistake, `notes: text` for each note, `never: text`, `exit: N` (1), and
# `expect:` with lines of standard output.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'checks of CUDA programs'


# Lines of the file that are severity, and as many as the comment has of that word, each of them found.
has() {
    local source=$1 err=$2 word=$3 severity=$4 line wrong=0
    while IFS= read -r line; do
        grep -qF -- "$line" "$err" || { echo "not found: $line"; wrong=1; }
    done < <(told "$source" "$word")
    [ "$(grep -c "$severity: " "$err")" = "$(told "$source" "$word" | wc -l)" ] || wrong=1
    return $wrong
}

finds() {
    local source=$1 out=$temporary/$(basename "$1" .cu) wrong=0 code says
    "$ingot" run --check "$source" >"$out.out" 2>"$out.err" </dev/null
    code=$?
    has "$source" "$out.err" finds error || wrong=1
    has "$source" "$out.err" notes warning || wrong=1
    says=$(told "$source" never)
    [ -z "$says" ] || ! grep -F -- "$says" "$out.err" || wrong=1
    says=$(told "$source" exit)
    [ $code = "${says:-1}" ] || { echo "exit code $code"; wrong=1; }
    expected "$source" | diff - "$out.out" || wrong=1
    [ $wrong = 0 ] || cat "$out.err"
    return $wrong
}

for program in tests/cuda/planted/*.cu; do
    check "$(basename "$program")" finds "$program"
done

# JSON has findings, profiles, and what was printed.
json() {
    "$ingot" run --check --profile --json tests/cuda/planted/endless.cu >"$temporary/json" 2>"$temporary/err" </dev/null
    [ $? = 1 ] && [ ! -s "$temporary/err" ] || return 1
    python3 - "$temporary/json" <<'PYTHON'
import json, sys
told = json.load(open(sys.argv[1]))
assert told["exit"] == 0 and told["printed"].endswith("\n5\n"), told
finding, = told["findings"]
assert finding["kind"] == "endless loop" and finding["launch"] == 1 and finding["kernel"] == "wait"
assert [p["kernel"] for p in told["profiles"]] == ["wait", "set"]
PYTHON
}
check 'JSON' json

# A table for each kernel, launches summed up, behind what the program printed; its exit code stays.
profile() {
    "$ingot" run --profile tests/cuda/planted/out_of_bounds.cu >"$temporary/out" 2>"$temporary/err" </dev/null || return 1
    [ ! -s "$temporary/out" ] && grep -q '^kernel one, 2 launches' "$temporary/err" &&
        grep -q '^     8 .* x\[i\] = x\[i - 2\] + 1;$' "$temporary/err"
}
check 'profiles' profile

crash() {
    printf '#include <cstdlib>\nint main() { int *x; cudaMalloc(&x, 4); cudaFree(x + 1); abort(); }\n' >"$temporary/crash.cu"
    "$ingot" run --check "$temporary/crash.cu" >"$temporary/out" 2>"$temporary/err" </dev/null
    [ $? = 1 ] && grep -q 'bad free' "$temporary/err" && grep -q 'was stopped before its end (signal 6)' "$temporary/err"
}
check 'a program that crashes' crash

failed_launch() { # whose error the program looks at
    printf '__global__ void k() {}\nint main() { k<<<1, 4096>>>(); return cudaGetLastError() == cudaSuccess; }\n' >"$temporary/failed.cu"
    "$ingot" run --check "$temporary/failed.cu" 2>"$temporary/err" </dev/null &&
        grep -q '^1 launch failed; no mistake was found in 0 launches' "$temporary/err"
}
check 'a launch that failed is told' failed_launch

refused() {
    "$ingot" run --check --device opencl tests/cuda/vector_add.cu 2>"$temporary/err"
    [ $? = 4 ] && grep -q "device 'opencl' cannot check kernels; use 'cpu'" "$temporary/err"
}
check 'other devices refuse' refused

missing() {
    "$ingot" run --device vulkan tests/cuda/vector_add.cu >"$temporary/out" 2>"$temporary/err"
    [ $? = 4 ] && [ ! -s "$temporary/out" ] && [ "$(grep -c "no device 'vulkan'" "$temporary/err")" = 1 ]
}
check 'a missing device ends a program, once' missing

once() {
    "$ingot" run tests/cuda/mistake.cu >"$temporary/out" 2>"$temporary/err"
    [ $? = 5 ] && [ "$(grep -c 'unknown name' "$temporary/err")" = 1 ]
}
check 'a kernel that cannot be built is told once' once

lambda() {
    printf 'template <class F> __global__ void apply(F f, int *x) { *x = f(*x); }\n' >"$temporary/lambda.cu"
    printf 'int main() { int n = 1, *x; cudaMalloc(&x, 4);\napply<<<1, 1>>>(%s, x); }\n' "$1" >>"$temporary/lambda.cu"
    "$ingot" run "$temporary/lambda.cu" 2>"$temporary/err"
    [ $? = "$2" ] && grep -qF -- "$3" "$temporary/err"
}
check 'a lambda that captures by reference is refused' \
    lambda '[&] __device__(int v) { return v + n; }' 4 "kernel 'apply' is given a lambda"
check 'a lambda of the host alone is refused' lambda '[](int v) { return v + 1; }' 4 "kernel 'apply' is given a lambda"
check 'a mistake in a lambda is told at its place' \
    lambda '[=] __device__(int v) { return v + none + n; }' 5 "lambda.cu:3:52: error: unknown name 'none'"

foreign() {
    printf '#include <thrust/not_there.h>\nint main() { thrust::device_vector<int> v(4); }\n' >"$temporary/foreign.cu"
    "$ingot" run "$temporary/foreign.cu" 2>"$temporary/err"
    [ $? = 5 ] && grep -q 'belongs to Thrust, which is not part of Ingot' "$temporary/err"
}
check 'libraries that are not there are told by their names' foreign
finish
