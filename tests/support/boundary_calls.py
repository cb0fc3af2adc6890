"""Writes build/gen/boundary_calls.inc: calls of every function of the public headers with NULL, negative
counts and extreme values, for tests/unit/test_boundary.c.

Usage: boundary_calls.py HEADER... > FILE

Each parameter's type has a list of values; the first is an ordinary one. A function is called with all
first values, with each other value in each place, with all last values (the worst), and with random
combinations. The random numbers come from the function's name, so a function's calls do not change when
another one is added. A type or name that is not known here is an error: every new function is covered, or
this script says what it needs.
"""
import random
import re
import sys

COMBINATIONS = 24

# Values by type. lists holds 8 arrays, holes the same with a NULL; room takes 4096 results.
INTS = ["two", "IG_NONE", "IG_SCALAR", "(ig_ints){NULL, 3}", "(ig_ints){numbers, -1}",
        "(ig_ints){numbers, 40}", "IG_SHAPE(INT64_MAX, INT64_MAX)", "IG_SHAPE(INT64_MIN)",
        "IG_SHAPE(-1)", "(ig_ints){NULL, INT_MIN}"]
STRING = ['"mean"', '""', '"x"', '"\\xff\\n"', "long_text", "NULL"]
BY_TYPE = {
    "ig_array *": ["matrix", "vector", "number", "empty", "indices", "mask", "key", "lazy", "NULL"],
    "const ig_array *": ["matrix", "number", "empty", "NULL"],
    "ig_array *const *": ["lists", "holes", "NULL"],
    "ig_array **": ["room", "NULL"],
    "ig_ints": INTS,
    "int64_t": ["2", "0", "-1", "1", "INT64_MAX", "INT64_MIN"],
    "uint64_t": ["2", "0", "1", "UINT64_MAX"],
    "size_t": ["24", "0", "SIZE_MAX"],
    "int": ["1", "0", "-1", "2", "INT_MAX", "INT_MIN"],
    "count": ["2", "0", "1", "-1", "INT_MIN"],
    "double": ["0.5", "0", "-1", "INFINITY", "NAN", "-INFINITY", "1e308", "-1e-310"],
    "bool": ["false", "true"],
    "ig_dtype": ["IG_F32", "IG_DTYPE_NONE", "IG_BOOL", "IG_I8", "IG_U64", "IG_BF16", "(ig_dtype)99",
                 "(ig_dtype)-1"],
    "ig_status": ["IG_ERR_SHAPE", "(ig_status)99", "(ig_status)-1"],
    "ig_init": ["IG_INIT_ZEROS", "(ig_init)77"],
    "ig_math": ["IG_MATH_SAME", "IG_MATH_TF32", "(ig_math)3", "(ig_math)-1"],
    "ig_fallback": ["IG_FALLBACK_ERROR", "IG_FALLBACK_AUTO", "(ig_fallback)3", "(ig_fallback)-1"],
    "const char *": STRING,
    "void *": ["NULL"],
    "const void *": ["numbers", "NULL"],
    "double *": ["&real", "NULL"],
    "const int *": ["axes", "NULL"],
    "int *": ["&count_out", "NULL"],
    "ig_pullback": ["NULL"],
    "ig_log_function": ["NULL"],
    "function": ["NULL"],
    "const ig_index *": ["items", "NULL"],
    "const ig_arg *": ["args", "NULL"],
    "const ig_op *": ["ig_op_at(0)", "NULL"],
    "ig_status *": ["&code", "NULL"],
    "const ig_text *": ["texts", "holey_texts", "NULL"],
    "const ig_encoding *": ["encodings", "empty_encodings", "NULL"],
    "const char *const *": ["names", "NULL"],
    "const char **": ["&text_out", "NULL"],
    "const ig_part *": ["(ig_part[2]){{0}}", "NULL"],
    "int64_t *": ["&whole", "NULL"],
    "uint64_t *": ["&bytes", "NULL"],
    "size_t *": ["&length", "NULL"],
    "ig_onnx_type": ["IG_ONNX_FLOAT", "IG_ONNX_STRING", "IG_ONNX_INT4", "IG_ONNX_UNDEFINED", "(ig_onnx_type)99", "(ig_onnx_type)-1"],
    "ig_onnx_value *": ["onnx_value", "onnx_texts", "NULL"],
    "const ig_onnx_value *": ["onnx_value", "onnx_texts", "NULL"],
    "ig_onnx_value *const *": ["onnx_in", "NULL"],
    "ig_onnx_value **": ["onnx_out", "NULL"],
    "ig_onnx_visit": ["NULL"],
    "ig_progress": ["NULL"],
    "bool *": ["&truth", "NULL"],
    "ig_text": ['(ig_text){"cats", 4}', "(ig_text){0}"],
    "const ig_block_sink *const *": ["sinks", "no_sinks", "NULL"],
}

