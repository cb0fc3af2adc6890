# tools/check-includes accepts the tree, and finds each kind of violation when one is planted in a copy of it.
. tests/check.sh
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
copy=$temporary/tree
mkdir "$copy"
cp -R include src kernels cli examples "$copy"

# finds MESSAGE FILE LINE: with LINE at the end of FILE, the check fails with MESSAGE; without it, it passes again.
finds() {
    local message=$1 file=$copy/$2 found
    cp "$file" "$temporary/saved"
    printf '%s\n' "$3" >>"$file"
    found=$(tools/check-includes "$copy")
    local status=$?
    cp "$temporary/saved" "$file"
    [ "$status" = 1 ] && grep -qF -e "$message" <<<"$found" && return
    printf 'exit code %s, expected 1 and: %s\n%s\n' "$status" "$message" "$found"
    return 1
}

check 'the tree' tools/check-includes
check 'its copy' tools/check-includes "$copy"
printf 'void planted(const view *v)\n{\n    (void)v;\n}\n' >"$copy/src/engine/eval/planted.c"
check 'a function that no header declares' tools/check-includes "$copy"
check 'an include of a higher folder' \
    finds 'base may not include src/engine/graph/graph.h' src/base/text.c '#include "engine/graph/graph.h"'
check 'an include of a higher sub-folder' \
    finds 'compiler/pp may not include src/compiler/parse/parser.h' src/compiler/pp/lex.c '#include "compiler/parse/parser.h"'
check 'an include of a sub-folder beside' \
    finds 'compiler/print may not include src/compiler/lower/lower.h' src/compiler/print/print.c \
    '#include "compiler/lower/lower.h"'
check 'one backend includes another' \
    finds 'engine/backend/opencl may not include src/engine/backend/cpu/cpu.h' src/engine/backend/opencl/build.c \
    '#include "engine/backend/cpu/cpu.h"'
check 'a call of a higher folder through the public header' \
    finds 'engine/array may not call ig_eval, which is in src/engine/eval/' src/engine/array/view.c \
    'void planted(ig_array **a) { ig_eval(a, 1); }'
check 'a function declared below its definition' \
    finds 'planted is declared in src/engine/array, but defined in src/engine/eval/planted.c' src/engine/array/view.h \
    'void planted(const view *v);'
check 'the same in a source file' \
    finds 'planted is declared in src/engine/array, but defined in src/engine/eval/planted.c' src/engine/array/view.c \
    'extern int *planted(void);'
printf 'const int planted[2] = {1, 2};\n' >"$copy/src/engine/eval/planted.c"
check 'a variable declared below its definition' \
    finds 'planted is declared in src/engine/ops, but defined in src/engine/eval/planted.c' src/engine/ops/ops.h \
    'extern const int planted[2];'
check 'the builder of an op above the folders of builders' \
    finds 'op_planted is declared in src/engine/ops, but defined in src/engine/eval/eval.c' src/engine/eval/eval.c \
    'BUILDER(planted) { return 0; }'
check 'an internal header in the command' \
    finds 'cli uses only public headers and base, but includes src/engine/graph/graph.h' cli/main.c \
    '#include "engine/graph/graph.h"'
check 'a header of the engine in a library' \
    finds 'lib/io uses only public headers and base, but includes src/engine/array/view.h' src/lib/io/npy.c \
    '#include "engine/array/view.h"'
check 'a header of base in an example' \
    finds 'examples uses only public headers, but includes src/base/text.h' "$(ls examples/*.c | head -n 1)" \
    '#include "base/text.h"'
check 'a cycle' finds 'includes run in a circle' src/engine/array/view.h '#include "engine/array/array.h"'
check 'a header that does not exist' finds '"base/nothing.h" was not found' src/base/text.c '#include "base/nothing.h"'

mkdir "$copy/src/other"
printf 'int other;\n' >"$copy/src/other/other.c"
says() { tools/check-includes "$copy" | grep -qF -e "$1"; }
check 'a folder without a rule' says "'other' has no rule"
check 'a folder without a README' says 'src/other/README.md:1: missing'
finish
