# ingot bench: what it prints, its files, its exit codes, and how it is interrupted. How it measures:
# tests/unit/test_bench.c. With IG_TEST_QUICK fewer measurements.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'chmod -R u+w "$temporary"; rm -rf "$temporary"' EXIT
export NO_COLOR=1
f=$temporary/result.json
in_full() { [ -z "${IG_TEST_QUICK:-}" ]; }

# ends CODE TEXT ARGUMENTS...: exit code, and a part of the last line that is said.
ends() {
    local code=$1 part=$2 got status
    shift 2
    got=$("$ingot" bench --quiet "$@" 2>&1 >/dev/null </dev/null | tail -n 1; exit "${PIPESTATUS[0]}")
    status=$?
    [ "$status" = "$code" ] && [ "${got#*"$part"}" != "$got" ] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$part"
    return 1
}
bench() { "$ingot" bench --quiet "$@" >"$temporary/out" 2>"$temporary/err"; }
json_is() { # EXPRESSION over r, EXPECTED
    local got
    got=$(python3 -c "import json; r = json.load(open('${3:-$f}')); print($1)")
    [ "$got" = "$2" ] || { echo "$got"; return 1; }
}

# ---- usage
check 'an unknown work' ends 2 "there is no work 'matmull'; did you mean 'matmul'?" --only matmull
check 'a work unlike any' ends 2 "see 'ingot bench --list'" --only xyzzyxyzzy
check 'the second pattern' ends 2 "there is no work 'srt'" --only launch,srt
check 'no pattern' ends 2 '--only is empty' --only ,
check 'not in a quick run' ends 2 'omit --quick' --quick --only 'matmul 8192'
check 'a device that is not here' ends 4 "no device 'abacus' runs arrays here; available: cpu" --device cpu,abacus
check 'the null device does not compute' ends 4 'no device' --device null
check 'no threads' ends 2 "--threads takes" --threads 0
check 'no time' ends 2 "--seconds takes a number above 0, not '-1'" --seconds=-1
check 'a word too many' ends 2 "unexpected 'matmul'" matmul
check 'the nearest option' ends 2 "did you mean '--quick'?" --quik
check 'a command without words' ends 2 'the command is empty' --cmd ' '
check 'a quote without end' ends 2 'a quote is not closed' --cmd "echo 'a"

# ---- places that cannot be written, found before the measuring
long=(--only matmul --seconds 100000)
check 'a folder that is not there' ends 5 'it cannot be written: No such file' -o /nonexistent/x "${long[@]}"
check 'a folder' ends 5 'it cannot be written: Is a directory' -o "$temporary" "${long[@]}"
check 'a table in no folder' ends 5 '--csv /nonexistent/x: it cannot be written' --csv /nonexistent/x "${long[@]}"
if [ "$(id -u)" != 0 ]; then
    mkdir "$temporary/closed" && chmod 500 "$temporary/closed"
    check 'a closed folder' ends 5 'Permission denied' -o "$temporary/closed/x" "${long[@]}"
fi
if [ -e /dev/full ]; then
    check 'a full device' ends 5 'No space left' -o /dev/full --only launch --seconds 0.2
fi
if full=$(mktemp -d -p /dev/shm 2>/dev/null) && mount -t tmpfs -o size=64k none "$full" 2>/dev/null; then
    echo good >"$full/old.json"
    check 'a full disk, before the measuring' ends 5 'No space left' -o "$full/old.json" "${long[@]}"
    check 'what was there is there' grep -qx good "$full/old.json"
    umount "$full"
fi
[ -n "${full:-}" ] && rmdir "$full"

