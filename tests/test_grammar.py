"""Grammars of generated text: GBNF against Python's regular expressions, and texts of random JSON schemas against the schemas.

BUILD names the build, whose tests/unit/grammar_tool draws and reads texts.
"""
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from support.tally import check, finish

TOOL = os.path.join(os.environ.get("BUILD", "build"), "tests/unit/grammar_tool")


def tool(kind, source, seed, count):
    return subprocess.run([TOOL, kind, str(seed), str(count)], input=source.encode(), capture_output=True, check=False)


# ---- GBNF -------------------------------------------------------------------------------------------


def expression(rng, depth):
    """A random grammar of a rule, as GBNF and as a regular expression."""
    kind = rng.randrange(4 if depth == 0 else 8)
    if kind == 0:
        text = "".join(rng.choice("abé") for _ in range(rng.randrange(1, 3)))
        return f'"{text}"', text
    if kind == 1:
        text = rng.choice(["ab", "a-c", "é-ü", "c世-丗"])
        return f"[{text}]", f"[{text}]"
    if kind == 2:
        return "[^ab]", "[^ab]"
    if kind == 3:
        return ".", "."
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    if kind == 4:
        return f"({a[0]} | {b[0]})", f"(?:{a[1]}|{b[1]})"
    if kind == 5:
        return f"({a[0]} {b[0]})", f"(?:{a[1]}{b[1]})"
    mark = rng.choice(["*", "+", "?", "{2}", "{1,}", "{0,3}"])
    return f"({a[0]}){mark}", f"(?:{a[1]}){mark}"


def test_expressions():
    rng = random.Random(5)
    for i in range(60):
        grammar, pattern = expression(rng, 3)
        texts = ["".join(rng.choice("aabbcéü世x") for _ in range(rng.randrange(0, 7))) for _ in range(60)]
        drawn = tool("gbnf", f"root ::= {grammar}", i, 10)
        texts += [t for t in drawn.stdout.decode().split("\0")[:-1] if "\n" not in t]
        done = tool("gbnf", f"root ::= {grammar}\n%%\n" + "\n".join(texts) + "\n", 0, "-")
        expected = [bool(re.fullmatch(pattern, t, re.DOTALL)) for t in texts]
        check(f"gbnf {i}", [c == "1" for c in done.stdout.decode().split()] == expected, grammar + done.stderr.decode())


MISTAKES = {
    'root ::= "a': (1, 10), "root ::= b": (1, 10), 'root ::= root "a"': (1, 1), 'x ::= "a"': (1, 1), "root ::= [a": (1, 10),
    'root ::= ("a"': (1, 10), 'root ::= "a"\n  b c': (2, 5), 'root ::= b*{2}\nb ::= "b"': (1, 12), r'root ::= "\q"': (1, 11),
    "root ::= [z-a]": (1, 11), 'root ::= a "x"\na ::= b? root "y" | "z"\nb ::= "q"': (1, 1), 'root ::= "é" ]': (1, 14),
    'root ::= "a"\nroot ::= "b"': (2, 1), "root ::= []": (1, 10), 'root ::= "a"{3,2}': (1, 13), "%": (1, 1),
}


def test_mistakes():
    check("a repeated empty text", tool("gbnf", 'root ::= ""* "a" ""+', 0, 1).stdout == b"a\0")
    for source, (line, column) in MISTAKES.items():
        done = tool("gbnf", source, 0, 1)
        check(f"mistake {source!r}", done.returncode == 1 and f"line {line}, column {column}:" in done.stderr.decode(),
              done.stderr.decode())
    rng = random.Random(6)
    for i in range(60):  # any bytes are a grammar, or a mistake with a message
        source = "".join(rng.choice(['root', ' ::= ', '"a"', '[', ']', '(', ')', '|', '*', '{2', '}', '\n', 'b', '\\', '"', '#'])
                         for _ in range(rng.randrange(1, 14)))
        done = tool("gbnf", source, i, 1)
        check(f"random grammar {i}", done.returncode in (0, 1), f"{source!r}: {done.stderr.decode()}")


# ---- schemas ----------------------------------------------------------------------------------------


