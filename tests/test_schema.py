#!/usr/bin/env python3
"""Every --json of the command against its schema, docs/schema/VERB.json.

A verb with --json that has no schema or no example here fails. The validator knows a part of JSON
Schema 2020-12 and is strict about the schemas too: a keyword that it does not know is an error, and an
object says what it may hold.
"""
import json
import os
import re
import subprocess
import tempfile

from support import tiny_model
from support.tally import check, finish, skip

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INGOT = os.environ.get("INGOT", "build/ingot")
FOLDER = os.path.join(ROOT, "docs", "schema")
SAVED = "tests/fuzz/corpus/result"

# What is run for each verb; "{}" is a temporary folder.
EXAMPLES = {
    "bench": ["bench --json --quiet --only launch --seconds 0.1 --threads 1",
              "bench --json --quiet --cmd true --seconds 0.1", "bench --list --json"],
    "compare": [f"compare --json {SAVED}/server {SAVED}/notebook", f"compare --json {SAVED}/notebook"],
    "devices": ["devices --json", "devices --json --threads 1 --memory-limit 1GiB"],
    "doctor": ["doctor --json"],
    "eval": ["eval --json 1+1", "eval --json nan", "eval --json none", "eval --json --time ones([2,0,3])",
             "eval --json --explain sin(ones([9]))", "eval --json --explain --time sin(ones([9]))",
             "eval --json --verify --time ones([9])", "eval --json 'text\\t\u00e9'", "eval --json f32",
             "eval --json --verify softmax(uniform(key(0),[9,9]))", "eval --json (1,[2.5,inf],(true,))", "eval --json uniform(key(0),[2,2],dtype=f16)"],
    "onnx": [f"onnx {line}" for line in [
        "info --json tests/onnx/layer/model.onnx", "info --json --device cpu tests/onnx/layer/model.onnx",
        "run --json --input x=2x2 tests/onnx/layer/model.onnx", "test --json --quiet tests/onnx",
        "bench --json --quiet --runs 3 tests/onnx/layer/model.onnx", "verify --json --quiet --device cpu tests/onnx/layer/model.onnx"]],
    "ops": ["ops --json --device cpu", "ops --json softmax"],
    "report": [f"report --json {SAVED}/server -o {{}}/page.html"],
    "run": ["run --json examples/cuda/01_vector_add.cu -g 4 -b 32 -a n=100 -a a=arange:[n] -a b=ones:[n] -a c=zeros:[n]",
            "run --json --check --profile examples/cuda/01_vector_add.cu -b 8 -a n=8 -a a=ones:[8] -a b=ones:[8] -a c=zeros:[8]",
            "run --json --check --profile tests/cuda/transpose.cu", "run --json tests/cuda/vector_add.cu",
            "run --json --time --device cpu,cpu examples/cuda/01_vector_add.cu -b 8 -a n=8 -a a=ones:[8] -a b=full([8],nan) -a c=zeros:[8]"],
    "verify": ["verify --json --quick --op exp", "verify --json --graphs 20 --device cpu", "verify --json --op key --dtype u32 --seed 5",
               "verify --json --model {}/embed --device cpu"],
    "translate": ["translate --json --to metal tests/kernels/basics.cu", "translate --json --to opencl tests/kernels/operations.cu",
                  "translate --json --to cuda -k smooth<float,2> tests/kernels/basics.cu"],
    "tokens": ["tokens --json --model {}/embed cats!"],
    "embed": ["embed --json --model {}/embed cats", "embed --json --similar --model {}/embed cats dog"],
    "classify": ["classify --json --model {}/classify cats", "classify --json --model {}/tag cats", "classify --json --entities --model {}/tag cats",
                 "classify --json --model {}/regression cats"],
    "generate": ["generate --json --model tests/support/tiny_llama.gguf --tokens 4 cats",
                 "generate --json --model tests/support/tiny_llama.gguf --temperature 1 --ignore-end cats"],
    "perplexity": ["perplexity --json --quiet --context 64 --model tests/support/tiny_llama.gguf tests/test_schema.py"],
    "fill": ["fill --json --model {}/fill a[MASK]"],
    "answer": ["answer --json --model {}/answer --context README.md who?"],
    "train": ["train digits --json --epochs 1 --quiet",
              "train text --json --epochs 1 --quiet --model {}/embed --data {}/samples.csv --hold 0.5 --save {}/trained",
              "train gpt --json --quiet --config layers=1,heads=1,width=16,length=16 --data tests/test_schema.py --steps 2 --hold 0.01",
              "train digits --json --epochs 1 --quiet --model cnn --batch 256 --save {}/m.safetensors",
              "train {}/numbers.csv --json --epochs 1 --quiet --loss mse --layers 4,relu,1"],
    "predict": ["predict --json {}/digits.net {}/digit.npy", "predict --json {}/numbers.net {}/rows.csv"],
}
# What is run before them.
PREPARATIONS = ["train digits --quiet --epochs 1 --save {}/digits.net", "train {}/numbers.csv --quiet --epochs 1 --loss mse --save {}/numbers.net",
                "eval --quiet save('{}/digit.npy',zeros([8,8]))", "eval --quiet save('{}/rows.csv',ones([1,2]))"]