# Objects: one that the test has made, and NULL. What frees them gets NULL only.
for name in ("ig_model", "ig_optimizer", "ig_tensors", "ig_module", "ig_compiled", "ig_tokenizer", "ig_text_model", "ig_onnx",
             "ig_onnx_builder", "ig_store", "ig_group", "ig_generator", "ig_answer"):
    for const in ("", "const "):
        BY_TYPE[f"{const}{name} *"] = [name[3:], "NULL"]

# Plain structs: zeros, and NULL.
for name in ("ig_device_info", "ig_finfo", "ig_iinfo", "ig_verify_report", "ig_module_options",
             "ig_launch", "ig_kernel_call", "ig_encode_options", "ig_text_info", "ig_translate_options",
             "ig_profile", "ig_kernel_findings", "ig_memory_info", "ig_fallback_row", "ig_onnx_info", "ig_onnx_facts", "ig_onnx_use",
             "ig_onnx_attribute", "ig_onnx_export_call", "ig_blocks", "ig_block_map", "ig_scan_call", "ig_store_options", "ig_storage",
             "ig_generator_options", "ig_generator_info", "ig_generate_options", "ig_answer_token"):
    for const in ("", "const ", "const struct "):
        BY_TYPE[f"{const}{name} *"] = [f"&({name}){{0}}", "NULL"]

