"""Files of arrays."""
import os

from . import _ingot

_SETS = (".npz", ".safetensors")


def load(path):
    """Reads an array (.npy, .csv, .tsv, .txt, .zarr, .h5, images), or a dictionary of arrays (.npz, .safetensors)."""
    return _ingot._load_all(path) if os.fspath(path).endswith(_SETS) else _ingot._load(path)


def open(path):
    """An array in a Zarr store, an .npy file, a folder of them, a table (.csv, .tsv, .txt) or an HDF5 file, which is read block by block
    when it is needed."""
    return _ingot._open(path)


def save(path, x):
    """Writes an array (.npy, .csv, .tsv, .txt; block by block as a .zarr store or an .h5 file), or a dictionary of arrays (.npz, .safetensors)."""
    if os.fspath(path).endswith(".zarr"):
        _ingot._save_store(path, x)
        return
    if os.fspath(path).endswith(_SETS):
        _ingot._save_all(path, dict(x), os.fspath(path).endswith(".npz"))
    else:
        _ingot._save(path, x)
