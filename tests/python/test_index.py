"""Indexing and assignment to items against NumPy: random keys of all kinds, random dtypes and values, and x.at."""
from against import attempt, check, finish, ig, np, raises, rng, same

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def elements(shape, dtype):
    x = rng.integers(-9, 10, shape).astype(dtype)
    return np.asarray(x + 1j * rng.integers(-9, 10, shape).astype(dtype)) if dtype.startswith("complex") else x


def random_slice(n):
    bound = lambda: None if rng.random() < 0.3 else int(rng.integers(-n - 2, n + 3))  # noqa: E731
    step = None if rng.random() < 0.4 else int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return slice(bound(), bound(), step)


def basic_key(shape):
    """Integers, slices, None and ... for some leading axes."""
    key, rest = [], rng.random() < 0.3
    for n in shape[:rng.integers(0, len(shape) + 1)]:
        kind = rng.random()
        if kind < 0.35 and n:
            key.append(int(rng.integers(-n, n)))
        elif kind < 0.9:
            key.append(random_slice(n))
        else:
            key += [None, random_slice(n)]
    if rest:
        key.insert(int(rng.integers(0, len(key) + 1)), Ellipsis)
        taken = sum(isinstance(k, (int, slice)) for k in key)
        if taken < len(key) - 1 or taken > len(shape):
            key.remove(Ellipsis)
        else:  # items after ... index the last axes
            at = key.index(Ellipsis)
            after = [k for k in key[at + 1:] if k is not None]
            if any(isinstance(k, int) for k in after) and len(set(shape)) > 1:
                key.remove(Ellipsis)
    return tuple(key)


def array_key(shape):
    """Index arrays or masks among slices and integers."""
    key, axis = [], 0
    size = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    while axis < len(shape):
        kind, n = rng.random(), shape[axis]
        if kind < 0.2:
            key.append(rng.random(n) < 0.5)
            size = (int(key[-1].sum()),)
            if any(isinstance(k, np.ndarray) for k in key[:-1]):
                key[-1] = slice(None)
        elif kind < 0.6:
            key.append(rng.integers(-n, n, size))
        else:
            key.append(random_slice(n))
        axis += 1
        if rng.random() < 0.2:
            break
    arrays = [k for k in key if isinstance(k, np.ndarray)]
    if len(arrays) > 1 and any(k.dtype == bool for k in arrays):
        key = [slice(None) if isinstance(k, np.ndarray) and k.dtype == bool else k for k in key]
    return tuple(key)


def ours(key):
    return tuple(ig.asarray(k) if isinstance(k, np.ndarray) else k for k in key)


def read_and_write(shape, dtype, key):
    x = elements(shape, dtype)
    y = ig.asarray(x)
    try:
        want = x[key]
    except (IndexError, ValueError):
        return
    same(f"x[{key}] of {dtype}{shape}", y[ours(key)], want)
    values = [elements((), dtype), elements(np.shape(want), dtype)]
    if np.ndim(want):
        values.append(elements(np.shape(want)[-1:], dtype))
    for value in values:
        if any(isinstance(k, np.ndarray) and k.dtype != bool and k.size != len({int(i) % n for i in k.flat})
               for k, n in zip([k for k in key if k is not None and k is not Ellipsis], shape)):
            continue  # places that are written twice: NumPy has no rule for several arrays
        before, z, w = x.copy(), ig.asarray(x), x.copy()
        held = z + 0
        w[key] = value
        z[ours(key)] = ig.asarray(value)
        same(f"x[{key}] = {np.shape(value)} in {dtype}{shape}", z, w)
        same("the array from before", held, before + np.zeros((), dtype) if dtype != "bool" else held)


def random_keys():
    for _ in range(400):
        shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(0, 4)))
        dtype = str(rng.choice(DTYPES))
        attempt("basic", read_and_write, shape, dtype, basic_key(shape))
        if shape:
            attempt("arrays", read_and_write, shape, dtype, array_key(shape))


