#!/usr/bin/env python3
"""ONNX models on the simulated GPU: the folders of single nodes of the package onnx, and the prediction of where nodes run."""
import collections
import json
import os
import subprocess
import sys
import tempfile

from simulated import INGOT, READY, ROOT, prepare, run
from support import onnx_data
from support.tally import check, finish, skip

LAYER = os.path.join(ROOT, "tests", "onnx", "layer")
PARTS = 8  # commands, so that kernels are recorded in parallel
# They fail on every device.
KNOWN = {"test_image_decoder_decode_jpeg2k_rgb", "test_image_decoder_decode_webp_rgb"}


def command(folders):
    return ["onnx", "test", "--json", "--quiet", "--device", "metal", *folders]


def check_table(folders):
    """All folders pass; those with f64 say that the GPU has none."""
    parts = [command(folders[i::PARTS]) for i in range(PARTS)]
    prepare(*parts)
    counts = collections.Counter()
    paths = {os.path.basename(path): path for path in folders}
    for part in parts:
        done = run(*part)
        cases = json.loads(done.stdout)["cases"] if done.stdout else []
        check(f"{len(part)} folders", done.returncode in (0, 1) and cases, done.stderr[-300:])
        for case in cases:
            name, why = case["name"], case.get("reason", "")
            counts[case["result"]] += 1
            if case["result"] != "failed" or name in KNOWN:
                continue
            refused = "the device has no f64 arithmetic" in why and onnx_data.has_f64(paths[name])
            counts["without f64"] += refused
            check(name, refused, why)
    check("most folders ran", counts["passed"] > 0.9 * len(folders), counts)
    print(dict(counts))


def info(*words, **how):
    done = run("onnx", "info", "--json", *words, **how)
    return json.loads(done.stdout) if done.stdout else {"device": done.stderr, "ops": []}


def without_mac(*words):
    """On a machine without Metal."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("IG_")}
    done = subprocess.run([INGOT, "onnx", "info", "--json", *words], env=env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else {"device": done.stderr, "ops": []}


def placed(facts):
    return [(op["op"], op.get("runs"), "f64" in op.get("why", "")) for op in facts["ops"]]


def check_placement():
    """The same answer on the simulated GPU and without it."""
    model = os.path.join(LAYER, "model.onnx")
    here, there = info(model, "--device", "metal"), without_mac(model, "--device", "metal")
    check("a layer runs", placed(here) == [("Add", True, False), ("MatMul", True, False), ("Relu", True, False)], here)
    check("a layer would run", placed(there) == placed(here) and there["device"] == "metal", there)


def check_f64_placement():
    """The prediction is what the run says: a node in f64 between nodes in f32."""
    from onnx import TensorProto, helper, save
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["b"], to=TensorProto.DOUBLE),
             helper.make_node("Exp", ["b"], ["c"]), helper.make_node("Cast", ["c"], ["d"], to=TensorProto.FLOAT),
             helper.make_node("Relu", ["d"], ["y"])]
    shape = [2, 100]
    graph = helper.make_graph(nodes, "wide", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    want = {"Relu": (True, 0), "Cast": (False, 2), "Exp": (False, 1)}
    with tempfile.TemporaryDirectory() as temp:
        path = os.path.join(temp, "wide.onnx")
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        for name, facts in (("simulated", info(path, "--device", "metal")), ("absent", without_mac(path, "--device", "mps"))):
            got = {op["op"]: (op["runs"], op["refused"]) for op in facts["ops"]}
            check(f"nodes in f64 are refused ({name})", got == want, facts)
            check(f"the reason is f64 ({name})", all("f64" in op.get("why", "f64") for op in facts["ops"]), facts)
        refused = run("onnx", "run", path, "--random", "--device", "metal")
        check("so does the run", refused.returncode != 0 and "no f64" in refused.stderr, refused.stderr)
        helped = run("onnx", "run", path, "--random", "--device", "metal", "--fallback", "auto")
        check("the CPU can help", helped.returncode == 0, helped.stderr)


if not READY:
    skip("ONNX models", "clang, which compiles kernels for the simulator, is missing")
    finish()
check_placement()
try:
    table = onnx_data.nodes()
except ImportError as reason:
    skip("the folders of the package onnx", reason)
    finish()
check_f64_placement()
check_table(table)
finish()
