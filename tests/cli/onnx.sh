# ingot onnx: runs, tests, times and checks of a small model, and what is said of mistakes.
. tests/check.sh
ingot=${INGOT:-build/ingot}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
export NO_COLOR=1
model=tests/onnx/layer/model.onnx

# ends CODE TEXT ARGUMENTS...: exit code, and a part of what is said.
ends() {
    local code=$1 part=$2 got status
    shift 2
    got=$("$ingot" onnx "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && { [ -z "$part" ] || [ "${got#*"$part"}" != "$got" ]; } && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$part"
    return 1
}
same() { cmp "$1" "$2"; }
calculate() { "$ingot" eval "$1" >/dev/null; }

check 'an input' calculate "save('$d/x.npy', array([[1., 2.], [-3., 4.]]))"
check 'results' calculate "w = array([[1., -2., 3.], [0.5, -0.25, 2.]]); y = relu(array([[1., 2.], [-3., 4.]]) @ w + array([0.1, -0.2, 0.3])); save('$d/want.npy', y)"
check 'run' ends 0 'y: float 2x3' run $model --input x="$d/x.npy"
check 'run -o' ends 0 '' run $model -i x="$d/x.npy" -o "$d/y.npy"
check 'it has the bits of the calculator' same "$d/y.npy" "$d/want.npy"
check 'run -o .npz' ends 0 '' run $model -i x="$d/x.npy" -o "$d/y.npz"
check 'an input as a test folder has it' ends 0 '2.1' run $model -i x=tests/onnx/layer/test_data_set_0/input_0.pb
check 'random inputs' ends 0 'y: float 1x3' run $model --random
printf 'P6\n2 2\n255\n\0\063\146\231\314\377\0\063\146\231\314\377' >"$d/small.ppm"
image=tests/onnx/image/model.onnx
check 'an image' ends 0 '' run $image "$d/small.ppm" --mean 0 --std 1 -o "$d/image.npy"
pixels() { [ "$("$ingot" eval "x = load('$d/small.ppm'); y = load('$d/image.npy'); shape(y) == (1, 3, 2, 2) and all(abs(y[0] - moveaxis(astype(x, f32) / 255, 2, 0)) < 1e-6)")" = True ]; }
check 'its pixels' pixels
check 'a name with a colon' ends 0 'out:0: float 1x3x2x2' run $image input:0="$d/small.ppm"
check 'the same as --input' ends 0 'out:0: float 1x3x2x2' run $image --input input:0=1x3x2x2
check 'an image for a matrix' ends 5 "is an image, but input 'x' is float rowsx2, not a batch of one image" run $model "$d/small.ppm"
check 'a model that is an image' ends 5 'it is not an ONNX file, or it is damaged' run "$d/small.ppm"
printf 'no image' >"$d/damaged.jpg"
check 'a damaged image' ends 5 'damaged.jpg' run $image "$d/damaged.jpg"
check 'a file of another kind' ends 5 'it is not an ONNX file, or it is damaged' run $image tests/check.sh
check 'placement on Metal, without a Mac' ends 0 'metal can run all ops' info $model --device metal
check 'on emitted kernels' ends 0 'y: float 5x3' run $model -i x=5x2 --device gang

check 'test' ends 0 '2 passed, 0 failed, 0 skipped' test tests/onnx
check 'test by name' ends 1 '0 passed, 0 failed, 0 skipped' test tests/onnx --name conv
check 'test, twice' ends 0 '1 passed' test tests/onnx --again --name 'lay*'
cp -r tests/onnx/layer "$d/wrong"
cp tests/onnx/layer/test_data_set_0/input_0.pb "$d/wrong/test_data_set_0/output_0.pb"
check 'a wrong result' ends 1 "wrong: output 0 'y': it is float 2x3, expected float 2x2" test "$d/wrong"
rm -r "$d/wrong/test_data_set_0"
check 'a folder without data' ends 0 '0 passed, 0 failed, 1 skipped' test "$d/wrong"

check 'bench' ends 0 'median ' bench $model --runs 3 --input x=8x2
check 'explain' ends 0 ' in 1 program' run $model --explain x=8x2
check 'explain as JSON' ends 0 '"explain": "device cpu' run $model --explain --json x=8x2
check 'explain of bench' ends 0 ' in 1 program' bench $model --explain x=8x2
# kernels FOLDER SHAPE: the texts of the kernels of a run, each once, in order.
kernels() {
    mkdir "$1"
    IG_KEEP_KERNELS=$1 "$ingot" onnx run $model --explain --device gang x="$2" >/dev/null
    for f in "$1"/*; do sha256sum <"$f"; done | sort -u >"$1.sums"
    [ -s "$1.sums" ]
}
check 'kernels of a shape' kernels "$d/one" 8x2
check 'and of another' kernels "$d/two" 50x2
check 'are the same' same "$d/one.sums" "$d/two.sums"
check 'verify' ends 0 'cpu: 3 nodes' verify $model --device cpu
check 'verify says so' ends 0 'correct' verify $model --device gang

check 'no command' ends 2 'a command is missing'
check 'an unknown one' ends 2 "there is no command 'verfy'; did you mean 'verify'?" verfy
check 'no model' ends 2 'expected one model' run
check 'an absent file' ends 5 'absent.onnx' run absent.onnx
check 'a missing input' ends 2 "input 'x' (float rowsx2) is missing" run $model
check 'an unknown input' ends 2 'there is no such input; the model' run $model --input z=1x2
check 'inputs without --input' "$ingot" onnx run $model x=1x2
check 'a word that is not an input' ends 5 "model.onnx': " run $model $model
check 'a wrong shape' ends 1 "input 'x' has another shape" run $model --input x=2x3
printf 'no model' >"$d/text.onnx"
check 'a file that is not a model' ends 5 'text.onnx' run "$d/text.onnx"
finish
