# Every row of the op table has what all tests need: examples, and references or reasons why there is none.
. tests/check.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

complete() { python3 tests/support/ops_table.py "$1"; }
check 'each row has examples and references' complete src/engine/ops

# The check finds what a new row may lack: planted FILE SED MESSAGE makes a change and wants this message.
planted() {
    rm -rf "$temporary/ops"
    mkdir "$temporary/ops"
    cp -r src/engine/ops/*.def src/engine/ops/rows "$temporary/ops"
    sed -i.bak "$2" "$temporary/ops/rows/$1"
    complete "$temporary/ops" > "$temporary/said" && return 1
    grep -qxF "$3" "$temporary/said"
}
check 'a row without an example is found' planted numpy.def 's/TAKES(ANY) DIFF("3x4", "deg2rad(a)", .*/TAKES(ANY))/' 'deg2rad: no example says whether there is a gradient'
check 'a row whose examples do not say whether there is a gradient is found' planted numpy.def 's/DIFF("3x4", "deg2rad(a)"/VALUE("3x5", "deg2rad(a)"/' 'deg2rad: no example says whether there is a gradient'
check 'an example without a reference is found' planted numpy.def 's/"np.deg2rad(a)"/""/' 'deg2rad: deg2rad(a) has neither a reference nor a reason why there is none'
check 'an example with an empty reason is found' planted numpy.def 's/"np.deg2rad(a)"/"# "/' 'deg2rad: deg2rad(a) has neither a reference nor a reason why there is none'
check 'an elementwise row without a reference is found' planted elementwise.def 's/"np.exp(x)"/""/' 'exp: the column numpy is empty'
check 'an example that is there twice is found' planted numpy.def 's/DIFF("3x4", "deg2rad(a)", "np.deg2rad(a)")/& &/' 'deg2rad: the example deg2rad(a) is there twice'
finish
