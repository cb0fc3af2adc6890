# The command as a whole: help of every verb, exit codes, suggestions, colors, the manual page, completions, settings,
# and files that remain after a failure.
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
2|err|ingot devices: unknown option .-x.; see .ingot devices --help.|devices -x
2|err|ingot translate: unknown option .-t.; did you mean .--to.?|translate -t metal tests/kernels/basics.cu
2|err|ingot eval: unknown option .-x.; put -- before an expression that begins with .-.|eval -x
2|err|ingot tokens: unknown option .-z.; put -- before a text that begins with .-.|tokens -z
2|err|ingot run: unknown option .-z.; put -- before the program.s arguments|run -z k.cu
2|err|ingot run: unknown option .--shared-bytes.; did you mean .--shared.?|run --shared-bytes 4 k.cu
2|err|ingot compare: unknown option .--grid.; .ingot run. has it; see .ingot compare --help.|compare --grid 4
2|err|ingot ops: unknown option .--zzzzzz.; see .ingot ops --help.|ops --zzzzzz
2|err|ingot devices: unexpected .x.; see .ingot devices --help.|devices x
2|err|ingot doctor: unexpected .x.; see .ingot doctor --help.|doctor x
2|err|ingot devices: --threads takes a whole number from 1 to 4096, not .0.; see .*|devices --threads 0
2|err|ingot devices: a value is needed after .--threads.; see .*|devices --threads
2|err|ingot devices: no value is allowed for .--json.; see .*|devices --json=1
2|err|ingot eval: an expression is missing; .*|eval
2|err|ingot ops: unknown op .sofmax.; did you mean .softmax.?|ops sofmax
2|err|ingot completion: one shell is needed: bash, zsh or fish|completion tcsh
2|err|ingot man: unexpected .x.; see .ingot man --help.|man x
2|err|ingot translate: a language is needed: --to opencl, metal or cuda|translate x.cu
2|err|ingot translate: --to takes opencl.metal.cuda, not .cobol.; see .*|translate --to cobol x.cu
5|err|ingot translate: /nowhere.cu: No such file or directory|translate --to metal /nowhere.cu
1|err|ingot translate: tests/kernels/basics.cu has no kernel .nix.; its templates are smooth<T, N>; .*|translate --to metal -k nix tests/kernels/basics.cu
4|err|tests/kernels/warps.cu:13:14: error: .lanes. uses warp functions, which plain OpenCL does not have .IG-WARP.|translate --to opencl tests/kernels/warps.cu
4|err|ingot eval: there is no device .vulkan. here; see .ingot devices.|eval --device vulkan 1
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
check 'bash: devices of arrays' offers 'cpu' ingot eval --device c
check 'bash: the null device' offers 'null' ingot eval --device n
if "$ingot" devices | grep -q '^opencl:0'; then
    check 'bash: devices of kernels' offers 'opencl opencl:0' ingot run --device o
fi
for verb in compare report run translate; do
    check "bash: files for $verb are left to readline" offers '' ingot $verb ''
done
check 'bash: files for [NAME=]FILE' offers '' ingot run --output ''
check 'bash: ops' offers "log_softmax" ingot ops log_so
check 'bash: words' offers 'mnist' ingot train m
check 'bash: train text has options of its own' offers '--data --decay --dropout --divide --device' ingot train text --d
check 'bash: train has no --dropout' offers '--data --divide --device' ingot train --d
check 'bash: train gpt has options of its own' offers '--data --decay --dropout --dtype --device' ingot train gpt --d
check 'ingot man has train gpt' has "$temporary/ingot.1" '.SS ingot train gpt'
check 'ingot man has train text' has "$temporary/ingot.1" '.SS ingot train text'
check 'ingot man has the options of train text' has "$temporary/ingot.1" '\-\-dropout P'
check 'bash: files are left to readline' offers '' ingot eval -f ''
check 'bash: an unknown verb offers nothing' offers '' ingot zzz ''
check 'bash takes it all' bash -n "$temporary/bash"
no_json() { ! grep -E "complete .*(-a '[^']*\bjson\b)|\*:word:\([^)]*\bjson\b|:\*\) words='[^']*\bjson\b" "$1"; }
check 'bash: json is not a word' no_json "$temporary/bash"
for shell in zsh fish; do
    if command -v $shell >/dev/null; then
        "$ingot" completion $shell >"$temporary/$shell"
        check "$shell takes its completions" $shell -n "$temporary/$shell"
        check "$shell: json is not a word" no_json "$temporary/$shell"
    else
        skip "completions of $shell" "$shell is not there"
    fi
done
if command -v fish >/dev/null; then
    in_fish() { fish --no-config -c "source $temporary/fish; complete -C '$1'" | cut -f1 | paste -sd' '; }
    check 'fish: verbs' test "$(in_fish 'ingot d')" = 'devices doctor'
    check 'fish: values' test "$(in_fish 'ingot train --optimizer ad')" = 'adam adamw'
    check 'fish: train text' test "$(in_fish 'ingot train text --dropo')" = '--dropout'
    check 'fish: train text has no --optimizer' test -z "$(in_fish 'ingot train text --optim')"
fi

if command -v zsh >/dev/null; then
    check 'zsh: files for compare' grep -qA20 '^    compare)' "$temporary/zsh"
    files_in_zsh() { sed -n "/^    $1)/,/;;/p" "$temporary/zsh" | grep -qF "'*:file:_files'"; }
    for verb in compare report run translate; do
        check "zsh: files for $verb" files_in_zsh $verb
    done
