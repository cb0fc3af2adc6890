#!/bin/bash
# The wheel: built without a network, installed into an empty environment, imported without NumPy, with the command.
set -euo pipefail
unset PYTHONPATH
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install -q --no-index --disable-pip-version-check . >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
cd "$folder"
env/bin/python - <<'PYTHON'
import sys
import ingot as ig
assert "numpy" not in sys.modules
assert ig.sum(ig.ones((2, 3))).item() == 6
assert ig.grad(lambda x: (x * x).sum())(ig.arange(3.0)).tolist() == [0, 2, 4]
PYTHON
env/bin/ingot --version >/dev/null
# Only the stable ABI is used: of Python 3.10, and of buffers, which 3.10 has as functions.
module=$(echo env/lib/python3*/site-packages/ingot/_ingot.abi3.so)
if nm -D --undefined-only "$module" | grep -E ' _?Py' | grep -E '_PyObject_GC_|_PyUnicode|_PyLong' ; then
    echo "the module uses private functions of Python"
    exit 1
fi
