# ingot compare and ingot report: what they print, their exit codes, what they say of bad files. The page
# in a browser: tests/test_report.py.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'chmod -R u+w "$temporary"; rm -rf "$temporary"' EXIT
export NO_COLOR=1
here=$PWD
case $ingot in /*) ;; *) ingot=$here/$ingot ;; esac
cd "$temporary" || exit 1

# result NAME [CHANGE]...: a file with rows 'matmul 64 f32' (10 ms) and 'sum 1M f32' (2 ms); a change is a
# line of Python on r, the result.
result() {
    local name=$1
    shift
    python3 - "$name" "$@" <<'PYTHON'
import json, sys
def row(work, size, seconds):
    return {"work": work, "size": size, "dtype": "f32", "device": "cpu", "group": "compute",
            "input": "uniform, seed 0", "math": "strict", "threads": 2, "flops": 1e6, "bytes": 1e5,
            "answer": "ab12", "repeats": 1, "seconds": [[seconds * (1 + 0.001 * (p % 3))] * 3 for p in range(8)]}
r = {"schema": 1, "verb": "bench", "version": "0.1.0", "system": "Linux", "arch": "x86_64", "complete": True,
     "command": "ingot bench", "devices": [{"name": "cpu", "model": "Test", "cores": 2}],
     "rows": [row("matmul", "64", 0.01), row("sum", "1M", 0.002)]}
def scale(row, by):
    row["seconds"] = [[s * by for s in p] for p in row["seconds"]]
for change in sys.argv[2:]:
    exec(change)
json.dump(r, open(sys.argv[1], "w"))
PYTHON
}

# fails VERB CODE TEXT ARGUMENTS...: exit code, and the one line that is said.
fails() {
    local verb=$1 code=$2 expected="ingot $1: $3" got status
    shift 3
    got=$("$ingot" "$verb" "$@" 2>&1 >/dev/null </dev/null)
    status=$?
    [ "$status" = "$code" ] && [ "$got" = "$expected" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$expected"
    return 1
}
# says TEXT ARGUMENTS...: all that compare prints.
says() {
    local expected=$1 got
    shift
    got=$("$ingot" compare "$@" 2>&1)
    [ "$got" = "$expected" ] && return
    printf 'got\n%s\nexpected\n%s\n' "$got" "$expected"
    return 1
}
# has TEXT ARGUMENTS...: compare prints a line with this in it.
has() {
    local part=$1 got
    shift
    got=$("$ingot" compare "$@" 2>&1)
    [ "${got#*"$part"}" != "$got" ] && return
    printf 'got\n%s\nexpected\n%s\n' "$got" "$part"
    return 1
}
code() {
    local expected=$1 status
    shift
    "$ingot" "$@" >/dev/null 2>&1
    status=$?
    [ "$status" = "$expected" ] || { echo "exit code $status, expected $expected"; return 1; }
}

result a.json
result b.json 'scale(r["rows"][0], 1/31)' 'r["system"] = "macOS"'
result slow.json 'scale(r["rows"][1], 1.05)'
result gpu.json 'r["rows"] += [dict(r["rows"][0], device="gpu")]' 'scale(r["rows"][2], 0.25)' \
    'r["devices"] += [{"name": "gpu"}]'

# ---- what is printed
check 'two machines' says 'b multiplies matrices 31 times faster than a (matmul 64 f32 [30.4, 31.6]); b adds up numbers as fast as a (sum 1M f32 [0.98, 1.02]).

work                 a        b  speedup  99 % interval  verdict
matmul 64 f32  10.0 ms   323 µs    31.0x   [30.4, 31.6]  FASTER
sum 1M f32     2.00 ms  2.00 ms    1.00x   [0.98, 1.02]  SAME' a.json b.json
check 'the same machine' has 'Both files are from the same machine. ' a.json slow.json
check 'a slowdown of 5 %' has 'slow takes 1.05 times as long as a to add up numbers (sum 1M f32 [1.03, 1.07])' a.json slow.json
check 'the same file twice' has 'Two of the files are the same run. ' a.json a.json
check 'three files' has 'slow  speedup' a.json b.json slow.json
check 'the devices of one file' says 'gpu multiplies matrices 4 times faster than cpu (matmul 64 f32 [3.92, 4.08]).

work               cpu      gpu  speedup  99 % interval  verdict
matmul 64 f32  10.0 ms  2.50 ms    4.00x   [3.92, 4.08]  FASTER

not compared: 1 row that only one side has' gpu.json
same_twice() { [ "$("$ingot" compare a.json b.json)" = "$("$ingot" compare a.json b.json)" ]; }
check 'the same files give the same text' same_twice
json_is() {
    "$ingot" compare --json a.json b.json | python3 -c '
import json, sys
c = json.load(sys.stdin)
assert c["schema"] == 1 and c["verb"] == "compare" and c["files"] == ["a.json", "b.json"], c
assert [r["verdict"] for r in c["rows"]] == ["FASTER", "SAME"], c
assert abs(c["rows"][0]["speedup"]["middle"] - 31) < 0.1, c'
}
check '--json' json_is

# ---- few passes, and noise
few='for row in r["rows"]: row["seconds"] = row["seconds"][:2]'
result few.json "$few"
result few_slow.json "$few" 'scale(r["rows"][0], 100)' 'scale(r["rows"][1], 100)'
check 'two passes' says 'Both files are from the same machine. It is unsure whether few_slow multiplies matrices faster than few (matmul 64 f32 [0.0025, 0.040]); it is unsure whether few_slow adds up numbers faster than few (sum 1M f32 [0.0025, 0.040]).

work               few  few_slow  speedup    99 % interval  verdict
matmul 64 f32  10.0 ms    1.00 s   0.010x  [0.0025, 0.040]  UNSURE
sum 1M f32     2.00 ms    200 ms   0.010x  [0.0025, 0.040]  UNSURE

few.json: 2 rows have fewer than 3 passes, too few for a verdict
few_slow.json: 2 rows have fewer than 3 passes, too few for a verdict' few.json few_slow.json
check 'are no regression' code 0 compare --fail-on slower few.json few_slow.json
many='r["rows"] = [dict(r["rows"][0], size=str(i)) for i in range(5)]'
noisy='for row in r["rows"][:3]: row["seconds"] = [[0.01 * (1 + p % 4)] for p in range(8)]'
result many.json "$many"
result noisy.json "$many" 'scale(r["rows"][4], 0.5)' "$noisy"
check 'most rows are unsure' has 'Most of the 5 rows of noisy against many are unsure; measure longer' many.json noisy.json
result loud.json "$many" 'for row in r["rows"]: row["seconds"] = [[0.01 * (1 + p % 4)] for p in range(8)]'
check 'all rows are unsure, said once' [ "$("$ingot" compare many.json loud.json | head -n 1 | grep -o unsure | wc -l)" = 1 ]
check 'and what is sure is said' has 'noisy multiplies matrices 2 times faster than many (matmul 4 f32' many.json noisy.json
h1() { "$ingot" compare "$1" "$2" --html h1.html >/dev/null; grep -o '<h1>[^<]*</h1>' h1.html | grep -qF "$3"; }
check 'the title of the page says it' h1 many.json noisy.json 'Most differences are unsure: 3 of 5 rows'
result warned.json 'r["rows"][1]["warnings"] = ["drift: much"]'
check 'a doubtful row is marked' has 'SAME !' a.json warned.json
check 'and counted' has 'warned.json: 1 doubtful measurement (!)' a.json warned.json
sizes='r["rows"] = [dict(r["rows"][0], size=str(n), extent=n) for n in (8, 16)]'
result sizes.json "$sizes"
result unsure.json "$sizes" 'r["rows"][1]["seconds"] = [[0.01 * (1 + p % 4)] for p in range(8)]'
crossing() {
    "$ingot" compare "$1" "$2" --html sizes.html >/dev/null
    grep -qF "$3" sizes.html && ! grep -q 'beat' sizes.html
}
check 'unsure at the largest size' crossing sizes.json unsure.json \
    'It is unsure whether unsure is faster than sizes at the largest size.'
result smaller.json "$sizes" 'scale(r["rows"][1], 2)'
check 'slower at the largest size' crossing sizes.json smaller.json 'sizes is faster than smaller at the largest size.'
result larger.json "$sizes" 'scale(r["rows"][1], 0.5)'
check 'faster from a size on' crossing sizes.json larger.json 'larger is faster than sizes from size 16 on.'
check 'the same at the largest size' crossing sizes.json sizes.json 'equally fast at the largest size.'

# ---- what must not be compared
result input.json 'r["rows"][0]["input"] = "normal"'
result math.json 'r["rows"][0]["math"] = "fast"'
result flops.json 'r["rows"][0]["flops"] = 2e6' 'r["version"] = "0.2.0"'
result answer.json 'r["rows"][0]["answer"] = "cd34"'
result none.json 'r["rows"][0]["seconds"] = []'
result version.json 'r["version"] = "0.2.0"'
check 'other inputs' has "not compared: matmul 64 f32 on input: different inputs: 'uniform, seed 0' and 'normal'" \
    a.json input.json
check 'other math' has 'different math: strict and fast' a.json math.json
check 'other work' has 'different work: 1e+06 and 2e+06 operations, 100000 and 100000 bytes (versions 0.1.0 and 0.2.0)' \
    a.json flops.json
check 'another answer' has 'different answers: ab12 and cd34; one of them is wrong' a.json answer.json
check 'no samples' has 'not measured by none' a.json none.json
check 'another version of the same work' has 'matmul 64 f32  10.0 ms' a.json version.json

# ---- exit codes
check '--fail-on slower' code 3 compare --fail-on slower a.json slow.json
check '--fail-on slower, where nothing is' code 0 compare --fail-on slower a.json b.json
check 'slower without it' code 0 compare a.json slow.json
check '--fail-on else' fails compare 2 \
    "--fail-on takes slower, not 'faster'; see 'ingot compare --help'" --fail-on faster a.json b.json
check 'no files' fails compare 2 "it takes 1 to 16 results of 'ingot bench'; see 'ingot compare --help'"
check 'one device alone' fails compare 2 "'a.json' has one device only: name a second file to compare it with" \
    a.json
result empty.json 'r["rows"] = []'
check 'no rows' fails compare 1 'no rows of these files can be compared' a.json empty.json
check 'no rows in the first file' fails compare 1 'no rows of these files can be compared' empty.json a.json
check 'the page of no rows' code 0 report empty.json
taken="it takes one result of 'ingot bench', or 1 to 6 logs of training (.jsonl); see 'ingot report --help'"
check 'report of two' fails report 2 "$taken" a.json b.json

# ---- logs of training: a run that went back to step 20, with an unfinished last line, and a shorter run with a loss that is none
{
    for step in 10 20 30 40; do
        echo '{"step": '$step', "loss": 3.5, "lr": 1e-3, "tokens_per_second": '$step'00, "memory_bytes": 1048576, "else": [1]}'
    done
    echo '{"step": 40, "test_loss": 3.75}'
    echo '{"step": 20, "loss": 2.5, "lr": 1e-3}'
    echo '{"step": 30, "loss": 1.25, "lr": 1e-4}'
    echo '{"step": 30, "test_loss": 1.5}'
    printf '{"step": 40, "lo'
} >long.jsonl
printf '%s\n' '{"step": 1, "loss": 8}' '' '{"step": 2, "loss": null}' >short.jsonl
rows_of() { # TITLE EXPECTED: the numbers of a figure: step and value of each row
    local got
    got=$(sed -n "/<caption>$1</,/<\\/table>/p" logs.html | sed -n 's|.*<td class="n">\(.*\)</td><td class="n">\(.*\)</td></tr>|\1 \2|p' | tr '\n' ';')
    [ "$got" = "$2" ] || { echo "got $got"; return 1; }
}
check 'a page of two logs' code 0 report long.jsonl short.jsonl -o logs.html
check 'losses after going back' rows_of Loss '10 3.5;20 2.5;30 1.25;1 8;'
check 'held-out losses' rows_of 'Loss on held-out data' '30 1.5;'
check 'speeds' rows_of Speed '10 1000;20 2000;'
check 'rates' rows_of 'Learning rate' '10 0.001;20 0.001;30 0.0001;'
check 'where the run ended' grep -q 'long.jsonl</th><td class="n">30</td><td class="n">1.2500</td><td class="n">1.5000</td>' logs.html
check 'a loss that is none' grep -q '1 loss is not finite and left out' logs.html
seq 1 1000 | sed 's/.*/{"step": &, "loss": &}/' >many.jsonl
check 'many steps' code 0 report many.jsonl -o logs.html
check 'are means of neighbours' rows_of Loss "$(for i in $(seq 50 50 1000); do printf '%s %s.5;' "$i" $((i - 25)); done)"
headline_of_log() { [ "$("$ingot" report many.jsonl -o logs.html | head -n 1)" = "$1" ]; }
check 'the headline of a log' headline_of_log '1000 steps of training: the loss is 1000.0000'
seq 0 9 | sed 's/.*/{"step": &, "loss": &}/' >zero.jsonl
check 'a log from step 0' code 0 report zero.jsonl -o logs.html
check 'its axes begin at 0' [ "$(grep -o 'class="tick"[^>]*>0<' logs.html | wc -l)" = 2 ]
check 'a log and a result' fails report 2 "$taken" a.json long.jsonl
sed 's/8}/8/' short.jsonl >cut.jsonl
echo '{"loss": 1}' >stepless.jsonl
echo '{"step": 1, "lr": 1}' >lossless.jsonl
check 'a broken line' fails report 5 "'cut.jsonl', line 1: it is not a JSON object: at byte 21: expected ',' or '}', found the end" cut.jsonl
check 'a line without a step' fails report 5 "'stepless.jsonl', line 1: it has no \"step\", a number from 0 on" stepless.jsonl
check 'no loss' fails report 5 "'lossless.jsonl': no line has a \"step\" and a \"loss\"; give the --log of ingot train" lossless.jsonl
check 'no log' fails report 5 "'absent.jsonl': No such file or directory" long.jsonl absent.jsonl