# Files that are JSON too: schema, what makes it, and where.
FILES = [("bench", "bench --quiet --only sort*1M*i32 --seconds 0.1 -o {}/b.json", "{}/b.json"),
         ("trace", "eval --quiet --trace {}/t.json --threads 2 sum(exp(ones([300,300])@ones([300,300])))",
          "{}/t.json")]

# Definitions that several schemas have, because a reference to another file is not found everywhere.
DEFINED_ALIKE = ["devices", "absent", "element", "value"]

NOTES = {"$schema", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
schemas = {}


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key stands twice: {keys}")
    return dict(pairs)


def parse(text):
    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def load(name):
    if name not in schemas:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            schemas[name] = parse(file.read())
    return schemas[name]


def is_type(value, name):
    if name in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if name == "integer" else (int, float))
    return isinstance(value, TYPES[name])


def same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Schema:
    """Checks values against the schemas of one file; each keyword is a method that yields problems."""

    def __init__(self, file):
        self.file = file

    def check(self, schema, value, where):
        if "properties" in schema and "additionalProperties" not in schema:
            yield f"{self.file}: an object with properties leaves open what else it may hold: {where}"
        for keyword, argument in schema.items():
            if keyword in NOTES:
                continue
            rule = getattr(self, "rule_" + keyword.lstrip("$"), None)
            if rule is None:
                yield f"{self.file}: the keyword '{keyword}' is not known to this test"
            else:
                yield from rule(argument, value, where, schema)

    def rule_ref(self, argument, value, where, _):
        if not argument.startswith("#/"):
            yield f"{self.file}: '{argument}' is not in this file, and a stock validator does not find it"
            return
        schema = load(self.file)
        for part in argument[2:].split("/"):
            schema = schema[part]
        yield from self.check(schema, value, where)

    def rule_type(self, argument, value, where, _):
        names = argument if isinstance(argument, list) else [argument]
        if not any(is_type(value, name) for name in names):
            yield f"{where}: {value!r} is not {argument}"

    def rule_const(self, argument, value, where, _):
        if not same(value, argument):
            yield f"{where}: {value!r} is not {argument!r}"

    def rule_enum(self, argument, value, where, _):
        if not any(same(value, item) for item in argument):
            yield f"{where}: {value!r} is none of {argument}"

    def rule_properties(self, argument, value, where, _):
        for key, schema in argument.items():
            if isinstance(value, dict) and key in value:
                yield from self.check(schema, value[key], f"{where}.{key}")

    def rule_additionalProperties(self, argument, value, where, schema):
        for key in set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else ():
            if argument is False:
                yield f"{where}: '{key}' is not in the schema"
            else:
                yield from self.check(argument, value[key], f"{where}.{key}")

    def rule_required(self, argument, value, where, _):
        for key in argument:
            if isinstance(value, dict) and key not in value:
                yield f"{where}: '{key}' is missing"

    def rule_items(self, argument, value, where, _):
        for i, item in enumerate(value if isinstance(value, list) else ()):
            yield from self.check(argument, item, f"{where}[{i}]")

    def rule_minItems(self, argument, value, where, _):
        if isinstance(value, list) and len(value) < argument:
            yield f"{where}: fewer than {argument} items"

    def rule_maxItems(self, argument, value, where, _):
        if isinstance(value, list) and len(value) > argument:
            yield f"{where}: more than {argument} items"

    def rule_minimum(self, argument, value, where, _):
        if is_type(value, "number") and not value >= argument:
            yield f"{where}: {value} is less than {argument}"

    def rule_exclusiveMinimum(self, argument, value, where, _):
        if is_type(value, "number") and not value > argument:
            yield f"{where}: {value} is not above {argument}"

    def rule_maximum(self, argument, value, where, _):
        if is_type(value, "number") and not value <= argument:
            yield f"{where}: {value} is more than {argument}"

    def rule_pattern(self, argument, value, where, _):
        if isinstance(value, str) and not re.search(argument, value):
            yield f"{where}: {value!r} does not match {argument}"

    def rule_oneOf(self, argument, value, where, _):
        found = [list(self.check(schema, value, where)) for schema in argument]
        if sum(not problems for problems in found) != 1:
            yield f"{where}: fits {sum(not p for p in found)} of {len(argument)} forms: {found}"[:400]

    def rule_anyOf(self, argument, value, where, _):
        found = [list(self.check(schema, value, where)) for schema in argument]
        if all(found):
            yield f"{where}: fits none of {len(argument)} forms: {found}"[:400]


