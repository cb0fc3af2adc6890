# The libraries export ig_ names only, and all that the headers declare. The library never calls abort or exit, except in
# a process that it has started (lib/store/child.c). The SONAME is set.
. tests/check.sh
build=${BUILD:-build}

if [ "$(uname -s)" = Darwin ]; then
    shared=$build/libingot.dylib
    exported() { nm -gU "$1" | awk '{ sub(/^_/, "", $3); if ($3) print $3 }'; }
else
    shared=$build/libingot.so
    exported() { nm -g --defined-only ${2:-} "$1" | awk '$2 ~ /[TDBRVWi]/ { sub(/@.*/, "", $3); print $3 }'; }
fi

only_public() { # prints names that should not be exported
    local strays
    strays=$(exported "$@" | grep -v '^ig_')
    [ -z "$strays" ] || { echo "$strays"; return 1; }
    exported "$@" | grep -q '^ig_' || { echo "no ig_ name in $1"; return 1; }
}

# What ingot.h declares, and what CUDA programs are compiled against (docs/ARCHITECTURE.md says why that is
# a header of its own).
declared() {
    printf '#include "include/ingot.h"\n#include "src/lib/cudart/ig_cuda.h"\n' | cc -E -P -Iinclude -I. -xc - |
        tr '\n' ' ' | tr ';' '\n' | grep 'visibility' |
        grep -o '\big_[a-z0-9_]* *(' | tr -d ' (' | sort -u
}

all_there() { # every function that ingot.h declares is exported
    local missing
    missing=$(comm -23 <(declared) <(exported "$@" | sort -u))
    [ -z "$missing" ] || { echo "declared but not defined: $missing"; return 1; }
    [ -n "$(declared)" ] || { echo 'found no declarations'; return 1; }
}

all_declared() { # and nothing else is
    local extra
    extra=$(comm -13 <(declared) <(exported "$@" | sort -u))
    [ -z "$extra" ] || { echo "exported but neither in ingot.h nor in cuda.h: $extra"; return 1; }
}

no_shared_state() { # strtok continues with the text of whoever called it last
    ! nm -u "$1" | grep -wE 'strtok(@.*)?$'
}

never_calls() {
    local calls
    calls=$(nm -u "$1" | grep -wE '(abort|exit|quick_exit)(@.*)?$'
        find "$build/obj/src" -name '*.o' ! -path '*/lib/mpi/*' ! -path '*/lib/store/child.o' -exec nm -Au {} + |
            grep -wE '_exit(@.*)?$')
    [ -z "$calls" ] || { echo "$calls"; return 1; }
}

soname() { readelf -d "$shared" | grep -q 'SONAME.*\[libingot\.so\.[0-9]*\]'; }
command_needs_no_library() { ! readelf -d "$build/ingot" | grep 'NEEDED.*libingot'; }

if [ "$(uname -s)" = Darwin ]; then
    check 'the shared library shows ig_ names only' only_public "$shared"
    check 'the shared library has all that ingot.h declares' all_there "$shared"
    check 'the shared library has nothing else' all_declared "$shared"
else
    # The version's own name (INGOT_0) is an absolute symbol, kind A, and is not counted.
    check 'the shared library shows ig_ names only' only_public "$shared" -D
    check 'the static library shows ig_ names only' only_public "$build/libingot.a"
    check 'the shared library has all that ingot.h declares' all_there "$shared" -D
    check 'the shared library has nothing else' all_declared "$shared" -D
    check 'the static library has all that ingot.h declares' all_there "$build/libingot.a"
    check 'the shared library has a SONAME' soname
    check 'the command stands alone' command_needs_no_library
fi
check 'the library never calls abort or exit' never_calls "$shared"
check 'the library calls no function with hidden state' no_shared_state "$shared"
check 'nor does the command' no_shared_state "$build/ingot"
finish