# ---- bad files
bad() {
    local name=$1 why=$2
    check "$name" fails compare 5 "'$name': $why" a.json "$name"
    check "report: $name" fails report 5 "'$name': $why" "$name"
}
head -c 300 a.json >cut.json
echo '{"schema": 1, "loss": []}' >foreign.json
echo '{"schema": 2, "verb": "bench", "rows": {}}' >newer.json
sed 's/"seconds": \[\[[0-9.e-]*/"seconds": [[-1/' a.json >negative.json
sed 's/"seconds": \[\[[0-9.e-]*/"seconds": [[0/' a.json >zero.json
sed 's/"seconds": \[\[[0-9.e-]*/"seconds": [[NaN/' a.json >nan.json
bad cut.json 'it is not JSON, or is incomplete: at byte 300: expected the end of a string, found the end'
bad foreign.json "it is not a result of 'ingot bench'"
bad newer.json 'it has schema 2; this version of ingot reads schema 1: use a newer version'
bad negative.json "'seconds' is -1; it must not be negative (row 1)"
bad zero.json 'a time is 0 s; times must be between 1e-12 and 1e+09 s (row 1)'
check 'nan.json' has 'nan.json'"'"': it is not JSON, or is incomplete: at byte' a.json nan.json
bad absent.json 'No such file or directory'

