# ingot selftest: steps run in processes of their own, and all output is in one file.
. tests/check.sh
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

one() { "$ingot" selftest --device cpu --only "$1" -o "$temporary/out.txt"; }
has() { grep -q "$1" "$temporary/out.txt"; }
check 'the step devices' one devices
check 'its output is in the file' has '^cpu  '
check 'its exit code is in the file' has '==== devices: exit code 0'
check 'the step one op' one 'one op'
check 'the op has a result' has '^[0-9.]*$'
check 'the step arithmetic' one arithmetic
check 'nothing is contracted' has '^a \* b + c in two statements *0 of 4096 contracted$'
check 'division is exact' has '^a / b *0 of 4096 not correctly rounded$'
unknown() { "$ingot" selftest --arithmetic --device nosuch 2>/dev/null; [ $? = 4 ]; }
check 'an unknown device is exit code 4' unknown
check 'the step kernel saxpy' one 'kernel saxpy'
fails() { ! "$ingot" selftest --device nosuch --only 'one op' -o "$temporary/out.txt" >"$temporary/said"; }
check 'a step that fails is exit code 1' fails
check 'it is said which' grep -q 'one op *FAILED' "$temporary/said"
check 'the reason is in the file' has "no device 'nosuch'"
partly() { "$ingot" selftest --device gang --only verify --limit 1 -o "$temporary/out.txt" >"$temporary/said"; }
check 'a step that takes too long is asked to end' partly
check 'it is said' grep -q 'verify *partly' "$temporary/said"
check 'what it had checked is in the file' has '^[0-9]* passed, 0 failed'
check 'the limit is in the file' has '==== verify: stopped at its limit, exit code 130'
not_writable() { "$ingot" selftest --only devices -o /nonexistent/x 2>/dev/null; [ $? = 5 ]; }
check 'a file that cannot be written is exit code 5' not_writable
finish
