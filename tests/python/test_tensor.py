"""Methods of arrays and functions with PyTorch's arguments against NumPy, and against PyTorch where it is installed."""
import copy

from against import attempt, check, finish, ig, np, raises, same, says
from ingot import nn

try:
    import torch
except ImportError:
    torch = None

A = np.random.default_rng(4).standard_normal((3, 4, 5)).astype("f4")
B = np.random.default_rng(5).permutation(12).reshape(3, 4)
MASK = A > 0.3

# (what is called on x, what NumPy's is), where x is A (a) or B (b); text that PyTorch understands as well.
SAME = [
    ("x.view(12, 5)", "a.reshape(12, 5)"), ("x.view(-1)", "a.reshape(-1)"), ("x.view((4, 15))", "a.reshape(4, 15)"), ("x.permute(2, 0, 1)", "a.transpose(2, 0, 1)"),
    ("x.permute((1, 0, 2))", "a.transpose(1, 0, 2)"), ("x.unsqueeze(1)", "a[:, None]"), ("x.unsqueeze(-1).squeeze(-1)", "a"), ("x[:1].squeeze(dim=0)", "a[0]"),
    ("x.flatten(start_dim=1)", "a.reshape(3, 20)"), ("x.unflatten(1, (2, 2))", "a.reshape(3, 2, 2, 5)"), ("x.swapaxes(0, 2)", "a.swapaxes(0, 2)"), ("x.transpose(1, 2)", "a.swapaxes(1, 2)"), ("x.transpose(-2, 0)", "a.swapaxes(1, 0)"),
    ("x.expand(2, 3, 4, 5)", "np.broadcast_to(a, (2, 3, 4, 5))"), ("x[:, :1].expand(-1, 4, -1)", "np.broadcast_to(a[:, :1], (3, 4, 5))"),
    ("x[:1].expand_as(x)", "np.broadcast_to(a[:1], (3, 4, 5))"), ("x.view_as(x)", "a"), ("x.sum(dim=1)", "a.sum(1)"), ("x.sum(dim=(0, 2), keepdim=True)", "a.sum((0, 2), keepdims=True)"),
    ("x.mean(dim=-1, keepdim=True)", "a.mean(-1, keepdims=True)"), ("x.max(dim=1).values", "a.max(1)"), ("x.max(dim=1).indices", "a.argmax(1)"), ("x.min(dim=0)[0]", "a.min(0)"),
    ("x.max(dim=2, keepdim=True)[1]", "a.argmax(2)[..., None]"), ("x.argmax(dim=1)", "a.argmax(1)"), ("x.std(dim=1)", "a.std(1, ddof=1)"), ("x.var(dim=1, unbiased=False)", "a.var(1)"),
    ("x.std(dim=1, correction=2, keepdim=True)", "a.std(1, ddof=2, keepdims=True)"), ("x.cumsum(dim=1)", "a.cumsum(1)"), ("x.cumprod(dim=0)", "a.cumprod(0)"),
    ("x.sort(dim=1, descending=True)[0]", "-np.sort(-a, 1)"), ("x.sort(dim=1).indices", "a.argsort(1)"), ("x.topk(2, dim=2).values", "-np.sort(-a, 2)[..., :2]"),
    ("x.topk(2, dim=2, largest=False)[1]", "a.argsort(2)[..., :2]"), ("x.median(dim=1).values", "np.sort(a, 1)[:, 1]"), ("x.median(dim=1).indices", "a.argsort(1)[:, 1]"),
    ("x.kthvalue(2, dim=1).values", "np.sort(a, 1)[:, 1]"), ("x.cummax(dim=1).values", "np.maximum.accumulate(a, 1)"), ("x.norm(dim=1)", "np.sqrt((a * a).sum(1))"),
    ("x.norm(p=1, dim=0)", "np.abs(a).sum(0)"), ("x.norm(p=2)", "np.sqrt((a * a).sum())"),
    ("x.chunk(2, dim=1)[1]", "a[:, 2:]"), ("x.chunk(4, dim=2)[1]", "a[:, :, 2:4]"), ("x.split(3, dim=1)[1]", "a[:, 3:]"), ("x.split([1, 3], dim=1)[1]", "a[:, 1:]"),
    ("x.unbind(1)[2]", "a[:, 2]"), ("x.narrow(1, 1, 2)", "a[:, 1:3]"), ("x.select(1, -1)", "a[:, -1]"), ("x.index_select(1, I([2, 0]))", "a[:, [2, 0]]"),
    ("x.gather(1, I(np.array([[[0] * 5], [[1] * 5], [[2] * 5]])))", "np.take_along_axis(a, np.array([[[0]], [[1]], [[2]]]), 1)"),
    ("x.scatter(1, I(np.array([[[0] * 5], [[1] * 5], [[2] * 5]])), 9.0)[0, 0]", "np.full(5, 9, 'f4')"), ("x.masked_fill(I(m), -1.0)", "np.where(m, np.float32(-1), a)"),
    ("x.masked_select(I(m))", "a[m]"), ("x.float()", "a"), ("x.double()", "a.astype('f8')"), ("x.long()", "a.astype('i8')"), ("x.half()", "a.astype('f2')"), ("x.bool()", "a != 0"),
    ("x.int()", "a.astype('i4')"), ("x.short()", "a.astype('i2')"), ("x.type_as(I(np.zeros(1)))", "a.astype('f8')"), ("x.to('cpu')", "a"), ("x.detach()", "a"), ("x.clone()", "a"),
    ("x.contiguous()", "a"), ("x.cpu()", "a"), ("x.index_add(0, I([0, 0]), x[1:])[0]", "a[0] + a[1] + a[2]"), ("x.index_fill(0, I([1]), 2.0)[1]", "np.full((4, 5), 2, 'f4')"),
    ("x.index_copy(0, I([2]), x[:1])[2]", "a[0]"), ("x.clamp(-0.5, 0.5)", "a.clip(-0.5, 0.5)"), ("x.clamp(min=0)", "a.clip(0)"), ("x.add(x, alpha=2)", "a + 2 * a"),
    ("x.eq(x)", "a == a"), ("x.lt(0)", "a < 0"), ("x.pow(2)", "a * a"), ("x.new_zeros(2, 3)", "np.zeros((2, 3), 'f4')"), ("x.new_full((2,), 3.0)", "np.full(2, 3, 'f4')"),
    ("x.flip(dims=(0,))", "a[::-1]"), ("x.roll(shifts=1, dims=0)", "np.roll(a, 1, 0)"), ("x.tile((2, 1, 1))", "np.tile(a, (2, 1, 1))"), ("x.reshape(-1, 5)", "a.reshape(-1, 5)"),
    ("x.amax(dim=(0, 1))", "a.max((0, 1))"), ("x.softmax(dim=1).sum(dim=1)", "np.ones((3, 5), 'f4')"), ("x.aminmax(dim=1)[1]", "a.max(1)"), ("x.logsumexp(dim=1)", "np.log(np.exp(a).sum(1))"),
    ("x.repeat_interleave(2, dim=0)", "a.repeat(2, 0)"), ("x[0].t()", "a[0].T"), ("x[0].mm(x[0].t())", "a[0] @ a[0].T"), ("x.bmm(x.mT)", "a @ a.swapaxes(1, 2)"),
    ("x.scatter_reduce(0, I(np.zeros((1, 4, 5), 'i8')), x[1:2], 'sum')[0]", "a[0] + a[1]"), ("x.mode(dim=1).values", "a.min(1)"),
]

