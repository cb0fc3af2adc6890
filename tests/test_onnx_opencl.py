"""The folders of single nodes of the package onnx by OpenCL: PoCL compiles every kernel that the CPU's device does not need.

Without the folders in which an op is replaced by its function, which test_onnx_data.py runs on the CPU. With IG_TEST_QUICK every
25th folder. Every folder must pass, but those of KNOWN. INGOT names the command. Skipped if the package onnx or an OpenCL device is absent. Ends with "N passed, N failed".
"""
import concurrent.futures
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import onnx_data

INGOT = os.environ.get("INGOT", "build/ingot")
DEVICE = "opencl:0"
# Folders that may fail or be skipped, with the reason. All others must pass.
KNOWN = {
    "test_image_decoder_decode_jpeg2k_rgb": "JPEG 2000 is not read",
    "test_image_decoder_decode_webp_rgb": "WebP is not read",
}


def skipped(why):
    print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def device():
    listed = subprocess.run([INGOT, "devices", "--json"], capture_output=True, text=True, check=True)
    found = [d for d in json.loads(listed.stdout)["devices"] if d["name"] == DEVICE]
    return found[0] if found else skipped(f"there is no {DEVICE}")


def cases(folders):
    done = subprocess.run([INGOT, "onnx", "test", "--json", "--quiet", "--device", DEVICE, *folders], capture_output=True, text=True,
                          check=False)
    if not done.stdout:
        return [{"name": folders[0], "result": "failed", "reason": f"exit code {done.returncode}: {done.stderr.strip()}"}]
    return json.loads(done.stdout)["cases"]


def main():
    wide = "f64" in json.dumps(device())
    try:
        folders = onnx_data.nodes()
    except ImportError as reason:
        skipped(reason)
    if not wide:
        folders = [path for path in folders if not onnx_data.has_f64(path)]
    if os.environ.get("IG_TEST_QUICK"):
        folders = folders[::25]
    processes = min(os.cpu_count() or 1, 4)
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        results = [case for part in pool.map(cases, [folders[i::processes] for i in range(processes)]) for case in part]
    passed = {case["name"] for case in results if case["result"] == "passed"}
    reasons = {case["name"]: f"{case['result']}: {case.get('reason')}" for case in results}
    names = {os.path.basename(path) for path in folders}
    failures = sorted(names - passed - set(KNOWN))
    for name in failures:
        print(f"{name}: {reasons.get(name, 'there is no result')}")
    for name in sorted(names & passed & set(KNOWN)):
        print(f"{name} passes; remove it from KNOWN")
    print(f"{len(passed)} passed, {len(failures)} failed, {len(names & set(KNOWN) - passed)} skipped")
    return bool(failures) or not passed or bool(passed & set(KNOWN))


sys.exit(main())
