"""DLPack with arrays of an NVIDIA GPU, on the fake driver (tests/fakecuda): another library of the process, written here with
ctypes, gives its device memory and takes that of arrays, each with its own stream. The driver runs commands as late as
possible, so a missing order of streams gives wrong elements. tests/test_exchange.py is for real GPUs."""
import ctypes
import gc
import os
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKE = os.path.join(ROOT, os.environ.get("BUILD", "build"), "tests/fakecuda/cuda.so")
if not os.path.exists(FAKE):
    print("skipped: the fake driver of CUDA is not built")
    sys.exit(0)
os.environ["IG_CUDA"] = FAKE
os.environ["IG_NVRTC"] = FAKE
os.environ["FAKE_CUDA_DEVICES"] = "2"

from against import attempt, check, finish, ig, np, raises, rng, same  # noqa: E402

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("type", c_int32), ("id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
                ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", c_uint64)]


class Managed(Structure):
    pass


DELETER = CFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", DELETER)]


class Driver:
    """The other library's calls of the driver, in the context that all share."""

    def __init__(self):
        self.cu = ctypes.CDLL(FAKE)
        self.context = c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)

    def call(self, name, *args):
        status = getattr(self.cu, name)(*args)
        assert status == 0, f"{name} failed with {status}"

    def stream(self):
        made = c_void_p()
        self.call("cuStreamCreate", byref(made), 1)
        return made.value

    def alloc(self, size):
        at = c_uint64()
        self.call("cuMemAlloc_v2", byref(at), c_size_t(size))
        return at.value

    def free(self, at):
        self.call("cuMemFree_v2", c_uint64(at))

    def write(self, at, values, stream=None):
        """Queued in the stream: the elements are there when the stream gets to it."""
        self.call("cuMemcpyHtoDAsync_v2", c_uint64(at), c_void_p(values.ctypes.data), c_size_t(values.nbytes), c_void_p(stream))

    def copy(self, to, at, size, stream=None):
        self.call("cuMemcpyDtoDAsync_v2", c_uint64(to), c_uint64(at), c_size_t(size), c_void_p(stream))

    def fill(self, at, value, size, stream=None):
        self.call("cuMemsetD8Async", c_uint64(at), ctypes.c_ubyte(value), c_size_t(size), c_void_p(stream))

    def read(self, at, like, stream=None):
        values = np.empty(like.shape, like.dtype)
        self.call("cuMemcpyDtoHAsync_v2", c_void_p(values.ctypes.data), c_uint64(at), c_size_t(values.nbytes), c_void_p(stream))
        self.call("cuStreamSynchronize", c_void_p(stream))
        return values

    def order(self, first, second):
        event = c_void_p()
        self.call("cuEventCreate", byref(event), 2)
        self.call("cuEventRecord", event, c_void_p(first))
        self.call("cuStreamWaitEvent", c_void_p(second), event, 0)
        return event


driver = Driver()
alive = {}  # exports that nobody has ended
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = c_void_p, [ctypes.py_object, ctypes.c_char_p]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor"


@DELETER
def end_export(managed):
    owner = alive.pop(ctypes.addressof(managed.contents))
    owner.ended()