fi

# ---- every environment variable that the sources read is in the manual; IG_CUDA_ ones are between our processes
settings=$(grep -rhoE --include='*.c' 'getenv\("[A-Z_]+"\)' src cli | grep -oE '[A-Z_]{3,}' | sort -u |
    grep -vE '^(IG_CUDA_[A-Z]*|HOME|PATH|TERM)$')
check 'there are settings' test "$(wc -w <<<"$settings")" -ge 8
for name in $settings; do
    check "ingot man has $name" has "$temporary/ingot.1" "$name"
done
for section in ENVIRONMENT FILES EXAMPLES 'EXIT STATUS'; do
    check "ingot man has $section" has "$temporary/ingot.1" ".SH $section"
done

# ---- a bad setting is reported once by every verb, and a good one is not
warns() { # TIMES SETTING...
    local times=$1 count
    shift
    count=$(env "${@:1:1}" "$ingot" "${@:2}" 2>&1 >/dev/null </dev/null | grep -c '^ingot: warning: IG_')
    [ "$count" = "$times" ] || { echo "$count warnings"; return 1; }
}
for setting in IG_BLAS=often IG_BLAS=/nowhere/lib.so IG_NUM_THREADS=many IG_NUM_THREADS=0 IG_CPU_LEVEL=best IG_MATH=fast; do
    check "$setting: eval warns" warns 1 "$setting" eval 1
done
for verb in 'ops abs' 'verify --op abs --dtype u8 --quick' devices doctor 'translate --to cuda tests/kernels/basics.cu' \
    'compare /nowhere /nowhere'; do
    check "IG_NUM_THREADS=many: $verb warns" warns 1 IG_NUM_THREADS=many $verb
done
for setting in IG_BLAS=off IG_BLAS=auto IG_NUM_THREADS=1 IG_MATH=same; do
    check "$setting: no warning" warns 0 "$setting" eval 1
done
names_blas() { IG_BLAS=$1 "$ingot" devices | grep -q "^  blas  .*$2"; }
check 'devices: a BLAS that is asked for' names_blas on '\(blas\|blis\|accelerate\|none\)'
refuse 'devices: no BLAS without IG_BLAS' names_blas off .

# ---- a file that cannot be read or written: 5; --out is --output
code() { # CODE ARGUMENTS...
    "$ingot" "${@:2}" >"$temporary/out" 2>&1 </dev/null
    local status=$?
    [ $status = "$1" ] || { echo "exit code $status"; cat "$temporary/out"; return 1; }
}
cube=(run examples/cuda/02_saxpy.cu --grid 1 --block 4 --arg n=4 --arg a=2 --arg x=ones:f32[4] --arg y=ones:f32[4])
check 'eval load(): 5' code 5 eval 'load("/nowhere/x.npy")'
check 'eval -f: 5' code 5 eval -f /nowhere/x
check 'train --resume: 5' code 5 train digits --resume /nowhere/x
check 'report: 5' code 5 report /nowhere/x
check 'run: 5' code 5 run /nowhere/x.cu
check 'eval save(): 5' code 5 eval 'save("/nowhere/x.npy", ones([2]))'
check 'eval -o: 5' code 5 eval 1 -o /nowhere/x.npy
check 'eval --out: 5' code 5 eval 1 --out /nowhere/x.npy
check 'train --save: 5' code 5 train digits --save /nowhere/x
check 'bench -o: 5' code 5 bench --quick -o /nowhere/x
check 'run --output: 5' code 5 "${cube[@]}" --output /nowhere/x.npy
check 'run --out' code 0 "${cube[@]}" --out "$temporary/y.npy"
check 'run --out writes' test -s "$temporary/y.npy"
check 'a trace: 5' code 5 eval 1 --trace /nowhere/x

# ---- a write that fails or is stopped leaves no file
alone=$temporary/alone
mkdir "$alone"
leaves_nothing() { # COMMAND of the shell
    bash -c "$1" >/dev/null 2>&1
    local left
    left=$(ls -A "$alone")
    rm -rf "${alone:?}"/*
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}
big="'zeros([2000, 2000])'"
check 'a file that is too large: eval -o' leaves_nothing "ulimit -f 8; '$ingot' eval $big -o $alone/x.npy"
check 'a file that is too large: save()' \
    leaves_nothing "ulimit -f 8; '$ingot' eval 'save(\"$alone/x.npy\", zeros([2000, 2000]))'"
check 'a file that is too large: train --save' \
    leaves_nothing "ulimit -f 8; '$ingot' train digits --epochs 1 --save $alone/x.safetensors"
check 'a file that is too large: --trace' leaves_nothing "ulimit -f 1; '$ingot' eval --trace $alone/x.json $big"
check 'a closed pipe' leaves_nothing "'$ingot' eval $big -o /dev/stdout | true"
stopped() {
    for delay in 0.02 0.04 0.06 0.08 0.1 0.12; do
        "$ingot" eval 'zeros([3000, 3000])' -o "$alone/x.npy" >/dev/null 2>&1 &
        sleep $delay
        kill -TERM $! 2>/dev/null
        wait $!
        rm -f "$alone/x.npy"
    done 2>/dev/null
    leaves_nothing true
}
check 'SIGTERM' stopped

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
