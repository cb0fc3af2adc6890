# What the command writes of the documentation is current.
. tests/check.sh
build=${BUILD:-build}
ops_is_current() { "$build/ingot" ops --markdown | diff docs/ops.md -; }
check 'docs/ops.md is what the library says (make docs)' ops_is_current
finish