# ---- names that would reorder what a terminal shows
bidirectional=$(printf 'a\342\200\256b\342\201\246c')
result names.json 'r["rows"][0]["work"] = "x\u202ey"' 'r["devices"][0]["model"] = "\u2067z"' \
    'r["rows"][0]["warnings"] = ["drift: \u061c"]' 'scale(r["rows"][0], 2)'
cp names.json "$bidirectional.json"
# hidden ARGUMENTS...: nothing that is printed has such a character, and something is printed.
hidden() {
    "$ingot" "$@" >said 2>&1 </dev/null
    [ -s said ] && ! grep -q "$(printf '\342\200\256\\|\342\201\246\\|\342\201\247\\|\330\234')" said
}
result names2.json 'r["rows"][0]["work"] = "x\u202ey"'
check 'names in a table' hidden compare names2.json names.json
check 'names in JSON' hidden compare --json names2.json names.json
check 'names in a page' hidden report names.json
check 'names of files in a page' hidden report "$bidirectional.json"
check 'names of files' hidden compare "$bidirectional.json" names.json
check 'are escaped' grep -q 'a\\u202eb\\u2066c' said
for verb in bench compare devices doctor eval ops report run train translate verify; do
    check "an argument of $verb" hidden "$verb" "$bidirectional"
