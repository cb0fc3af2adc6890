"""The rows of the op table (src/engine/ops/ops.def) that have columns for tests, for tests in Python. The columns are explained there."""
import collections
import os
import re

OPS = os.path.join(os.path.dirname(__file__), "../../src/engine/ops")
COLUMNS = ["name", "accepts", "result", "expr", "ulp", "domain", "gradient", "exact", "numpy", "doc"]
Row = collections.namedtuple("Row", ["arity", *COLUMNS])
Example = collections.namedtuple("Example", ["op", "takes", "inputs", "call", "numpy"])


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
        columns = dict(zip(COLUMNS, parts, strict=True))
        columns["domain"] = [float(n) for n in re.findall(r"-?[\d.]+(?=[,)])", columns["domain"])]
        columns["numpy"] = string(columns["numpy"])
        found.append(Row(arity=1 if kind == "UNARY" else 2, **columns))
    return found


def examples():
    """The examples of OP and SHARED rows that NumPy can compute."""
    found = []
    for row, columns in rows({"OP", "SHARED"}):
        takes = None
        for kind, parts in macros(" ".join(columns[4 if row == "OP" else 5:])):
            if kind == "TAKES":
                takes = parts[0]
            elif string(parts[2]):
                found.append(Example(columns[0], takes, *map(string, parts)))
    return found
