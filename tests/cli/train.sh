# ingot train: what it prints, its exit codes, and what it says of bad files. How it learns:
# tests/test_train.py.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'chmod -R u+w "$temporary"; rm -rf "$temporary"' EXIT
export NO_COLOR=1

# fails CODE TEXT ARGUMENTS...: exit code, and the one line that is said.
fails() {
    local code=$1 expected="ingot train: $2" got status
    shift 2
    got=$("$ingot" train --quiet "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && [ "$got" = "$expected" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$expected"
    return 1
}
# ends CODE TEXT ARGUMENTS...: exit code, and a part of what is said in one line.
ends() {
    local code=$1 part=$2 got status
    shift 2
    got=$("$ingot" train --quiet "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && [ "${got#*"$part"}" != "$got" ] && [ "${got#*$'\n'}" = "$got" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$part"
    return 1
}

# ---- usage
check 'no data set' fails 2 "a data set is missing: ingot train digits; see 'ingot train --help'"
check 'two of them' fails 2 "one data set at a time; see 'ingot train --help'" digits digits
check 'the nearest data set' fails 2 "unknown data set 'digit'; did you mean 'digits'?" digit
check 'a data set unlike any' fails 2 "unknown data set 'x'; there are digits, mnist, FILE.npz, FILE.csv and FOLDER" x
check 'mnist needs files' fails 2 'mnist is not part of the command: give its folder with --data DIR' mnist
check '--data is not for files' fails 2 '--data is the folder of mnist, and x.npz is a file' x.npz --data .
check 'the nearest model' fails 2 "unknown model 'cn'; did you mean 'cnn'?" digits --model cn
check 'a model unlike any' fails 2 "unknown model 'resnet'; there are mlp, cnn and FILE.onnx" digits --model resnet
check 'the nearest optimizer' fails 2 "unknown optimizer 'adma'; did you mean 'adam'?" digits \
    --optimizer adma
check 'the nearest option' ends 2 "did you mean '--epochs'?" digits --epoch 1
check 'no epochs' ends 2 "--epochs takes a whole number from 1 to 1000000, not '0'" digits --epochs 0
check 'a batch of less than one' ends 2 "--batch takes a whole number from 1 to 1000000, not '-1'" digits --batch=-1
check 'a rate that is none' ends 2 "--lr takes a number above 0, not 'fast'" digits --lr fast
check 'a negative rate' ends 2 "--lr takes a number above 0, not '-1'" digits --lr=-1
check 'a seed that is none' ends 2 "--seed takes a whole number from 0 on, not '-3'" digits --seed=-3
check 'no such device' ends 4 nowhere digits --device nowhere
check 'a loss that diverges' ends 1 'it diverges; try a smaller --lr' digits --lr 1e30 --optimizer sgd

# ---- a limit for the size of files
limited() {
    "$ingot" train digits --quiet --epochs 1 --save "$temporary/limited.safetensors" >/dev/null &&
        cp "$temporary/limited.safetensors" "$temporary/before" || return 1
    local got status
    got=$(ulimit -f 4; "$ingot" train digits --quiet --epochs 1 --seed 9 --save "$temporary/limited.safetensors" 2>&1)
    status=$?
    [ "$status" = 5 ] && [ "${got#*"raise the file size limit (ulimit -f)"}" != "$got" ] &&
        cmp -s "$temporary/before" "$temporary/limited.safetensors" &&
        [ "$(ls "$temporary" | grep -c limited)" = 1 ] && return
    printf 'exit code %s\n%s\n' "$status" "$got"
    return 1
}
check 'a file beyond ulimit -f is an error, and the old one stays' limited

# ---- what is printed where
streams() { "$ingot" train digits --epochs 1 "$@" >"$temporary/out" 2>"$temporary/err"; }
check 'it learns' streams
check 'the result on standard output' grep -qx 'test accuracy [0-9.]* %' "$temporary/out"
check 'the epochs on standard error' grep -q '^epoch 1/1  loss [0-9.]*  accuracy [0-9.]* %' \
    "$temporary/err"
no_bar() { ! grep -q $'[\r\033]' "$temporary/err"; }
check 'no bar where there is no terminal' no_bar
check '--quiet' streams --quiet
check 'says nothing while it learns' test ! -s "$temporary/err"
check '--json' streams --json --seed 7 --threads 2 --batch 100 --optimizer lion
json_is() {
    local got
    got=$(python3 -c "import json; r = json.load(open('$temporary/out')); print($1)")
    [ "$got" = "$2" ] || { echo "$got"; return 1; }
}
check 'JSON schema' json_is "r['schema'], r['dataset'], r['device']" '1 digits cpu'
check 'JSON by epoch' json_is "len(r['loss']), len(r['accuracy'])" '1 1'
check 'JSON test accuracy' json_is "0 < r['test_accuracy'] < 1" True
check 'JSON of the machine' json_is "r['threads'], r['seed'], r['seconds'] > 0" '2 7 True'
check 'JSON options' json_is "r['options']['batch'], r['options']['optimizer']" '100 lion'
bar() {
    python3 - "$ingot" <<'PYTHON'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "train", "digits", "--epochs", "4"])
said = b""
try:
    while more := os.read(fd, 65536):
        said += more
except OSError:
    pass
os.waitpid(pid, 0)
print(said)
assert b"left" in said and b"epoch 4/4  loss" in said, said
assert b"\x1b[3" not in said, "colors in spite of NO_COLOR"
PYTHON
}
check 'a bar with the time that is left on a terminal' bar
check 'ingot train --help' grep -q -- '--resume FILE' <("$ingot" train --help)

# ---- idx files of others, in MNIST's names
write_idx() { # FOLDER SIZE TRAIN TEST
    python3 - "$@" <<'PYTHON'
import os, random, struct, sys
folder, (size, *counts) = sys.argv[1], map(int, sys.argv[2:])
os.makedirs(folder, exist_ok=True)
rng = random.Random(1)
for stem, n in zip(("train", "t10k"), counts):
    labels = bytes(i % 10 for i in range(n))
    images = bytearray()
    for label in labels:
        picture = bytearray(rng.randrange(40) for _ in range(size * size))
        for k in range(6):
            picture[(label * 7 + k * 5) % (size * size)] = 250
        images += picture
    with open(f"{folder}/{stem}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, n, size, size) + images)
    with open(f"{folder}/{stem}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, n) + labels)
PYTHON
}
m=$temporary/mnist
check 'files are written' write_idx "$m" 12 300 50
learnt() { "$ingot" train mnist --data "$m" --epochs 10 --quiet "$@" | grep -q 'accuracy 100.00 %'; }
check '--data: its pictures are learnt' learnt
check 'and by convolution' learnt --model cnn
bad() { # NAME: a copy in which something is wrong
    rm -rf "$temporary/bad" && cp -r "$m" "$temporary/bad"
}
b=$temporary/bad
bad && rm "$b/train-labels-idx1-ubyte"
check 'a file is missing' ends 5 'train-labels-idx1-ubyte' mnist --data "$b"
check 'the folder is missing' ends 5 'train-images-idx3-ubyte' mnist --data "$temporary/none"
bad && truncate -s 1000 "$b/train-images-idx3-ubyte"
check 'images end early' ends 5 'train-images-idx3-ubyte' mnist --data "$b"
bad && printf 'no idx at all' >"$b/t10k-images-idx3-ubyte"
check 'no idx file' ends 5 't10k-images-idx3-ubyte' mnist --data "$b"
bad && printf '\0\0\010\003\377\377\377\377\377\377\377\377\377\377\377\377' >"$b/train-images-idx3-ubyte"
check 'sizes beyond all memory' ends 5 'train-images-idx3-ubyte' mnist --data "$b"
bad && : >"$b/t10k-labels-idx1-ubyte"
check 'an empty file' ends 5 't10k-labels-idx1-ubyte' mnist --data "$b"
bad && gzip -k "$b/train-images-idx3-ubyte" &&
    mv "$b/train-images-idx3-ubyte.gz" "$b/train-images-idx3-ubyte"
check 'a packed file' ends 5 'gzip' mnist --data "$b"
bad && printf '\013' | dd of="$b/train-labels-idx1-ubyte" bs=1 seek=20 conv=notrunc 2>/dev/null
check 'a label of 11' ends 5 'label 12 is 11; labels are 0 to 9' mnist --data "$b"
write_idx "$temporary/few" 12 299 50
bad && cp "$temporary/few/train-labels-idx1-ubyte" "$b/"
check 'as many labels as images' ends 5 'there are 300 images and 299 labels' mnist --data "$b"
bad && cp "$b/train-labels-idx1-ubyte" "$b/train-images-idx3-ubyte"
check 'labels in place of images' ends 5 'the images are u8 with 1 axes' mnist --data "$b"
write_idx "$temporary/small" 8 300 50
bad && cp "$temporary"/small/t10k* "$b/"
check 'two sizes of pictures' ends 5 'are 12 x 12, and those to test with 8 x 8' mnist --data "$b"
write_idx "$temporary/tiny" 1 20 10
check 'pictures too small to convolve' ends 5 'the samples have shape (20, 1, 1), but cnn takes images of at least 2 x 2 pixels' mnist --data "$temporary/tiny" \
    --model cnn
write_idx "$temporary/none" 12 0 0
check 'no pictures' ends 5 'it has no images' mnist --data "$temporary/none"

# ---- the user's own data
d=$temporary/data
mkdir "$d"
make_data() { "$ingot" eval "$@" || return; }
rows='k = key(3); y = arange(300) % 3; x = normal(k, 300, 4) * 0.3 + 50.0 + y[:, None]; '
images='y = arange(240) % 4; x = astype(uniform(key(5), 240, 6, 6) * 60.0 + where(arange(6)[None, :, None] == y[:, None, None], 180.0, 0.0), u8); '
learns() { # FILE OPTIONS...: at least 95 % of the test are right
    "$ingot" train --quiet --json "$@" >"$temporary/out" || return
    json_is "r['test_accuracy'] > 0.95" True
}
check 'rows are written' make_data "${rows}save('$d/rows.npz', x=x, y=y)"
check 'and learnt' learns "$d/rows.npz"
check 'the file is named in JSON' json_is "r['dataset']" "$d/rows.npz"
check 'as safetensors too' make_data "${rows}save('$d/rows.safetensors', data=x, labels=y)"
check 'these are learnt' learns "$d/rows.safetensors"
check 'names of Keras, labels of u8 in a column' make_data \
    "${rows}save('$d/keras.npz', x_train=x, y_train=astype(y, u8)[:, None], x_test=x[:30], y_test=y[:30])"
check 'these too' learns "$d/keras.npz"
check 'images are written' make_data "${images}save('$d/images.npz', images=x, y=y)"
check 'and learnt by convolution' learns "$d/images.npz" --model cnn
check 'and by the other network' learns "$d/images.npz"
check 'channels last' make_data "${images}save('$d/last.npz', X=x[..., None] * ones(3, u8), y=y)"
check 'are learnt' learns "$d/last.npz" --model cnn --epochs 20
check 'channels first' make_data "${images}save('$d/first.npz', X=x[:, None] * ones(1, u8), y=y)"
check 'are learnt too' learns "$d/first.npz" --model cnn
same_loss() {
    local a b
    a=$("$ingot" train --quiet --json "$d/rows.npz" --threads 1 | sed 's/, "test.*//')
    b=$("$ingot" train --quiet --json "$d/rows.npz" --threads 2 | sed 's/, "test.*//')
    [ "$a" = "$b" ]
}
check 'to the last bit for any number of threads' same_loss
check 'a checkpoint of it' learns "$d/rows.npz" --epochs 20 --save "$d/rows.model"
check 'goes on' learns "$d/rows.npz" --epochs 40 --resume "$d/rows.model"
check 'with other data it does not' ends 5 'hidden.weight' "$d/images.npz" --resume "$d/rows.model"
ready() { rm -f "$d/bad.npz" && "$ingot" eval "${rows}save('$d/bad.npz', $1)"; }
check 'no such file' ends 5 "$d/none.npz" "$d/none.npz"
ready 'a=x, y=y'
check 'no samples' fails 5 "$d/bad.npz: there are no samples: no array is named x, x_train, X, X_train, data, images; the file has a, y" \
    "$d/bad.npz"
ready 'x=x, b=y'
check 'no labels' ends 5 'there are no labels: no array is named y, y_train,' "$d/bad.npz"
ready 'x=x, y=y, x_test=x'
check 'no labels to test with' ends 5 'there are no labels to test with: no array is named y_test' "$d/bad.npz"
ready 'x=x[:, 0], y=y'
check 'samples without features' ends 5 'x has shape (300,), but samples need a first axis' "$d/bad.npz"
ready 'x=x, y=y[:299]'
check 'a label is missing' ends 5 'y has shape (299,), but x has 300 samples; each needs one label' "$d/bad.npz"
ready 'x=x, y=y[:, None] == arange(3)'
check 'one-hot labels' ends 5 'of one-hot rows take argmax(y, axis=1)' "$d/bad.npz"
ready 'x=x, y=y - 1'
check 'negative labels' ends 5 'y[0] is -1; labels are whole numbers from 0 to 65535' "$d/bad.npz"
ready 'x=x, y=y * 0.5'
check 'labels between' ends 5 'y[1] is 0.5; labels are whole numbers' "$d/bad.npz"
check 'and what to do' ends 5 'for numbers to predict give --loss mse' "$d/bad.npz"
ready 'x=x, y=y * 0'
check 'one class' ends 5 'all labels are 0; at least two classes are needed' "$d/bad.npz"
ready 'x=where(x > 51, nan, x), y=y'
check 'not a number' ends 5 'x has values that are NaN or infinite' "$d/bad.npz"
ready 'x=x[:4], y=y[:4]'
check 'too few' ends 5 'at least 6 samples are needed, or x_test and y_test' "$d/bad.npz"
ready 'x=x, y=y, x_test=x[:, :3], y_test=y'
check 'other shapes to test with' ends 5 'its samples must have the shape of those to learn from' "$d/bad.npz"
check 'rows for a convolution' ends 5 'have shape (250, 4), but cnn takes images' "$d/rows.npz" --model cnn

# ---- layers by option
check '--layers' learns "$d/rows.npz" --layers 32,relu,dropout:0.1,layer_norm,3 --save "$d/layers.model"
check 'it is in JSON' json_is "r['options']['layers'], r['options']['model']" '32,relu,dropout:0.1,layer_norm,3 layers'
check '--resume keeps the layers' learns "$d/rows.npz" --epochs 41 --resume "$d/layers.model"
check 'and says so' json_is "r['options']['layers'], len(r['loss'])" '32,relu,dropout:0.1,layer_norm,3 41'
check 'other layers' ends 5 'it was made with --layers 32,relu,dropout:0.1,layer_norm,3, not 8,relu,3' "$d/rows.npz" \
    --resume "$d/layers.model" --layers 8,relu,3
check 'a model instead' ends 5 'leave out --layers' "$d/rows.npz" --resume "$d/layers.model" --model mlp
check 'layers instead of a model' ends 5 'it was made with --model mlp, not with --layers' "$d/rows.npz" \
    --resume "$d/rows.model" --layers 8,relu,3
check 'every kind of layer' learns "$d/rows.npz" \
    --layers 32,gelu,32,silu,32,elu,32,leaky_relu,32,tanh,32,softplus,batch_norm,3
check 'layers and a model' ends 2 'leave out --model' digits --layers 10 --model mlp
check 'the number of classes' ends 5 'ends with 4, and digits has 10 classes; end it with 10' digits --layers 8,relu,4
check 'the nearest layer' ends 2 "unknown layer 'rleu'; did you mean 'relu'?" digits --layers 8,rleu,10
check 'a layer unlike any' ends 2 "there are numbers of outputs, relu, gelu" digits --layers conv3d,10
check 'dropout without its probability' ends 2 'dropout takes a probability' digits --layers 8,dropout,10
check 'too probable' ends 2 'dropout takes a probability' digits --layers 8,dropout:1,10
check 'a number for relu' ends 2 'relu takes no number' digits --layers 8,relu:2,10
check 'no outputs' ends 2 "'0' is not a number of outputs" digits --layers 0,10
check 'an activation at the end' ends 2 'the last layer is the number of outputs' digits --layers 10,relu
check 'an empty layer' ends 2 "unknown layer ''" digits --layers 8,,10

# ---- regression
line='x = normal(key(3), 300, 4); y = x @ array([100.0, -200.0, 50.0, 0.0]) + 1000.0; '
predicts() { # FILE OPTIONS...: R^2 of the test
    "$ingot" train --quiet --json --loss mse "$@" >"$temporary/out" || return
    json_is "r['test_r2'] > 0.95 and r['r2'][-1] > 0.9 and 0 < r['test_mse'] < 3000" True
}
check 'targets are written' make_data "${line}save('$d/line.npz', x=x, y=y)"
check 'and predicted' predicts "$d/line.npz" --save "$d/line.model"
check 'no accuracy' json_is "'accuracy' in r, r['options']['loss']" 'False mse'
check '--resume knows the loss' predicts "$d/line.npz" --resume "$d/line.model" --epochs 45
goes_on() {
    "$ingot" train "$d/line.npz" --quiet --json --resume "$d/line.model" --epochs 42 >"$temporary/out" &&
        json_is "len(r['r2']), r['options']['loss']" '42 mse'
}
check 'without the option' goes_on
check 'two targets, layers' make_data "${line}save('$d/two.npz', x=x, y=stack([y, -y], axis=1))"
check 'are predicted' predicts "$d/two.npz" --layers 64,relu,2 --epochs 60
check 'how it is printed' grep -qx 'test mse [0-9.e+]*, R^2 0.[0-9]*' <("$ingot" train --quiet --loss mse "$d/line.npz")
check 'a table' make_data "${line}save('$d/line.csv', concat([x, y[:, None]], axis=1))"
check 'its last column is predicted' predicts "$d/line.csv"
check 'classes of a table' make_data "${rows}save('$d/rows.tsv', concat([x, y[:, None]], axis=1))"
check 'are learnt' learns "$d/rows.tsv"
check 'the number of targets' ends 5 'has 1 targets; end it with 1' "$d/line.npz" --loss mse --layers 8,2
check 'digits have classes' ends 2 '--loss mse is for the targets of a file; digits has classes' digits --loss mse
check 'another loss' ends 2 "--loss is cross-entropy or mse, not 'mae'" digits --loss mae
check 'a checkpoint of classes' ends 5 'it was made with --loss cross-entropy, not mse' "$d/rows.npz" --loss mse \
    --resume "$d/rows.model"
check 'a checkpoint of numbers' ends 5 'it was made with --loss mse; leave out --loss' "$d/line.npz" \
    --loss cross-entropy --resume "$d/line.model"
ready 'x=x, y=where(y > 1, nan, y)'
check 'targets that are not numbers' ends 5 'y has values that are NaN' "$d/bad.npz" --loss mse
ready 'x=x, y=y * 0'
check 'equal targets' ends 5 'all targets to learn from are equal' "$d/bad.npz" --loss mse
ready 'x=x, y=where(y == 1, 4, y)'
empty() { "$ingot" train "$d/bad.npz" --epochs 1 2>&1 >/dev/null | grep -q "no sample to learn from has classes 1 and 3"; }
check 'classes without samples are named' empty

# ---- checkpoints
s=$temporary/mlp.safetensors
check '--save' streams --save "$s"
check '--resume that is done already' streams --resume "$s" --json
check 'it only tests' json_is "len(r['loss']), r['options']['model']" '1 mlp'
check '--resume for longer' streams --resume "$s" --epochs 2 --json
check 'it goes on' json_is "len(r['loss'])" 2
check 'a checkpoint of another model' fails 5 \
    "$s: it was made with --model mlp, not cnn; leave out --model, or train from the start" digits --resume "$s" \
    --model cnn
check 'of another seed' ends 5 'it was made with --seed 0, not 4' digits --resume "$s" --seed 4
check 'of another optimizer' ends 5 'it was made with --optimizer adam, not sgd' digits --resume "$s" \
    --optimizer sgd
check 'of other shapes' ends 5 'hidden.weight' mnist --data "$m" --resume "$s"
check 'there is none' ends 5 "$temporary/nothing" digits --resume "$temporary/nothing"
printf 'not a checkpoint' >"$temporary/text"
check 'it is none' ends 5 "$temporary/text" digits --resume "$temporary/text"
truncate -s 20000 "$s"
check 'it ends early' ends 5 "$s" digits --resume "$s"
check 'a place that is not there, before the first step' ends 5 'it cannot be written: No such file' \
    digits --epochs 1000000 --save /nonexistent/x
check 'a folder' ends 5 'it cannot be written: Is a directory' digits --epochs 1000000 \
    --save "$temporary"
if [ "$(id -u)" != 0 ]; then
    mkdir "$temporary/closed" && chmod 500 "$temporary/closed"
    check 'a folder that is closed' ends 5 'it cannot be written: Permission denied' digits \
        --epochs 1000000 --save "$temporary/closed/x"
fi
if [ -e /dev/full ]; then
    check 'a full device' ends 5 'No space left on device' digits --save /dev/full
fi
check 'nothing is left beside' test "$(ls "$temporary" | grep -c 'tmp\|XXX')" = 0
finish
