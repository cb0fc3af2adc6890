"""The GPUs of this machine, and how processes share one."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile


@contextlib.contextmanager
def mps(device):
    """Starts CUDA's MPS, with which processes use a GPU at the same time: without it they take turns of milliseconds. Gives
    the variables for their environment."""
    control = shutil.which("nvidia-cuda-mps-control") if device.startswith("cuda") else None
    with tempfile.TemporaryDirectory() as folder:
        env = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        everything = {**os.environ, **env}
        if not control or subprocess.run([control, "-d"], env=everything, check=False).returncode != 0:
            yield {}
            return
        try:
            yield env
        finally:
            subprocess.run([control], input="quit\n", text=True, env=everything, check=False, stdout=subprocess.DEVNULL)


def gpus(command):
    """The names of the GPUs that run arrays, those of OpenCL only if no other driver has them."""
    said = subprocess.run([command, "devices", "--json"], capture_output=True, text=True, check=True).stdout
    names = [d["name"] for d in json.loads(said)["devices"] if d["kind"] == "gpu" and d["runs_arrays"]]
    return [name for name in names if not name.startswith("opencl")] or names
