# ingot verify, ingot eval --verify and ingot ops --support: what they print, exit codes, JSON, mistakes.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export NO_COLOR=1

# ends CODE TEXT ARGUMENTS...: the exit code, and TEXT is in what is said.
ends() {
    local code=$1 expected=$2 got status
    shift 2
    got=$("$ingot" "$@" 2>&1 </dev/null)
    status=$?
    [ "$status" = "$code" ] && [[ $got == *"$expected"* ]] && return
    printf 'exit code %s, expected %s\ngot      %s\nexpected %s\n' "$status" "$code" "$got" "$expected"
    return 1
}

# ---- what is right
check 'one op' ends 0 $'elementwise     1 ' verify --op exp --quick
check 'the tally is the last line' bash -c "'$ingot' verify --op exp --quick | tail -n 1 |
    grep -Eqx '[0-9]+ passed, 0 failed'"
check 'one case' ends 0 $'\n1 passed, 0 failed' verify --op exp --dtype f32 --case plain.0.transposed
check 'a special value' ends 0 $'\n1 passed, 0 failed' verify --op exp --dtype f32 --case special.2
check 'a dtype that is refused' ends 0 $'\n1 passed, 0 failed' verify --op add --dtype bool
check 'a dtype by its long name' ends 0 ' passed, 0 failed' verify --op add --dtype float16 --quick
check 'an unknown one in a list' ends 2 "unknown dtype 'f332'" verify --dtype f32,f332
check 'a case needs one dtype' ends 2 'give --op and --dtype' verify --op exp --dtype f32,f16 --case special.2
check 'a device by name' ends 0 'cpu: ' verify --device cpu --op add --dtype u8 --quick
check 'another seed, one thread' ends 0 ' passed, 0 failed' verify --op sum --quick --seed 9 --threads 1
check 'no bar without a terminal' bash -c "[ -z \"\$('$ingot' verify --op exp --quick 2>&1 >/dev/null)\" ]"
check 'help' ends 0 'usage: ingot verify' verify --help

# ---- JSON
json() { "$ingot" "${@:2}" | python3 -c "import json, sys; d = json.load(sys.stdin); assert ($1), d"; }
check 'JSON has cases and failed' json 'd["schema"] == 1 and d["cases"] > 100 and d["failed"] == 0' \
    verify --op exp --quick --json
check 'JSON has rows by op and dtype' json \
    '[(r["op"], r["device"], [t["dtype"] for t in r["dtypes"]], r["first_failure"]) for r in d["ops"]] ==
     [("exp", "cpu", ["f32"], None)]' verify --op exp --dtype f32 --quick --json
check 'dtypes in a list' json '[t["dtype"] for r in d["ops"] for t in r["dtypes"]] == ["u8", "f16"]' \
    verify --op add --dtype f16,u8 --quick --json
check 'errors are told' json '0 < d["worst_ulp"] < 4 and 0 < d["worst_relative"] < 1e-6' \
    verify --op exp --dtype f32 --quick --json

# ---- random graphs
check 'graphs' ends 0 $'\n40 passed, 0 failed' verify --graphs 40 --device cpu
check 'one graph' ends 0 $'\n1 passed, 0 failed' verify --graphs 1 --case 17 --seed 3 --device cpu
check 'graphs with the bits of another device' ends 0 'the bits of cpu' verify --graphs 10 --same cpu,gang
check 'graphs as JSON' json 'd["graphs"] == 30 and d["cases"] == 30 and d["failures"] == [] and d["devices"][0]["device"] == "cpu"' \
    verify --graphs 30 --device cpu --json
same_graphs() {
    diff <("$ingot" verify --graphs 50 --device cpu --json | sed 's/"seconds": [0-9.]*//') \
        <("$ingot" verify --graphs 50 --device cpu --json "$@" | sed 's/"seconds": [0-9.]*//')
}
check 'graphs by several processes' same_graphs --jobs 3 --record "$temporary/graphs"
check 'a line for twenty graphs' [ "$(wc -l <"$temporary/graphs")" = 3 ]
check 'graphs that passed are not checked again' same_graphs --record "$temporary/graphs"
check 'graphs have all ops' ends 2 'leave --op out' verify --graphs 5 --op exp
check 'no graphs' ends 2 '--graphs takes a whole number' verify --graphs 0

