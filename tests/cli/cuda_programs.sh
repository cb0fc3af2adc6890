# Whole CUDA programs: each of tests/cuda is compiled and run, and prints what its comment says. Then it is
# run once more with --check, which finds nothing.
#
# The comment: `expect:` and the lines of standard output; before it, each on a line of its own, `exit: N`,
# `args: ...`, `stderr: text that is in it`, and `sorted` where the order of lines is left open; `check: N`
# where a program makes that many mistakes to see what is told; its output is then left open under --check.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export XDG_CACHE_HOME=$temporary/cache

compiler() { [ -n "${CXX:-}" ] || command -v c++ || command -v g++ || command -v clang++; }
if ! compiler >/dev/null; then
    skip 'CUDA programs' 'there is no C++ compiler'
    finish
    exit
fi

# The comment's line that begins with a word and a colon, without it.
told() { sed -n '/^\/\*/,/^\*\//s/^[\/* ]*'"$2"': *//p' "$1" | head -n 1; }
expected() { sed -n '/^ *\(\/\* *\)\?expect:$/,/^\*\/$/p' "$1" | sed '1d;$d'; }
order() { if grep -q '^/\* sorted' "$1"; then sort; else cat; fi; }

# One program, into files of its name.
run_one() {
    local source=$1 out=$temporary/$(basename "$1" .cu)
    local also=${source%.cu}.part.cu
    [ -f "$also" ] || also=
    "$ingot" run -I tests/cuda/include -D GIVEN=7 "$source" $also -- $(told "$source" args) \
        >"$out.out" 2>"$out.err" </dev/null
    echo $? >"$out.code"
    "$ingot" run --check -I tests/cuda/include -D GIVEN=7 "$source" $also -- $(told "$source" args) \
        >"$out.check" 2>"$out.found" </dev/null
    echo $? >"$out.verdict"
}

# Nothing is found, or what is said to be.
no_alarm() {
    local source=$1 out=$temporary/$(basename "$1" .cu) wrong=0 says
    says=$(told "$source" check)
    if [ -n "$says" ]; then
        grep -q "^$says mistakes* w.* found in" "$out.found" && [ "$(cat "$out.verdict")" = 1 ] && return
    else
        order "$source" <"$out.check" | diff "$out.want" - || wrong=1
        [ "$(cat "$out.code")" = "$(cat "$out.verdict")" ] || wrong=1
        grep -q '^no mistake was found in' "$out.found" || wrong=1
        [ $wrong = 0 ] && return
    fi
    head -n 20 "$out.found"
    return 1
}

compare() {
    local source=$1 out=$temporary/$(basename "$1" .cu) wrong=0 says
    order "$source" <"$out.out" >"$out.got"
    expected "$source" >"$out.want"
    diff "$out.want" "$out.got" || wrong=1
    says=$(told "$source" exit)
    [ "$(cat "$out.code")" = "${says:-0}" ] || { echo "exit code $(cat "$out.code")"; wrong=1; }
    says=$(told "$source" stderr)
    if [ -n "$says" ]; then
        grep -qF -- "$says" "$out.err" || wrong=1
    elif [ -s "$out.err" ]; then
        wrong=1
    fi
    [ $wrong = 0 ] || head -n 20 "$out.err"
    return $wrong
}

programs=$(ls tests/cuda/*.cu | grep -v '\.part\.cu$' | grep -e "${1:-}")
at_once=0
for program in $programs; do
    run_one "$program" &
    at_once=$((at_once + 1))
    if [ $at_once = 2 ]; then
        wait -n
        at_once=1
    fi
done
wait
for program in $programs; do
    check "$(basename "$program")" compare "$program"
    case $program in
    */host_mistake.cu) ;; # is not compiled
    *) check "$(basename "$program") under --check" no_alarm "$program" ;;
    esac
done
finish
