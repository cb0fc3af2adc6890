"""Files of arrays."""
import os

from . import _ingot

_SETS = (".npz", ".safetensors")


def load(path):
    """Reads an array (.npy, .csv, .tsv, .txt, images), or a dictionary of arrays (.npz, .safetensors)."""
    return _ingot._load_all(path) if os.fspath(path).endswith(_SETS) else _ingot._load(path)


def save(path, x):
    """Writes an array (.npy, .csv, .tsv, .txt), or a dictionary of arrays (.npz, .safetensors)."""
    if os.fspath(path).endswith(_SETS):
        _ingot._save_all(path, dict(x), os.fspath(path).endswith(".npz"))
    else:
        _ingot._save(path, x)
