#!/bin/bash
# The wheels: built without a network, installed into an empty environment, imported without NumPy, with the command; they
# need no newer glibc than their name says, and are at most 4 MB. `wheel.sh other` checks the files of the wheel for the other
# processor instead.
set -euo pipefail
unset PYTHONPATH MAKEFLAGS MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.."
root=$PWD
kind=${1:-native}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$1"
    exit 1
}
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log" && exit 1; }; }

# Imports the installed module and starts the command, in the environment "$folder/$1".
use() {
    (cd "$folder" && "$1/bin/python" - <<'PYTHON'
import sys
import ingot as ig
assert "numpy" not in sys.modules
assert ig.sum(ig.ones((2, 3))).item() == 6
assert ig.grad(lambda x: (x * x).sum())(ig.arange(3.0)).tolist() == [0, 2, 4]
assert abs(ig.exp(ig.ones(())).item() - 2.7182817) < 1e-6
PYTHON
    )
    [ "$("$folder/$1/bin/ingot" --version)" = "ingot $version" ] || fail 'the command tells another version'
    [ "$("$folder/$1/bin/ingot" eval 'sum(arange(4))')" = 6 ] || fail 'the command computes something else'
    "$folder/$1/bin/ingot" no-verb >/dev/null 2>&1 && fail 'the command loses the exit code'
    return 0
}

# WHEEL PREFIX: its binaries use the C library alone, in the version of its name, and no private functions of Python.
check_files() {
    local files needed
    rm -rf "$folder/files"
    python3 -m zipfile -e "$1" "$folder/files"
    files=("$folder"/files/ingot/{_command,_ingot.abi3.so,libingot_python.so})
    needed=$(tools/old-glibc --check --objdump="$2objdump" "${files[@]}")
    [ "$(printf '%s\n' "$needed" 2.17 | sort -V | tail -n 1)" = 2.17 ] || fail "$1 needs glibc $needed"
    [[ $1 == *manylinux_2_17_* ]] || fail "$1: the name says another glibc"
    if "$2readelf" -d "${files[@]}" | grep NEEDED | grep -v -E '\[(lib(c|m|dl|pthread)\.so\.[0-9]|libingot_python\.so|ld-linux.*)\]'; then
        fail "$1 needs more than the C library"
    fi
    if "$2readelf" -SW "${files[@]}" | grep -w -F .symtab; then fail "$1 has symbol tables"; fi
    if "$2nm" -D --undefined-only "${files[1]}" | grep -E ' _?Py' | grep -E '_PyObject_GC_|_PyUnicode|_PyLong'; then
        fail 'the module uses private functions of Python'
    fi
    [ "$(wc -c <"$1")" -le 4000000 ] || fail "$1 is larger than 4 MB"
    echo "$(wc -c <"$1") bytes, glibc $needed: $(basename "$1")"
}

version=$(sed -n 's/^#define IG_VERSION_[A-Z]* *//p' include/ingot/base.h | paste -sd.)
[ "$(uname -s)" = Linux ] && quietly python3 python/build_backend.py "$folder/wheels" "$kind"
if [ "$kind" = other ]; then
    machine=x86_64
    [ "$(uname -m)" = x86_64 ] && machine=aarch64
    check_files "$(echo "$folder"/wheels/*.whl)" "$machine-linux-gnu-"
    exit
fi
python3 -m venv "$folder/source"
quietly "$folder/source/bin/python" -m pip install -q --no-index --disable-pip-version-check .
use source
[ "$(uname -s)" = Linux ] || exit 0
wheel=$(echo "$folder"/wheels/*.whl)
check_files "$wheel" ''
python3 -m venv "$folder/env"
quietly "$folder/env/bin/python" -m pip install -q --no-index --disable-pip-version-check "$wheel"
use env
# The same files give the same wheel.
quietly python3 "$root/python/build_backend.py" "$folder/again" native
cmp "$wheel" "$folder/again/$(basename "$wheel")"