# In place: what is called on x, what x then is.
IN_PLACE = [
    ("x.add_(1)", "a + 1"), ("x.add_(x, alpha=2)", "a + 2 * a"), ("x.sub_(2)", "a - 2"), ("x.mul_(x)", "a * a"), ("x.div_(2)", "a / 2"), ("x.zero_()", "a * 0"),
    ("x.fill_(3)", "a * 0 + 3"), ("x.copy_(I(np.ones((4, 5), 'f4')))", "a * 0 + 1"), ("x.clamp_(-1, 1)", "a.clip(-1, 1)"), ("x.clamp_(min=0)", "a.clip(0)"), ("x.exp_()", "np.exp(a)"),
    ("x.abs_().sqrt_()", "np.sqrt(np.abs(a))"), ("x.neg_()", "-a"), ("x.masked_fill_(I(m), 0)", "np.where(m, np.float32(0), a)"), ("x.pow_(2)", "a * a"), ("x.relu_()", "a.clip(0)"),
    ("x.scatter_(0, I(np.zeros((1, 4, 5), 'i8')), 7.0)", "np.concatenate([a[:1] * 0 + 7, a[1:]])"), ("x.index_add_(0, I([1]), I(np.ones((1, 4, 5), 'f4')))", "np.stack([a[0], a[1] + 1, a[2]])"),
    ("x.tril_()", "np.tril(a)"), ("x.cumsum_(0)", "a.cumsum(0)"), ("x.floor_()", "np.floor(a)"), ("x.lerp_(x * 0, 0.5)", "a / 2"),
]


def expected(text):
    return eval(text, {"a": A, "b": B, "m": MASK, "np": np})


def methods():
    for text, want in SAME:
        got = eval(text, {"x": ig.asarray(A), "I": ig.asarray, "np": np, "m": MASK})
        same(text, got, expected(want), 2e-6)
        if torch:
            theirs = eval(text, {"x": torch.from_numpy(A), "I": lambda v: torch.as_tensor(v), "np": np, "m": MASK})
            same(f"{text} of PyTorch", theirs.numpy(), np.array(expected(want)), 2e-6)


