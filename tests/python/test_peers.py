"""Exchange with PyTorch and JAX on the CPU by DLPack, both ways: elements, dtypes, strides, lifetimes, memory that is shared and
memory that may not be written. Skipped where they are not installed."""
import gc
import importlib
import threading

from against import attempt, check, finish, ig, np, raises, rng, same, skip

SHAPES = [(), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]


def load(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(name, "not installed")
        return None


def elements(shape, dtype):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    x = rng.integers(0, 100, shape).astype(dtype)
    return np.asarray(x + 1j * rng.integers(0, 100, shape).astype(dtype)) if dtype.startswith("complex") else np.asarray(x)


def place(x):
    return np.asarray(x).__array_interface__["data"][0]


# ---- PyTorch ----

TORCH_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def torch_in(torch):
    """PyTorch's tensors here."""
    for dtype in TORCH_DTYPES:
        for shape in SHAPES:
            want = elements(shape, dtype)
            t = torch.from_numpy(want.copy()) if want.ndim else torch.tensor(want.item(), dtype=getattr(torch, dtype))
            same(f"from torch {dtype}{shape}", ig.from_dlpack(t), want)
            same(f"asarray of torch {dtype}{shape}", ig.asarray(t), want)
    b = torch.arange(10, dtype=torch.bfloat16)
    x = ig.from_dlpack(b)
    check("bfloat16 from torch", str(x.dtype) == "bfloat16" and x.astype("float32").tolist() == list(range(10)))
    # A block that ends less than 64 bytes before the end of a page is copied: see ig_from_memory.
    tensors = [torch.arange(n, dtype=torch.float32) for n in range(1000, 1008)]
    check("memory is shared", sum(place(ig.from_dlpack(t)) == t.data_ptr() for t in tensors) >= 6)
    t = tensors[0]
    check("asarray copies", place(ig.asarray(t)) != t.data_ptr())
    check("copy=True copies", place(ig.from_dlpack(t, copy=True)) != t.data_ptr())


def torch_strides(torch):
    t = torch.arange(120, dtype=torch.float32).reshape(4, 5, 6)
    views = {"transposed": t.permute(2, 0, 1), "steps": t[::2, 1::3], "a column": t[:, 2, 3], "expanded": t[:1].expand(3, 5, 6),
             "a part": t[1:3, 2:4, 1:5], "reversed": torch.flip(t, (0,)), "0-d": t[1, 2, 3]}
    for name, v in views.items():
        same(f"{name} from torch", ig.from_dlpack(v), v.numpy())
        same(f"{name} in an op", ig.from_dlpack(v) * 2 + 1, (v * 2 + 1).numpy())
    for name, v in {"transposed": t.permute(2, 0, 1), "steps": t[:, ::2]}.items():
        for dtype in (torch.int32, torch.float64, torch.complex64):
            same(f"{name} {dtype}", ig.from_dlpack(v.to(dtype)), v.to(dtype).numpy())
    y = ig.asarray(t.numpy())
    for name, key in {"rows": np.s_[1:3], "columns": np.s_[:, ::2, ::-1], "an item": np.s_[1, 2, 3]}.items():
        same(f"{name} to torch", torch.from_dlpack(y[key]).numpy(), t.numpy()[key])
    same("transposed to torch", torch.from_dlpack(y.T).numpy(), t.numpy().T)


def torch_out(torch):
    """Arrays in PyTorch."""
    for dtype in TORCH_DTYPES:
        for shape in SHAPES:
            want = elements(shape, dtype)
            x = ig.asarray(want)
            t = torch.from_dlpack(x)
            same(f"to torch {dtype}{shape}", t.numpy(), want)
            check(f"dtype {dtype} in torch", str(t.dtype) == "torch." + dtype, str(t.dtype))
    t = torch.from_dlpack(ig.arange(10.0).astype("bfloat16"))
    check("bfloat16 to torch", t.dtype == torch.bfloat16 and t.float().tolist() == list(range(10)))
    x = ig.arange(1024.0).eval()
    check("memory is shared with torch", torch.from_dlpack(x).data_ptr() == place(x))
    check("lazy arrays are computed", torch.from_dlpack(ig.arange(5.0) * 2).tolist() == [0, 2, 4, 6, 8])
    same("torch.tensor", torch.tensor(np.asarray(x)).numpy(), np.asarray(x))
    same("torch.as_tensor of numpy()", torch.as_tensor(x.numpy().copy()).numpy(), np.asarray(x))


def torch_lifetimes(torch):
    x = ig.arange(100_000.0).eval()
    want = np.arange(100_000, dtype="f4")
    t = torch.from_dlpack(x)
    del x
    gc.collect()
    junk = [ig.full((100_000,), 7.0).eval() for _ in range(5)]
    same("a tensor outlives its array", t.numpy(), want)
    y = ig.from_dlpack(t)
    del t, junk
    gc.collect()
    junk = [torch.full((100_000,), 7.0) for _ in range(5)]
    same("and back", y, want)
    del junk
    t = torch.arange(100_000, dtype=torch.float32)
    y, z = ig.from_dlpack(t), ig.from_dlpack(t)[10:20] * 2  # z is lazy
    del t
    gc.collect()
    junk = [torch.full((100_000,), 7.0) for _ in range(5)]
    same("an array outlives its tensor", y, want)
    same("and so does a lazy one", z, want[10:20] * 2)
    del junk
    before = ig.memory()["used"]
    for _ in range(200):
        torch.from_dlpack(ig.arange(10_000.0) + 1)
        ig.from_dlpack(torch.ones(10_000)) + 1
    gc.collect()
    ig.ones(1).eval()
    check("nothing is left", ig.memory()["used"] - before < 100_000, f"{ig.memory()['used'] - before} B")


def torch_writes(torch):
    """Neither side writes memory of the other."""
    t = torch.arange(6, dtype=torch.float32)
    x = ig.from_dlpack(t)
    x[2] = 9
    x += 1
    x.eval()
    check("an assignment does not change the tensor", t.tolist() == [0, 1, 2, 3, 4, 5])
    check("but the array", x.tolist() == [1, 2, 10, 4, 5, 6])
    y = ig.arange(6.0).eval()
    kept = torch.from_dlpack(y)
    y[0] = 7
    y.eval()
    check("a tensor keeps the old elements", kept.tolist() == [0, 1, 2, 3, 4, 5])
    copied = torch.from_dlpack(y, copy=True) if "copy" in (torch.from_dlpack.__doc__ or "") else torch.from_dlpack(y).clone()
    copied[1] = 100
    check("a copy may be written", y.tolist()[1] == 1)
    raises("a tensor with a gradient", (BufferError, RuntimeError, TypeError),
           lambda: ig.from_dlpack(torch.ones(3, requires_grad=True)))


def torch_threads(torch):
    errors = []

    def work(seed):
        try:
            for i in range(100):
                t = torch.full((500,), float(seed + i))
                x = ig.from_dlpack(t) * 2
                del t
                back = torch.from_dlpack(x)
                del x
                if not bool((back == 2.0 * (seed + i)).all()):
                    errors.append(f"{seed + i}: {back[:3]}")
        except Exception as error:
            errors.append(repr(error))

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("threads", not errors, "; ".join(errors[:3]))


# ---- JAX ----

JAX_DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "float16", "float32", "complex64"]