done
check 'an option' hidden bench --only "$bidirectional"
check 'a verb' hidden "$bidirectional"
check 'a text in JSON' hidden eval --json "'$bidirectional'"

# ---- the page
tiny() (
    result tiny.json 'r["devices"][0]["peak_flops"] = 1e-320' 'r["devices"][0]["peak_bytes"] = 1e9'
    ulimit -t 60
    "$ingot" report tiny.json >/dev/null 2>said
    [ $? = 5 ] && grep -q "'peak_flops' is .* too small (device 1)" said
)
check 'a peak that is too small' tiny
shares() { # EXPECTED CHANGE...: the shares of peak of the page's rows
    local expected=$1
    shift
    result shares.json "$@"
    "$ingot" report shares.json -o shares.html >/dev/null
    got=$(sed -n '/class="ratios times"/,/<\/table>/p' shares.html | grep -o '<td class="n">[0-9]* %</td></tr>\|<td class="n"></td></tr>' | grep -o '[0-9]* %\|n"></' | tr -dc '0-9%/ \n' | tr '\n' ';')
    [ "$got" = "$expected" ] || { echo "got $got"; return 1; }
}
old='r["devices"][0].update(threads=2, peak_flops=2e8, peak_bytes=2e7)'
peaks='r["devices"][0].update(peaks=[{"of": "f32", "threads": 2, "rate": 2e8}, {"of": "f64", "threads": 2, "rate": 4e8}, {"of": "f32", "threads": 1, "rate": 1e8}, {"of": "bytes", "threads": 1, "rate": 1e7}, {"of": "bytes", "threads": 2, "rate": 1e7}])'
check 'a peak is the highest rate of the run' shares '20 %;' "$peaks" 'r["rows"][0]["bytes"] = 1e4'
check 'a share above 100 % is none' grep -q '>peak doubtful<' shares.html
check 'by dtype' shares '25 %;' "$peaks" 'r["rows"] = [dict(r["rows"][0], dtype="f64", bytes=1e4)]'
check 'by threads' shares '50 %;100 %;' "$peaks" 'r["rows"] = [dict(r["rows"][0], bytes=1e4, seconds=[[0.01]] * 4), dict(r["rows"][0], bytes=1e4, threads=1, seconds=[[0.01]] * 4, size="8")]'
check 'none for another dtype' shares '/;' "$peaks" 'r["rows"] = [dict(r["rows"][0], dtype="bf16", bytes=1e4)]'
check 'an older file: f32 with all threads' shares '50 %;/;/;' "$old" 'r["rows"] = [dict(r["rows"][0], bytes=1e4), dict(r["rows"][0], bytes=1e4, dtype="f64"), dict(r["rows"][0], bytes=1e4, threads=1, size="8")]'
check 'a page' "$ingot" compare a.json b.json --html page.html
check 'is whole' grep -q '</html>' page.html
check 'report to a file' "$ingot" report a.json -o report.html
check 'is whole' grep -q '</html>' report.html
report_json() {
    "$ingot" report a.json -o report.html --json | python3 -c '
import json, os, sys
r = json.load(sys.stdin)
assert r["schema"] == 1 and r["bytes"] == os.path.getsize(r["output"]), r'
}
check 'report --json' report_json
# The headline names the device of each rate, and no other.
result kinds.json 'r["rows"][1].update(group="memory", dtype="u8")' 'r["devices"] += [{"name": "gpu", "model": "Card"}]' \
    'r["rows"] += [dict(r["rows"][0], device="gpu")]' 'scale(r["rows"][2], 0.25)'
