# The documentation agrees with the tree: docs/ops.md and include/ingot/op_functions.h are current, examples print what the pages say, and paths exist.
. tests/check.sh
build=${BUILD:-build}
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
ln -s "$PWD/examples" "$temporary"
pages="README.md CONTRIBUTING.md SECURITY.md $(echo docs/*.md)"

ops_is_current() { "$build/ingot" ops --markdown | diff docs/ops.md -; }
check 'docs/ops.md is what the library says (make docs)' ops_is_current
"$build/ingot" ops --json --device cpu >"$temporary/ops.json"
coverage_is_current() { tools/coverage "$temporary/ops.json" | diff docs/coverage.md -; }
check 'docs/coverage.md is what the tables say (make docs)' coverage_is_current
check 'no name has two meanings' tools/coverage "$temporary/ops.json" --check
check 'as much of each library is here as before' tools/coverage "$temporary/ops.json" --shares
functions_are_current() {
    awk -v header=1 -f tools/op-functions $(sed -n 's:^#include "\(.*rows.*\)":src/\1:p' src/engine/ops/core.def src/engine/ops/composite.def) | diff include/ingot/op_functions.h -
}
check 'include/ingot/op_functions.h is what the op table says (make docs)' functions_are_current

# In a block of code, lines that begin with "$ ingot" are commands; the lines behind one are its output.
# "level neon" stands for whichever instruction set this machine has.
prints_what_it_says() {
    python3 - "$1" "$PWD/$build" "$temporary" <<'PYTHON'
import os, re, subprocess, sys
page, build, folder = sys.argv[1:]
env = {**os.environ, "PATH": build + os.pathsep + os.environ["PATH"], "NO_COLOR": "1"}
env = {k: v for k, v in env.items() if not k.startswith("IG_")}
level = lambda text: re.sub(r"\blevel (neon|dot|bf16|sse2|avx2|avx512|amx|generic)\b", "LEVEL", text)
failed = n = 0
for block in re.findall(r"^```\n(.*?)^```", open(page).read(), re.M | re.S):
    for part in re.split(r"^\$ (?=ingot )", block, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)
        n += 1
        if done.returncode or level(done.stdout) != level(expected):
            failed += 1
            print(f"$ {command}\n{done.stdout}{done.stderr}expected:\n{expected}")
sys.exit(failed or not n)
PYTHON
}
for page in $pages; do
    grep -q '^\$ ingot ' "$page" && check "$page prints what it says" prints_what_it_says "$page"
done

# docs/ADD_A_BACKEND.md names every member of struct backend.
backend_is_described() {
    python3 - <<'PYTHON'
import re, sys
header = open("src/engine/backend/backend.h").read()
body = re.sub(r"/\*.*?\*/", "", re.search(r"\nstruct backend \{(.*?)\n\};", header, re.S).group(1), flags=re.S)
names = []
for member in filter(str.strip, body.split(";")):
    function = re.search(r"\(\*(\w+)\)\(", member)
    names.append((function or re.search(r"(\w+)\s*$", member)).group(1))
page = open("docs/ADD_A_BACKEND.md").read()
missing = [name for name in names if not re.search(rf"`(backend\.)?{name}\b", page)]
print("missing:", *missing)
sys.exit(bool(missing) or len(names) < 25)
PYTHON
}
check 'docs/ADD_A_BACKEND.md names every member of struct backend' backend_is_described

# `src/engine/graph/plan.c` and [text](docs/KERNELS.md): a path that begins with a folder of ours exists.
paths_exist() {
    python3 - "$1" <<'PYTHON'
import os, re, sys
text = open(sys.argv[1]).read()
found = re.findall(r"`((?:src|cli|tests|docs|include|examples|bench|tools|data|python)/[\w./-]*)`", text)
prose = re.sub(r"```.*?```|`[^`]*`", "`", text, flags=re.S)  # in code, k[1, 32](x) is no link
found += [os.path.join(os.path.dirname(sys.argv[1]), link) for link in re.findall(r"\]\((?!https?:|#)([^)#*]+)\)", prose)]
missing = [path for path in found if not os.path.exists(path)]
print("missing:", *missing)
sys.exit(bool(missing))
PYTHON
}
# `node_program` (`src/engine/graph/fuse.c`): the file has the name.
names_are_in_files() {
    python3 - "$1" <<'PYTHON'
import os, re, sys
text = open(sys.argv[1]).read()
named = re.findall(r"`([A-Za-z_]\w*)`\s+\(`((?:src|cli|tests|include)/[\w./-]*)`\)", text)
missing = [f"{path}: {name}" for name, path in named
           if os.path.isfile(path) and not re.search(rf"\b{name}\b", open(path).read())]
print("missing:", *missing)
sys.exit(bool(missing))
PYTHON
}
for page in $pages; do
    check "$page: paths exist" paths_exist "$page"
    check "$page: names are in their files" names_are_in_files "$page"
done

# README.md states the commands of make, and make has them.
for target in run test check; do
    check "make $target is in README.md" grep -q "make $target" README.md
done
finish