def jax_both(jax):
    jnp = jax.numpy
    for dtype in JAX_DTYPES:
        for shape in SHAPES:
            want = elements(shape, dtype)
            same(f"from jax {dtype}{shape}", ig.from_dlpack(jnp.asarray(want)), want)
            same(f"to jax {dtype}{shape}", np.asarray(jnp.from_dlpack(ig.asarray(want))), want)
    b = ig.from_dlpack(jnp.arange(10, dtype=jnp.bfloat16))
    check("bfloat16 from jax", str(b.dtype) == "bfloat16" and b.astype("float32").tolist() == list(range(10)))
    check("bfloat16 to jax", jnp.from_dlpack(b).dtype == jnp.bfloat16)
    same("lazy to jax", np.asarray(jnp.from_dlpack(ig.arange(8.0) * 3)), np.arange(8, dtype="f4") * 3)
    same("transposed from jax", ig.from_dlpack(jnp.arange(12.0).reshape(3, 4).T), np.arange(12, dtype="f4").reshape(3, 4).T)
    same("transposed to jax", np.asarray(jnp.from_dlpack(ig.arange(12.0).reshape((3, 4)).T)), np.arange(12, dtype="f4").reshape(3, 4).T)
    same("a computed jax array", ig.from_dlpack(jax.jit(lambda v: v * 2)(jnp.arange(5.0))), np.arange(5, dtype="f4") * 2)


