# tools/check-includes accepts the tree, and finds each kind of violation when one is planted in a copy of it.
. tests/check.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
copy=$temporary/tree
mkdir "$copy"
cp -R include src kernels cli examples "$copy"

# plant FILE LINE: adds the line at the end of a file of the copy.
plant() { printf '%s\n' "$2" >>"$copy/$1"; }

# finds MESSAGE...: the check of the copy failed with each of these.
finds() {
    local message wrong=0
    for message; do
        grep -qF -e "$message" <<<"$found" || { printf 'expected: %s\n%s\n' "$message" "$found"; wrong=1; }
    done
    [ "$status" = 1 ] && return $wrong
}

check 'the tree' tools/check-includes
printf 'void planted(const view *v)\n{\n    (void)v;\n}\n' >"$copy/src/engine/eval/planted.c"
printf 'const int planted_variable[2] = {1, 2};\n' >>"$copy/src/engine/eval/planted.c"
check 'its copy, with a function and a variable that no header declares' tools/check-includes "$copy"

# All are planted at once: a check reads the whole tree.
example=$(cd "$copy" && ls examples/*.c | head -n 1)
plant src/base/text.c '#include "engine/graph/graph.h"'
plant src/compiler/pp/lex.c '#include "compiler/parse/parser.h"'
plant src/compiler/print/print.c '#include "compiler/lower/lower.h"'
plant src/engine/backend/opencl/build.c '#include "engine/backend/cpu/cpu.h"'
plant src/engine/array/math.c 'void planted_call(ig_array **a) { ig_eval(a, 1); }'
plant src/engine/array/view.h 'void planted(const view *v);'
plant src/engine/array/view.c 'extern int *planted(void);'
plant src/engine/ops/ops.h 'extern const int planted_variable[2];'
plant src/engine/eval/eval.c 'BUILDER(planted) { return 0; }'
plant cli/main.c '#include "engine/graph/graph.h"'
plant src/lib/io/npy.c '#include "engine/array/view.h"'
plant "$example" '#include "base/text.h"'
plant src/engine/array/view.h '#include "engine/array/array.h"'
plant src/base/text.c '#include "base/nothing.h"'
mkdir "$copy/src/other"
printf 'int other;\n' >"$copy/src/other/other.c"
found=$(tools/check-includes "$copy")
status=$?

check 'an include of a higher folder' finds 'base may not include src/engine/graph/graph.h'
check 'an include of a higher sub-folder' finds 'compiler/pp may not include src/compiler/parse/parser.h'
check 'an include of a sub-folder beside' finds 'compiler/print may not include src/compiler/lower/lower.h'
check 'one backend includes another' finds 'engine/backend/opencl may not include src/engine/backend/cpu/cpu.h'
check 'a call of a higher folder through the public header' finds 'engine/array may not call ig_eval, which is in src/engine/eval/'
# Two files of the folder declare it.
declared='planted is declared in src/engine/array, but defined in src/engine/eval/planted.c'
lines() { grep -F -e ": $declared" <<<"$found" | cut -d : -f 1 | sort | tr '\n' ' '; }
check 'a function declared below its definition, in a header and in a source file' \
    test "$(lines)" = 'src/engine/array/view.c src/engine/array/view.h '
check 'a variable declared below its definition' \
    finds 'planted_variable is declared in src/engine/ops, but defined in src/engine/eval/planted.c'
check 'the builder of an op above the folders of builders' \
    finds 'op_planted is declared in src/engine/ops, but defined in src/engine/eval/eval.c'
check 'an internal header in the command' finds 'cli uses only public headers and base, but includes src/engine/graph/graph.h'
check 'a header of the engine in a library' \
    finds 'lib/io uses only public headers and base, but includes src/engine/array/view.h'
check 'a header of base in an example' finds 'examples uses only public headers, but includes src/base/text.h'
check 'a cycle' finds 'includes run in a circle'
check 'a header that does not exist' finds '"base/nothing.h" was not found'
check 'a folder without a rule' finds "'other' has no rule"
check 'a folder without a README' finds 'src/other/README.md:1: missing'
finish