def schema_make(rng, depth):
    kind = rng.randrange(6 if depth == 0 else 11)
    if kind < 4:
        return {"type": ["integer", "number", "boolean", "null"][kind]}
    if kind == 4:
        low = rng.randrange(3)
        return {"type": "string", "minLength": low, "maxLength": low + rng.randrange(4)} if rng.random() < 0.7 else {"type": "string"}
    if kind == 5:
        return {"enum": rng.sample(["a", 'quo"te', "\\", "é\n", 1, -2.5, None, True, [1, "x"], {"k": 1}], 2)}
    if kind == 6:
        return {"type": ["string", "null"]} if rng.random() < 0.5 else {"const": {"a": [1, 'b"']}}
    if kind == 7:
        low = rng.randrange(3)
        return {"type": "array", "items": schema_make(rng, depth - 1), "minItems": low, "maxItems": low + rng.randrange(3)}
    if kind == 8:
        return {"anyOf": [schema_make(rng, depth - 1) for _ in range(2)]}
    names = rng.sample(["a", "b c", 'd"', "é", "e\\"], rng.randrange(1, 5))
    return {"type": "object", "properties": {n: schema_make(rng, depth - 1) for n in names},
            "required": [n for n in names if rng.random() < 0.5], "additionalProperties": False}


def valid(value, schema):
    if "enum" in schema or "const" in schema:
        return any(value == v and type(value) is type(v) for v in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return any(valid(value, s) for s in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    python = {"integer": int, "number": (int, float), "boolean": bool, "null": type(None), "string": str, "array": list, "object": dict}
    if not any(isinstance(value, python[k]) and (k == "boolean" or not isinstance(value, bool)) for k in kinds):
        return False
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1e9)
    if isinstance(value, list):
        return (schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1e9)
                and all(valid(v, schema["items"]) for v in value))
    if isinstance(value, dict):
        return (set(schema["required"]) <= set(value) <= set(schema["properties"])
                and all(valid(v, schema["properties"][k]) for k, v in value.items()))
    return True


def test_schemas():
    rng = random.Random(7)
    for i in range(60):
        schema = schema_make(rng, 3)
        done = tool("schema", json.dumps(schema, ensure_ascii=bool(i % 2)), i, 20)
        try:
            values = [json.loads(t) for t in done.stdout.decode().split("\0")[:-1]]
            wrong = [v for v in values if not valid(v, schema)]
            check(f"schema {i}", len(values) == 20 and not wrong, f"{schema} {wrong[:1]} {done.stderr.decode()}")
        except ValueError as error:
            check(f"schema {i}", False, f"{schema}: {error}: {done.stdout[:500]}")


REFUSED = {
    '{"type": "string", "pattern": "a+"}': "#: the keyword 'pattern' is not supported",
    '{"properties": {"x": {"type": "integer", "minimum": 3}}}': "#/properties/x: the keyword 'minimum'",
    '{"type": "thing"}': "#: 'type' is not a type", '{"$ref": "other.json"}': "'$ref' other.json is not in this schema",
    '{"type": "array", "minItems": 3, "maxItems": 2}': "'maxItems' is less", "[1": "the schema is not JSON",
    '{"properties": {"x": {}}, "required": ["x", "y"]}': "'required' has \"y\", which is not in 'properties'",
    '{"enum": []}': "'enum' is empty", '{"minLength": -1, "type": "string"}': "'minLength' is not a number",
}


def test_more():
    tree = {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 3}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}},
        "required": ["name", "children"]}}}
    good, bad = '{"name": "a", "children": [{"name": "b", "children": []}]}', '{"name": "a", "children": [{"name": "b"}]}'
    done = tool("schema", json.dumps(tree) + f"\n%%\n{good}\n{bad}\n", 0, "-")
    check("a schema of itself", done.stdout.split() == [b"1", b"0"], done.stderr.decode())
    for name, texts in {"date": ["2024-02-28", "2024-13-01"], "time": ["23:59:59Z", "24:00:00Z"],
                        "uuid": ["12345678-1234-1234-1234-123456789abc", "1"]}.items():
        done = tool("schema", json.dumps({"type": "string", "format": name}) + '\n%%\n"' + '"\n"'.join(texts) + '"\n', 0, "-")
        check(f"format {name}", done.stdout.split() == [b"1", b"0"], done.stdout.decode() + done.stderr.decode())
    for source, message in REFUSED.items():
        done = tool("schema", source, 0, 1)
        check(f"refused {source}", done.returncode == 1 and message in done.stderr.decode(), done.stderr.decode())
    values = tool("schema", "{}", 3, 40).stdout.decode().split("\0")[:-1]
    check("any JSON", len(values) == 40 and [json.loads(v) for v in values] is not None)


test_expressions()
test_mistakes()
test_schemas()
test_more()
finish()