def in_place():
    for text, want in IN_PLACE:
        x = ig.asarray(A)
        got = eval(text, {"x": x, "I": ig.asarray, "np": np, "m": MASK})
        same(text, x, expected(want), 2e-6)
        check(f"{text} returns the array", got is x)
        if torch:
            t = torch.from_numpy(A.copy())
            eval(text, {"x": t, "I": lambda v: torch.as_tensor(v), "np": np, "m": MASK})
            same(f"{text} of PyTorch", t.numpy(), np.array(expected(want)), 2e-6)
    raises("floats in integers", TypeError, lambda: ig.arange(3).add_(0.5), "without '_'")
    x = ig.arange(4)
    x.mul_(2).add_(1)
    check("the dtype stays", x.tolist() == [1, 3, 5, 7] and str(x.dtype) == "int64")
    ig.manual_seed(0)
    n = np.asarray(ig.zeros(2000).normal_(2.0, 3.0))
    u = np.asarray(ig.zeros(2000).uniform_(-1, 1))
    check("normal_", abs(n.mean() - 2) < 0.3 and abs(n.std() - 3) < 0.3)
    check("uniform_", u.min() >= -1 and u.max() < 1 and abs(u.mean()) < 0.1)
    check("bernoulli_", 0.2 < float(ig.zeros(2000).bernoulli_(0.3).mean()) < 0.4)
    check("random_", set(np.asarray(ig.zeros(500, dtype="int64").random_(0, 3)).tolist()) == {0, 1, 2})


def pairs():
    values, indices = ig.asarray(B).max(dim=1)
    same("max", values, B.max(1))
    same("argmax", indices, B.argmax(1))
    nan = np.array([[1.0, np.nan, 3.0], [3.0, 1.0, 2.0]], "f4")
    same("a median with NaN", ig.asarray(nan).median(dim=1).values, np.array([np.nan, 2.0], "f4"))
    same("axis is NumPy's", ig.asarray(A).std(axis=1), A.std(1), 1e-6)
    same("without an axis", ig.asarray(A).std(), A.std(), 1e-6)
    raises("both", TypeError, lambda: ig.asarray(A).max(dim=0, axis=1))
    raises("sizes", ValueError, lambda: ig.asarray(A).split([1, 1], dim=1))
    grads = ig.grad(lambda x: (x.max(dim=1).values * ig.asarray([1.0, 2.0, 3.0])).sum())(ig.asarray(B.astype("f4")))
    same("a gradient", grads, (B == B.max(1)[:, None]) * np.array([[1.0], [2.0], [3.0]], "f4"))


def facts():
    x = ig.asarray(A)
    check("numbers", (x.numel(), x.nelement(), x.dim(), x.ndimension(), x.element_size()) == (60, 60, 3, 3, 4))
    check("kinds", x.is_floating_point() and not x.is_complex() and x.is_contiguous() and not x.is_cuda and x.get_device() == -1)
    check("type", x.type() == "float32" and str(x.type("float64").dtype) == "float64")
    check("to", str(x.to(ig.float64).dtype) == "float64" and str(x.to("cpu", dtype="float16").dtype) == "float16")
    check("functions", ig.is_tensor(x) and not ig.is_tensor(1) and ig.numel(x) == 60)
    check("tensor", ig.tensor([1, 2], dtype="float32", device="cpu").tolist() == [1.0, 2.0])
    check("transpose is NumPy's", ig.asarray(B).transpose(1, 0).shape == ig.asarray(B).transpose((1, 0)).shape == (4, 3) and x.transpose(2, 0, 1).shape == (5, 3, 4) and
          x.transpose().shape == (5, 4, 3))
    raises("transpose of a matrix", ValueError, lambda: ig.asarray(B).transpose(0, 1), "x.swapaxes(0, 1)")
    raises("transpose of a matrix from the end", ValueError, lambda: ig.asarray(B).transpose(-2, -1), "x.T")
    check("dtypes", ig.float32.is_floating_point and ig.complex64.is_complex and not ig.int64.is_floating_point and ig.uint == ig.uint64)
    check("constructors", ig.LongTensor([1, 2]).dtype == ig.int64 and ig.FloatTensor(2, 3).shape == (2, 3) and ig.BoolTensor([0, 1]).tolist() == [False, True])
    check("rand_like", ig.rand_like(ig.ones(3, dtype="int64"), dtype=ig.float64).dtype == ig.float64 and ig.randn_like(x).dtype == ig.float32)
    same("torch.transpose", ig.transpose(ig.asarray(B), 0, 1), B.T)
    same("torch.transpose by names", ig.transpose(x, dim0=-1, dim1=0), A.swapaxes(0, 2))
    for right in (False, True):
        same("bucketize", ig.bucketize(ig.asarray([1.0, 2.0, 3.5]), ig.asarray([1.0, 3.0]), right=right),
             np.searchsorted([1.0, 3.0], [1.0, 2.0, 3.5], side="right" if right else "left"))
    same("combinations", ig.combinations(ig.arange(4), 2), np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]))
    same("pairs with itself", ig.combinations(ig.asarray([5., 6]), with_replacement=True), np.array([[5, 5], [5, 6], [6, 6]], "f4"))

    check("sizes", ig.zeros(2, 3).shape == ig.ones(2, 3, dtype=ig.long).shape == (2, 3) and ig.zeros((2, 3), "int32").shape == (2, 3))
    check("randint", set(np.asarray(ig.randint(3, 5, (100,))).tolist()) == {3, 4} and ig.randint(2, (4,)).shape == (4,))
    check("dtypes", ig.zeros(2, dtype=ig.long).dtype == ig.int64 and ig.half == ig.float16 and ig.float == ig.float32)
    same("diagonal", ig.triu(ig.asarray(B), diagonal=1), np.triu(B, 1))
    check("no advised names", "backward" not in dir(x) and "add_" in dir(x))
    check("hasattr", not hasattr(x, "grad") and not hasattr(x, "requires_grad"))
    says("backward", AttributeError, ["value_and_grad"], lambda: x.backward())
    says("grad", AttributeError, ["value_and_grad"], lambda: setattr(x, "grad", None))
    says("a module's hook", AttributeError, ["override forward"], lambda: ig.nn.ReLU().register_forward_hook)
    same("repeat", ig.ones(3).repeat(2, 3), np.ones((2, 9), "f4"))
    says("a function", AttributeError, ["ig.jit"], lambda: ig.make_fx)
    says("a layer", AttributeError, ["number of inputs"], lambda: ig.nn.LazyLinear)
    check("copies", copy.deepcopy(x).tolist() == x.tolist())


