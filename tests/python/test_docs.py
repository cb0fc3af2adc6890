"""The examples of docs/PYTHON.md print what the page says."""
import doctest
import os

from against import ROOT, check, finish

found = doctest.testfile(os.path.join(ROOT, "docs/PYTHON.md"), module_relative=False, encoding="utf-8")
check("docs/PYTHON.md", found.failed == 0 and found.attempted > 20, f"{found.failed} of {found.attempted} differ")
finish()
