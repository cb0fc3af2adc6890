# The command's frame: help of every verb, exit codes, nearest names, colors, the manual page, completions.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
unset NO_COLOR IG_TRACE

verbs=$("$ingot" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v '^ingot$')

# ends CODE STREAM PATTERN WORDS...: the exit code, and a line of the stream; the other one is silent.
ends() {
    local code=$1 stream=$2 pattern=$3 status
    shift 3
    "$ingot" "$@" >"$temporary/out" 2>"$temporary/err" </dev/null
    status=$?
    local other=out
    [ "$stream" = out ] && other=err
    [ "$status" = "$code" ] && grep -qx -e "$pattern" "$temporary/$stream" && [ ! -s "$temporary/$other" ] &&
        return
    echo "exit code $status, expected $code; no line '$pattern' on std$stream alone"
    head -n 5 "$temporary/out" "$temporary/err"
    return 1
}

# ---- exit codes and nearest names: code | stream | line | words
while IFS='|' read -r code stream line words; do
    eval "check \"ingot ${words//\"/}\" ends $code $stream '$line' $words"
done <<'ROWS'
0|out|ingot [0-9.]*|--version
0|out|ingot [0-9.]*|version
0|out|usage: ingot VERB .*|--help
0|out|usage: ingot VERB .*|-h
0|out|usage: ingot VERB .*|help
0|out|usage: ingot eval .*|help eval
2|err|usage: ingot VERB .*|
2|err|ingot: unknown verb .evl.; did you mean .eval.?|evl
2|err|ingot: unknown verb .evl.; did you mean .eval.?|help evl
2|err|ingot: unknown verb .zzzzzz.; see .ingot --help.|zzzzzz
2|err|ingot: unknown option .--zzzzzz.; see .ingot --help.|--zzzzzz
2|err|ingot devices: unknown option .--jsn.; did you mean .--json.?|devices --jsn
2|err|ingot devices: unexpected .x.; see .ingot devices --help.|devices x
2|err|ingot doctor: unexpected .x.; see .ingot doctor --help.|doctor x
2|err|ingot devices: --threads takes a whole number from 1 to 4096, not .0.; see .*|devices --threads 0
2|err|ingot devices: a value is needed after .--threads.; see .*|devices --threads
2|err|ingot devices: no value is taken by .--json.; see .*|devices --json=1
2|err|ingot eval: an expression is missing; .*|eval
2|err|ingot ops: unknown op .sofmax.; did you mean .softmax.?|ops sofmax
2|err|ingot completion: one shell is needed: bash, zsh or fish|completion tcsh
2|err|ingot man: unexpected .x.; see .ingot man --help.|man x
2|err|ingot translate: a language is needed: --to opencl, metal or cuda|translate x.cu
2|err|ingot translate: --to takes opencl.metal.cuda, not .cobol.; see .*|translate --to cobol x.cu
5|err|ingot translate: /nowhere.cu: No such file or directory|translate --to metal /nowhere.cu
1|err|ingot translate: tests/kernels/basics.cu has no kernel .nix.; its templates are smooth<T, N>; .*|translate --to metal -k nix tests/kernels/basics.cu
4|err|tests/kernels/warps.cu:13:14: error: .lanes. uses warp functions, which plain OpenCL does not have .IG-WARP.|translate --to opencl tests/kernels/warps.cu
4|err|ingot eval: there is no device .cuda. here; see .ingot devices.|eval --device cuda 1
5|err|ingot eval: /nowhere: No such file or directory|eval -f /nowhere
1|err|ingot eval: 1:4: a value is expected here.*|eval "1 +"
ROWS

# ---- every verb explains itself, and every option of it is in the manual and in the completions
"$ingot" man >"$temporary/ingot.1"
"$ingot" completion bash >"$temporary/bash"
has() { grep -qF -e "$2" "$1"; }
check 'there are verbs' test "$(wc -w <<<"$verbs")" -ge 7
for verb in $verbs; do
    check "ingot $verb --help" ends 0 out "usage: ingot $verb.*" "$verb" --help
    check "ingot man has $verb" has "$temporary/ingot.1" ".SS ingot $verb"
    for option in $("$ingot" "$verb" --help | grep -o '^  \(-., \)\?--[a-z-]*' | grep -o -e '--.*'); do
        check "ingot man has $verb $option" has "$temporary/ingot.1" "${option//-/\\-}"
        check "completions have $verb $option" grep -q -e "^ *$verb:-\\*).*$option[ ']" "$temporary/bash"
    done