def held_out():
    """Lines of PyTorch, JAX and NumPy that failed in lists typed by others."""
    x = ig.asarray(np.arange(6.0).reshape(2, 3))
    check("size()", x.size() == (2, 3) and x.size(1) == 3 and x.size == 6 and isinstance(x.size, int))
    a, b = np.array([[1.0, 5, 2]]), np.array([[3.0, 0, 2]])
    same("max of two", ig.max(ig.asarray(a), ig.asarray(b)), np.maximum(a, b))
    same("where as a method", x.where(x > 2, 0.0), np.where(np.arange(6.0).reshape(2, 3) > 2, np.arange(6.0).reshape(2, 3), 0))
    same("compress as a method", ig.asarray([1, 2, 3, 4]).compress([True, False, True, False]), np.array([1, 3]))
    same("polygamma as a method", ig.asarray([1.0]).polygamma(1), np.asarray(ig.polygamma(1, ig.asarray([1.0]))))
    y = ig.arange(6)
    row = y[2:4]
    y.shape = (2, 3)
    row[:] = 9
    same("a shape that is set", y, np.array([[0, 1, 9], [9, 4, 5]]))
    y.resize((3, 2))
    check("resize in place", y.shape == (3, 2))
    raises("resize to another size", ValueError, lambda: y.resize(7), "ig.resize")
    raises("the shape of a view", AttributeError, lambda: setattr(y[0], "shape", (1, 2)), "reshape")
    raises("a shape of another size", ig.ShapeError, lambda: setattr(y, "shape", (4,)))
    same("steps", ig.linspace(0, 1, steps=5), np.linspace(0, 1, 5).astype("f4"))
    same("svd without vectors", ig.linalg.svd(ig.diag(ig.asarray([3.0, 2.0])), compute_uv=False), np.array([3, 2], "f4"), 1e-6)
    same("piecewise", ig.piecewise(x, [x < 1, x > 4], [-1, lambda v: v * 2, 7]), np.array([[-1.0, 7, 7], [7, 7, 10]]))
    same("gelu", nn.gelu(ig.asarray([0.5]), approximate=True), np.asarray(nn.gelu(ig.asarray([0.5]), approximate="tanh")))
    check("shapes", ig.eval_shape(lambda v: (v @ v.T, 2 * v), x)[0] == ig.ShapeDtypeStruct((2, 2), "float64"))
    check("device_put and device_get", np.array_equal(ig.device_get(ig.device_put({"a": np.ones(2)}))["a"], np.ones(2)))
    check("block_until_ready", ig.block_until_ready([x + 1])[0].is_evaluated)

    @ig.custom_vjp
    def f(v, p):
        return v * p["w"]

    f.defvjp(lambda v, p: (v * p["w"], (v, p)), lambda kept, g: (g * 5, {"w": g * kept[0] * 7}))
    value, (gv, gp) = ig.value_and_grad(lambda v, p: f(v, p).sum(), argnums=(0, 1))(ig.arange(3.0), {"w": ig.ones(3)})
    check("custom_vjp", float(value) == 3 and gv.tolist() == [5] * 3 and gp["w"].tolist() == [0, 7, 14])
    import ingot.numpy as jnp
    from ingot.scipy.special import expit
    from ingot.utils.data import DataLoader
    check("modules", jnp.ones is ig.ones and DataLoader is ig.data.DataLoader and float(expit(ig.asarray(0.0))) == 0.5)
    check("scipy.linalg", ig.scipy.linalg.inv is ig.linalg.inv and ig.special.gammaln is not None)
    factor = ig.scipy.linalg.cho_factor(ig.asarray([[4.0, 2.0], [2.0, 3.0]]))
    same("cho_solve of a pair", ig.scipy.linalg.cho_solve(factor, ig.asarray([8.0, 7.0])), np.array([1.25, 1.5], "f4"), 1e-6)
    check("x64", ig.config.update("jax_enable_x64", True) is None and ig.zeros(1).dtype == ig.float64)
    ig.config.update("jax_enable_x64", False)
    raises("another setting", ValueError, lambda: ig.config.update("jax_debug_nans", True), "jax_enable_x64")
    like = ig.ShapeDtypeStruct((2,), "float32")
    same("pure_callback", ig.pure_callback(np.sin, like, ig.arange(2.0)), np.sin(np.arange(2, dtype="f4")))
    raises("pure_callback in jit", ValueError, lambda: ig.jit(lambda v: ig.pure_callback(np.sin, like, v))(ig.ones(2)), "jit")
    raises("debug.print in jit", ValueError, lambda: ig.jit(lambda v: ig.debug.print("{}", v) or v)(ig.ones(2)), "jit")
    for module, name in ((ig.scipy, "ndimage"), (ig.scipy, "optimize"), (ig.image, "scale_and_translate")):
        raises(name, AttributeError, lambda module=module, name=name: getattr(module, name), ": use ")
    same("segments", ig.ops.segment_sum(ig.arange(3), ig.asarray([0, 0, 1]), num_segments=2), np.array([1, 2]))
    check("devices", ig.local_device_count() >= 1 and ig.ones(1).devices() == {ig.ones(1).device})
    one = ig.lax.conv(ig.ones((1, 1, 3, 3)), ig.ones((1, 1, 2, 2)), (1, 1), "SAME")
    same("lax.conv", one, np.array([[[[4, 4, 2], [4, 4, 2], [2, 2, 1]]]], "f4"))
    last = ig.lax.conv_general_dilated(ig.ones((1, 4, 4, 2)), ig.ones((2, 2, 2, 5)), (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    check("NHWC", last.shape == (1, 2, 2, 5) and float(last.max()) == 8)
    net = nn.Linear(2, 1)
    opt = ig.optim.SGD(0.1)
    before = net.weight.tolist()
    _, g = ig.value_and_grad(lambda m, v: m(v).sum())(net, ig.ones((3, 2)))
    opt.update(net, g)
    check("a gradient by a module", np.allclose(net.weight.tolist(), np.array(before) - 0.3))
    opt = ig.optim.SGD(net.parameters(), lr=0.1)
    opt.step(g)
    check("and in step", np.allclose(net.weight.tolist(), np.array(before) - 0.6))


def bools():
    """Sums and products of bools are bools."""
    a, b = np.array([True, True, False]), np.array([True, False, False])
    x, y = ig.asarray(a), ig.asarray(b)
    same("add", x + y, a + b)
    same("multiply", x * y, a * b)
    same("with a bool", x + True, a + True)
    same("elements", ig.asarray([(x[i] + y[i]).item() for i in range(3)]), a + b)
    same("functions", ig.add(x, y), np.add(a, b))
    same("np.add", np.add(x, y), np.add(a, b))
    same("maximum", ig.maximum(x, y), np.maximum(a, b))
    same("minimum", ig.minimum(x, y), np.minimum(a, b))
    same("max", x.max(), a.max())
    same("min along an axis", ig.stack([x, y]).min(axis=0), np.stack([a, b]).min(axis=0))
    same("bools and integers", x + 1, a + 1)
    z = x.copy()
    z += y
    same("in place", z, a + b)
    raises("the largest of nothing", (TypeError, ValueError), lambda: ig.max(ig.zeros(0, dtype="bool")))


def two_meanings():
    """Calls that NumPy and PyTorch understand differently raise, or mean what only one of them can mean."""
    x, a = ig.asarray([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]), np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], "f4")
    raises("repeat(2, 1)", ValueError, lambda: x.repeat(2, 1), "x.tile((2, 1))")
    same("repeat(2, 0)", x.repeat(2, 0), a.repeat(2, 0))
    same("repeat of more axes", x.repeat(2, 1, 2), np.tile(a, (2, 1, 2)))
    raises("triu_indices(3, 3)", ValueError, lambda: ig.triu_indices(3, 3), "triu_indices(row=3, col=3")
    same("triu_indices(3, 1)", ig.triu_indices(3, 1)[1], np.triu_indices(3, 1)[1])
    same("triu_indices of PyTorch", ig.triu_indices(2, 3, offset=1), np.array(np.triu_indices(2, 1, 3)))
    raises("nonzero as a matrix", TypeError, lambda: ig.nonzero(x)[:, 0], "argwhere")
    raises("shape of nonzero", AttributeError, lambda: x.nonzero().shape, "argwhere")
    same("nonzero(as_tuple=False)", ig.nonzero(x, as_tuple=False), np.argwhere(a))
    values, places = x.sort(descending=True)
    same("sort(descending=True)", values, -np.sort(-a))
    same("its places", ig.sort(x, 1, True)[1], np.argsort(-a))
    same("sum(0, True)", x.sum(0, True), a.sum(0, keepdims=True))
    same("diff(1, 0)", x.diff(1, 0), np.diff(a, 1, 0))
    same("norm(1)", x.norm(1), np.abs(a).sum())
    same("norm(dim=)", x.norm(dim=1, keepdim=True), np.linalg.norm(a, axis=1, keepdims=True))
    same("flip(0, 1)", x.flip(0, 1), a[::-1, ::-1])
    same("item(4)", ig.asarray(x.item(4)), a.reshape(-1)[4])
    same("hann_window", ig.hann_window(4), np.array([0, 0.5, 1, 0.5], "f4"))
    same("average(returned=True)", ig.average(x, axis=0, weights=[3.0, 1.0], returned=True)[1], np.array([4, 4, 4], "f4"))
    same("lax.div", ig.lax.div(ig.asarray([-7]), 2), np.array([-3]))
    same("lax.argmax", ig.lax.argmax(x, 1, ig.int32), a.argmax(1).astype("i4"))
    check("the order of keys", ig.tree_util.tree_leaves({"b": 1, "a": {"d": 2, "c": 3}}) == [3, 2, 1])
    check("MLX's tree_flatten", [k for k, _ in ig.utils.tree_flatten({"b": [1, 2]})] == ["b.0", "b.1"])
    check("MLX's tree_unflatten", ig.utils.tree_unflatten([("b.0", 1), ("b.1", 2)]) == {"b": [1, 2]})


