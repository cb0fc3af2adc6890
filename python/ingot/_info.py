"""Inspection, as the standard defines it: limits of dtypes, capabilities, devices."""
from . import _ingot


class finfo:
    """The limits of a floating-point dtype, or of the parts of a complex dtype."""

    def __init__(self, type, /):
        self.bits, self.eps, self.max, self.min, self.smallest_normal, self.dtype = _ingot._finfo(type)

    tiny = property(lambda self: self.smallest_normal)

    def __repr__(self):
        return f"finfo(min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type, /):
        self.bits, self.max, self.min, self.dtype = _ingot._iinfo(type)

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


# The dtypes of the standard. The library also has float16 and bfloat16.
_KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class __array_namespace_info__:
    """The capabilities of this library."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return _ingot.default_device()

    def default_dtypes(self, *, device=None):
        real = _ingot.get_default_dtype()
        return {"real floating": real, "complex floating": _ingot.result_type(real, 1j),
                "integral": _ingot.int64, "indexing": _ingot.int64}

    def devices(self):
        from ._device import devices
        return devices()

    def dtypes(self, *, device=None, kind=None):
        kinds = ["bool", "numeric"] if kind is None else [kind] if isinstance(kind, str) else kind
        unknown = [k for k in kinds if k not in _KINDS]
        if unknown:
            raise ValueError(f"dtypes: unknown kind {unknown[0]!r}")
        return {name: getattr(_ingot, name) for k in kinds for name in _KINDS[k]}