done

if command -v groff >/dev/null; then
    no_warnings() { [ -z "$(groff -man -ww -Tutf8 "$temporary/ingot.1" 2>&1 >/dev/null)" ]; }
    check 'groff takes the manual page without a warning' no_warnings
else
    skip 'the manual page' 'groff is not there'
fi
if command -v mandoc >/dev/null; then
    check 'mandoc takes the manual page' mandoc -T lint -W error "$temporary/ingot.1"
fi

# ---- completions: candidates WORDS... is what the shell would offer for the last word
candidates() {
    bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ingot; echo "${COMPREPLY[*]}"' \
        bash "$temporary/bash" "$@"
}
offers() {
    local expected=$1 got
    shift
    got=$(candidates "$@")
    [ "$got" = "$expected" ] || { echo "got      $got"; echo "expected $expected"; return 1; }
}
check 'bash: verbs' offers 'devices doctor' ingot d
check 'bash: options' offers '--explain' ingot eval --ex
check 'bash: options, then values' offers 'adam adamw' ingot train --optimizer ad
check 'bash: values behind =' offers 'cpu' ingot eval --device = c
check 'bash: all values behind =' offers 'mlp cnn' ingot train --model =
check 'bash: devices' offers 'cpu null' ingot eval --device ''
check 'bash: ops' offers "log_softmax" ingot ops log_s
check 'bash: words' offers 'mnist' ingot train m
check 'bash: files are left to readline' offers '' ingot eval -f ''
check 'bash: an unknown verb offers nothing' offers '' ingot zzz ''
check 'bash takes it all' bash -n "$temporary/bash"
for shell in zsh fish; do
    if command -v $shell >/dev/null; then
        "$ingot" completion $shell >"$temporary/$shell"
        check "$shell takes its completions" $shell -n "$temporary/$shell"
    else
        skip "completions of $shell" "$shell is not there"
    fi
done
if command -v fish >/dev/null; then
    in_fish() { fish --no-config -c "source $temporary/fish; complete -C '$1'" | cut -f1 | paste -sd' '; }
    check 'fish: verbs' test "$(in_fish 'ingot d')" = 'devices doctor'
    check 'fish: values' test "$(in_fish 'ingot train --optimizer ad')" = 'adam adamw'
fi

# ---- colors are for terminals, and only without NO_COLOR
escapes() { grep -q $'\033' "$1"; }
"$ingot" doctor >"$temporary/plain"
refuse 'no colors in a file' escapes "$temporary/plain"
if script -qec true /dev/null >/dev/null 2>&1; then
    TERM=xterm script -qec "$ingot doctor" /dev/null >"$temporary/colors" </dev/null
    TERM=xterm NO_COLOR=1 script -qec "$ingot doctor" /dev/null >"$temporary/none" </dev/null
    check 'colors on a terminal' escapes "$temporary/colors"
    refuse 'none with NO_COLOR' escapes "$temporary/none"
else
    skip 'colors on a terminal' 'script is not there'
fi

# ---- what cannot be written is a failure
if [ -e /dev/full ]; then
    full() { "$ingot" devices >/dev/full 2>&1; [ $? = 1 ]; }
    check 'a full disk is a failure' full
fi

# ---- quick enough to ask at any time: seconds of CPU time, since others may be computing too
quick() {
    local TIMEFORMAT='%U %S' seconds
    seconds=$({ time "$ingot" "$1" >/dev/null; } 2>&1)
    awk '{ exit !($1 + $2 < 2) }' <<<"$seconds" || { echo "$seconds"; return 1; }
}
check 'devices takes less than 2 s' quick devices
check 'doctor takes less than 2 s' quick doctor
finish