def typed():
    """Lines of another list that raised, or whose error had no advice."""
    x, v = ig.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), ig.asarray([3.0, 1.0, 2.0])
    check("in", 5 in x and 7 not in x and (3 in np.asarray(v)) and "a" not in x)
    raises("in of a traced array", ValueError, lambda: ig.jit(lambda x: x if 1 in x else -x)(x))
    for width, values in ((2, (9,)), ((2, 0), (9, 8)), (((1, 2), (0, 1)), ((1, 2), (3, 4))), (1, (7, 8))):
        same("pad", ig.pad(x, width, "constant", constant_values=values), np.pad(np.asarray(x), width, constant_values=values))
    same("split", v.split([1, 2])[1], np.array([1, 2], "f4"))
    same("diagonal", ig.diagonal(ig.arange(24).reshape(2, 3, 4), 1, dim1=0, dim2=2), np.diagonal(np.arange(24).reshape(2, 3, 4), 1, 0, 2))
    same("diagonal with one of both", ig.arange(24).reshape(2, 3, 4).diagonal(dim1=2), np.diagonal(np.arange(24).reshape(2, 3, 4), 0, 2, 1))
    for place, word in ((lambda: ig.autograd.Function, "ig.custom_grad"), (lambda: ig.func.stack_module_state, "ig.tree_map"), (lambda: ig.lax.add_p, "without _p"),
                        (lambda: ig.tree.static, "register_static"), (lambda: nn.initializers.delta_orthogonal, "orthogonal()"),
                        (lambda: ig.scipy.linalg.sqrtm, "scipy.linalg"), (lambda: ig.cuda.memory_snapshot, "ig.memory()")):
        raises(f"advice with {word}", AttributeError, place, word)
    for mode, want in (("floor", [-4, 3]), ("trunc", [-3, 3])):
        same("rounding_mode", ig.div(ig.asarray([-7, 7]), 2, rounding_mode=mode), np.array(want))
        same("rounding_mode of floats", ig.div(ig.asarray([-7.0, 7.0]), 2, rounding_mode=mode), np.array(want, "f4"))
    check("uneven parts", [p.size for p in ig.arange(10).split(4)] == [4, 4, 2] and len(ig.arange(4).split(2, axis=0)) == 2)

    def unpacked():
        values, indices = v.sort()
        return values, indices

    def assigned():
        y = v.sort()
        return y

    raises("x.sort() unpacked", TypeError, unpacked, "dim=-1")
    raises("x.sort() assigned", TypeError, assigned, "ig.sort(x)")
    raises("x.sort()[0]", TypeError, lambda: v.sort()[0], "ig.sort(x)")
    check("and not sorted", v.tolist() == [3, 1, 2] and (lambda: v.copy().sort())() is None)
    check("random with a dtype", ig.randn(2, 3, dtype=ig.float64).dtype == ig.float64 and ig.rand((2,), device="cpu").shape == (2,))
    check("random with a shape", ig.random.normal(shape=(2, 3)).shape == (2, 3) and ig.random.uniform(shape=(4,)).shape == (4,))
    check("random with lists", ig.random.normal([0.0, 10.0], 0.1).shape == (2,))
    raises("a shape or means", ValueError, lambda: ig.random.normal((2, 3)), "size=(2, 3)")
    raises("requires_grad", TypeError, lambda: ig.ones(3, requires_grad=True), "ig.grad")
    raises("of randn", TypeError, lambda: ig.randn(3, requires_grad=True), "ig.grad")
    check("losses of MLX are not averaged", nn.losses.cross_entropy(ig.zeros((3, 2)), ig.asarray([0, 1, 1])).shape == (3,))
    check("a device", (ig.device("cuda:1").type, ig.device("cpu").type) == ("cuda", "cpu"))
    check("types", isinstance(x, ig.ndarray) and isinstance(x, ig.Tensor) and x.shape == ig.Size([2, 3]))
    check("the device of an array", (x.device, x.device.type, str(x.device)) == ("cpu", "cpu", "cpu"))
    raises("Tensor(...)", TypeError, lambda: ig.Tensor([1, 2]), "ig.asarray")
    check("multinomial", ig.multinomial(ig.asarray([0.0, 1.0, 0.0]), 1).tolist() == [1] and sorted(ig.multinomial(ig.ones((2, 3)), 3)[1].tolist()) == [0, 1, 2])
    check("with replacement", ig.multinomial(ig.asarray([[1.0, 0.0], [0.0, 1.0]]), 3, replacement=True).tolist() == [[0] * 3, [1] * 3])
    check("bernoulli", ig.bernoulli(ig.asarray([0.0, 1.0])).tolist() == [0, 1] and ig.bernoulli(ig.key(0), 0.5, (3,)).shape == (3,))
    check("normal", ig.normal(0.0, 1.0, (2, 3)).shape == (2, 3) and ig.normal(ig.key(0), (4,)).shape == (4,))
    from ingot.nn.utils.rnn import pad_sequence
    same("pad_sequence", pad_sequence([ig.ones(2), ig.ones(3)], batch_first=True), np.array([[1, 1, 0], [1, 1, 1]], "f4"))
    check("its shape", pad_sequence([ig.ones((2, 5)), ig.ones((3, 5))]).shape == (3, 2, 5))
    raises("packed sequences", AttributeError, lambda: nn.utils.rnn.pack_padded_sequence, "pad_sequence")
    add = ig.RawKernel('extern "C" __global__ void add(const float *a, float *y) { y[threadIdx.x] += a[threadIdx.x]; }', "add")
    y = ig.ones(3)
    add((1,), (3,), (v, y))
    check("RawKernel", y.tolist() == [4, 2, 3] and ig.asnumpy(y)[0] == 4 and y.get()[1] == 2)
    check("get_array_module", ig.get_array_module(y) is ig and ig.get_array_module(np.ones(1)) is np)
    for name in ("get_current_device", "gpus", "runtime", "memory_allocated", "Device"):
        raises("ingot.cuda." + name, AttributeError, lambda: getattr(ig.cuda, name), "use ig.")


