# Every example compiles without warnings and prints what the comment at its end says. Every C program in README.md
# compiles and runs.
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

# The program prints the lines behind "Prints:"; "..." stands for anything in a line, or, alone, for
# any lines.
prints() {
    python3 - "$1" "$2" <<'PYTHON'
import re, subprocess, sys
source, program = sys.argv[1:]
expected = re.search(r"^/\* Prints:\n(.*)^\*/", open(source).read(), re.M | re.S).group(1)
pattern = "".join(r"(?:.*\n)*" if line == "..." else
                  ".*".join(map(re.escape, line.split("..."))) + r"\n"
                  for line in expected.splitlines())
done = subprocess.run([program], capture_output=True, text=True, timeout=600, check=False)
print(done.stdout + done.stderr)
sys.exit(done.returncode or not re.fullmatch(pattern, done.stdout))
PYTHON
}

check 'make examples' make --no-print-directory BUILD="$build" examples
for source in examples/*.c examples/*.cpp; do
    name=${source%.*}
    [ -x "$build/$name" ] && check "$name prints what it says" prints "$source" "$build/$name"
done

[ -f README.md ] && extract
for source in "$temporary"/readme-*.c; do
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