# Parameters of one function, or of every function ("*"), whose name says more than their type.
NOWHERE = ['"/dev/null/x"', '""', "NULL"]  # some functions make folders that are missing; none can be made here
ARRAY = BY_TYPE["ig_array *"]
SPECIAL = {
    ("*", "donated"): ["spare", "NULL"],  # these cannot be used again
    ("*", "key"): ["key"] + ARRAY,
    ("*", "indices"): ["indices"] + ARRAY,
    ("*", "labels"): ["indices"] + ARRAY,
    ("*", "mask"): ["mask"] + ARRAY,
    ("*", "axis"): ["IG_AXES(0)"] + INTS,
    ("*", "path"): NOWHERE, ("*", "folder"): NOWHERE,
    ("*", "head"): ['"embed"', '"classify"', '"tag"', '"fill"', '"answer"', '"x"', "NULL"],
    ("*", "n"): BY_TYPE["count"], ("*", "n_out"): BY_TYPE["count"], ("*", "n_branch"): BY_TYPE["count"], ("*", "n_carry"): BY_TYPE["count"], ("*", "n_in"): BY_TYPE["count"],
    ("*", "nargs"): BY_TYPE["count"], ("*", "n_donated"): BY_TYPE["count"],
    ("*", "n_donated"): BY_TYPE["count"], ("*", "max_out"): BY_TYPE["count"] + ["4096"],
    ("*", "generator"): ["NULL", '"threefry"', '"other"'],
    ("*", "device"): ['"cpu"', '"null"', '"nowhere"', '""', "NULL"],
    ("*", "source"): ['"__global__ void k(float *x) { x[0] = 1; }"', '"?"', '""', "NULL"],
    ("ig_diff", "n"): BY_TYPE["int"],
    ("ig_set_threads", "n"): ["0", "-1", "INT_MIN", "INT_MAX"],
    ("ig_set_device", "name"): ['"cpu"', '"nowhere"', '""', "NULL"],
    ("ig_idx_from_memory", "n"): ["0", "4", "24"],
    ("ig_image_from_memory", "n"): ["0", "4", "24"],
    ("ig_onnx_from_memory", "n"): ["24", "0", "4"],
    ("ig_onnx_value_retain", "v"): ["NULL"], ("ig_onnx_value_release", "v"): ["NULL"],
    ("ig_read", "bytes"): ["24", "0", "SIZE_MAX"],
    ("ig_read", "dst"): ["space", "NULL"], ("ig_store_read", "data"): ["space", "NULL"],
    ("ig_depends", "used"): ["(bool *)space", "NULL"],
    ("ig_float_text", "out"): ["(char *)space", "NULL"],
    ("ig_fail", "format"): ['"a boundary test"', "NULL"],
    ("ig_free", "text"): ["NULL"],
    ("ig_retain", "x"): ["NULL"], ("ig_release", "x"): ["NULL"], ("ig_scope_forget", "x"): ["NULL"],
    ("ig_unique_all", "out"): ["room", "NULL"],
    ("ig_module_new", "name"): ['"k.cu"', "NULL"],
    ("ig_module_launch", "results"): ["room", "NULL"],
    ("*", "format"): ['"q4_0"', '"u4"', '"f8_e4m3"', '"x"', "NULL"],
    ("ig_from_packed", "data"): ["space", "NULL"], ("ig_from_packed", "bytes"): ["128", "0", "24"],
    ("ig_from_memory", "data"): ["space", "NULL"], ("ig_from_memory", "bytes"): ["128", "0", "24"],
    ("ig_replace", "slot"): ["&variable", "NULL"],
    ("ig_einsum", "subscripts"): ['"ij,ij->"', '"i"', '"ij,kl,mn->..."', '""', '"->"', "long_text",
                                  "NULL"],
}

# Of all other functions that return an array, an object, text or a status, a failure sets an error, and
# nothing else does.
# These give NULL or 0 without an error, by their contracts.
BORROWED = {"ig_onnx_value_retain", "ig_onnx_value_item"}  # their results are not to be freed
SILENT = {"ig_onnx_value_get", "ig_retain", "ig_scope_forget", "ig_model_get", "ig_tensors_get", "ig_fail", "ig_answer_end"}
COUNTED = {"ig_kernel", "ig_text_model_states"}  # and every op with several results
FREES = {"ig_compiled *": "ig_compiled_free", "ig_module *": "ig_module_free",
         "ig_tensors *": "ig_tensors_free", "ig_model *": "ig_model_free",
         "ig_optimizer *": "ig_optimizer_free", "ig_translations *": "ig_translations_free",
         "ig_machine *": "ig_free", "char *": "ig_free", "ig_encoding *": "ig_free",
         "ig_tokenizer *": "ig_tokenizer_free", "ig_text_model *": "ig_text_model_free", "ig_onnx *": "ig_onnx_free",
         "ig_onnx_builder *": "ig_onnx_builder_free", "ig_onnx_value *": "ig_onnx_value_release",
         "ig_generator *": "ig_generator_free", "ig_answer *": "ig_answer_free", "ig_store *": "ig_store_close", "ig_group *": "ig_group_close"}
# Called by the test itself, where their effect on everything else is wanted.
LEFT_OUT = {"ig_shutdown": "frees what the other calls use", "ig_scope_end": "closes the test's scope",
            "ig_scope_begin": "has no parameters, and its scope would stay open"}