# ---- what is measured
list() { "$ingot" bench --list | grep -q "^$1 .* $2"; }
check '--list' list matmul compute
check '--list --json' json_is "r['schema'], len(r['works']) > 20" '1 True' <("$ingot" bench --list --json)
small='launch,matmul 256 *,train_mlp'
passes() { json_is "all(len(w['seconds']) >= 3 for w in r['rows'])" True >/dev/null; }
some_works() { # on a busy machine a pass takes longer
    local seconds
    for seconds in 2 10 50; do
        bench --only "$small" --seconds $seconds -o "$f" --csv "$temporary/t.csv" --md "$temporary/t.md" || return
        passes && return
    done
}
check 'some works' some_works
check 'a table' grep -q '^matmul  *256  *f32  *cpu .* GFLOP/s ' "$temporary/out"
check 'nothing is said of it' test ! -s "$temporary/err"
check 'the file' json_is "r['schema'], r['verb'], r['complete'], r['math']" '1 bench True strict'
check 'its rows' json_is "sorted({w['work'] for w in r['rows']})" "['launch', 'matmul', 'train_mlp']"
check 'each dtype' json_is "' '.join(w['dtype'] for w in r['rows'] if w['work'] == 'matmul')" 'f32 f64 f16 bf16 i8'
check 'what it is made of' json_is "all(w['input'] and w['repeats'] >= 1 for w in r['rows'])" True
check 'enough passes' passes
check 'each made by a process' json_is "all(w['process'] == list(range(len(w['seconds']))) for w in r['rows'])" True
check 'and each sample has its wait' json_is "all(len(w['waited']) == sum(map(len, w['seconds'])) for w in r['rows'])" True
check '--trace' bench --only launch --seconds 0.3 --trace "$temporary/t.json" -o "$temporary/traced.json"
check 'is of one process' json_is "r['rows'][0]['process'], r['complete']" '[] True' "$temporary/traced.json"
check 'that computed' json_is "any(e['name'] == 'eval' for e in r['traceEvents'])" True "$temporary/t.json"
check 'exact answers have a digest' json_is \
    "[bool(w['answer']) for w in r['rows'] if w['dtype'] == 'i8' or w['work'] == 'launch']" '[True, True]'
check 'peaks by dtype and threads' json_is \
    "sorted(p['of'] for p in r['devices'][0]['peaks'] if p['rate'] > 1e7 and p['threads'] == r['devices'][0]['threads'])" \
    "['bf16', 'bytes', 'f16', 'f32', 'f64']"
check 'limits of the device' json_is \
    "[d['name'] for d in r['devices'] if d['peak_flops'] > 1e8 and d['peak_bytes'] > 1e8]" "['cpu']"
check 'who measured' json_is "'ingot bench' in r['command'] and bool(r['compiler'] and r['system'])" True
check 'CSV' python3 -c "
import csv
rows = list(csv.DictReader(open('$temporary/t.csv')))
assert len(rows) == 7 and all(float(r['low_s']) <= float(r['median_s']) <= float(r['high_s']) for r in rows)"
check 'Markdown' grep -q '^| matmul | 256 | f32 | cpu |' "$temporary/t.md"
settings() { IG_NUM_THREADS=1 IG_TEST_X=1 bench "$@"; }
check '--json and settings' settings --only launch --seconds 0.2 --json --seed 5
check 'settings are kept' json_is "'IG_NUM_THREADS=1' in r['settings'], any('IG_TEST' in s for s in r['settings'])" 'True False' "$temporary/out"
check 'it is the file on standard output' json_is "len(r['rows']), 'seed 5' in r['rows'][0]['input']" '1 True' "$temporary/out"
check '--csv -' bench --only launch --seconds 0.2 --csv -
check 'is the only table' grep -q '^work,size,dtype' <(head -n 1 "$temporary/out")
if in_full; then
    check 'threads' bench --only 'launch,matmul_threads' --threads 1,2 --seconds 2 -o "$f"
    check 'one row for each' json_is "sorted((w['work'][:6], w['threads']) for w in r['rows'])" \
        "[('launch', 1), ('launch', 2), ('matmul', 1), ('matmul', 2)]"
fi
check 'a process, start to end' bench --only start --seconds 0.5 -o "$f"
check 'takes some time' json_is "r['rows'][0]['seconds'][0][0] > 1e-4" True
same() {
    for seed in 1 1 2; do
        IG_NUM_THREADS=1 bench --only 'sort 1M i32' --seconds 0.1 --seed "$seed" -o "$f" || return
        python3 -c "import json; print(json.load(open('$f'))['rows'][0]['answer'])"
    done | uniq -c | awk '{ print $1 }' | tr '\n' ' ' | grep -qx '2 1 '
}
check 'a seed has one answer, another has another' same

# ---- what does not fit
check 'memory' bench --only 'sort 16M f32,launch' --memory-limit 100MiB --seconds 0.5 -o "$f"
check 'is told' grep -q 'sort 16M f32 on cpu: left out: it needs 244 MiB; the memory limit is 100 MiB' \
    "$temporary/err"
check 'in the file too' json_is "len(r['rows']), 'left out' in r['disturbances'][-1]" '1 True'
check 'time' bench --only 'matmul 8192 f32,launch' --seconds 0.5
check 'is told too' grep -q 'matmul 8192 f32 on cpu: left out: it takes at least .* s; give more --seconds' \
    "$temporary/err"
check 'nothing is left' ends 1 'nothing was measured' --only 'sort 16M' --memory-limit 1MiB

