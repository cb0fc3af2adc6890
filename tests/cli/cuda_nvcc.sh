# The programs of tests/cuda are CUDA: nvcc compiles each of them, but those that say that it does not. IG_TEST_QUICK: every
# tenth.
. tests/check.sh
if ! command -v nvcc >/dev/null; then
    skip 'CUDA programs by nvcc' 'nvcc is not there'
    finish
    exit
fi
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cache=$(command -v ccache || true)

# The host's side, and the device's as far as PTX: this is about the language, not about a chip.
compile() {
    $cache nvcc -std=c++17 --extended-lambda -gencode arch=compute_80,code=compute_80 -I tests/cuda/include -D GIVEN=7 -c "$1" \
        -o "$temporary/$2.o" >"$temporary/$2.log" 2>&1
    echo $? >"$temporary/$2.code"
}

as_told() {
    local name=$1 wanted=0
    grep -q '^/\* nvcc: rejects it' "tests/cuda/$name.cu" && wanted=1
    grep -m 5 error "$temporary/$name.log"
    [ $(("$(cat "$temporary/$name.code")" != 0)) = $wanted ]
}

sources=$(ls tests/cuda/*.cu | awk -v n="${IG_TEST_QUICK:+10}" 'NR % (n ? n : 1) == 0')
at_once=0
for source in $sources; do
    compile "$source" "$(basename "$source" .cu)" &
    at_once=$((at_once + 1))
    if [ $at_once -ge "$(nproc)" ]; then
        wait -n
        at_once=$((at_once - 1))
    fi
done
wait
for source in $sources; do
    check "nvcc and $(basename "$source")" as_told "$(basename "$source" .cu)"
done
finish
