"""The rows of the op table (src/engine/ops/ops.def), for tests in Python. Its columns are explained there.

As a program it prints the rows that lack a column for tests, and fails if there are any: ops_table.py src/engine/ops
"""
import collections
import os
import re
import sys

OPS = sys.argv[1] if __name__ == "__main__" else os.path.join(os.path.dirname(__file__), "../../src/engine/ops")
COLUMNS = ["name", "accepts", "result", "expr", "ulp", "domain", "gradient", "exact", "numpy", "doc"]
Row = collections.namedtuple("Row", ["arity", *COLUMNS])
Example = collections.namedtuple("Example", ["op", "cls", "kind", "takes", "inputs", "call", "numpy"])
FIRST = {"OP": 4, "SHARED": 5, "FOLD": 5, "UNARY": 10, "BINARY": 10}  # the column of examples


def split(text):
    """The arguments of a macro: parts between commas outside of parentheses and strings."""
    parts, depth, quoted, part = [], 0, False, ""
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c == "(") - (c == ")")
        if c == "," and not depth and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()]


def macros(text):
    """(name, arguments) of each macro call in text, one after another."""
    found, at = [], 0
    while match := re.compile(r"\b([A-Z_0-9]+)\(").search(text, at):
        depth, quoted, at = 1, False, match.end()
        while depth:
            quoted ^= text[at] == '"'
            depth += 0 if quoted else (text[at] == "(") - (text[at] == ")")
            at += 1
        found.append((match.group(1), split(text[match.end():at - 1])))
    return found


def rows(kinds):
    """(macro, columns) of the table's rows of these kinds."""
    def read(name):
        with open(os.path.join(OPS, name), encoding="utf-8") as file:
            return file.read()
    names = re.findall(r'^#include "engine/ops/(.*)"', read("core.def") + read("composite.def"), re.M)
    text = re.sub(r"/\*.*?\*/", "", "".join(map(read, names)), flags=re.S)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)  # definitions of macros
    text = re.sub(r"\s*\n\s*", " ", text)
    return [(kind, columns) for kind, columns in macros(text) if kind in kinds]


def string(text):
    """Adjacent string literals as one string."""
    return "".join(re.findall(r'"([^"]*)"', text))


def elementwise_rows():
    found = []
    for kind, parts in rows({"UNARY", "BINARY"}):
        columns = dict(zip(COLUMNS, parts))
        columns["domain"] = [float(n) for n in re.findall(r"-?[\d.]+(?=[,)])", columns["domain"])]
        columns["numpy"] = string(columns["numpy"])
        found.append(Row(arity=1 if kind == "UNARY" else 2, **columns))
    return found


def examples():
    """The examples of all rows. A draw has no inputs."""
    found = []
    for row, columns in rows(set(FIRST)):
        takes, cls = None, {"OP": columns[1], "SHARED": columns[2], "FOLD": "REDUCE"}.get(row, "ELEMENTWISE")
        for kind, parts in macros(" ".join(columns[FIRST[row]:])):
            if kind == "TAKES":
                takes = parts[0]
            else:
                found.append(Example(columns[0], cls, kind, takes, *map(string, (['""'] if kind == "DRAW" else []) + parts)))
    return found


def mistakes():
    """What rows lack to be tested: an example that says whether there is a gradient, and references or reasons why there is none."""
    of_row, names = collections.defaultdict(list), [columns[0] for _, columns in rows(set(FIRST))]
    for example in examples():
        of_row[example.op].append(example)
    for row in elementwise_rows():
        if not row.numpy:
            yield f"{row.name}: the column numpy is empty"
    for name in sorted(set(names) - {row.name for row in elementwise_rows()}):
        found = of_row[name]
        if not any(e.kind not in ("VALUE", "DRAW") for e in found):
            yield f"{name}: no example says whether there is a gradient"
        for e in found:
            if not e.takes:
                yield f"{name}: no TAKES before {e.call}"
            elif not (e.numpy or any(e.kind == "DRAW" for e in found)) or re.fullmatch(r"#\W*", e.numpy):
                yield f"{name}: {e.call} has neither a reference nor a reason why there is none"
    for name in {n for n in names if names.count(n) > 1}:
        yield f"{name}: more than one row"
    for e in (e for e, n in collections.Counter(examples()).items() if n > 1):
        yield f"{e.op}: the example {e.call} is there twice"


if __name__ == "__main__":
    text = "\n".join(mistakes())
    print(text)
    sys.exit(bool(text))