# ---- mistakes
check 'unknown op' ends 2 "unknown op 'ex'; did you mean 'exp'?" verify --op ex
check 'unknown dtype' ends 2 "unknown dtype 'f332'; did you mean 'f32'?" verify --dtype f332
check 'complex numbers' ends 2 'there are no cases of c64' verify --op atanh --dtype c64
check 'unknown device' ends 4 "there is no device 'cppu' here; see 'ingot devices'; did you mean 'cpu'?" \
    verify --device cppu
check 'a device that computes nothing' ends 4 'that device computes nothing' verify --device cpu,null
check 'an empty device' ends 4 "there is no device '' here" verify --device cpu,
check 'unknown case' ends 2 "exp f32 has no case 'plain.9'" verify --op exp --dtype f32 --case plain.9
check 'a case of what' ends 2 'give --op and --dtype' verify --case plain.0.transposed
check 'a bad seed' ends 2 '--seed takes a whole number' verify --seed -1
check 'a word too many' ends 2 "unexpected 'exp'" verify exp
check 'unknown option' ends 2 "did you mean '--quick'?" verify --quik

# ---- the bits of another device
check 'two devices' ends 0 'gang: ' verify --same cpu,gang --op matmul --dtype f32 --quick
check 'in the other direction' ends 0 $'bits of gang, math same\n' verify --same gang,cpu --op sum --dtype f32 --quick
check 'JSON names the device' json 'd["same_as"] == "cpu" and d["devices"] == ["gang"] and d["math"] == "same"' \
    verify --same cpu,gang --op add --dtype i8 --quick --json
check 'JSON without another' json 'd["same_as"] is None and d["math"] == "strict"' verify --op add --dtype i8 --quick --json
check 'one device is not enough' ends 2 'name at least two, such as cpu,opencl:0' verify --same cpu
check 'an unknown one' ends 4 "there is no device 'cppu' here" verify --same cpu,cppu
check 'two lists' ends 2 '--same names the devices; leave --device out' verify --same cpu,gang --device cpu
check 'unknown mode' ends 2 "--math takes strict|same|tf32, not 'fast'" verify --math fast

# ---- several processes, and a record
check 'several ops' json '[r["op"] for r in d["ops"]] == ["exp", "add"]' verify --op exp,add --dtype f32 --quick --json
check 'an unknown one of several' ends 2 "unknown op 'ex'" verify --op exp,ex
check 'a case of several ops' ends 2 'give --op and --dtype' verify --op exp,add --dtype f32 --case special.2
same_report() {
    diff <("$ingot" verify --quick --json --op exp,add,sum | sed 's/"seconds": [0-9.]*//') \
        <("$ingot" verify --quick --json --op exp,add,sum "$@" | sed 's/"seconds": [0-9.]*//')
}
check 'several processes report the same' same_report --jobs 3
record=$temporary/record
check 'with a record' same_report --jobs 2 --record "$record"
check 'a line for each op and dtype' [ "$(wc -l <"$record")" = 39 ]
check 'what passed is not checked again' same_report --record "$record"
check 'nothing is added then' [ "$(wc -l <"$record")" = 39 ]
sed -i '/ sum f32 /d; s/ exp f32 \([0-9]*\) 0/ exp f32 \1 1/' "$record"
check 'what failed or is missing is' same_report --record "$record"
check 'both are added' [ "$(wc -l <"$record")" = 40 ]
sed -i 's/^cpu.exact.strict.quick.0 add f32 .*/cpu\/exact\/strict\/quick\/0 add f32 7 0 0 0 0 0 0/' "$record"
check 'the record is what is told' json 'd["cases"] == 7' verify --quick --op add --dtype f32 --json --record "$record"
check 'but not for other settings' json 'd["cases"] != 7' verify --quick --seed 1 --op add --dtype f32 --json --record "$record"
check 'a record that cannot be written' ends 5 '/no/file: No such' verify --op exp --quick --record /no/file
check 'a timeline is of one process' ends 2 'a timeline is of one process' verify --jobs 2 --trace "$temporary/t.json"
# A process that dies fails its op, and another one goes on. killed SIGNAL SAYS. OpenCL's libraries have handlers of their own.
killed() {
    IG_OPENCL=off "$ingot" verify --jobs 2 --op sum,mean --dtype f32,f16,i32 >"$temporary/out" &
    local main=$! foreman worker
    child() { ps -o pid= --ppid "$1" | head -n 1 | tr -d ' '; }
    for _ in $(seq 100); do
        foreman=$(child $main) && [ -n "$foreman" ] && worker=$(child "$foreman") && [ -n "$worker" ] && break
        sleep 0.1
    done
    until [ "$(cut -d ' ' -f 14 "/proc/$worker/stat")" -ge 10 ]; do # ticks of CPU time: it works
        sleep 0.05
    done
    kill -s "$1" "$worker"
    wait $main
    [ $? = 1 ] && grep -q "ended with signal $2" "$temporary/out" && tail -n 1 "$temporary/out" | grep -q ' passed, 1 failed'
}
check 'a process that dies' killed KILL 9
case $(uname)$ingot in
    Linux*asan* | Linux*tsan*) ;; # sanitizers say it in their way
    Linux*) check 'a process that divides by zero says where' killed FPE '8 at .*+0x' ;;
