# The programs of tests/cuda with --device cuda.
#
# With a GPU: each prints what nvcc's own program prints, line by line, and ends with its exit code. A line may
# also be the one that the comment on top of the program says, since Ingot's runtime reports CUDA 12 and names
# programs by their source. Without nvcc it is the comment alone.
#
# On the fake driver of tests/fakecuda, which runs commands as late as CUDA allows: the programs of `queued` print what
# their comments say.
#
# Without a GPU, but with NVRTC: the driver of tests/cuda/driver replaces CUDA's. Every kernel is compiled, found in
# the image by its name, and launched with parameters of the right sizes; results are not compared.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'CUDA programs on a GPU'
programs=$(ls tests/cuda/*.cu tests/cuda/gpu/*.cu | grep -v '\.part\.cu$' | grep -e "${1:-}")
idle=${INGOT_TESTS:-build/tests}/cuda/idle.so

at_all() { # a function for each program, as many at a time as there are cores
    local at_once=0 program
    for program in $programs; do
        "$1" "$program" &
        at_once=$((at_once + 1))
        if [ $at_once -ge "$(nproc)" ]; then
            wait -n
            at_once=$((at_once - 1))
        fi
    done
    wait
}

order() { if grep -q '^/\* sorted' "$1"; then sort; else cat; fi; }
libraries() { told "$1" libraries | sed 's/[^ ]*/-l&/g'; }
rejected() { grep -q 'nvcc: rejects it' "$1"; }

run_ours() {
    local source=$1 out=$temporary/$(basename "$1" .cu) also=${1%.cu}.part.cu
    [ -f "$also" ] || also=
    "$ingot" run --device cuda -I tests/cuda/include -D GIVEN=7 $(libraries "$source") "$source" $also -- \
        $(told "$source" args | head -n 1) >"$out.ours" 2>"$out.err" </dev/null
    echo $? >"$out.code"
}

# ---- on the fake driver ----

queued=$(ls tests/cuda/{array_copies,copies,device_variables,pitch,registered,two_files,vector_add}.cu | grep -e "${1:-}")
fake=$PWD/${INGOT_TESTS:-build/tests}/fakecuda/cuda.so

run_queued() { XDG_CACHE_HOME=$temporary/queued IG_CUDA=$fake IG_NVRTC=$fake run_ours "$1"; }

prints_its_comment() {
    local out=$temporary/$(basename "$1" .cu)
    expected "$1" | diff - "$out.ours" && return
    head -n 20 "$out.err"
    return 1
}

if [ -f "$fake" ]; then
    for program in $queued; do
        run_queued "$program"
        check "$(basename "$program") on the fake driver" prints_its_comment "$program"
    done
else
    skip 'CUDA programs on the fake driver' 'it is not built (make tests)'
fi

# ---- without a GPU ----

run_idle() {
    IG_CUDA=$idle IG_IDLE_DRIVER=$temporary/$(basename "$1" .cu).launches run_ours "$1"
}

compiles() {
    local source=$1 out=$temporary/$(basename "$1" .cu)
    if [ "$(told "$source" nvcc)" = 'rejects it' ]; then
        [ "$(cat "$out.code")" = 5 ] && return
    elif ! grep '^ingot' "$out.err" && [ "$(cat "$out.code")" -ne 4 ] && [ "$(cat "$out.code")" -ne 5 ]; then
        [ -s "$out.launches" ] || ! grep -q '<<<' "$source" && return
        echo 'no kernel was launched'
    fi
    echo "exit code $(cat "$out.code")"
    head -n 20 "$out.err"
    return 1
}

if ! "$ingot" devices 2>/dev/null | grep -q '^cuda:0'; then
    if ! [ -f "$idle" ]; then
        skip 'CUDA programs on a GPU' 'there is no GPU, and no driver for tests (make tests)'
        finish
        exit
    fi
    run_idle tests/cuda/vector_add.cu
    if grep -q 'NVRTC.*not found' "$temporary/vector_add.err"; then
        skip 'CUDA programs on a GPU' 'there is neither a GPU nor NVRTC'
        finish
        exit
    fi
    programs=$(grep -L '^/\* libraries:' $programs) # they start CUDA's own driver
    [ -z "${IG_TEST_QUICK:-}" ] || programs=$(awk 'NR % 8 == 0' <<<"$programs")
    at_all run_idle
    for program in $programs; do
        check "$(basename "$program") by NVRTC" compiles "$program"
    done
    skip 'results of CUDA programs on a GPU' 'there is no GPU'
    finish
    exit
fi

# ---- with a GPU ----

if ! ls "${CUDA_HOME:-/usr/local/cuda}"/lib64/libcublas.so >/dev/null 2>&1; then
    skip 'CUDA programs with cuBLAS' 'cuBLAS is not installed'
    programs=$(grep -L '^/\* libraries:' $programs)
fi

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)

run_both() {
    local source=$1 out=$temporary/$(basename "$1" .cu) also=${1%.cu}.part.cu
    [ -f "$also" ] || also=
    run_ours "$source"
    [ -n "$nvcc" ] || return
    "$nvcc" -w -std=c++17 --extended-lambda -arch=native -rdc=true -I tests/cuda/include -D GIVEN=7 $(libraries "$source") \
        "$source" $also -o "$out.program" >"$out.nvcc.err" 2>&1 || return
    "$out.program" $(told "$source" args | head -n 1) >"$out.theirs" 2>>"$out.nvcc.err" </dev/null
    echo $? >"$out.theirs.code"
}

same_line() { [ "$1" = "$2" ] || [ "$1" = "$3" ]; }

# Each of our lines is nvcc's, or the comment's.
prints_the_same() {
    local source=$1 out=$temporary/$(basename "$1" .cu) wrong=0 n=0 ours theirs said code
    expected "$source" >"$out.said"
    order "$source" <"$out.ours" >"$out.sorted"
    if [ -f "$out.theirs" ]; then order "$source" <"$out.theirs" >"$out.want"; else cp "$out.said" "$out.want"; fi
    code=$(cat "$out.theirs.code" 2>/dev/null || { told "$source" exit; echo 0; } | head -n 1)
    [ "$(cat "$out.code")" = "$code" ] || { echo "exit code $(cat "$out.code"), not $code"; wrong=1; }
    rejected "$source" && [ "$code" = 5 ] && return $wrong
    [ "$(wc -l <"$out.sorted")" = "$(wc -l <"$out.want")" ] || wrong=1
    while IFS= read -r ours; do
        n=$((n + 1))
        theirs=$(sed -n "${n}p" "$out.want")
        said=$(sed -n "${n}p" "$out.said")
        same_line "$ours" "$theirs" "$said" || { echo "< $theirs"; echo "> $ours"; wrong=1; }
    done <"$out.sorted"
    [ $wrong = 0 ] || head -n 20 "$out.err"
    return $wrong
}

at_all run_both
for program in $programs; do
    check "$(basename "$program") on the GPU" prints_the_same "$program"
done
finish