def special():
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    y = ig.asarray(x)
    y[y > 5] = 0
    same("mask and a number", y, np.where(x > 5, 0, x).astype("f4"))
    y = ig.asarray(x)
    y[ig.asarray([True, False, True])] = 1
    same("a mask of rows", y, np.array([[1] * 4, [4, 5, 6, 7], [1] * 4], "f4"))
    y = ig.zeros((3, 3))
    y[1, 1] += 5
    y[0] = [1, 2, 3]
    same("+= at an item, a list as value", y, np.array([[1, 2, 3], [0, 5, 0], [0, 0, 0]], "f4"))
    same("a 0-d mask", ig.asarray(3.0)[ig.asarray(True)], np.array([3.0], "f4"))
    same("no rows", ig.asarray(x)[[]], x[[]])
    y = ig.asarray(x)
    same("at add twice", y.at[[0, 0], 1].add(1), np.array(x) + np.array([[0, 2, 0, 0]] + [[0] * 4] * 2, "f4"))
    same("at set", y.at[1].set(0), np.where(np.arange(3)[:, None] == 1, 0, x).astype("f4"))
    same("at max", y.at[0].max(2), np.maximum(x, np.array([[2], [0], [0]], "f4")))
    same("at min", y.at[2].min(9), np.minimum(x, np.array([[99], [99], [9]], "f4")))
    same("at divide twice", y.at[[0, 0], 1].divide(2), x / np.array([[1, 4, 1, 1]] + [[1] * 4] * 2, "f4"))
    same("at power", y.at[1].power(2), x ** np.array([[1], [2], [1]], "f4"))
    same("take of all elements", ig.take(y, [[5, 0]]), np.take(x, [[5, 0]]).astype("f4"))
    same("take of all elements by a method", y.T.take(indices=3, axis=None), np.take(x.T, 3).astype("f4"))
    same("take of all elements in vmap", ig.vmap(lambda v: v.take([2, 1]))(y.reshape(3, 2, 2)), x[:, [2, 1]].astype("f4"))
    same("at apply", y.at[[0, 1], 1].apply(lambda v: v * 2 + 1), np.where([[0, 1, 0, 0]] * 2 + [[0] * 4], x * 2 + 1, x).astype("f4"))
    same("at apply outside", y.at[[1, 7]].apply(ig.negative, mode="drop"), x * np.array([[1], [-1], [1]], "f4"))
    raises("at apply without a place", TypeError, lambda: y.at.apply(ig.sin), "x.at[i]")
    same("at mul", y.at[1].mul(3), y.at[1].multiply(3))
    same("at multiply", y.at[:, 0].multiply(2), x * np.array([2, 1, 1, 1], "f4"))
    same("unchanged", y, x)
    places, rows = ig.asarray([0, 5, -1, -9]), ig.asarray([[1.0], [2.0], [3.0], [4.0]])
    same("at drop", y.at[places].add(rows, mode="drop"), x + np.array([[1], [0], [3]], "f4"))
    same("at clip", y.at[places, 1].set(ig.asarray([7.0, 8, 8, 7]), mode="clip"), np.stack([[x[0, 0], 7, *x[0, 2:]], x[1], [x[2, 0], 8, *x[2, 2:]]]).astype("f4"))
    same("at fill", y.at[places, 0].get(mode="fill", fill_value=-1), np.array([x[0, 0], -1, x[2, 0], -1], "f4"))
    same("at get clip", y.at[1, places].get(mode="clip"), x[1, [0, 3, 3, 0]])
    same("at a number outside", ig.arange(4).at[9].set(1, mode="drop"), np.arange(4))
    same("in order", y.at[..., 1].set(0, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds"), np.where(np.arange(4) == 1, 0, x).astype("f4"))
    same("gradient of drop", ig.grad(lambda v: (y.at[places, 0].add(v, mode="drop") ** 2).sum())(ig.zeros(4)), np.array([2 * x[0, 0], 0, 2 * x[2, 0], 0], "f4"))
    raises("a mode", ValueError, lambda: y.at[0].set(1, mode="wrap"), "clip")
    for key in (5, (0, 9), -4, (0, 0, 0)):
        raises(f"x[{key}]", IndexError, lambda: ig.asarray(x)[key])
    raises("x['a']", IndexError, lambda: y["a"])
    raises("a value that does not fit", ValueError, lambda: y.__setitem__(0, [1.0, 2.0]))
    check("iteration", [float(r.sum()) for r in ig.asarray(x)] == x.sum(1).tolist())
    check("len", len(ig.asarray(x)) == 3)


attempt("random keys", random_keys)
attempt("special", special)
finish()