# ---- commands of the user's
check '--cmd' bench --cmd true --cmd 'sleep 0.05' --seconds 1 -o "$f"
check 'both are measured' json_is "[(w['work'], w['size']) for w in r['rows']]" \
    "[('command', 'true'), ('command', 'sleep 0.05')]"
check 'as long as they take' json_is "0.05 < min(map(min, filter(None, r['rows'][1]['seconds'])))" True
check 'which is faster' grep -q \
    "^'sleep 0.05' takes [0-9.]* times as long as 'true' \\[\\|^It is unsure whether 'sleep 0.05' is faster than 'true' " "$temporary/out"
check 'the same command twice' bench --cmd true --cmd 'true ' --seconds 0.3
check 'is not faster' grep -q "^'true ' is as fast as 'true' \\|^It is unsure whether 'true ' is faster than 'true' " "$temporary/out"
check 'one command alone' bench --cmd true --seconds 0.2
refuse 'is compared with nothing' grep -q "faster\\|as long" "$temporary/out"
check 'one that fails' ends 1 'false: failed: it ended with exit code 1' --cmd false --cmd true --seconds 0.3
check 'one that is not there' ends 1 'No such file' --cmd /nonexistent/program --cmd true --seconds 0.3
check 'output is not ours' bench --cmd 'echo loud' --seconds 0.1 --json
refuse 'it is away' grep -q '^loud' "$temporary/out"
check '--show-output' bench --cmd 'echo loud' --seconds 0.1 --show-output
check 'it is there' grep -q '^loud' "$temporary/out"

# ---- Ctrl-C
interrupt() { # SIGNAL, WHAT TO MEASURE
    rm -f "$f"
    python3 - "$ingot" "$f" "$@" <<'PYTHON'
import json, signal, subprocess, sys, time
ingot, path, name, *what = sys.argv[1:]
for wait in (2, 10, 50):  # until both works were measured: on a busy machine that takes longer
    p = subprocess.Popen([ingot, "bench", "--quiet", *what, "--seconds", "1000", "-o", path],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         # A shell's background job ignores Ctrl-C, and so would we.
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    number = getattr(signal, name)
    while p.poll() is None:  # until it catches the signal
        with open(f"/proc/{p.pid}/status", encoding="utf-8") as status:
            if int(status.read().split("SigCgt:")[1].split()[0], 16) >> number - 1 & 1:
                break
        time.sleep(0.05)
    time.sleep(wait)
    p.send_signal(number)
    said = p.communicate()[1]
    assert p.returncode == 130, (p.returncode, said)
    assert "interrupted" in said and "incomplete" in said, said
    r = json.load(open(path))
    assert r["complete"] is False, r
    if len(r["rows"]) == 2:
        break
else:
    sys.exit(f"{len(r['rows'])} rows after {wait} s")
PYTHON
}
commands=(--cmd 'sleep 0.05' --cmd 'sleep 0.04')
check 'Ctrl-C leaves a valid file' interrupt SIGINT "${commands[@]}"
in_full && check 'and so does SIGTERM' interrupt SIGTERM "${commands[@]}"
check 'also where other processes measure' interrupt SIGINT --only 'launch,train_mlp' --threads 1
check 'which compares' json_is "len(r['rows'][0]['seconds']) > 0" True
check 'nothing is left beside' test "$(ls "$temporary" | grep -c 'tmp\|XXX')" = 0
# ---- a process that measures, and crashes
crash() {
    python3 - "$ingot" <<'PYTHON'
import json, os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "bench", "--quiet", "--only", "sort 16M f32,launch", "--seconds", "2", "--json"],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
killed = False
while not killed:
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="utf-8") as children:
        workers = children.read().split()
    time.sleep(0.3)
    try:
        os.kill(int(workers[0]), signal.SIGKILL)
        killed = True
    except (IndexError, ProcessLookupError):  # not yet there, or already done
        pass
out, said = p.communicate()
assert p.returncode == 1 and "failed: its process was ended by signal 9" in said, (p.returncode, said)
assert len(json.loads(out)["rows"]) == 1, out
PYTHON
}
[ "$(uname)" = Linux ] && check 'a process that dies takes one work with it' crash

bar() {
    python3 - "$ingot" <<'PYTHON'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "bench", "--only", "chain 1M,sum", "--seconds", "1"])
said = b""
try:
    while more := os.read(fd, 65536):
        said += more
except OSError:
    pass
os.waitpid(pid, 0)
assert b"left" in said and b"bench [" in said and b"chain" in said, said
PYTHON
}
in_full && check 'a bar with the time that is left on a terminal' bar
check 'ingot bench --help' grep -q -- '--only PATTERNS' <("$ingot" bench --help)
finish