def jax_lifetimes(jax):
    jnp = jax.numpy
    want = np.arange(100_000, dtype="f4")
    j = jnp.from_dlpack(ig.arange(100_000.0).eval())
    gc.collect()
    junk = [ig.full((100_000,), 7.0).eval() for _ in range(5)]
    same("a jax array outlives ours", np.asarray(j), want)
    x = ig.from_dlpack(j + 0)
    y = ig.from_dlpack(j + 0)[5:10] + 1
    del j, junk
    gc.collect()
    junk = [jnp.full((100_000,), 7.0) for _ in range(5)]
    same("ours outlives a jax array", x, want)
    same("and a lazy one", y, want[5:10] + 1)
    x[0] = 5
    x.eval()
    source = jnp.arange(4.0)
    z = ig.from_dlpack(source)
    z[0] = 9
    z.eval()
    check("an assignment does not change the jax array", source.tolist() == [0, 1, 2, 3])
    del junk


def jax_loops(jax):
    """ingot.lax and jax.lax run the same functions: results, gradients, vmap, jit, and derivatives along a direction."""
    w, xs, h = (rng.standard_normal(s).astype("f4") for s in ((4, 4), (6, 3, 4), (3, 4)))

    def functions(m, lax):
        def cell(h, x):
            h = m.tanh(h @ w_of(m) + x)
            return h, (h * 2, x.sum())

        def w_of(m):
            return m.asarray(w) * 0.5

        def rnn(h, xs):
            last, (ys, sums) = lax.scan(cell, h, xs, reverse=True)
            return (last * last).sum() + (ys ** 3).sum() * sums.sum()

        def newton(x):
            return lax.while_loop(lambda c: abs(c[0] * c[0] - x) > 1e-5 * x, lambda c: ((c[0] + x / c[0]) / 2, c[1] + 1), (x, 0))

        def powers(x):
            return lax.fori_loop(0, 5, lambda i, c: lax.cond(c > 1, lambda c: m.sin(c), lambda c: c * x + 1, c), x)

        def choose(i, x):
            return lax.switch(i, [m.sin, m.cos, lambda v: v * v], x)

        return rnn, newton, powers, choose

    a, b = functions(ig, ig.lax), functions(jax.numpy, jax.lax)
    x = np.linspace(0.5, 3, 5).astype("f4")

    def compare(name, ours, theirs, *args):
        got, want = ours(*map(ig.asarray, args)), theirs(*map(jax.numpy.asarray, args))
        for k, (u, v) in enumerate(zip(ig.transform.flatten(got)[0], jax.tree_util.tree_leaves(want))):
            check(f"jax {name} {k}", np.allclose(np.asarray(u), np.asarray(v), 2e-4, 2e-4), f"{u} is not {v}")

    for wrap in ("plain", "jit"):
        ours, theirs = (lambda f: f, lambda f: f) if wrap == "plain" else (ig.jit, jax.jit)
        compare(f"rnn {wrap}", ours(a[0]), theirs(b[0]), h, xs)
        compare(f"rnn grad {wrap}", ours(ig.grad(a[0], (0, 1))), theirs(jax.grad(b[0], (0, 1))), h, xs)
        compare(f"newton {wrap}", ours(ig.vmap(a[1])), theirs(jax.vmap(b[1])), x)
        compare(f"powers {wrap}", ours(ig.vmap(a[2])), theirs(jax.vmap(b[2])), x)
        compare(f"powers grad {wrap}", ours(ig.vmap(ig.grad(a[2]))), theirs(jax.vmap(jax.grad(b[2]))), x)
        compare(f"switch {wrap}", ours(ig.vmap(a[3])), theirs(jax.vmap(b[3])), np.array([-1, 0, 1, 2, 5]), x)
    compare("newton jvp", lambda x: ig.jvp(lambda v: a[1](v)[0], (x,), (ig.ones_like(x),))[1],
            lambda x: jax.jvp(lambda v: b[1](v)[0], (x,), (jax.numpy.ones_like(x),))[1], np.float32(2))


torch, jax = load("torch"), load("jax")
for test in (torch_in, torch_strides, torch_out, torch_lifetimes, torch_writes, torch_threads) if torch else ():
    attempt(test.__name__, test, torch)
for test in (jax_both, jax_lifetimes, jax_loops) if jax else ():
    attempt(test.__name__, test, jax)
finish()
