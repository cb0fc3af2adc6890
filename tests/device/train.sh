# train.sh DEVICE MODEL...: with --math same a device prints the losses of the CPU, to the last digit.
. tests/check.sh
ingot=${INGOT:-build/ingot}
device=$1
shift
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1

# Few and small samples: an emulated device is slow. Every batch has 20 of the 40 samples that are not for the test.
"$ingot" eval --quiet "save('$temporary/small.npz', x=normal(key(0), [48, 8, 8]), y=randint(key(1), [48], 0, 3))"
losses() { # DEVICE MODEL
    "$ingot" train "$temporary/small.npz" --model "$2" --epochs 2 --batch 20 --math same --device "$1" --json --quiet |
        python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["math"], r["loss"], r["accuracy"], r["test_accuracy"])'
}
same() { # MODEL
    local here there
    there=$(losses cpu "$1") && here=$(losses "$device" "$1") && [ "$here" = "$there" ] &&
        [[ $there == "same [0."* || $there == "same [1."* ]] && return
    printf 'cpu      %s\n%s %s\n' "$there" "$device" "$here"
    return 1
}
for model; do
    check "$device, $model: the losses of the CPU" same "$model"
done
finish