def no_gradients():
    """no_grad has no effect outside of a gradient, and is an error inside."""
    @ig.no_grad()
    def doubled(v):
        return v * 2

    with ig.no_grad(), ig.inference_mode(), ig.set_grad_enabled(False), ig.enable_grad():
        check("inside", doubled(ig.ones(2)).tolist() == [2.0, 2.0])
    check("a decorator without a call", ig.no_grad(lambda v: v + 1)(1) == 2)
    raises("in grad", ValueError, lambda: ig.grad(lambda v: doubled(v).sum())(ig.ones(2)), "stop_gradient")
    raises("in grad of jit", ValueError, lambda: ig.jit(ig.grad(lambda v: doubled(v).sum()))(ig.ones(2)), "stop_gradient")
    p = ig.ones(2)
    p.data.fill_(3.0)
    p.data -= 1
    check("data", p.tolist() == [2.0, 2.0] and p.data is p)
    raises("data in grad", AttributeError, lambda: ig.grad(lambda v: v.data.sum())(p), "detach")
    net = nn.Linear(2, 3)
    check("the first parameter", next(net.parameters()) is net.weight and len(list(net.parameters())) == 2)
    first, second = ig.autograd.functional.jacobian(lambda a, b: a * b, (ig.ones(2), ig.arange(2.0)))
    check("jacobian", first.tolist() == [[0, 0], [0, 1]] and second.tolist() == [[1, 0], [0, 1]])
    check("hessian", ig.autograd.functional.hessian(lambda a: (a ** 3).sum(), ig.ones(2)).tolist() == [[6, 0], [0, 6]])
    raises("autograd.grad", TypeError, lambda: ig.autograd.grad(p, p), "ig.grad(f)(x)")