class Foreign:
    """An array of the other library: NumPy's elements on the GPU, perhaps strided and at an odd offset."""

    def __init__(self, values, stream=None, lead=0):
        self.values, self.stream, self.lead = values, stream, lead
        base = values
        while base.base is not None:
            base = base.base
        self.block = driver.alloc(base.nbytes + lead + 8)
        driver.write(self.block + lead, base, stream)
        self.at = self.block + lead + values.ctypes.data - base.ctypes.data
        self.asked = []

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        self.event = driver.order(self.stream, stream)
        v, n = self.values, self.values.ndim
        shape, strides = (c_int64 * n)(*v.shape), (c_int64 * n)(*(s // v.itemsize for s in v.strides))
        managed = Managed(Tensor(self.at, 2, 0, n, CODES[v.dtype.kind], 8 * v.itemsize, 1, shape, strides, 0), None, end_export)
        self.kept = managed, shape, strides
        alive[ctypes.addressof(managed)] = self
        return new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def ended(self):
        """The memory is used again at once."""
        driver.fill(self.block, 0xEE, 8)
        driver.call("cuStreamSynchronize", None)


def take(x, **how):
    """The other library takes an array: its tensor, and a function that ends it."""
    capsule = x.__dlpack__(**how)
    managed = ctypes.cast(capsule_pointer(capsule, b"dltensor"), POINTER(Managed))
    rename(capsule, USED)
    return managed.contents.tensor, lambda: managed.contents.deleter(managed)


def imports():
    for dtype in DTYPES:
        x = rng.integers(0, 2, (6, 8)).astype(dtype)
        for name, part in (("", x), ("T", x.T), ("backwards", x[::-1, ::-2]), ("part", x[1:, 3:5]), ("0-d", x[2:3, 1:2].reshape(()))):
            f = Foreign(part, driver.stream())
            y = ig.from_dlpack(f)
            check(f"device {dtype} {name}", str(y.device) == "cuda:0")
            same(f"import {dtype} {name}", y, part)
            if dtype not in ("?", "c8", "c16"):
                same(f"use {dtype} {name}", y + y, part + part)
    same("no elements", ig.from_dlpack(Foreign(np.ones((3, 4), "f4")[:0])), np.ones((0, 4), "f4"))
    same("an odd offset", ig.from_dlpack(Foreign(np.arange(9, dtype="f4"), lead=12)) * 2, np.arange(9, dtype="f4") * 2)
    f = Foreign(np.arange(100, dtype="f4"), driver.stream())
    y = ig.from_dlpack(f)
    check("the stream is passed", f.asked == [f.asked[0]] and f.asked[0] > 2)
    check("no copy", take(y)[0].data == f.at)


def exports():
    for dtype in DTYPES:
        x = rng.integers(0, 2, (6, 8)).astype(dtype)
        y = ig.asarray(x, device="cuda:0")
        check(f"device of {dtype}", y.__dlpack_device__() == (2, 0))
        for name, a, b in (("", y, x), ("T", y.T, x.T), ("part", y[1:4], x[1:4]), ("where", ig.where(y == y, y, y), x)):
            t, end = take(a, stream=1)
            check(f"type of {dtype}", (t.code, t.bits, t.lanes) == (CODES[x.dtype.kind], 8 * x.itemsize, 1))
            check(f"shape of {dtype}", t.shape[:2] == list(b.shape) and t.strides[:2] == [b.shape[1], 1])
            same(f"export {dtype} {name}", driver.read(t.data + t.offset, b, None), b)
            end()
    with ig.device("cuda:0"):
        for a, b in ((ig.ones(()), np.ones((), "f4")), (ig.zeros((1, 1)), np.zeros((1, 1), "f4")), (ig.full(9, 3.0), np.full(9, 3, "f4"))):
            t, end = take(a)
            check("a number's device", t.type == 2)
            same("a number", driver.read(t.data, b), b)
            end()
    t, end = take(ig.zeros((0, 3), device="cuda:0") + 1)
    check("no elements", t.shape[:2] == [0, 3])
    end()


def arguments():
    x = ig.asarray(np.arange(6, dtype="f4"), device="cuda:0") + 1
    t, end = take(x, dl_device=(1, 0))
    check("to the host", t.type == 1 and ctypes.cast(t.data, POINTER(ctypes.c_float))[5] == 6)
    end()
    raises("to the host without a copy", BufferError, lambda: x.__dlpack__(dl_device=(1, 0), copy=False))
    raises("another GPU", BufferError, lambda: x.__dlpack__(dl_device=(2, 1)))
    raises("stream 0", BufferError, lambda: x.__dlpack__(stream=0))
    raises("stream -5", BufferError, lambda: x.__dlpack__(stream=-5))
    raises("a stream that is a text", TypeError, lambda: x.__dlpack__(stream="1"))
    t, end = take(x, copy=True)
    u, end_u = take(x)
    check("copy=True", t.data != u.data and t.type == 2)
    same("the copy", driver.read(t.data, np.empty(6, "f4")), np.arange(6, dtype="f4") + 1)
    end(), end_u()
    check("a new capsule", "dltensor_versioned" in repr(x.__dlpack__(stream=-1, max_version=(1, 2))))
    second = ig.asarray(np.arange(3, dtype="f4"), device="cuda:1")
    check("the second GPU", second.__dlpack_device__() == (2, 1))
    check("from an Array", str(ig.from_dlpack(second).device) == "cuda:1" and ig.from_dlpack(second, device="cpu").device == "cpu")
    same("asarray, copied", ig.asarray(Foreign(np.arange(5, dtype="i4")), copy=True), np.arange(5, dtype="i4"))


def streams():
    """Elements that are still to come when they are given."""
    side = driver.stream()
    values = np.arange(1000, dtype="f4")
    f = Foreign(values, side)
    y = (ig.from_dlpack(f) * 2).eval()
    t, end = take(y, stream=side)
    back = driver.alloc(4000)
    driver.copy(back, t.data, 4000, side)  # their stream waits for ours, which waits for theirs
    same("there and back", driver.read(back, values, side), values * 2)
    end()
    for stream in (None, 1, side):
        x = ig.asarray(values, device="cuda:0")
        y = (x * 3).eval()
        t, end = take(y, stream=stream)
        at = t.data
        driver.copy(back, at, 4000, stream if stream == side else None)
        del y
        end()  # the copy has not run, and the memory is reused by the next array
        z = (x * 5).eval()
        u, end = take(z, stream=stream)
        check("memory is reused", u.data == at)
        same(f"the last reader, stream {stream}", driver.read(back, values, stream if stream == side else None), values * 3)
        same("the next array", z, values * 5)
        end()


def memory_used():
    return next(device.used for device in ig.devices() if device == "cuda:0")


def lifetimes():
    gc.collect()
    before = len(alive)
    for _ in range(20):
        f = Foreign(np.arange(3000, dtype="f4"), driver.stream())
        y = ig.from_dlpack(f)
        z = (y + 1).eval()  # queued
        del f, y
        gc.collect()  # the owner writes to its memory at once
        same("the owner is gone", z, np.arange(3000, dtype="f4") + 1)
    del z
    gc.collect()
    check("owners end", len(alive) == before, f"{len(alive)} of {before}")
    y = ig.asarray(np.arange(3000, dtype="f4"), device="cuda:0") + 1
    t, end = take(y)
    del y
    gc.collect()
    same("the array is gone", driver.read(t.data, np.empty(3000, "f4")), np.arange(3000, dtype="f4") + 1)
    used = memory_used()
    end()
    check("memory is returned", memory_used() < used, f"{memory_used()} of {used} bytes")
    a = ig.from_dlpack(Foreign(np.arange(10, dtype="f4")))
    b = a.copy()
    a += 1
    a[2] = 7
    same("changed", a, np.array([1, 2, 7, 4, 5, 6, 7, 8, 9, 10], "f4"))
    same("the elements of the owner are unchanged", b, np.arange(10, dtype="f4"))
    capsule = a.__dlpack__()
    del capsule  # not taken


def faults():
    """A failure is reported when the elements are given."""
    x = ig.asarray(np.arange(10, dtype="f4"), device="cuda:0")
    y = ig.take(x, ig.asarray(np.array([3, 77]), device="cuda:0"), axis=0)
    raises("an index out of bounds", IndexError, lambda: y.__dlpack__())


for test in (imports, exports, arguments, streams, lifetimes, faults):
    attempt(test.__name__, test)
finish()
