#!/bin/sh
# Checks that gcc turns the plain loop over each vector math function into vector code, for ARM and
# for two x86 levels; a target whose compiler is not installed is skipped, and said so.
# One loop stands on each line of a generated file; gcc reports the lines that it vectorised.
# Exit 1 when a loop stays scalar.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-I$here/../../src -I$here/../.. -std=gnu11 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off"

# The number of arguments and the name of every row.
sed -n 's/^\(UNARY\|UNARY_FAR\|EXACT1\|TEST1\)(\([a-z0-9_]*\))$/1 \2/p
        s/^\(BINARY\|BINARY_FAR\|EXACT2\)(\([a-z0-9_]*\))$/2 \2/p' \
    "$here/vmath_rows.def" > "$work/rows"
echo "#include \"engine/backend/cpu/vmath/vmath.h\"" > "$work/loops.c"
echo "-" > "$work/names"
for type in f32 f64; do
    [ $type = f32 ] && real=float || real=double
    while read -r arguments name; do
        [ "$arguments" = 1 ] && call="a[i]" || call="a[i], b[i]"
        echo "void loop_${name}_$type($real *restrict d, const $real *restrict a," \
             "const $real *restrict b, int n)" \
             "{ (void)b; for (int i = 0; i < n; i++) d[i] = ($real)vm_${name}_$type($call); }"
        echo "$name $type" >> "$work/names"
    done < "$work/rows" >> "$work/loops.c"
done
loops=$(($(wc -l < "$work/loops.c") - 1))

failed=0
check() # COMPILER FLAGS...
{
    if ! command -v "$1" > /dev/null; then
        echo "skipped: $1 is not installed ($*)"
        return
    fi
    # shellcheck disable=SC2086
    "$@" $flags -fopt-info-vec-optimized="$work/report" -S -o /dev/null "$work/loops.c"
    sed -n 's/^.*loops\.c:\([0-9]*\):.*optimized: loop vectorized.*/\1/p' "$work/report" |
        sort -un > "$work/done"
    scalar=$(awk 'NR == FNR { done[$1] = 1; next } FNR > 1 && !(FNR in done)' \
        "$work/done" "$work/names")
    count=$(printf '%s' "$scalar" | grep -c . || true)
    echo "$*: $((loops - count)) of $loops loops vectorised"
    if [ "$count" -gt 0 ]; then
        printf '%s\n' "$scalar" | sed 's/^/    scalar: /'
        failed=1
    fi
}

case $(uname -m) in
aarch64 | arm64) check gcc -march=armv8-a ;;
*) check aarch64-linux-gnu-gcc -march=armv8-a ;;
esac
case $(uname -m) in
x86_64) x86=gcc ;;
*) x86=x86_64-linux-gnu-gcc ;;
esac
check $x86 -march=haswell
check $x86 -march=skylake-avx512
exit $failed
