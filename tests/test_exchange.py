"""Arrays exchanged with PyTorch, JAX and CuPy through DLPack without a copy, on the CPU and on an NVIDIA GPU: elements, dtypes,
strides, addresses, lifetimes, memory, streams with pending work. Libraries and devices that are missing are skipped.

    make all python && BUILD=build python3 tests/test_exchange.py
"""
import ctypes
import gc
import importlib
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the GPU's memory
os.environ.setdefault("JAX_ENABLE_X64", "1")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, os.environ.get("BUILD", "build"), "python")]

try:
    import ingot as ig
except ImportError as error:
    print(f"skipped: the Python package is not built ({error}); make python builds it")
    sys.exit(0)
import numpy as np

from support.tally import attempt, check, finish, skip

DTYPES = ["?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8"]
rng = np.random.default_rng(7)
LARGE = 1 << 20


def address(x):
    """Where an array's elements are."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = x.__dlpack__() if x.device == "cpu" else x.__dlpack__(stream=-1)
    return ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value


def settle():
    """Lets Python run what it has postponed, such as the ends of owners."""
    gc.collect()
    for _ in range(1000):
        pass


def used(device):
    ig.synchronize(device)
    return next(d.used for d in ig.devices() if d == device)


def random(shape, dtype):
    x = rng.integers(0, 100, shape)
    return (x % 2).astype(dtype) if dtype == "?" else (x + 1j * x[::-1]).astype(dtype) if dtype[0] == "c" else x.astype(dtype)


class Torch:
    name = "torch"

    def __init__(self, device):
        self.lib, self.device = importlib.import_module("torch"), device.partition(":")[0]
        if self.device == "cuda" and not self.lib.cuda.is_available():
            raise ImportError("PyTorch has no CUDA here")

    def make(self, values):
        return self.lib.from_numpy(values.copy()).to(self.device)

    def take(self, x):
        return self.lib.from_dlpack(x)

    def numpy(self, x):
        return x.cpu().numpy()

    def address(self, x):
        return x.data_ptr()

    def views(self, x):
        yield "T", x.T
        yield "steps", x[1::2, ::3]
        yield "part", x[2:5, 3:]
        yield "repeated", x[:1].expand(4, x.shape[1])
        yield "3-d", x.reshape(2, -1, x.shape[1]).permute(2, 0, 1)
        yield "0-d", x[1, 2]
        yield "no elements", x[:0]

    def wait(self):
        if self.device == "cuda":
            self.lib.cuda.synchronize()


class Cupy(Torch):
    name = "cupy"

    def __init__(self, device):
        if device == "cpu":
            raise ImportError("CuPy has no CPU arrays")
        self.lib, self.device = importlib.import_module("cupy"), device
        self.lib.cuda.runtime.getDeviceCount()

    def make(self, values):
        return self.lib.asarray(values)

    def numpy(self, x):
        return self.lib.asnumpy(x)

    def address(self, x):
        return x.data.ptr

    def views(self, x):  # CuPy divides strides as unsigned numbers for DLPack, so negative ones cannot be exchanged
        yield from (("T", x.T), ("steps", x[1::2, ::3]), ("part", x[2:5, 3:]), ("repeated", self.lib.broadcast_to(x[:1], (4, x.shape[1]))),
                    ("0-d", x[1, 2]), ("no elements", x[:0]))

    def wait(self):
        self.lib.cuda.runtime.deviceSynchronize()


class Jax(Torch):
    name = "jax"

    def __init__(self, device):
        self.lib = importlib.import_module("jax")
        self.lib.config.update("jax_enable_x64", True)
        self.device = device
        try:
            self.place = self.lib.devices("cpu" if device == "cpu" else "cuda")[0]
        except RuntimeError as error:
            raise ImportError(str(error)) from error

    def make(self, values):
        return self.lib.device_put(values.copy(), self.place)

    def take(self, x):
        return self.lib.dlpack.from_dlpack(x)

    def numpy(self, x):
        return np.asarray(x)

    def address(self, x):
        return x.unsafe_buffer_pointer()

    def views(self, x):
        return iter(())  # its arrays have no strides

    def wait(self):
        pass


def equal(name, got, want):
    got, want = np.asarray(got), np.asarray(want)
    check(name, got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want),
          f"is {got.dtype}{got.shape} {got.ravel()[:8].tolist()}, not {want.dtype}{want.shape} {want.ravel()[:8].tolist()}")


def kind(lib, device):
    return f"{lib.name} {device}"


def dtypes(lib, device):
    for dtype in DTYPES:
        values = random((6, 8), dtype)
        name = f"{kind(lib, device)} {dtype}"
        y = ig.from_dlpack(lib.make(values))
        equal(f"{name} imported", y, values)
        check(f"{name} device", str(y.device) == device, str(y.device))
        z = ig.asarray(values, device=device)
        equal(f"{name} exported", lib.numpy(lib.take(z)), values)
        equal(f"{name} exported, computed", lib.numpy(lib.take(ig.where(z == z, z, z))), values)
        equal(f"{name} exported, transposed", lib.numpy(lib.take(z.T)), values.T)
        equal(f"{name} there and back", ig.from_dlpack(lib.take(z)), values)
        if dtype != "?":
            equal(f"{name} used", ig.from_dlpack(lib.make(values)) * 2, values * np.asarray(2, dtype))
    large = random((LARGE,), "f4")
    theirs = lib.make(large)
    y = ig.from_dlpack(theirs)
    lib.wait()
    check(f"{kind(lib, device)} import without a copy", address(y) == lib.address(theirs))
    z = (ig.asarray(large, device=device) + 1).eval()
    check(f"{kind(lib, device)} export without a copy", lib.address(lib.take(z)) == address(z))
    check(f"{kind(lib, device)} round trip without a copy", address(ig.from_dlpack(lib.take(z))) == address(z))
    equal(f"{kind(lib, device)} as an argument", ig.add(z, theirs), large + 1 + large)
    equal(f"{kind(lib, device)} asarray", ig.asarray(theirs, copy=True), large)
    check(f"{kind(lib, device)} asarray copies", address(ig.asarray(theirs, copy=True)) != lib.address(theirs))


def strides(lib, device):
    for dtype in ("f4", "i8", "f2", "c8"):
        values = random((8, 9), dtype)
        for view, theirs in lib.views(lib.make(values)):
            y = ig.from_dlpack(theirs)
            equal(f"{kind(lib, device)} {dtype} {view}", y, lib.numpy(theirs))
            equal(f"{kind(lib, device)} {dtype} {view} used", y + y, lib.numpy(theirs) * np.asarray(2, dtype))


def bfloat16(lib, device):
    if lib.name != "torch":
        return
    t = lib.lib.arange(50, device=lib.device).to(lib.lib.bfloat16) / 8
    y = ig.from_dlpack(t)
    check("bfloat16", str(y.dtype) == "bfloat16")
    equal("bfloat16 elements", ig.astype(y, ig.float32), t.float().cpu().numpy())
    equal("bfloat16 exported", lib.take(y * 2).float().cpu().numpy(), (t * 2).float().cpu().numpy())


def lifetimes(lib, device):
    """Each side drops its array first, and its allocator reuses the memory at once."""
    values = random((LARGE,), "f4")
    for _ in range(10):
        t = lib.make(values)
        y = ig.from_dlpack(t)
        del t
        settle()
        other = [lib.make(values * 0 - 5) for _ in range(3)]
        equal(f"{kind(lib, device)} producer dropped", y, values)
        del y, other
        z = (ig.asarray(values, device=device) + 1).eval()
        t = lib.take(z)
        del z
        settle()
        other = [(ig.asarray(values, device=device) * 0 - 5).eval() for _ in range(3)]
        equal(f"{kind(lib, device)} array dropped", lib.numpy(t), values + 1)
        z = ig.from_dlpack(t)
        del t, other
        settle()
        equal(f"{kind(lib, device)} both dropped", z, values + 1)
        y = ig.from_dlpack(lib.make(values))
        y += 1
        y[3] = 9
        want = values + 1
        want[3] = 9
        equal(f"{kind(lib, device)} changed", y, want)
        del y, z
    capsule = ig.asarray(values, device=device).__dlpack__()
    del capsule


def memory(lib, device):
    """What was exchanged is freed, on both sides."""
    values = random((LARGE,), "f4")
    if lib.name == "torch" and device != "cpu":
        settle()
        before = lib.lib.cuda.memory_allocated()
        for _ in range(50):
            y = ig.from_dlpack(lib.make(values))
            z = (y + 1).eval()
            del y
            settle()
        ig.synchronize(device)
        del z
        settle()
        check("torch's memory is returned", lib.lib.cuda.memory_allocated() == before,
              f"{lib.lib.cuda.memory_allocated()} bytes, before {before}")
    settle()
    before = used(device)
    for i in range(50):
        t = lib.take((ig.asarray(values, device=device) + i).eval())
        lib.numpy(t)
        del t
        settle()
        after = used(device)
        check(f"{kind(lib, device)} our memory is returned", after <= before + (1 << 16), f"{after} bytes, before {before}") if i > 3 else None


def product(lib, device):
    a, b = (rng.normal(size=(100, 100)).astype("f4") for _ in range(2))
    got = ig.from_dlpack(lib.make(a)) @ ig.from_dlpack(lib.make(b))
    check(f"{kind(lib, device)} product", np.allclose(np.asarray(got), a @ b, atol=1e-3))
    gradient = ig.grad(lambda x: (x * x).sum())(ig.from_dlpack(lib.make(a)))
    equal(f"{kind(lib, device)} gradient", lib.numpy(lib.take(gradient)), 2 * a)


# ---- streams: only on GPUs ----------------------------------------------------------------------


def torch_streams(lib, device):
    torch = lib.lib
    values = random((LARGE,), "f4")
    t0 = lib.make(values)
    sleep = lambda: torch.cuda._sleep(100_000_000)  # about 50 ms  # noqa: E731
    for name, stream in (("default", torch.cuda.default_stream()), ("side", torch.cuda.Stream())):
        for _ in range(5):
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                t = torch.zeros_like(t0)
                sleep()
                t.add_(t0)  # pending
                y = (ig.from_dlpack(t) * 3).eval()
            equal(f"pending work of a {name} stream", y, values * 3)

            torch.cuda.synchronize()
            ig.synchronize(device)
            x = ig.asarray(values, device=device).eval()
            big = ig.ones((4096, 4096), device=device)
            big = big.eval()
            product = big
            for _ in range(40):
                product = ig.matmul(product, big) / 4096
            y = (x + product[0, 0]).eval()  # pending
            with torch.cuda.stream(stream):
                t = torch.from_dlpack(y) * 2
                equal(f"a {name} stream waits for us", t.cpu().numpy(), (values + 1) * 2)

            with torch.cuda.stream(stream):
                t = torch.from_dlpack((x + 7).eval())
                sleep()
                copy = t.clone()  # pending, when the memory is returned
                del t
                settle()
                others = [(x * 0 - i).eval() for i in range(8)]
                equal(f"returned with pending work of a {name} stream", copy.cpu().numpy(), values + 7)
            del others

            with torch.cuda.stream(stream):
                t = t0 + 11
                y = ig.from_dlpack(t)
                torch.cuda.synchronize()
                product = big
                for _ in range(40):
                    product = ig.matmul(product, big) / 4096
                z = (y + product[0, 0]).eval()  # pending, when the memory is returned
                del t, y
                settle()
                others = [torch.full_like(t0, -i) for i in range(8)]
                equal(f"released to a {name} stream with pending work of ours", z, values + 12)
            del others


def jax_streams(lib, device):
    jax = lib.lib
    jnp = importlib.import_module("jax.numpy")
    with jax.default_device(lib.place):
        values = rng.normal(size=(1024, 1024)).astype("f4")

        @jax.jit
        def long(x):
            y = jax.lax.fori_loop(0, 200, lambda i, m: m @ m / jnp.abs(m @ m).max(), x)
            return x + 0 * y

        x = lib.make(values)
        long(x).block_until_ready()
        for _ in range(5):
            y = (ig.from_dlpack(long(x)) * 2).eval()  # pending
            equal("pending work of JAX", y, values * 2)
            big = ig.ones((4096, 4096), device=device).eval()
            product = big
            for _ in range(40):
                product = ig.matmul(product, big) / 4096
            z = (ig.asarray(values, device=device) + product[0, 0]).eval()
            j = lib.take(z) * 2
            del z
            settle()
            others = [(ig.asarray(values, device=device) * 0 - i).eval() for i in range(8)]
            equal("JAX waits for us", lib.numpy(j), (values + 1) * 2)
            del others


def cupy_streams(lib, device):
    cp = lib.lib
    values = random((LARGE,), "f4")
    x = lib.make(values)
    for _ in range(5):
        with cp.cuda.Stream(non_blocking=True) as stream:
            y = x + 0
            for _ in range(200):
                y = cp.sqrt(y * y)
            z = (ig.from_dlpack(y) * 2).eval()
            t = cp.from_dlpack((z + 1).eval()) * 2
            equal("a stream of CuPy, there", z, values * 2)
            equal("a stream of CuPy, and back", cp.asnumpy(t, stream=stream), (values * 2 + 1) * 2)


def between(device):
    """One library's array through ours to another's."""
    try:
        torch, jax = Torch(device), Jax(device)
    except ImportError as error:
        return skip(f"between {device}", str(error))
    values = random((LARGE,), "f4")
    t = torch.make(values)
    j = jax.take(ig.from_dlpack(t))
    torch.wait()
    equal(f"torch to jax {device}", jax.numpy(j), values)
    equal(f"jax to torch {device}", torch.numpy(torch.take(ig.from_dlpack(j + 1))), values + 1)
    if device != "cpu":
        y = ig.asarray(values, device=device)
        equal("to NumPy", np.from_dlpack(y, device="cpu"), values)
        equal("to the CPU", ig.from_dlpack(t, device="cpu"), values)
        check("a stream of 0", refuses(lambda: y.__dlpack__(stream=0)))


def refuses(call):
    try:
        call()
    except BufferError:
        return True
    return False


def gpus():
    return [str(d) for d in ig.devices() if str(d) == "cuda:0"]


for place in ["cpu"] + gpus():
    for Lib in (Torch, Jax, Cupy):
        try:
            library = Lib(place)
        except (ImportError, OSError) as error:
            skip(f"{Lib.name} {place}", str(error))
            continue
        tests = [dtypes, strides, bfloat16, lifetimes, memory, product]
        if place != "cpu":
            tests.append({"torch": torch_streams, "jax": jax_streams, "cupy": cupy_streams}[Lib.name])
        for test in tests:
            print(f"{Lib.name} {place} {test.__name__}", flush=True)
            attempt(f"{Lib.name} {place} {test.__name__}", test, library, place)
    attempt(f"between {place}", between, place)
if not gpus():
    skip("cuda", "there is no NVIDIA GPU")
finish()
