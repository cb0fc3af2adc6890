# ingot predict: results, formats, and what it says of bad files.
. tests/check.sh
ingot=${INGOT:-build/ingot}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
export NO_COLOR=1

# prints TEXT ARGUMENTS...: standard output.
prints() {
    local expected=$1 got
    shift
    got=$("$ingot" predict "$@") && [ "$got" = "$expected" ] && return
    printf 'got      %s\nexpected %s\n' "$got" "$expected"
    return 1
}
# ends CODE TEXT ARGUMENTS...: exit code, and a part of what is said in one line.
ends() {
    local code=$1 part=$2 got status
    shift 2
    got=$("$ingot" predict "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && [ "${got#*"$part"}" != "$got" ] && [ "${got#*$'\n'}" = "$got" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$part"
    return 1
}
calculate() { "$ingot" eval "$1" >/dev/null; }
# is VALUE EXPRESSION
is() {
    local got
    got=$("$ingot" eval "$2") && [ "$got" = "$1" ] && return
    printf 'got %s, expected %s\n' "$got" "$1"
    return 1
}

# Three classes of rows with features of other scales, and images of bytes.
rows="x = normal(key(1), [90, 4]) * array([1., 100., 0.01, 1.]); y = arange(90) % 3; x = x + y[:, None] * array([9., 0., 0., -9.]); "
check 'rows' calculate "${rows}save('$d/rows.npz', x=x, y=y, x_test=x, y_test=y); save('$d/x.npy', x); save('$d/y.npy', y); save('$d/x.csv', x); save('$d/one.npy', x[0])"
learn() { "$ingot" train --quiet "$@" >"$d/said"; }
check 'they are learnt' learn "$d/rows.npz" --epochs 100 --batch 10 --save "$d/rows.net"
check 'all of them' grep -qx 'test accuracy 100.00 %' "$d/said"
classes() { "$ingot" predict "$d/rows.net" "$1" | cut -f 1 | tr '\n' ' ' | grep -qx '\(0 1 2 \)\{30\}'; }
check 'predict gives the classes' classes "$d/x.npy"
check 'from a table' classes "$d/x.csv"
check 'one sample' prints "$("$ingot" predict "$d/rows.net" "$d/x.npy" | head -n 1)" "$d/rows.net" "$d/one.npy"
check 'two files' prints "$("$ingot" predict "$d/rows.net" "$d/x.npy"; "$ingot" predict "$d/rows.net" "$d/one.npy")" \
    "$d/rows.net" "$d/x.npy" "$d/one.npy"
check '-o .npy' prints '' "$d/rows.net" "$d/x.npy" -o "$d/p.npy"
check 'it has probabilities' is True "p = load('$d/p.npy'); shape(p) == (90, 3) and all(abs(sum(p, axis=1) - 1) < 1e-6) and all(argmax(p, axis=1) == load('$d/y.npy'))"
check '-o .npz' prints '' "$d/rows.net" "$d/x.npy" -o "$d/p.npz"
check 'it has labels, too' is True "p = load('$d/p.npz'); all(p.labels == load('$d/y.npy')) and all(p.probabilities == load('$d/p.npy'))"
printf 'red\ngreen\nblue\n' >"$d/names"
named() { "$ingot" predict "$d/rows.net" "$d/one.npy" --labels "$d/names" --top 2 | grep -Eqx $'red\t[01][.][0-9]{4}\t(green|blue)\t0[.][0-9]{4}'; }
check '--labels and --top' named
check '--top beyond the classes' test "$("$ingot" predict "$d/rows.net" "$d/one.npy" --top 9 | tr '\t' '\n' | grep -c .)" = 6
check '--json' test "$("$ingot" predict "$d/rows.net" "$d/x.npy" --json | grep -c '"label": "[012]", "probability": [01]')" = 90

images="x = astype(uniform(key(2), [60, 6, 6]) * 200, u8); y = arange(60) % 2; x = where(y[:, None, None] == 1, x + astype(50, u8), x); "
check 'images' calculate "${images}save('$d/images.npz', x=x, y=y, x_test=x, y_test=y)"
check 'are learnt by a cnn' learn "$d/images.npz" --epochs 2 --model cnn --save "$d/cnn.net"
# The share of right predictions is the accuracy that the training printed: dropout is off, and bytes are scaled.
accuracy() {
    "$ingot" predict "$d/cnn.net" "$d/images.npz" -o "$d/p.npy" &&
        is "$(sed -n 's/test accuracy \([0-9]*\).*/\1/p' "$d/said")" "astype(floor(100 * mean(argmax(load('$d/p.npy'), axis=1) == arange(60) % 2) + 1e-9), i64)"
}
check 'predict gives the accuracy of the test' accuracy

numbers="x = normal(key(3), [200, 2]); y = x @ array([[300., 1.], [-20., 2.]]) + 1000; "
check 'numbers' calculate "${numbers}save('$d/numbers.npz', x=x, y=y); save('$d/n.npy', x); save('$d/targets.npy', y)"
check 'are learnt' learn "$d/numbers.npz" --loss mse --layers 2 --epochs 300 --lr 0.02 --save "$d/numbers.net"
check 'predict gives numbers' prints '' "$d/numbers.net" "$d/n.npy" -o "$d/v.npy"
check 'in the units of the targets' is True "max(abs(load('$d/v.npy') - load('$d/targets.npy'))) < 0.1"
check 'as text' test "$("$ingot" predict "$d/numbers.net" "$d/n.npy" | grep -Ecx $'[0-9.]+\t[-0-9.]+')" = 200

# ---- a table with texts
awk 'BEGIN {
    print "size,\"the colour\",weight,species"
    for (i = 0; i < 120; i++) {
        k = i % 3
        print k * 2 + i % 7 / 10 "," (int(i / 4) % 2 ? "red" : k ? "blue" : "\"green, dark\"") "," 9 - k "," (k == 0 ? "ant" : k == 1 ? "bee" : "\"cat \"\"x\"\"\"")
    }
}' >"$d/kinds.csv"
check 'classes by name' learn "$d/kinds.csv" --epochs 60 --batch 10 --target species --save "$d/kinds.net"
check 'are learnt' grep -qx 'test accuracy 100.00 %' "$d/said"
printf 'species,weight,the colour,size\n?,9,"green, dark",0.2\n?,8,red,2.2\n?,7,blue,4.1\n' >"$d/new.csv"
kinds() { "$ingot" predict "$d/kinds.net" "$1" | cut -f 1 | tr '\n' ' ' | grep -qx 'ant bee cat "x" '; }
check 'and predicted; columns are found by name' kinds "$d/new.csv"
printf '0.2,"green, dark",9\n2.2,red,8\n4.1,blue,7\n' >"$d/plain.csv"
check 'or by their order' kinds "$d/plain.csv"
printf 'size,the colour,weight\n1,pink,2\n' >"$d/pink.csv"
check 'a category that was not there' ends 5 "pink.csv: line 2, column 'the colour': 'pink' is not a category of the training data, which has blue, green, dark, red" "$d/kinds.net" "$d/pink.csv"
printf 'size,weight\n1,2\n' >"$d/less.csv"
check 'a column that is missing' ends 5 "it has no column 'the colour', which the network was trained with" "$d/kinds.net" "$d/less.csv"
refused() { # TEXT OPTIONS...: training with standard input as its table
    local part=$1 got
    shift
    cat >"$d/bad.csv"
    got=$("$ingot" train --quiet "$d/bad.csv" "$@" 2>&1)
    [ $? = 5 ] && [ "${got#*"$part"}" != "$got" ] || { printf 'got %s\n' "$got"; return 1; }
}
check 'a target that is not there' refused "no column is named 'kind'; there are size, the colour, weight, species" --target kind <"$d/kinds.csv"
check 'no header' refused "it has no header, so no column is named 'kind'" --target kind <"$d/plain.csv"
check 'texts are not numbers' refused "line 2, column 'species': with --loss mse the target must be numbers" --loss mse <"$d/kinds.csv"
check 'an empty number' refused "line 3, column 'a': the field is empty; fill it in, or remove the row" < <(printf 'a,b\n1,x\n,y\n2,x\n3,x\n4,y\n5,y\n')
check 'a short line' refused 'line 3 has 1 fields, and line 1 has 2' < <(printf 'a,b\n1,x\n2\n')
check 'a field after quotes' refused 'line 2: text follows a closing quote' < <(printf 'a,b\n1,"x"y\n')
check '--target is for tables' grep -q 'names a column of a .csv or .tsv file' <("$ingot" train digits --target x 2>&1)

# ---- a folder of images: bright and dark ones of several sizes
mkdir -p "$d/photos/bright" "$d/photos/dark"
image() { # FILE SIDE VALUE: a gray PGM
    { printf 'P5\n%d %d\n255\n' "$2" "$2"; head -c $(($2 * $2)) /dev/zero | tr '\0' "\\$(printf %o "$3")"; } >"$1"
}
for i in 1 2 3 4 5 6 7 8 9; do
    image "$d/photos/bright/$i.pgm" $((4 + i)) $((170 + 8 * i))
    image "$d/photos/dark/$i.pgm" $((4 + i)) $((8 * i))
done
check 'folders are classes' learn "$d/photos" --side 8 --epochs 30 --batch 4 --save "$d/photos.net"
check 'which are learnt' grep -qx 'test accuracy 100.00 %' "$d/said"
photos() { "$ingot" predict "$d/photos.net" "$d/photos/dark/2.pgm" "$d/photos/bright/9.pgm" | cut -f 1 | tr '\n' ' ' | grep -qx 'dark bright '; }
check 'and named' photos
check '--side is for folders' grep -q -- '--side is the size of the images of a folder' <("$ingot" train digits --side 9 2>&1)
check 'folders have classes' grep -q 'are classes' <("$ingot" train "$d/photos" --loss mse 2>&1)

# ---- messages
check 'no network' ends 2 "a network is missing; see 'ingot predict --help'"
check 'no samples' ends 2 "a file of samples is missing; see 'ingot predict --help'" "$d/rows.net"
check 'wide rows' calculate "save('$d/wide.npy', ones([60, 2]))"
check 'samples of another shape' ends 5 'its shape is 60 x 2, but the network takes samples of 4, or N of them' "$d/rows.net" "$d/wide.npy"
check 'a table with its classes' calculate "save('$d/with.csv', ones([3, 5]))"
check 'is told' ends 5 'leave out the column of classes or targets' "$d/rows.net" "$d/with.csv"
check 'names of other classes' ends 5 'it has 2 lines, and the network 3 classes' "$d/rows.net" "$d/one.npy" --labels <(printf 'a\nb\n')
check 'names of no classes' ends 2 'the network predicts numbers and has no classes' "$d/numbers.net" "$d/n.npy" --labels "$d/names"
check 'no such file' ends 5 "$d/nothing.npy" "$d/rows.net" "$d/nothing.npy"
check 'floats' calculate "save('$d/floats.npz', x=ones([3]))"
check 'a file that is no network' ends 5 'it is not a checkpoint of ingot train' "$d/floats.npz" "$d/x.npy"
check '-o and --json' ends 2 '--json prints to standard output' "$d/rows.net" "$d/x.npy" --json -o "$d/y.npy"
finish