def functions(header):
    """(result, name, [(type, parameter)]) of every declaration."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"IG_PRINTF\([^)]*\)", "", text)
    for match in re.finditer(r"\bIG_API\s+([^;{]*?)\b(ig_\w+)\s*\(([^;]*)\)\s*;", text):
        result, name, rest = match.groups()
        yield normal(result), name, [parameter(p) for p in split(rest) if p.strip() != "void"]


def split(parameters):
    parts, depth, part = [], 0, ""
    for c in parameters:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += c
    return parts + [part] if part.strip() else parts


def normal(c_type):
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", c_type.strip())).replace("* *", "**") \
             .replace("*const *", "*const *")


def parameter(text):
    text = re.sub(r"\s+", " ", text.strip())
    if text == "...":
        return "...", "..."
    callback = re.match(r"void \(\*(\w+)\)\(", text)
    if callback:
        return "function", callback.group(1)
    array = re.match(r"(.*?)(\w+)\[\d*\]$", text)
    if array:
        return normal(array.group(1) + "*"), array.group(2)
    match = re.match(r"(.*?)(\w+)$", text)
    return normal(match.group(1)), match.group(2)


def fits(c_type, values):
    kind = ("int" if values[0].lstrip("-").isdigit() else
            "ig_array *const *" if values[0] == "spare" else
            "ig_array *" if values[1:] == ARRAY else
            "ig_ints" if values[1:] == INTS else "const char *")
    return c_type == kind


def values_of(function, c_type, name):
    if function.endswith(("_free", "_close")) and c_type != "void *":
        return ["NULL"]
    for key in ((function, name), ("*", name)):
        # A name alone says enough only of a type that its values have.
        if key in SPECIAL and (key[0] != "*" or fits(c_type, SPECIAL[key])):
            return SPECIAL[key]
    if c_type in BY_TYPE:
        return BY_TYPE[c_type]
    sys.exit(f"boundary_calls.py: {function}: no values for '{c_type} {name}'; add them to BY_TYPE")


def combinations(function, parameters):
    lists = [values_of(function, t, n) for t, n in parameters if t != "..."]
    first = [values[0] for values in lists]
    yield first
    for i, values in enumerate(lists):
        for value in values[1:]:
            yield first[:i] + [value] + first[i + 1:]
    yield [values[-1] for values in lists]
    rng = random.Random(function)
    for _ in range(COMBINATIONS if len(lists) > 1 else 0):
        yield [rng.choice(values) for values in lists]


def emit(result, function, parameters):
    """A C function that makes all calls of one public function."""
    print(f"static void calls_of_{function}(void)\n{{")
    seen = set()
    for values in combinations(function, parameters):
        call = f"{function}({', '.join(values)})"
        if call in seen:
            continue
        seen.add(call)
        text = call.replace("\\", "\\\\").replace('"', '\\"')
        print(f'    call_begin("{text}");')
        if result in FREES and function not in BORROWED:
            print(f"    {FREES[result]}(check_owned({call}));")
        elif result == "ig_array *" and function not in SILENT:
            print(f"    check_pointer({call});")
        elif result == "ig_status" and function not in SILENT:
            print(f"    check_status({call});")
        elif function in COUNTED or (result == "int" and ("ig_array **", "out") in parameters):
            print(f"    check_count({call});")
        elif result == "void":
            print(f"    {call};\n    call_end();")
        else:
            print(f"    (void){call};\n    call_end();")
    print("}\n")


def main():
    header = ""
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            header += file.read()
    found = list(functions(header))
    declared = set(re.findall(r"^IG_API[^;]*?\b(ig_\w+)\s*\(", header, flags=re.M))
    missing = declared - {name for _, name, _ in found}
    if missing:
        sys.exit(f"boundary_calls.py: cannot read the declarations of {', '.join(sorted(missing))}")
    print(f"/* Made by tests/support/boundary_calls.py from the public headers: {len(found)} functions. */")
    called = [row for row in found if row[1] not in LEFT_OUT]
    for result, name, parameters in called:
        emit(result, name, parameters)
    print("static const struct boundary {\n    const char *name;\n    void (*calls)(void);\n} boundaries[] = {")
    for _, name, _ in called:
        print(f'    {{"{name}", calls_of_{name}}},')
    print("};")


main()
