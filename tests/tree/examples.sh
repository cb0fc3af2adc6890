# Every example, and every C program in README.md, compiles without a warning and runs.
. tests/check.sh
build=${BUILD:-build}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

compile() {
    cc -std=c11 -Wall -Wextra -Werror -O1 -Iinclude -o "$temporary/program" "$1" "$build/libingot.a" \
        -lm -lpthread -ldl
}

# README.md: a block between ```c and ``` that has a main is a program.
extract() {
    awk -v out="$temporary/readme-" '
        /^```c$/ { inside = 1; n++; text = ""; next }
        /^```/ { if (inside && text ~ /int main/) printf "%s", text > (out n ".c"); inside = 0 }
        inside { text = text $0 "\n" }' README.md
}

[ -f README.md ] && extract
for source in examples/*.c "$temporary"/readme-*.c; do
    [ -f "$source" ] || continue
    name=${source#"$temporary"/}
    check "$name compiles" compile "$source"
    if [ -x "$temporary/program" ]; then
        check "$name runs" env -C "$temporary" ./program
        rm -f "$temporary/program"
    fi
done
[ -f README.md ] && check 'README.md has a C program' ls "$temporary"/readme-*.c
finish