esac

# ---- stopped: what was seen so far, and 130
listens() { # waits until process PID catches SIGTERM
    local caught=0
    until [ $((caught >> 14 & 1)) = 1 ]; do
        sleep 0.1
        caught=0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
    done
}
stopped() {
    "$ingot" verify "$@" >"$temporary/out" &
    listens $!
    kill -TERM $!
    wait $!
    [ $? = 130 ]
}
check 'stopped' stopped
check 'what was seen is told' grep -Eq '^interrupted at [a-z_0-9]+' "$temporary/out"
check 'stopped with JSON' stopped --json
check 'the JSON is whole' python3 -c \
    "import json; assert json.load(open('$temporary/out'))['interrupted'] is True"
check 'several processes stopped' stopped --jobs 2
check 'what they saw is told' grep -Eq '^interrupted at [a-z_0-9]+; [0-9]+ of [0-9]+ ops are complete' "$temporary/out"

# ---- a graph of one's own
check 'eval --verify' ends 0 ', 0 failed; worst: ' eval --verify 'x = normal(key(0), [9, 9]); softmax(x @ x.T)'
check 'eval --verify --json' json 'd["verify"]["operations"] > 1 and d["verify"]["first_failure"] is None' \
    eval --verify --json 'exp(arange(9.0))'
# Differences of nearly equal numbers: what the result loses is in the bound of a formula.
check 'eval --verify of a norm that cancels' ends 0 ', 0 failed; worst: ' eval --verify 'x = compute(array([0.5], f32)); grad(sum(rms_norm(x)), [x])[0]'
check 'eval --verify of silu near its minimum' ends 0 ', 0 failed; worst: ' eval --verify 'x = compute(array([-2.008], f32)); grad(sum(silu(x)), [x])[0]'
check 'eval --verify without a device that computes' ends 4 'computes nothing' \
    eval --verify --device null 'exp(arange(9.0))'

# ---- the support table
check 'ops --support' ends 0 'not bool: abs takes numbers' ops --support --device cpu
check 'ops NAME tells dtypes and error' ends 0 $'error: at most 4 ulp in f32 and f64\n  dtypes: all' ops exp
check 'ops NAME tells a refusal' ends 0 'else: bitwise_and takes integers or bool' ops bitwise_and
check 'ops --json has the table' json \
    'd["ops"][0]["support"]["cpu"]["f32"] == {"by": "native"} and
     d["ops"][0]["support"]["cpu"]["bool"]["by"] == "refused"' ops abs --json
check 'a name and the table' ends 2 'a name goes without --support' ops abs --support
finish
