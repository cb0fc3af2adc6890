# The sources are as clang-format 14 (Debian 12's) writes them; other versions disagree in details.
. tests/check.sh
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    check 'sources are formatted (make format)' make --no-print-directory check-format
else
    skip 'sources are formatted' 'clang-format 14 is not there'
fi
finish
