# make dist: an archive that builds and passes tests without git and outside of the checkout, and that gives itself again.
. tests/check.sh
from=$PWD built=${BUILD:-build}
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
same() { # as the files of the checkout
    find . -type f ! -name PKG-INFO -print0 | while IFS= read -r -d '' file; do
        cmp "$file" "$from/$file" || exit 1
    done
}
check 'its files are those of the checkout' same
tracked() {
    git -C "$from" ls-files -z | grep -zv '^\.' | while IFS= read -r -d '' file; do
        [ -e "$file" ] || [ ! -e "$from/$file" ] || { echo "$file is missing" && exit 1; }
    done
}
[ ! -e "$from/.git" ] || check 'it has all tracked files' tracked
# With the objects of the default build, which are newer than the files of the archive: make compiles what has lost a file
# that it was made from, and links. The flags are the same, or make compiles everything.
mkdir build
cp -R "$from/$built/gen" build
mkdir build/obj
cp -R "$from/$built/obj/src" "$from/$built/obj/cli" build/obj
check 'it builds' make -s all
for test in cli/help tree/format; do
    check "tests/$test.sh passes" bash "tests/$test.sh"
done
finish
