"""Executes the code cells of a notebook in order, in one namespace, as a kernel would, without Jupyter.

    python3 tests/python/notebook.py examples/ingot.ipynb           compares the stored outputs
    python3 tests/python/notebook.py --write examples/ingot.ipynb   stores the outputs

An output is what a cell prints, and the value of its last line. Numbers may differ by rounding."""
import ast
import contextlib
import io
import json
import linecache
import math
import re
import sys

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
TOLERANCE = 1e-4


def execute(source, namespace):
    """The outputs of a cell, in the format of notebooks."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, lines(source), name)  # for functions that read their own source
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), namespace)
        if last:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def lines(text):
    return text.splitlines(keepends=True)


def texts(outputs):
    """All that is stored of the outputs, as texts."""
    return ["".join(text) for o in outputs for text in (o["data"].values() if "data" in o else [o["text"]])]


def alike(got, want):
    """Whether two texts differ only by the rounding of their numbers."""
    a, b = NUMBER.findall(got), NUMBER.findall(want)
    same_words = NUMBER.sub("#", " ".join(got.split())) == NUMBER.sub("#", " ".join(want.split()))
    close = len(a) == len(b) and all(math.isclose(float(x), float(y), rel_tol=TOLERANCE, abs_tol=TOLERANCE) for x, y in zip(a, b))
    return same_words and close


def cells(notebook):
    return [c for c in notebook["cells"] if c["cell_type"] == "code"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def compare(path):
    """A line for each code cell whose output is not the stored one, or that fails."""
    namespace, problems = {"__name__": "__main__"}, []
    for i, cell in enumerate(cells(load(path)), 1):
        try:
            outputs = execute("".join(cell["source"]), namespace)
        except Exception as error:
            return problems + [f"cell {i}: {type(error).__name__}: {error}"]
        got, want = texts(outputs), texts(cell["outputs"])
        if len(got) != len(want) or not all(map(alike, got, want)):
            problems.append(f"cell {i}: shows {got!r:.300}, but {want!r:.300} is stored")
    return problems


def write(path):
    notebook, namespace = load(path), {"__name__": "__main__"}
    for i, cell in enumerate(cells(notebook), 1):
        cell["execution_count"] = i
        cell["outputs"] = execute("".join(cell["source"]), namespace)
        for output in cell["outputs"]:
            if "execution_count" in output:
                output["execution_count"] = i
    with open(path, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
        file.write("\n")


def main():
    (write if sys.argv[1] == "--write" else lambda path: print("\n".join(compare(path)) or "as stored"))(sys.argv[-1])


if __name__ == "__main__":
    main()
