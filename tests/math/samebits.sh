#!/bin/sh
# Checks that the vector math gives the same bits with every compiler, optimisation level and
# instruction set that this machine can build for and run (x86 through qemu on other machines).
# Exit 1 on a difference; what is not installed is skipped, and said so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-I$here/../../src -I$here/../.. -std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=off"

failed=0
build() # RUNNER COMPILER FLAGS...
{
    runner=$1
    shift
    for tool in $runner "$1"; do
        case $tool in -* | max | /*) continue ;; esac
        command -v "$tool" > /dev/null || { echo "skipped: $tool is not installed ($*)"; return; }
    done
    # shellcheck disable=SC2086
    "$@" $flags -o "$work/bits" "$here/vmath_bits.c" -lm
    # shellcheck disable=SC2086
    $runner "$work/bits" > "$work/now" || { echo "DID NOT RUN: $*"; failed=1; return; }
    [ -f "$work/first" ] || cp "$work/now" "$work/first"
    if cmp -s "$work/first" "$work/now"; then
        echo "same bits: $*"
    else
        echo "DIFFERENT: $*"
        diff "$work/first" "$work/now" | sed -n 's/^> /    /p'
        failed=1
    fi
}

for compiler in gcc clang; do
    build "" $compiler -O0
    build "" $compiler -O3
done
case $(uname -m) in
aarch64 | arm64)
    build "" gcc -O3 -march=native
    x86=x86_64-linux-gnu-gcc
    emulator="qemu-x86_64 -cpu max -L /usr/x86_64-linux-gnu"
    ;;
*)
    x86=gcc
    emulator=
    ;;
esac
build "$emulator" $x86 -O3 -march=haswell
build "$emulator" $x86 -O1 -march=haswell
build "$emulator" $x86 -O3
if [ -z "$emulator" ] && grep -q avx512f /proc/cpuinfo; then
    build "" gcc -O3 -march=skylake-avx512
fi
exit $failed
