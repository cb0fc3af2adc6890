"""The examples of docs/PYTHON.md print what the page says. The cells of the notebook show what is stored in it, and the
README's example is one of them."""
import doctest
import os
import re

import notebook
from against import ROOT, check, finish

NOTEBOOK = os.path.join(ROOT, "examples/ingot.ipynb")

found = doctest.testfile(os.path.join(ROOT, "docs/PYTHON.md"), module_relative=False, encoding="utf-8")
check("docs/PYTHON.md", found.failed == 0 and found.attempted > 20, f"{found.failed} of {found.attempted} differ")

problems = notebook.compare(NOTEBOOK)
check("examples/ingot.ipynb", not problems, "; ".join(problems))
sources = ["".join(cell["source"]) for cell in notebook.cells(notebook.load(NOTEBOOK))]
check("cells with outputs", sum(bool(cell["outputs"]) for cell in notebook.cells(notebook.load(NOTEBOOK))) > 8)
with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
    examples = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
check("README.md has examples", bool(examples))
for example in examples:
    check(f"the README's example is a cell: {example[:40]!r}", example.strip() in map(str.strip, sources))
finish()
