# Whole CUDA programs: each of tests/cuda is compiled and run, and prints what its comment says. On the CPU it
# is then run once more with --check, which finds nothing; with IG_TEST_QUICK every twenty-fourth.
#
# The comment: `expect:` and the lines of standard output; before it, each on a line of its own, `exit: N`,
# `args: ...`, `stderr: text that is in it`, `opencl: IG-CODE` where OpenCL refuses a kernel with that code,
# `nvcc: rejects it` (with `; NVRTC does not` where our text of it compiles), and `sorted` where the order of lines is
# left open; `check: N` where a program makes that many mistakes to see what is told; its output is then left open under
# --check.
#
# They run on the CPU and on OpenCL, if it is there; with IG_TEST_QUICK every twenty-fourth on OpenCL. CUDA_DEVICES names other devices: "cpu", "opencl", or "nvcc", which is
# nvcc's own program on a GPU of NVIDIA's.
. tests/check.sh
. tests/cuda/comments.sh
needs_compiler 'CUDA programs'
devices=${CUDA_DEVICES:-cpu opencl}
if ! "$ingot" devices 2>/dev/null | grep -q '^opencl:0'; then
    case $devices in
    *opencl*) skip 'CUDA programs on OpenCL' 'there is no OpenCL device' ;;
    esac
    devices=${devices/opencl/}
fi

order() { if grep -q '^/\* sorted' "$1"; then sort; else cat; fi; }

# Whether a program is run with --check.
is_checked() { [ -z "${IG_TEST_QUICK:-}" ] || grep -q '^/\* check' "$1" || awk 'NR % 24 == 0' <<<"$programs" | grep -qxF "$1"; }

# One program on one device, into files of its name.
run_one() {
    local source=$1 device=$2 out=$temporary/$(basename "$1" .cu).$2
    local also=${source%.cu}.part.cu args
    [ -f "$also" ] || also=
    args=$(told "$source" args | head -n 1)
    if [ "$device" = nvcc ]; then
        nvcc -std=c++17 --extended-lambda -arch=native -rdc=true -I tests/cuda/include -D GIVEN=7 "$source" $also -o "$out.program" \
            >"$out.err" 2>&1 && "$out.program" $args >"$out.out" 2>"$out.err" </dev/null
    else
        IG_CUDA_DEVICE=$device "$ingot" run -I tests/cuda/include -D GIVEN=7 "$source" $also -- $args \
            >"$out.out" 2>"$out.err" </dev/null
    fi
    echo $? >"$out.code"
    [ "$device" = cpu ] && is_checked "$source" || return 0
    "$ingot" run --check -I tests/cuda/include -D GIVEN=7 "$source" $also -- $args >"$out.check" 2>"$out.found" \
        </dev/null
    echo $? >"$out.verdict"
}

# Nothing is found, or what is said to be.
no_alarm() {
    local source=$1 out=$temporary/$(basename "$1" .cu).cpu wrong=0 says
    says=$(told "$source" check | head -n 1)
    if [ -n "$says" ]; then
        grep -Eq "^([0-9]+ launch(es)? failed; )?$says mistakes? w.* found in" "$out.found" && [ "$(cat "$out.verdict")" = 1 ] && return
    else
        order "$source" <"$out.check" | diff "$out.want" - || wrong=1
        [ "$(cat "$out.code")" = "$(cat "$out.verdict")" ] || wrong=1
        grep -Eq '^([0-9]+ launch(es)? failed; )?no mistake was found in' "$out.found" || wrong=1
        [ $wrong = 0 ] && return
    fi
    head -n 20 "$out.found"
    return 1
}

compare() {
    local source=$1 device=$2 out=$temporary/$(basename "$1" .cu).$2 wrong=0 says
    says=$(told "$source" "$device" | head -n 1)
    if [ -n "$says" ]; then # it refuses
        [ "$device" = nvcc ] && { not test -f "$out.program"; return; }
        grep -qF -- "[$says]" "$out.err" && return
        echo "no $says"
        wrong=1
    fi
    order "$source" <"$out.out" >"$out.got"
    expected "$source" >"$out.want"
    diff "$out.want" "$out.got" || wrong=1
    if [ "$device" != nvcc ]; then # what it says of mistakes, and after them, are its own words
        says=$(told "$source" exit | head -n 1)
        [ "$(cat "$out.code")" = "${says:-0}" ] || { echo "exit code $(cat "$out.code")"; wrong=1; }
        says=$(told "$source" stderr | head -n 1)
        if [ -n "$says" ]; then
            grep -qF -- "$says" "$out.err" || wrong=1
        elif [ -s "$out.err" ]; then
            wrong=1
        fi
    fi
    [ $wrong = 0 ] || head -n 20 "$out.err"
    return $wrong
}

programs=$(ls tests/cuda/*.cu | grep -v '\.part\.cu$' | grep -e "${1:-}")
on() { # DEVICE: the programs that run on it
    if [ "$1" = opencl ] && [ -n "${IG_TEST_QUICK:-}" ]; then awk 'NR % 24 == 1' <<<"$programs"; else echo "$programs"; fi
}
at_once=0
# All on one device first: the others then find the program in the cache.
for device in $devices; do
    for program in $(on "$device"); do
        run_one "$program" "$device" &
        at_once=$((at_once + 1))
        if [ $at_once -ge "$(nproc)" ]; then
            wait -n
            at_once=$((at_once - 1))
        fi
    done
    wait
    at_once=0
done
for device in $devices; do
    for program in $(on "$device"); do
        check "$(basename "$program") on $device" compare "$program" "$device"
        case $device:$program in
        cpu:*/host_mistake.cu) ;; # is not compiled
        cpu:*) is_checked "$program" && check "$(basename "$program") under --check" no_alarm "$program" ;;
        esac
    done
done
[ -n "${1:-}" ] || check 'there are 60 programs' test "$(echo "$programs" | wc -l)" -ge 60
finish
