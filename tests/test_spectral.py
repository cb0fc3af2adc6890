"""Decompositions against their definitions and LAPACK, through `ingot eval`.

Matrices are random, ill-conditioned, graded, clustered, rank-deficient, near overflow, tiny, and special ones. Backward
errors and the orthogonality of vectors must be within BOUND * n units of roundoff. Gradients are compared with
differences. INGOT names the command, INGOT_DEVICE the device. Ends with "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
DEVICE = os.environ.get("INGOT_DEVICE", "cpu")
BOUND = 12
FOLDER = tempfile.TemporaryDirectory()
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
QUICK = bool(os.environ.get("IG_TEST_QUICK"))
DTYPES = DTYPES[::3] if QUICK else DTYPES
REAL = [dtype for dtype in DTYPES if dtype().dtype.kind == "f"]

rng = np.random.default_rng(11)
counts = {True: 0, False: 0}


def check(holds, what):
    counts[bool(holds)] += 1
    if not holds:
        print(f"FAILED {what}")


def path(name):
    return os.path.join(FOLDER.name, name + ".npy")


def ingot(script):
    """What the script prints; None if it fails."""
    done = subprocess.run([INGOT, "eval", "--device", DEVICE, script], capture_output=True, text=True, timeout=300)
    if done.returncode:
        check(False, f"{script[:200]}: {done.stderr[:300]}")
        return None
    return done.stdout


def refusal(script):
    """The message of a script that must fail; empty if it does not."""
    done = subprocess.run([INGOT, "eval", "--device", DEVICE, script], capture_output=True, text=True, timeout=300)
    return done.stderr if done.returncode else ""


def decompose(calls):
    """calls: (expression of a, matrix, number of results). The results of each, from one script."""
    lines = []
    for i, (call, a, n) in enumerate(calls):
        np.save(path(f"a{i}"), a)
        lines.append(f'a = load("{path(f"a{i}")}"); r = {call}')
        lines += [f'save("{path(f"r{i}_{k}")}", {"r" if n == 1 else f"r[{k}]"})' for k in range(n)]
    if ingot("\n".join(lines)) is None:
        return []
    return [[np.load(path(f"r{i}_{k}")) for k in range(n)] for i, (_, _, n) in enumerate(calls)]


def random(shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def matrices(m, n, dtype, hermitian):
    """(name, matrix)"""
    info, k = np.finfo(dtype), min(m, n)
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64

    def half(x):
        return (x + x.conj().T) / 2 if hermitian else x

    def with_values(s):
        u = np.linalg.qr(random((m, m), wide))[0][:, :k]
        v = u if hermitian else np.linalg.qr(random((n, n), wide))[0][:, :k]
        return half((u * s) @ v.conj().T)

    plain = half(random((m, n), wide))
    unit = plain / abs(plain).max()
    scale = np.logspace(0, -10 if info.bits == 32 else -30, max(m, n))
    graded = half(random((m, n), wide) * np.sqrt(scale[:m, None] * scale[None, :n]))
    yield from {
        "random": plain,
        "ill-conditioned": with_values(np.logspace(0, 1.2 * np.log10(info.eps), k)),
        "clustered": with_values(1 + info.eps * np.arange(k)),
        "rank-deficient": with_values(np.where(np.arange(k) < (k + 2) // 3, 1.0, 0.0)),
        "graded": graded, "graded backwards": graded[::-1, ::-1],
        "huge": unit * (float(info.max) / max(m, n) / 4), "tiny": unit * float(info.tiny) * 4,
        "zero": np.zeros((m, n)), "identity": np.eye(m, n), "ones": np.ones((m, n)),
    }.items()


def scaled(a, dtype):
    """a in longer numbers, with largest element 1, and the factor that does it."""
    most = float(abs(a.astype(np.complex128)).max()) or 1.0
    return a.astype(np.clongdouble) / most, most


def far(x, n, dtype):
    """True if an error exceeds the bound; x is relative to the norm."""
    return not float(abs(x).max()) <= BOUND * n * np.finfo(dtype).eps / 2


def check_orthogonal(v, n, dtype, what):
    v = v.astype(np.clongdouble)
    check(not far(v.conj().T @ v - np.eye(v.shape[1]), n, dtype), f"{what}: vectors are not orthogonal")


def norm_of(a):
    return np.linalg.norm(a.astype(np.complex128), 2) or 1.0


def check_eigh(dtype):
    cases = [(name, a.astype(dtype)) for n in (1, 2, 5, 17, 70) for name, a in matrices(n, n, dtype, True)]
    for (name, a), (w, v) in zip(cases, decompose([("eigh(a)", a, 2) for _, a in cases])):
        n, what = len(a), f"eigh of a {name} {np.dtype(dtype)} matrix of {len(a)}"
        x, most = scaled(a, dtype)
        values = w.astype(np.longdouble) / most
        check(not far((x @ v - v * values) / norm_of(x), n, dtype), f"{what}: A V is not V W")
        check(not far((np.linalg.eigvalsh(x.astype(np.complex128)) - values) / norm_of(x), n, dtype), f"{what}: values")
        check(np.all(np.diff(w) >= 0), f"{what}: order")
        check_orthogonal(v, n, dtype, what)


def graded(dtype):
    """(name, Hermitian matrix) with rows and columns of very different sizes, in several orders."""
    f64 = np.finfo(dtype).eps < 1e-10
    for n, span in ((90, 30 if f64 else 8), (150, 8 if f64 else 4)):
        down = np.logspace(0, -span, n)
        for order, scale in {"down": down, "up": down[::-1], "peak": np.r_[down[::2][::-1], down[1::2]],
                             "valley": np.r_[down[::2], down[1::2][::-1]], "shuffled": rng.permutation(down)}.items():
            x, root = random((n, n), dtype), np.sqrt(scale)
            beside = np.diag(0.7 * root[1:] * root[:-1], 1)
            rows = random((64, n), dtype) * scale
            yield from ((f"{kind} {order} {span}", a.astype(dtype)) for kind, a in
                        (("dense", (x + x.conj().T) * root[:, None] * root), ("product", rows.conj().T @ rows),
                         ("tridiagonal", np.diag(scale) + beside + beside.T), ("zero diagonal", beside + beside.T)))


def check_graded(dtype):
    cases = list(graded(dtype))
    for (name, a), (w, v) in zip(cases, decompose([("eigh(a)", a, 2) for _, a in cases])):
        n, what = len(a), f"eigh of a graded matrix, {name}, {np.dtype(dtype)} of {len(a)}"
        h = (np.tril(a, -1) + np.tril(a, -1).conj().T + np.diag(np.diag(a).real)).astype(np.complex128)
        v = v.astype(np.complex128)
        check(not far((h @ v - v * w.astype(np.float64)) / norm_of(h), n, dtype), f"{what}: A V is not V W")
        check(not far(v.conj().T @ v - np.eye(n), n, dtype), f"{what}: vectors are not orthogonal")


def check_large(dtype):
    """Matrices that are divided, in plain f64."""
    cases = [(name, a.astype(dtype)) for n in (171,) for name, a in matrices(n, n, dtype, True)]
    for (name, a), (w, v) in zip(cases, decompose([("eigh(a)", a, 2) for _, a in cases])):
        n, what, most = len(a), f"eigh of a {name} {np.dtype(dtype)} matrix of {len(a)}", float(abs(a).max()) or 1.0
        x, values, v = a.astype(np.float64) / most, w.astype(np.float64) / most, v.astype(np.float64)
        check(not far((x @ v - v * values) / norm_of(x), n, dtype), f"{what}: A V is not V W")
        check(not far((np.linalg.eigvalsh(x) - values) / norm_of(x), n, dtype), f"{what}: values")
        check(not far(v.T @ v - np.eye(n), n, dtype), f"{what}: vectors are not orthogonal")
        largest = np.take_along_axis(v, abs(v).argmax(0)[None], 0)
        check(np.all(np.diff(w) >= 0) and np.all(largest > 0), f"{what}: order and signs")
    cases = [(name, a.astype(dtype)) for m, n in ((131, 131), (150, 129)) for name, a in matrices(m, n, dtype, False)]
    for (name, a), (u, s, vh), (values,) in zip(cases, decompose([("svd(a)", a, 3) for _, a in cases]),
                                                decompose([("svdvals(a)", a, 1) for _, a in cases])):
        n, k, most = max(a.shape), min(a.shape), float(abs(a).max()) or 1.0
        what = f"svd of a {name} {np.dtype(dtype)} matrix {a.shape}"
        x, s, u, vh = (y.astype(np.float64) for y in (a / dtype(most), s / dtype(most), u, vh))
        check(not far(((u[:, :k] * s) @ vh[:k] - x) / norm_of(x), n, dtype), f"{what}: U S V^H is not A")
        check(not far((np.linalg.svd(x, compute_uv=False) - s) / norm_of(x), n, dtype), f"{what}: values")
        check(not far((values / dtype(most) - s) / norm_of(x), n, dtype), f"{what}: svdvals")
        check(not far(u.T @ u - np.eye(len(u)), n, dtype), f"{what}: left vectors are not orthogonal")
        check(not far(vh @ vh.T - np.eye(len(vh)), n, dtype), f"{what}: right vectors are not orthogonal")
        check(np.all(np.diff(s) <= 0) and np.all(s >= 0), f"{what}: order")


def check_svd(dtype):
    shapes = [(1, 1), (3, 3), (17, 17), (7, 3), (3, 7), (20, 13), (5, 1), (32, 32), (70, 70), (64, 90)]
    cases = [(name, a.astype(dtype), full) for m, n in shapes for name, a in matrices(m, n, dtype, False)
             for full in ((True, False) if m != n else (True,))]
    for (name, a, full), (u, s, vh) in zip(
            cases, decompose([(f"svd(a, full_matrices={full})", a, 3) for _, a, full in cases])):
        (m, n), k = a.shape, min(a.shape)
        what = f"svd of a {name} {np.dtype(dtype)} matrix {a.shape}"
        x, most = scaled(a, dtype)
        values = s.astype(np.longdouble) / most
        check(u.shape == (m, m if full else k) and vh.shape == (n if full else k, n), f"{what}: shapes")
        check(not far(((u[:, :k] * values) @ vh[:k] - x) / norm_of(x), max(m, n), dtype), f"{what}: U S V^H is not A")
        check(not far((np.linalg.svd(x.astype(np.complex128), compute_uv=False) - values) / norm_of(x), max(m, n), dtype),
              f"{what}: values")
        check(np.all(np.diff(s) <= 0) and np.all(s >= 0), f"{what}: order")
        check_orthogonal(u, max(m, n), dtype, what)
        check_orthogonal(vh.conj().T, max(m, n), dtype, what)


def check_eig(dtype):
    cases = []
    for n in (1, 2, 5, 17, 40):
        cases += [(name, a.astype(dtype)) for name, a in matrices(n, n, dtype, False)]
        more = {"cyclic": np.roll(np.eye(n), 1, 0), "nilpotent": np.eye(n, k=1), "triangular": np.triu(random((n, n), dtype)),
                "defective": 2 * np.eye(n) + np.eye(n, k=1), "skew": np.triu(np.ones((n, n)), 1) - np.tril(np.ones((n, n)), -1)}
        cases += [(name, a.astype(dtype)) for name, a in more.items()]
    for (name, a), (w, v) in zip(cases, decompose([("eig(a)", a, 2) for _, a in cases])):
        n, what = len(a), f"eig of a {name} {np.dtype(dtype)} matrix of {len(a)}"
        x, most = scaled(a, dtype)
        values, v = w.astype(np.clongdouble) / most, v.astype(np.clongdouble)
        check(w.dtype.kind == "c", f"{what}: dtype")
        check(not far((x @ v - v * values) / norm_of(x), n, dtype), f"{what}: A V is not V W")
        check(not far((abs(v) ** 2).sum(0) - 1, n, dtype), f"{what}: lengths of vectors")
        check(not far((values.sum() - np.trace(x)) / norm_of(x), n, dtype), f"{what}: the sum of the values")


def check_stacks():
    for dtype in DTYPES:
        a = random((2, 3, 4, 4), dtype)
        for i, (w, v) in enumerate(decompose([("eigh(a)", a, 2), ("eig(a)", a, 2)])):
            h = np.tril(a, -1) + np.conj(np.swapaxes(np.tril(a, -1), -1, -2)) + np.eye(4) * a.real if i == 0 else a
            check(not far((h @ v - v * w[..., None, :]) / 8, 4, dtype), f"{('eigh', 'eig')[i]} of a stack of {np.dtype(dtype)}")
        one = decompose([("eigh(a)", a[1, 2], 2)])[0]
        many = decompose([("eigh(a)", a, 2)])[0]
        check(np.array_equal(one[1], many[1][1, 2]), "a matrix of a stack has other bits than alone")
    for dtype in REAL:
        a = random((2, 1, 130, 130), dtype)
        (w, v), (values,), one = decompose([("eigh(a)", a, 2), ("eigvalsh(a)", a, 1), ("eigh(a)", a[1, 0], 2)])
        check(np.array_equal(one[0], w[1, 0]) and np.array_equal(one[1], v[1, 0]), "a large matrix of a stack has other bits")
        check(not far((values - w) / 40, 130, dtype), "eigvalsh and eigh of large matrices differ")
        found, one = decompose([("svd(a)", a, 3), ("svd(a)", a[1, 0], 3)])
        check(all(np.array_equal(x[1, 0], y) for x, y in zip(found, one)), "svd of a large matrix of a stack has other bits")
    for shape, call, shapes in (((0, 0), "eigh(a)", [(0,), (0, 0)]), ((0, 3), "svd(a)", [(0, 0), (0,), (3, 3)]),
                                ((2, 0, 0), "eig(a)", [(2, 0), (2, 0, 0)]),
                                ((3, 0), "svd(a, full_matrices=False)", [(3, 0), (0,), (0, 0)])):
        found = decompose([(call, np.zeros(shape), len(shapes))])[0]
        check([x.shape for x in found] == shapes, f"{call} of an empty matrix: {[x.shape for x in found]}")


def check_small(call, hermitian, results):
    """Matrices of a stack, which are computed together, have the bits of each alone."""
    for dtype in DTYPES:
        shapes = ((1, 1, 9), (2, 2, 8), (5, 5, 13), (8, 8, 37), (17, 17, 23), (32, 32, 16), (3, 8, 21), (31, 9, 17))
        for m, n, count in shapes[2::3] if QUICK else shapes:
            n = m if hermitian else n
            a = np.stack([x for _ in range(4) for _, x in matrices(m, n, dtype, hermitian)][-count:]).astype(dtype)
            found, *alone = decompose([(call, a, results)] + [(call, x, results) for x in a])
            what = f"{call} of a stack of {np.dtype(dtype)} {a.shape}"
            for i, one in enumerate(alone):
                check(all(x[i].tobytes() == y.tobytes() for x, y in zip(found, one)), f"{what}: matrix {i} has other bits than alone")


def check_refused():
    """Values that are not finite, and polynomials that begin with 0, must fail with a message."""
    for dtype in DTYPES:
        for value in (np.nan, np.inf):
            a = random((2, 3, 3), dtype)
            a[1, 2, 1] = value
            np.save(path("a"), a)
            for call, op in (("eigh(a)[0]", "eigh"), ("eigh(a)[1]", "eigh"), ("eigvalsh(a)", "eigh"), ("svd(a)[0]", "svd"),
                             ("svdvals(a)", "svd"), ("eig(a)[1]", "eig"), ("eigvals(a)", "eig"), ("pinv(a)", "svd"),
                             ("matrix_rank(a)", "svd"), ("cond(a)", "svd"), ("lstsq(a, a)[0]", "svd"),
                             ("grad(sum(eigvalsh(a)), a)", "eigh")):
                said = refusal(f'a = load("{path("a")}"); print({call})')
                check(f"{op}: matrix 1 has an element that is not finite" in said, f"{call} with {value}: {said[:200]}")
    for p in ("[0.0, 1.0]", "[0.0, 1.0, 2.0]", "[0j, 1j, 2.0]"):
        said = refusal(f"print(roots({p}))")
        check("the first coefficient must not be 0" in said, f"roots({p}): {said[:200]}")
    got = ingot('a = asarray([[2.0, nan], [1.0, 2.0]]); print(eigvalsh(a))')
    check(got is not None and "nan" not in got, f"eigvalsh read the other triangle: {got}")


def check_functions():
    for dtype in DTYPES:
        slack = 2e-4 if np.finfo(dtype).bits == 32 else 1e-12
        a, b = random((7, 4), dtype), random((7, 2), dtype)
        low = (a[:, :2] @ random((2, 4), dtype)).astype(dtype)
        square = random((5, 5), dtype)
        calls = [("pinv(a)", a, 1), ("pinv(a)", low, 1), ("matrix_rank(a)", low, 1), ("cond(a)", a, 1)]
        wanted = [np.linalg.pinv(a), np.linalg.pinv(low, 10 * np.finfo(dtype).eps), 2, np.linalg.cond(a)]
        for p in (2, -2, 1, -1, "fro", "nuc"):
            calls.append((f"cond(a, {p!r})", square, 1))
            wanted.append(np.linalg.cond(square, p))
        calls.append(("cond(a, inf)", square, 1))
        wanted.append(np.linalg.cond(square, np.inf))
        for (call, _, _), (got,), want in zip(calls, decompose(calls), wanted):
            check(np.allclose(got, want, rtol=slack, atol=slack * np.abs(want).max()), f"{call} of {np.dtype(dtype)}")
        np.save(path("b"), b)
        for x in (a, low):
            got = decompose([(f'lstsq(a, load("{path("b")}"))', x, 4)])[0]
            want = np.linalg.lstsq(x, b, rcond=10 * np.finfo(dtype).eps)
            check(np.allclose(got[0], want[0], rtol=10 * slack, atol=10 * slack), f"lstsq of {np.dtype(dtype)}")
            check(got[2] == want[2] and np.allclose(got[3], want[3], atol=10 * slack), f"lstsq of {np.dtype(dtype)}: rank")
            check(np.allclose(got[1], (abs(b - x @ want[0]) ** 2).sum(0), rtol=10 * slack), "lstsq: squares")
    p = rng.standard_normal(8)
    got, want = decompose([("roots(a)", p, 1)])[0][0], np.roots(p)
    check(abs(got[:, None] - want).min(1).max() < 1e-10 and abs(got[:, None] - want).min(0).max() < 1e-10, "roots")


ADJOINT = "matrix_transpose(conj({}))"
LOSSES = [  # of a, with a constant c of its shape; no phase of a vector changes them
    ("sum(real((svd(a, False)[0] * exp(-svd(a)[1])) @ svd(a, False)[2] * c))", [(4, 4), (5, 3), (3, 5)]),
    ("sum(abs(svd(a, False)[0]) ** 2 * real(c))", [(5, 3)]),
    ("sum(abs(svd(a, False)[2]) ** 2 * real(c))", [(3, 5)]),
    ("sum(svdvals(a) ** 2) + cond(a)", [(5, 3)]),
    ("sum(real((eigh(a)[1] * exp(-eigh(a)[0])) @ " + ADJOINT.format("eigh(a)[1]") + " * c))", [(4, 4)]),
    ("sum(real(pinv(a) * matrix_transpose(c)))", [(5, 3), (3, 5)]),
    ("sum(real(eig(a)[0] ** 2 * c[0])) + sum(abs(eigvals(a)))", [(4, 4)]),
    ("sum(real(eig(a)[1] * conj(eig(a)[1][0]) * c))", [(4, 4)]),
]


def check_gradients():
    step = 1e-5
    for loss, shapes in LOSSES:
        for shape in shapes:
            for dtype in (np.float64, np.complex128):
                for name in "adc":
                    np.save(path(name), random(shape, dtype))
                text = "".join(f'{name} = load("{path(name)}"); ' for name in "adc")
                text += f"print(sum(real(grad({loss}, a) * d)))\nb = a\n"
                for sign in (step, -step):
                    text += f"a = b + {sign} * d; print({loss})\n"
                said = ingot(text)
                if said is None:
                    continue
                got, high, low = (float(line) for line in said.split())
                want = (high - low) / (2 * step)
                check(abs(got - want) <= 1e-6 * max(1, abs(want)), f"gradient of {loss} {shape} {np.dtype(dtype)}: {got}, not {want}")
    got = ingot("a = eye(3); print(grad(sum(pinv(a) * arange(9.0).reshape([3, 3])), a))")
    check(got is not None and np.array_equal(np.fromstring(got.replace("[", " ").replace("]", " "), sep=" "),
                                             -np.arange(9.0)), f"gradient of pinv at the identity: {got}")


def main():
    np.seterr(all="ignore")
    for dtype in DTYPES:
        check_eigh(dtype)
        check_graded(dtype)
        check_svd(dtype)
        check_eig(dtype)
    check_stacks()
    os.environ["IG_OVERRIDES"] = "off"
    for dtype in REAL:
        check_large(dtype)
    check_stacks()
    check_small("eigh(a)", True, 2)
    check_small("eigvalsh(a)", True, 1)
    check_small("svd(a)", False, 3)
    del os.environ["IG_OVERRIDES"]
    check_refused()
    check_functions()
    check_gradients()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
