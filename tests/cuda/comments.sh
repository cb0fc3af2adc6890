# For test scripts of CUDA programs, behind tests/check.sh: `needs_compiler WHAT`, a cache of their own in
# $temporary, and what the comment on top of a program says.
ingot=${INGOT:-build/ingot}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
export XDG_CACHE_HOME=$temporary/cache

# Ends the script where there is no C++ compiler.
needs_compiler() {
    [ -n "${CXX:-}" ] || command -v c++ g++ clang++ >/dev/null && return
    skip "$1" 'there is no C++ compiler'
    finish
    exit
}

# The comment's lines that begin with a word and a colon, without it.
told() { sed -n '/^\/\*/,/^\*\//s/^[\/* ]*'"$2"': *//p' "$1"; }
expected() { sed -n '/^ *\(\/\* *\)\?expect:$/,/^\*\/$/p' "$1" | sed '1d;$d'; }
