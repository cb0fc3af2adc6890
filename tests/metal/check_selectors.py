#!/usr/bin/env python3
"""Holds the messages of src/engine/backend/metal/messages.def, and those that the simulator answers, against facts from Apple's
metal-cpp headers: the selector exists, and result and arguments have the classes of the calling convention that
Apple's own binding uses; constants have Apple's values. metal-cpp has nothing of Metal Performance Shaders: those facts
are in selectors_mps.txt, which names its sources.

    check_selectors.py                      check against tests/metal/selectors.txt
    check_selectors.py --regenerate FOLDER  write selectors.txt anew from metal-cpp (a folder with Metal/*.hpp)
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from support.tally import check, finish  # noqa: E402  pylint: disable=wrong-import-position

TABLE, MPS_TABLE = (os.path.join(HERE, name) for name in ("selectors.txt", "selectors_mps.txt"))
MESSAGES = os.path.join(ROOT, "src", "engine", "backend", "metal", "messages.def")
# Of NSObject, which metal-cpp declares through templates.
OBJECT = {"alloc": {"ptr"}, "init": {"ptr"}, "retain": {"ptr"}, "release": {"void"}, "autorelease": {"ptr"}}
# Classes of the calling convention by type: the same word is passed and returned in the same way.
C_TYPES = {"void": "void", "BOOL": "bool", "NSUInteger": "u64", "NSInteger": "u64", "uint64_t": "u64",
           "uint32_t": "u32", "uint8_t": "u8", "double": "f64", "MTLSize": "struct24", "NSRange": "struct16"}
CPP_TYPES = {"void": "void", "bool": "bool", "UInteger": "u64", "Integer": "u64", "uint64_t": "u64", "uint32_t": "u32",
             "uint8_t": "u8", "CFTimeInterval": "f64", "TimeInterval": "f64", "double": "f64", "Size": "struct24",
             "Range": "struct16", "StringEncoding": "u64"}


def split(text):
    """At commas outside of brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*out, text[start:].strip()] if part]


def c_class(text):
    text = re.sub(r"\bconst\b", "", text).strip()
    return "ptr" if text.endswith("*") or text == "id" else C_TYPES.get(text, "?" + text)


def c_parameter(text):
    return c_class(re.match(r"(.*?)\w+$", text.strip(), re.S)[1].strip())


def messages():
    """name, selector, (result, arguments...) of each row; and the constants."""
    with open(MESSAGES, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    rows = []
    for result, name, selector, parameters in re.findall(
            r'^SEND0?\(([^,]+), (\w+), "([^"]+)"(?:, \((.*)\))?\)$', text, re.M):
        rows.append((name, selector, (c_class(result), *map(c_parameter, split(parameters)))))
    return rows, {n: int(v) for n, v in re.findall(r"^CONSTANT\((\w+), (\d+)\)$", text, re.M)}


def answered():
    """The selectors that the simulator answers."""
    found = set()
    for path in glob.glob(os.path.join(HERE, "sim", "*.c")):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r'METHOD\("([^"]+)"', file.read()))
    return found


# ---- facts from metal-cpp -----------------------------------------------------------------------


def read_headers(folder):
    sources = []
    for path in glob.glob(os.path.join(folder, "*", "*.hpp")):
        with open(path, encoding="utf-8") as file:
            sources.append(re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)))
    selectors, enums, under = {}, {}, {}
    for text in sources:
        for name, parts in re.findall(r'_(?:MTL|NS)_PRIVATE_DEF_SEL\(\s*(\w+)\s*,\s*((?:"[^"]*"\s*)+)\)', text):
            selectors[name] = "".join(re.findall(r'"([^"]*)"', parts))
        for prefix, kind, name, body in re.findall(
                r"_(MTL|NS)_(?:ENUM|OPTIONS)\(\s*([\w:]+)\s*,\s*(\w+)\s*\)\s*\{(.*?)\}", text, re.S):
            under[name] = kind
            for item in split(body):
                key, _, value = item.partition("=")
                value = value.strip().rstrip("UuLl")
                if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", value):
                    enums[prefix + key.strip()] = int(value, 0)
    return sources, selectors, enums, under


def cpp_class(text, under):
    text = re.sub(r"\b(class|const|struct)\b", " ", text).strip()
    if text.endswith("*") or "^" in text or "[" in text:
        return "ptr"
    text = text.split("::")[-1].strip()
    if text in CPP_TYPES:
        return CPP_TYPES[text]
    if text in under:
        return cpp_class(under[text], under)
    return "ptr" if text.endswith(("Handler", "Block", "Deallocator")) else "?" + text


def cpp_parameter(text, under):
    text = re.sub(r"\(\^(\w*)\)\(.*\)", "*", text)
    return cpp_class(text if text.rstrip().endswith("*") else re.sub(r"\b\w+\s*$", "", text), under)


def signatures(sources, selectors, under):
    found = {}
    pattern = re.compile(r"_(?:MTL|NS)_INLINE\s+([\w:<>,\s\*&]*?)\s*((?:\w+::)+\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*"
                         r"(?:const)?\s*\{(.*?)\n\}", re.S)
    for text in sources:
        for _, _, parameters, body in pattern.findall(text):
            result = re.search(r"sendMessage(?:Safe)?<([^;]*?)>\(", body)
            for name in re.findall(r"_PRIVATE_SEL\((\w+)\)", body):
                if result and name in selectors:
                    row = (cpp_class(result[1], under), *(cpp_parameter(p, under) for p in split(parameters)))
                    found.setdefault(selectors[name], set()).add(row)
    return found


def regenerate(folder):
    sources, selectors, enums, under = read_headers(folder)
    known = signatures(sources, selectors, under)
    rows, constants = messages()
    wanted = sorted({selector for _, selector, _ in rows} | answered())
    with open(TABLE, "w", encoding="utf-8") as file:
        print("# Facts from Apple's metal-cpp: selector, then the class of its result and of each argument; and constants.",
              file=file)
        print("# Written by check_selectors.py --regenerate.", file=file)
        for selector in wanted:
            for row in sorted(known.get(selector, [])):
                print(selector, *row, file=file)
        for name in sorted(constants):
            if name in enums:
                print("=", name, enums[name], file=file)
    print(f"{len(wanted)} selectors of {len(set(selectors.values()))}, {len(constants)} constants of {len(enums)}")
    return 0


def read_table():
    facts, enums, lines = {}, {}, []
    for path in (TABLE, MPS_TABLE):
        with open(path, encoding="utf-8") as file:
            lines += file.read().splitlines()
    for words in map(str.split, lines):
        if not words or words[0] == "#":
            continue
        if words[0] == "=":
            enums[words[1]] = int(words[2])
        else:
            facts.setdefault(words[0], set()).add(tuple(words[1:]))
    return facts, enums


def main():
    if sys.argv[1:2] == ["--regenerate"]:
        return regenerate(sys.argv[2])
    facts, enums = read_table()
    rows, constants = messages()
    for name, selector, row in rows:
        expected = facts.get(selector, {(c,) for c in OBJECT.get(selector, ())})
        check(f"{name}: [{selector}] has a colon for each argument", selector.count(":") == len(row) - 1)
        check(f"{name}: [{selector}] is {row}", row in expected, f"the facts have {sorted(expected) or 'no such selector'}")
    for name, value in constants.items():
        check(f"{name} is {value}", enums.get(name) == value, f"the facts have {enums.get(name)}")
    for selector in sorted(answered()):
        check(f"the simulator's [{selector}] exists", selector in facts or selector in OBJECT)
    check("there are rows", len(rows) > 40 and len(constants) > 4)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
