"""The test folders of the package onnx: single nodes, small models, and models of other frameworks.

All of them run on the CPU, twice, the second time by a plan; some also on emitted kernels (gang). INGOT
names the command. Skipped if the package onnx is absent. Ends with "N passed, N failed".
"""
import json
import os
import subprocess
import sys

INGOT = os.environ.get("INGOT", "build/ingot")

# Folders that may fail, with the reason.
KNOWN = {
    "test_image_decoder_decode_jpeg2k": "JPEG 2000 is not read",
    "test_image_decoder_decode_webp": "WebP is not read",
}
ON_GANG = ["test_a*", "test_conv*", "test_gather*", "test_gru*", "test_if*", "test_loop*", "test_lstm*", "test_matmul*",
           "test_quantizelinear*", "test_reduce_sum*", "test_reshape*", "test_scan*", "test_sequence*", "test_shape*", "test_softmax*"]


def data_folder():
    try:
        import onnx.backend.test
    except ImportError as reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        sys.exit(0)
    return os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")


def devices():
    listed = subprocess.run([INGOT, "devices", "--json"], capture_output=True, text=True, check=True)
    return [d["name"] for d in json.loads(listed.stdout)["devices"]]


def cases(*options):
    done = subprocess.run([INGOT, "onnx", "test", "--json", "--quiet", *options], capture_output=True, text=True)
    if not done.stdout:
        print(f"{' '.join(options)}: exit code {done.returncode}: {done.stderr.strip()}")
        return [{"name": " ".join(options), "result": "failed", "reason": "the command ended early"}]
    return json.loads(done.stdout)["cases"]


def is_known(name):
    return any(name.startswith(prefix) for prefix in KNOWN)


def main():
    data = data_folder()
    parts = [os.path.join(data, part) for part in ("node", "simple", "light", "pytorch-converted", "pytorch-operator")]
    runs = [("cpu", cases("--again", *parts))]
    here = devices()
    if "gang" in here:
        runs += [("gang", cases("--device", "gang", "--name", name, parts[0])) for name in ON_GANG]
    passed = failed = 0
    for device, results in runs:
        for case in results:
            passed += case["result"] == "passed"
            wrong = case["result"] == "failed" and not is_known(case["name"])
            failed += wrong
            if wrong:
                print(f"{device}: {case['name']}: {case.get('reason')}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed < 1800 else 0


sys.exit(main())