headline_is() { # FILE TEXT
    local got
    got=$("$ingot" report "$1" -o report.html | head -n 1)
    [ "$got" = "$2" ] || { printf 'got\n%s\nexpected\n%s\n' "$got" "$2"; return 1; }
}
check 'the headline of two devices' headline_is kinds.json \
    'Card multiplies matrices at 400 MFLOP/s [399 M, 400 M] and Test (2 cores) adds up numbers at 50.0 MB/s [49.9 M, 50.0 M]'
result alone.json 'r["rows"][1].update(group="memory", dtype="u8")'
check 'the headline of one device' headline_is alone.json \
    'Test (2 cores) multiplies matrices at 99.9 MFLOP/s [99.8 M, 100 M] and adds up numbers at 50.0 MB/s [49.9 M, 50.0 M]'
check 'report --json without a file' code 2 report a.json --json
on_output() { "$ingot" report a.json | grep -q '</html>'; }
check 'report to standard output' on_output
check 'a folder that is not there' code 5 compare a.json b.json --html no/such/page.html
check 'a full disk' code 5 report a.json -o /dev/full
full() { "$ingot" compare a.json b.json >/dev/full 2>&1; [ $? = 1 ]; }
check 'a full disk, for the text' full
mkdir locked && cp page.html locked/ && chmod a-w locked
if [ "$(id -u)" != 0 ]; then
    check 'a folder that cannot be written' code 5 report a.json -o locked/page.html
else
    skip 'a folder that cannot be written' 'root may write everywhere'
fi
check 'what was there stays' cmp page.html locked/page.html
check 'no temporary file stays' test "$(ls | grep -c tmp)" = 0
# A page of three files takes some ms. The limit is for emulated processors.
fast() (ulimit -t 60 && exec "$ingot" compare a.json b.json slow.json --html fast.html >/dev/null)
check 'its time does not explode' fast
finish
