"""The elementwise rows of src/engine/ops/ops.def, for tests in Python. The columns are explained there."""
import collections
import os
import re

TABLE = os.path.join(os.path.dirname(__file__), "../../src/engine/ops/ops.def")
COLUMNS = ["name", "accepts", "result", "expr", "ulp", "domain", "gradient", "exact", "numpy", "doc"]
Row = collections.namedtuple("Row", ["arity", *COLUMNS])


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


def elementwise_rows():
    with open(TABLE, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    rows = []
    for kind, rest in re.findall(r"^(UNARY|BINARY)\((.*?)\)$", text, flags=re.M | re.S):
        columns = dict(zip(COLUMNS, split(re.sub(r"\s*\n\s*", " ", rest)), strict=True))
        columns["domain"] = [float(n) for n in re.findall(r"-?[\d.]+(?=[,)])", columns["domain"])]
        columns["numpy"] = columns["numpy"].strip('"')
        rows.append(Row(arity=1 if kind == "UNARY" else 2, **columns))
    return rows