def report(name, problems):
    check(name, not problems, "; ".join(problems[:5]))


def run(words):
    result = subprocess.run([INGOT, *words], capture_output=True, text=True)
    return result.stdout, [] if result.returncode == 0 else [f"exit code {result.returncode}: {result.stderr}"]


def check_text(name, text):
    try:
        value = parse(text)
    except ValueError as problem:
        return [f"not strict JSON: {problem}"]
    problems = list(Schema(name + ".json").check(load(name + ".json"), value, name))
    if jsonschema:
        problems += [error.message[:300] for error in
                     jsonschema.Draft202012Validator(load(name + ".json")).iter_errors(value)]
    return problems


def test_files():
    """Each schema stands alone, and definitions that several of them share are the same in all."""
    shared = {}
    for file in sorted(os.listdir(FOLDER)):
        schema = load(file)
        for name in DEFINED_ALIKE:
            if name in schema.get("$defs", {}):
                first, definition = shared.setdefault(name, (file, schema["$defs"][name]))
                report(f"{name} of {file} and {first}", [] if schema["$defs"][name] == definition else ["differ"])
        if jsonschema:
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
                problems = []
            except jsonschema.SchemaError as error:
                problems = [error.message]
            report(f"{file} is a schema to a stock validator", problems)
    if not jsonschema:
        skip("a stock validator", "the package jsonschema is not installed")


def test_validator():
    """It can refuse: each of these must be wrong, in a schema that is otherwise fine."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"enum": [0]},
              "c": {"oneOf": [{"type": "number"}, {"type": "integer"}]}, "d": {"items": {"const": 1}}},
              "required": ["a"], "additionalProperties": False}
    right = [{"a": 1}, {"a": 2, "b": 0, "c": 1.5, "d": [1, 1]}]
    wrong = [[], {}, {"a": 0}, {"a": True}, {"a": 1.5}, {"a": 1, "b": False}, {"a": 1, "c": 1},
             {"a": 1, "d": [1, 2]}, {"a": 1, "d": [True]}, {"a": 1, "e": 1}]
    check = Schema("a test").check
    report("right values", [v for v in right if list(check(schema, v, ""))])
    report("wrong values", [v for v in wrong if not list(check(schema, v, ""))])
    report("an unknown keyword", [] if list(check({"minimun": 1}, 1, "")) else ["is taken"])
    report("an open object", [] if list(check({"properties": {}}, {}, "")) else ["is taken"])


def verbs_with_json():
    listed = re.findall(r"^  (\w+) ", run(["--help"])[0].split("\n\n")[1], re.M)
    return [verb for verb in listed if "--json" in run([verb, "--help"])[0]]


def main():
    test_validator()
    test_files()
    verbs = verbs_with_json()
    report("verbs", [] if "eval" in verbs else ["found none"])
    for verb in verbs:
        there = os.path.exists(os.path.join(FOLDER, verb + ".json"))
        report(verb, [] if there else [f"has --json, but there is no docs/schema/{verb}.json"])
        if there and verb not in EXAMPLES:
            report(verb, ["has no example in tests/test_schema.py"])
    with tempfile.TemporaryDirectory() as folder:
        for head in tiny_model.HEADS:
            tiny_model.make(os.path.join(folder, head), head)
        tiny_model.make(os.path.join(folder, "regression"), "classify", problem_type="regression")
        with open(os.path.join(folder, "numbers.csv"), "w", encoding="utf-8") as file:
            file.writelines(f"{i},{i * i % 7},{0.5 * i}\n" for i in range(30))
        with open(os.path.join(folder, "samples.csv"), "w", encoding="utf-8") as file:
            file.write("text,label\ncat,1\ndog,2\n")
        for line in PREPARATIONS:
            report(line, run(line.replace("{}", folder).split(" "))[1])
        for verb in verbs:
            for line in EXAMPLES.get(verb, []):
                text, problems = run(line.replace("{}", folder).split(" "))
                report(line, problems or check_text(verb, text))
        for name, line, path in FILES:
            problems = run(line.replace("{}", folder).split(" "))[1]
            with open(path.replace("{}", folder), encoding="utf-8") as file:
                report(line, problems or check_text(name, file.read()))
    finish()


if __name__ == "__main__":
    main()
