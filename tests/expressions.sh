# For test scripts of the calculator, behind tests/check.sh; $ingot is the command.

# prints TEXT EXPRESSION...: the expression's value looks so.
prints() {
    local expected=$1 got
    shift
    got=$("$ingot" eval "$@" 2>&1)
    [ "$got" = "$expected" ] && return
    printf 'got      %s\nexpected %s\n' "$got" "$expected"
    return 1
}
# gives TEXT EXPRESSION: a check of that, named after the expression.
gives() { check "${2//$'\n'/ | }" prints "$1" -- "$2"; }