def other_names():
    """Functions of JAX, PyTorch and MLX that are not ops."""
    x, key = ig.asarray([0, 1, 0, 2, 3]), ig.random.key(0)
    for size, want in {2: [1, 3], 3: [1, 3, 4], 6: [1, 3, 4, -1, -1, -1]}.items():
        check(f"nonzero of size {size}", ig.nonzero(x, size=size, fill_value=-1)[0].tolist() == want)
        check(f"flatnonzero of size {size} in jit", ig.jit(lambda v: ig.flatnonzero(v, size=size, fill_value=-1))(x).tolist() == want)
    check("argwhere of a size", ig.argwhere(ig.asarray([[0, 1], [2, 0]]), size=3).tolist() == [[0, 1], [1, 0], [0, 0]])
    check("where of a size", ig.where(x > 1, size=2)[0].tolist() == [3, 4])
    check("unique of a size", ig.unique(ig.asarray([3, 1, 1, 2]), size=5).tolist() == [1, 2, 3, 1, 1] and
          ig.unique(ig.asarray([3, 1, 1, 2]), size=2, fill_value=9).tolist() == [1, 2])
    raises("unique of a size with counts", TypeError, lambda: ig.unique(x, size=2, return_counts=True), "size")

    product = ig.custom_jvp(lambda p, q: p * q)
    raises("custom_jvp without a rule", TypeError, lambda: product(1.0, 2.0), "defjvp")

    @product.defjvp
    def rule(primals, tangents):
        return primals[0] * primals[1], 3 * tangents[0] * primals[1] + 2 * tangents[1]

    check("gradients of custom_jvp", [float(g) for g in ig.grad(product, argnums=(0, 1))(2.0, 5.0)] == [15, 2])
    check("jvp of custom_jvp", float(ig.jvp(product, (2.0, 5.0), (1.0, 1.0))[1]) == 17)
    product.defjvps(lambda t, out, p, q: 4 * t, None)
    check("defjvps", ig.grad(lambda v: product(v, v).sum())(ig.ones(2)).tolist() == [4, 4])
    vector, unravel = ig.flatten_util.ravel_pytree({"a": ig.ones(2, dtype="int32"), "b": [ig.zeros((2, 2))]})
    again = unravel(vector + 1)
    check("ravel_pytree", vector.shape == (6,) and again["a"].tolist() == [2, 2] and again["a"].dtype == ig.int32 and
          again["b"][0].tolist() == [[1, 1], [1, 1]])
    net = ig.nn.Sequential(ig.nn.Linear(2, 1), ig.nn.Tanh())
    before = net(ig.ones((1, 2)))
    ones = {name: value * 0 + 1 for name, value in net.state_dict().items()}
    check("functional_call", abs(float(ig.func.functional_call(net, ones, ig.ones((1, 2)))[0, 0]) - np.tanh(3)) < 1e-6 and
          bool((net(ig.ones((1, 2))) == before).all()))
    check("grad_and_value", float(ig.func.grad_and_value(lambda z: (z * z).sum())(ig.asarray([3.0]))[1]) == 9)
    check("vmap with in_dims", ig.vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(ig.ones((2, 3)), ig.ones(3)).shape == (3, 2))
    check("compile", ig.compile(lambda z: z + 1, mode="max-autotune")(ig.ones(1))[0] == 2)
    check("lower and compile", ig.jit(lambda z: z + 1).lower(ig.ones(2)).compile()(ig.ones(2))[0] == 2)
    for name, deviation in {"glorot_normal": (2 / 500) ** 0.5, "he_uniform": (2 / 300) ** 0.5, "lecun_normal": 300 ** -0.5}.items():
        made = getattr(ig.nn.initializers, name)()(key, (300, 200))
        check(f"initializers.{name}", made.shape == (300, 200) and abs(float(made.std()) / deviation - 1) < 0.02)
    for shape in ((3, 5), (5, 3)):
        q = np.asarray(ig.nn.initializers.orthogonal()(key, shape))
        check(f"initializers.orthogonal of {shape}", np.allclose(q @ q.T if shape[0] < shape[1] else q.T @ q, np.eye(3), atol=1e-5))
    norm = ig.scipy.stats.norm
    check("scipy.stats.norm", abs(float(norm.logpdf(0.5, 0, 2)) + 1.6433357) < 1e-5 and abs(float(norm.cdf(1.0)) - 0.8413447) < 1e-6 and
          abs(float(norm.ppf(ig.asarray(0.975))) - 1.959964) < 1e-4 and float(norm.sf(0.0)) == 0.5)
    check("scipy.signal.convolve", ig.scipy.signal.convolve(ig.ones(2), ig.ones(3)).tolist() == [1, 2, 2, 1])
    raises("scipy.stats without the function", AttributeError, lambda: ig.scipy.stats.skewnorm, "SCIPY_ARRAY_API")
    optimizer = ig.optim.SGD(learning_rate=0.1)
    optimizer.learning_rate = 0.2
    check("MLX's names", optimizer.lr == 0.2 and ig.fast.rms_norm(ig.ones((2, 2)), ig.ones(2)).shape == (2, 2) and
          float(ig.nn.losses.mse_loss(ig.ones(2), ig.zeros(2))) == 1 and
          ig.nn.losses.cross_entropy(ig.ones((2, 2)), ig.asarray([0, 1])).shape == (2,))
    check("Parameter", isinstance(net[0].weight, ig.nn.Parameter) and not isinstance(1.0, ig.nn.Parameter))
    check("platforms", ig.devices()[0].platform == ig.default_backend() == "cpu")
    check("lists", ig.around([1.5, 2.5]).tolist() == [2, 2] and ig.heaviside([-1.0, 0.0, 1.0], 0.5).tolist() == [0, 0.5, 1])


for test in (held_out, two_meanings, typed, bools, methods, in_place, pairs, facts, no_gradients, other_names):
    attempt(test.__name__, test)
finish()
