#!/bin/bash
# The array API's own tests (github.com/data-apis/array-api-tests) for the package, in a checkout that ARRAY_API_TESTS names,
# with its submodule array-api, and with pytest, hypothesis and ndindex in the Python that PYTHON names.
#
#   ARRAY_API_TESTS=../array-api-tests PYTHON=venv/bin/python bash tests/python/array_api.sh [pytest's arguments]
set -uo pipefail
cd "$(dirname "$0")/../.."
pinned=55fcc60
root=$PWD
python=${PYTHON:-python3}
if [ -z "${ARRAY_API_TESTS:-}" ]; then
    echo "skipped: ARRAY_API_TESTS does not name a checkout of array-api-tests"
    exit 0
fi
cd "$ARRAY_API_TESTS" || exit 1
[ "$(git rev-parse --short=7 HEAD)" = "$pinned" ] || echo "note: the tests are pinned to commit $pinned"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
PYTHONPATH=$root/${BUILD:-build}/python ARRAY_API_TESTS_MODULE=ingot "$python" -m pytest -q -p no:cacheprovider \
    --xfails-file "$root/tests/python/array-api-xfails.txt" "${@:-array_api_tests}" >"$log" 2>&1
grep -aE '^(_____|FAILED|ERROR|E  )' "$log" | head -200
tail -n 1 "$log"
count() { grep -aoE "[0-9]+ $1" "$log" | tail -n 1 | grep -oE '[0-9]+' || echo 0; }
# The suite itself marks 5 tests of remainder as flaky and skips them.
echo "$(($(count passed) + $(count xfailed) + $(count xpassed))) passed, $(($(count failed) + $(count error))) failed"
