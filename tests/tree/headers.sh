# Each header compiles alone and when included twice; the public ones also in strict C11 and in C++.
. tests/check.sh
build=${BUILD:-build}
cc=${CC:-cc}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
flags="-Wall -Wextra -Werror -Wstrict-prototypes -fsyntax-only -Iinclude"

for header in ingot.h $(cd include && ls ingot/*.h); do
    printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$header" "$header" >"$temporary/public.c"
    cp "$temporary/public.c" "$temporary/public.cc"
    check "$header in C11" $cc -std=c11 -pedantic-errors $flags "$temporary/public.c"
    check "$header in C23" $cc -std=c2x $flags "$temporary/public.c"
    for cxx in g++ clang++; do
        if command -v $cxx >/dev/null; then
            check "$header in C++ ($cxx)" $cxx -std=c++11 -Wall -Wextra -Werror -fsyntax-only -Iinclude \
                "$temporary/public.cc"
        fi
    done
done

for header in $(find src -name '*.h' | sort); do
    # One without a guard, or "Included by NAME only", is a piece of another file.
    grep -q '^#ifndef\|^#pragma once' "$header" || continue
    grep -q 'Included by .* only' "$header" && continue
    printf '#include "%s"\n#include "%s"\n' "${header#src/}" "${header#src/}" >"$temporary/one.c"
    check "$header" $cc -std=gnu11 -D_GNU_SOURCE $flags -Isrc -I. -I"$build/gen" "$temporary/one.c"
done
finish
