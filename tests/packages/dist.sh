# make dist: an archive that builds and passes tests without git and outside of the checkout, and that gives itself again.
. tests/check.sh
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CROSS INGOT PYTHONPATH
export SOURCE_DATE_EPOCH=1700000000
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
version=$(sed -n 's/^#define IG_VERSION_[A-Z]* *//p' include/ingot/base.h | paste -sd.)
archive=ingot-$version.tar.gz

check 'make dist' python3 python/build_backend.py "$temporary/dist" source
check 'it unpacks' tar -xzf "$temporary/dist/$archive" -C "$temporary"
cd "$temporary/ingot-$version" || exit 1
complete() {
    local file
    for file in Makefile LICENSE README.md PKG-INFO include/ingot.h tests/run tools/setup packaging/ingot.rb; do
        [ -s "$file" ] || { echo "$file is missing" && return 1; }
    done
    [ ! -e build ] && [ ! -e .git ] && [ -x tests/run ]
}
check 'it has all files' complete
check 'it gives the same archive' python3 python/build_backend.py "$temporary/again" source
check 'byte by byte' cmp "$temporary/dist/$archive" "$temporary/again/$archive"
# The stages test the same sources with optimization; this is about what is there.
check 'it builds' make -s CFLAGS='-O0 -g0' all
for test in cli/eval cli/help tree/includes tree/format; do
    check "tests/$test.sh passes" bash "tests/$test.sh"
done
finish
