# make deb: packages that lintian accepts, with the right files, that work when they are unpacked; the same each time.
. tests/check.sh
build=${BUILD:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH
if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
    skip 'make deb' 'dpkg-deb or dpkg-shlibdeps is not there'
    finish
    exit
fi
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export SOURCE_DATE_EPOCH=1700000000
version=$(sed -n 's/^#define IG_VERSION_[A-Z]* *//p' include/ingot/base.h | paste -sd.)
architecture=$(dpkg --print-architecture)
libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

check 'make deb' make --no-print-directory BUILD="$build" deb
mkdir "$temporary/first"
cp "$build"/deb/*.deb "$temporary/first"
four() { ls "$temporary/first" && [ "$(ls "$temporary/first" | wc -l)" -eq 4 ]; }
check 'there are four packages' four
for package in libingot0 libingot-dev ingot python3-ingot; do
    file=$temporary/first/${package}_${version}_$architecture.deb
    check "$package: its version" test "$(dpkg-deb -f "$file" Version)" = "$version"
    check "$package: unpacks" dpkg-deb -x "$file" "$temporary/root"
done
for file in usr/bin/ingot "$libraries/libingot.so.0" "$libraries/libingot.a" usr/include/ingot.h "$libraries/pkgconfig/ingot.pc" \
    usr/share/man/man1/ingot.1.gz usr/share/zsh/vendor-completions/_ingot usr/lib/python3/dist-packages/ingot/__init__.py; do
    check "$file" test -s "$temporary/root/$file"
done
# Each library that is loaded at run time, by the start of its package's name. NVIDIA's are not in Debian; OpenBLAS replaces BLIS and LAPACK.
named() {
    dpkg-deb -f "$temporary/first/${1}_${version}_$architecture.deb" Recommends Suggests | grep -E "(: |, |\| )$2"
}
for library in $(grep -rhoE '"lib[a-zA-Z0-9_-]+\.so[.0-9]*"' src --include='*.c' | tr -d '"' | sed 's/\.so.*//; s/_serial$//' | sort -u); do
    case $library in
    libcuda | libnvrtc | libcu[bdfs]* | libblis | liblapack) continue ;;
    libz) package=zlib1g ;;
    libOpenCL) package=ocl-icd-libopencl1 ;;
    libcurl-gnutls) package=libcurl3 ;;
    *) package=$library ;;
    esac
    for by in libingot0 ingot; do
        check "$by names $package, which has $library" named "$by" "$package"
    done
done
check 'the command runs' "$temporary/root/usr/bin/ingot" eval 'sum(arange(4))'
imports() {
    LD_LIBRARY_PATH=$temporary/root/$libraries PYTHONPATH=$temporary/root/usr/lib/python3/dist-packages \
        python3 -c 'import ingot; assert ingot.sum(ingot.arange(4)).item() == 6'
}
check 'the module can be imported' imports
again() {
    make --no-print-directory BUILD="$build" deb && for file in "$temporary"/first/*.deb; do
        cmp "$file" "$build/deb/$(basename "$file")" || return 1
    done
}
check 'a second time gives the same packages' again
if command -v lintian >/dev/null; then
    check 'lintian accepts them' lintian --allow-root --fail-on error,warning "$temporary"/first/*.deb
else
    skip 'lintian accepts them' 'lintian is not there'
fi
finish
