# Every template of kernels/ compiles by itself, in each variant that its comments "alone: ..." list: with our front end, for
# each language that we print, with clang as OpenCL C, and with nvcc (IG_TEST_QUICK: every fourth template). No kernel stands in
# string literals of src/engine/emit.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
clang=$(command -v clang || true)

# variants FILE: a line of definitions for each; an empty one if the file names none. "warps" precedes those that need warps.
variants() {
    if ! grep -q '^/\* alone' "$1"; then
        echo 'plain'
    fi
    sed -n 's|^/\* alone: \(.*\) \*/$|\1|p' "$1" | tr '|' '\n' | sed 's/[A-Z0-9_=]*/-D&/g; s/-D\( \|$\)/\1/g; s/^/plain /'
    sed -n 's|^/\* alone with warps: \(.*\) \*/$|\1|p' "$1" | tr '|' '\n' |
        sed 's/[A-Z0-9_=]*/-D&/g; s/-D\( \|$\)/\1/g; s/^/warps /'
}

# printed FILE LANGUAGE DEFINITIONS: ingot prints all its kernels.
printed() {
    # shellcheck disable=SC2086
    "$ingot" translate --to "$2" -I kernels $3 "$1" >"$temporary/$2.txt" && grep -q "$(entry_word "$2")" "$temporary/$2.txt"
}
entry_word() { case $1 in opencl) echo '^__kernel\|^kernel' ;; metal) echo '^kernel' ;; cuda) echo '__global__' ;; esac; }

opencl_compiles() { "$clang" -x cl -cl-std=CL3.0 -fsyntax-only -Xclang -finclude-default-header "$temporary/opencl.txt"; }

# A variant for nvcc is a file that includes the template; nvcc takes a second for each run, so one run has all of a file.
nvcc_compiles() {
    local file=$1 n=0
    : >"$temporary/all.cu"
    while read -r _ definitions; do
        n=$((n + 1))
        {
            echo "namespace variant$n {"
            for word in $definitions; do
                word=${word#-D}
                case $word in *=*) echo "#define ${word%%=*} ${word#*=}" ;; *) echo "#define $word" ;; esac
            done
            sed 's/^extern "C" //' "$file"
            echo "}"
            sed -n 's/^# *define \([A-Za-z_0-9]*\).*/#undef \1/p' "$file" kernels/*.cuh | sort -u
            for word in $definitions; do
                word=${word#-D}
                echo "#undef ${word%%=*}"
            done
        } >>"$temporary/all.cu"
    done < <(variants "$file")
    "$nvcc" -std=c++17 -arch=compute_80 -diag-suppress 177,550,20012 -I kernels -ptx -o /dev/null "$temporary/all.cu"
}

n=0
for file in $(grep -l '^/\* Template: ' kernels/*.cu); do
    while read -r kind definitions; do
        for language in opencl cuda metal; do
            [ "$language$kind" = openclwarps ] && continue
            check "$file $definitions: $language" printed "$file" "$language" "$definitions"
            if [ "$language" = opencl ] && [ "$clang" ]; then
                check "$file $definitions: clang" opencl_compiles
            fi
        done
    done < <(variants "$file")
    n=$((n + 1))
    [ -n "${IG_TEST_QUICK:-}" ] && [ $((n % 4)) != 1 ] && continue
    if [ -x "$nvcc" ]; then
        check "$file: nvcc" nvcc_compiles "$file"
    else
        skip "$file: nvcc" 'nvcc is not there'
    fi
done
[ "$clang" ] || skip 'templates as OpenCL C by clang' 'clang is not there'

# A template is embedded, so that emitted kernels can include it.
embedded() { grep -q "\"$(basename "$1")\"" "${BUILD:-build}/gen/kernels.inc"; }
for file in $(grep -l '^/\* Template: ' kernels/*.cu kernels/*.cuh); do
    check "$file is embedded" embedded "$file"
done
# function.c has a kernel of one statement, which shows the front end a function that another text calls.
no_kernels() { ! grep -n '"[^"]*__global__' $(ls src/engine/emit/*.c | grep -v function.c); }
check 'no kernel stands in a string literal' no_kernels
finish
