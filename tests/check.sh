# For test scripts: `. tests/check.sh`, then `check NAME COMMAND...` for a command that must succeed,
# `refuse NAME COMMAND...` for one that must fail, `skip NAME WHY`, and `finish` as the last line.
passed=0 failed=0 skipped=0

tell() { printf '%-8s %s\n' "$1" "$2"; }

check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
        tell ok "$name"
    else
        failed=$((failed + 1))
        tell FAILED "$name"
        printf '%s\n' "$output" | sed 's/^/    /'
    fi
}

refuse() {
    local name=$1
    shift
    check "$name" not "$@"
}

not() { ! "$@"; }

skip() {
    skipped=$((skipped + 1))
    tell skipped "$1: $2"
}

finish() {
    if [ "$skipped" -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" -eq 0 ]
}
