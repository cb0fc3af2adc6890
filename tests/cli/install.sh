# make install: the right files in the right places, and a program that builds and runs against them
# through pkg-config (shared and static) and through CMake; make uninstall takes it all away.
. tests/check.sh
build=${BUILD:-build}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
prefix=$temporary/prefix
staged=$temporary/staged
make="make --no-print-directory BUILD=$build"
unset MAKEFLAGS MAKELEVEL

mkdir "$temporary/program"
cat >"$temporary/program/main.c" <<'TEXT'
#include <ingot.h>
#include <stdio.h>
#include <string.h>

/* Names that the library also has inside: they must not meet. */
int array_new(void);
int array_new(void) { return 7; }

int main(void)
{
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", IG_VERSION_MAJOR, IG_VERSION_MINOR, IG_VERSION_PATCH);
    printf("%s\n", ig_version());
    return strstr(ig_version(), header) == NULL || ig_device_count() < 1 || array_new() != 7;
}
TEXT
cat >"$temporary/program/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(Ingot 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE Ingot::ingot)
add_executable(static main.c)
target_link_libraries(static PRIVATE Ingot::static)
TEXT

check 'make install' $make install PREFIX="$prefix"
for file in bin/ingot include/ingot.h include/ingot/array.h lib/libingot.a lib/pkgconfig/ingot.pc \
    lib/cmake/ingot/ingot-config.cmake lib/cmake/ingot/ingot-config-version.cmake share/man/man1/ingot.1 \
    share/bash-completion/completions/ingot share/zsh/site-functions/_ingot \
    share/fish/vendor_completions.d/ingot.fish; do
    check "$file" test -s "$prefix/$file"
done
check 'the command runs' "$prefix/bin/ingot" devices

# docs/GUIDE.md has a table of sizes on aarch64: "| `bin/ingot` | at most 4 MB |".
size_is_stated() { # FILE: at most as large as stated, and not so small that the statement is out of date
    local most bytes
    most=$(awk -F'|' -v file="\`$1\`" 'index($2, file) { print $3 }' docs/GUIDE.md |
        sed -n 's/.*at most \([0-9]*\) MB.*/\1/p')
    bytes=$(wc -c <"$prefix/$1")
    echo "$1: $bytes bytes, docs/GUIDE.md: at most ${most:-?} MB"
    [ -n "$most" ] && [ "$bytes" -le $((most * 1000000)) ] && [ "$bytes" -ge $((most * 500000)) ]
}
if [ "$(uname -sm)" = 'Linux aarch64' ] && [[ $build != *san* && $build != *coverage* ]]; then
    for file in bin/ingot lib/libingot.so lib/libingot.a; do
        check "the size of $file is as docs/GUIDE.md says" size_is_stated $file
    done
fi
stripped() { [ -z "$(nm "$prefix/bin/ingot" 2>/dev/null)" ]; }
check 'the command is stripped' stripped

check 'make install with DESTDIR and LIBDIR' \
    $make install DESTDIR="$staged" PREFIX=/usr LIBDIR=/usr/lib/here
check 'DESTDIR: the library' test -f "$staged/usr/lib/here/libingot.a"
check 'DESTDIR: the command' test -x "$staged/usr/bin/ingot"
check 'DESTDIR is in no file' not grep -rl "$staged" "$staged"
check 'DESTDIR: libdir' grep -q '^libdir=/usr/lib/here$' "$staged/usr/lib/here/pkgconfig/ingot.pc"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
version=$(sed -n 's/^#define IG_VERSION_[A-Z]* *//p' include/ingot/base.h | paste -sd.)
by_shared() {
    cc -o "$temporary/shared" "$temporary/program/main.c" $(pkg-config --cflags --libs ingot) &&
        LD_LIBRARY_PATH=$prefix/lib DYLD_LIBRARY_PATH=$prefix/lib "$temporary/shared"
}
by_static() {
    local libs
    libs=$(pkg-config --static --libs ingot | sed "s|-lingot|$prefix/lib/libingot.a|")
    cc -o "$temporary/static" "$temporary/program/main.c" $(pkg-config --cflags ingot) $libs &&
        "$temporary/static"
}
by_cmake() {
    cmake -S "$temporary/program" -B "$temporary/cmake" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$temporary/cmake" && "$temporary/cmake/shared" && "$temporary/cmake/static"
}
moved() { # the installation works in another folder, and by the name in lower case
    cp -R "$prefix" "$temporary/moved" && cp -R "$temporary/program" "$temporary/lower" &&
        sed -i.old 's/Ingot/ingot/g' "$temporary/lower/CMakeLists.txt" &&
        cmake -S "$temporary/lower" -B "$temporary/lower/build" -DCMAKE_PREFIX_PATH="$temporary/moved" \
            -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF &&
        cmake --build "$temporary/lower/build" && "$temporary/lower/build/shared" &&
        ldd "$temporary/lower/build/shared" | grep -q "$temporary/moved/lib"
}
wrong_version() {
    sed 's/Ingot 0.1/Ingot 9.9/' "$temporary/program/CMakeLists.txt" >"$temporary/wrong.txt" &&
        mkdir "$temporary/wrong" && mv "$temporary/wrong.txt" "$temporary/wrong/CMakeLists.txt" &&
        cmake -S "$temporary/wrong" -B "$temporary/wrong/build" -DCMAKE_PREFIX_PATH="$prefix"
}
check 'pkg-config tells the version' test "$(pkg-config --modversion ingot)" = "$version"
check 'a program by pkg-config, shared' by_shared
check 'a program by pkg-config, static' by_static
if command -v cmake >/dev/null; then
    check 'a program by CMake, shared and static' by_cmake
    check 'find_package(ingot) of an installation that was moved' moved
    refuse 'CMake refuses a version that is not there' wrong_version
else
    skip 'a program by CMake' 'cmake is not there'
fi

check 'make uninstall' $make uninstall PREFIX="$prefix"
check 'nothing is left' test -z "$(find "$prefix" -type f -o -type l)"
finish
