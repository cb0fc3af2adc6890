"""Factorizations and systems against their definitions, through `ingot eval`.

Matrices are random, ill-conditioned, graded, clustered, rank-deficient, near overflow, tiny, and special ones, of sizes
around those of blocks. Backward errors must be within BOUND * n units of roundoff. The number of threads and the place in
a stack must not change a bit, and math mode `same` has the bits of the kernels. INGOT names the command, INGOT_DEVICE the device. Ends with "N passed, N failed".
"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
os.environ["IG_OVERRIDES"] = "off"  # the code of Ingot, not of a LAPACK

from test_spectral import DEVICE, DTYPES, INGOT, QUICK, check, counts, decompose, matrices, path, random, refusal, scaled  # noqa: E402

BOUND = 12
SIZES = ((1, 1), (33, 70), (100, 33))


def small(error, size, n, dtype, what):
    """Checks a matrix of errors, relative to a norm."""
    check(np.linalg.norm(error.astype(np.complex128)) <= BOUND * n * np.finfo(dtype).eps * size, what)


def check_lu(dtype):
    cases = [(name, a.astype(dtype)) for m, n in SIZES for name, a in matrices(m, n, dtype, False)]
    for (name, a), (p, low, up) in zip(cases, decompose([("lu(a)", a, 3) for _, a in cases])):
        what = f"lu of a {name} {np.dtype(dtype)} matrix {a.shape}"
        x, most = scaled(a, dtype)
        x = x.astype(np.complex128)
        wide = low.astype(np.complex128)
        small(p.astype(wide.dtype) @ (wide @ (up.astype(wide.dtype) / most)) - x,
              np.linalg.norm(wide) * np.linalg.norm(up / most), max(a.shape), dtype, what)
        check(abs(np.tril(low)).max() <= 1.5 and not np.triu(low, 1).any() and not np.tril(up, -1).any(), f"{what}: shape")


def check_qr(dtype):
    cases = [("qr(a)", name, a.astype(dtype)) for m, n in SIZES for name, a in matrices(m, n, dtype, False)]
    cases += [(f'qr(a, "{mode}")', "random", random(shape, dtype)) for shape in ((300, 150), (150, 300), (257, 257), (400, 129))
              for mode in ("reduced", "complete")]
    for (call, name, a), (q, r) in zip(cases, decompose([(call, a, 2) for call, _, a in cases])):
        what = f"{call} of a {name} {np.dtype(dtype)} matrix {a.shape}"
        check(not np.tril(r, -1).any(), f"{what}: shape")
        x, most = scaled(a, dtype)
        x = x.astype(np.complex128)
        q = q.astype(np.complex128)
        small(q @ (r.astype(q.dtype) / most) - x, np.linalg.norm(x), max(a.shape), dtype, what)
        small(q.conj().T @ q - np.eye(q.shape[1]), 1, max(a.shape), dtype, f"{what}: not orthogonal")


def long_matrices(dtype):
    """(name, matrix) of at least four slabs of rows (src/engine/numeric/qr.c), or a few rows less"""
    for m, n in ((4095, 1), (4096, 1), (5003, 7), (4200, 33), (8192, 257)):
        yield "random", random((m, n), dtype)
    a = random((5000, 5), dtype)
    yield "stacked", random((2, 4100, 3), dtype)
    yield "graded", a * np.logspace(0, -6, 5000)[:, None].astype(dtype)
    yield "rank-deficient", np.concatenate([a, a[:, :2]], -1)
    yield "zero", np.zeros((4500, 3), dtype)
    yield "mostly zero", np.where(np.arange(5000)[:, None] < 1500, a, 0)
    yield "huge", (a / abs(a).max() * (float(np.finfo(dtype).max) / 1e5)).astype(dtype)


def check_long(dtype):
    """Matrices whose rows are factored in slabs. The error bound depends on the number of columns, not on that of rows."""
    cases = list(long_matrices(dtype))
    found = decompose([("qr(a)", a, 2) for _, a in cases])
    others = decompose([('qr(a, "r")[0]', a, 1) for _, a in cases])
    values = decompose([("svd(a, full_matrices=false)", a, 3) for _, a in cases])
    for (name, a), (q, r), (only,), (u, s, v) in zip(cases, found, others, values):
        what, n = f"a long {name} {np.dtype(dtype)} matrix {a.shape}", a.shape[-1] + 32
        x, most = scaled(a, dtype)
        x = x.astype(np.complex128)
        q, u, v = (y.astype(np.complex128) for y in (q, u, v))
        check(not np.tril(r, -1).any() and r.tobytes() == only.tobytes(), f"R of {what}")
        for one, i in ((x[i], i) for i in np.ndindex(x.shape[:-2])):
            size = np.linalg.norm(one)
            small(q[i] @ (r[i] / most) - one, size, n, dtype, f"qr of {what}")
            small(q[i].conj().T @ q[i] - np.eye(a.shape[-1]), 1, n, dtype, f"qr of {what}: not orthogonal")
            small((u[i] * (s[i] / most)) @ v[i] - one, size, n, dtype, f"svd of {what}")
            small(u[i].conj().T @ u[i] - np.eye(a.shape[-1]), 1, n, dtype, f"svd of {what}: not orthogonal")
            check((np.diff(s[i]) <= 0).all(), f"order of singular values of {what}")


def check_long_gradients():
    """Derivatives of factors of a long matrix, by differences."""
    a, w = random((4099, 3), np.float64), random((3, 3), np.float64)
    w[np.arange(3), np.arange(3)] += 3  # signs of rows of Q and R cancel
    np.save(path("long"), a)
    for loss in ("sum(x[1] * x[1] * w) + sum((x[0] * x[0]) @ w)", "sum(svdvals(a) * w[0])"):
        program = f'a = load("{path("long")}"); w = array({w.tolist()}, dtype=f64); '
        lines = program + f'x = qr(a); y = {loss}; save("{path("slope")}", grad(y, a)); '
        for i, sign in enumerate("+-"):
            lines += (f'b = load("{path("long")}"); a = b {sign} 1e-6 * cos(arange(4099 * 3, dtype=f64)).reshape([4099, 3]); '
                      f'x = qr(a); save("{path(f"y{i}")}", {loss}); ')
        subprocess.run([INGOT, "eval", "--device", DEVICE, lines], check=True)
        slope = float((np.load(path("slope")) * np.cos(np.arange(4099.0 * 3)).reshape(4099, 3)).sum())
        step = (np.load(path("y0")) - np.load(path("y1"))) / 2e-6
        check(abs(slope - step) <= 1e-5 * max(1, abs(step)), f"gradient of {loss}: {slope}, by differences {step}")


def check_cholesky(dtype):
    cases = []
    for n in (1, 33, 150):
        a = random((n, n), dtype)
        grade = np.logspace(0, -3, n)
        for name, scale in (("random", 1), ("huge", 1e15), ("tiny", 1e-15), ("graded", grade[:, None] * grade)):
            cases.append((name, ((a @ a.conj().T + n * np.eye(n)) * scale).astype(dtype)))
    for (name, a), (low,) in zip(cases, decompose([("cholesky(a)", a, 1) for _, a in cases])):
        what, n = f"cholesky of a {name} {np.dtype(dtype)} matrix of {len(a)}", len(a)
        low = low.astype(np.complex128)
        small(low @ low.conj().T - a, np.linalg.norm(a), n, dtype, what)
        check(not np.triu(low, 1).any(), f"{what}: shape")


def check_systems(dtype):
    cases = []
    for n, columns in ((1, 1), (33, 1), (65, 40), (130, 70)):
        a, b = random((n, n), dtype), random((n, columns), dtype)
        cases += [(name, np.concatenate([x.astype(dtype), b], 1)) for name, x in
                  (("random", a), ("dominant", a + n * np.eye(n)), ("graded", a * np.logspace(0, -4, n)))]
    calls = ["solve(a[:, :a.shape[0]], a[:, a.shape[0]:])", "inv(a[:, :a.shape[0]])"]
    calls += [f"solve_triangular(a[:, :a.shape[0]] + a.shape[0] * eye(a.shape[0]), a[:, a.shape[0]:], lower={low})"
              for low in ("true", "false")]
    for k, call in enumerate(calls):
        done = decompose([(call, ab, 1) for _, ab in cases])
        for (name, ab), (x,) in zip(cases, done):
            n = len(ab)
            a, b = ab[:, :n].astype(np.complex128), np.eye(n) if k == 1 else ab[:, n:].astype(np.complex128)
            a = a if k < 2 else (np.tril if k == 2 else np.triu)(a + n * np.eye(n))
            x = x.astype(np.complex128)
            small(a @ x - b, np.linalg.norm(a) * np.linalg.norm(x) + (0 if k == 1 else np.linalg.norm(b)), n, dtype,
                  f"{call} of a {name} {np.dtype(dtype)} matrix of {n}")


def check_bits():
    """One thread or all, alone or in a stack: the same bits."""
    for dtype in DTYPES:
        n = 150
        a, b = random((3, n, n), dtype), random((3, n, 40), dtype)
        s = (a @ np.swapaxes(a.conj(), -1, -2) + n * np.eye(n)).astype(dtype)
        for name, x in (("a", a), ("b", b), ("s", s)):
            np.save(path("bits_" + name), x)
        found = []
        for threads in ("1", "2"):
            for at in ("", "[1]"):
                lines = [f'{x} = load("{path("bits_" + x)}"){at}' for x in "abs"] + ["f = lu(a)", "q = qr(a)"]
                for i, result in enumerate(("cholesky(s)", "solve(a, b)", "inv(a)", "f[1]", "f[2]", "q[0]", "q[1]")):
                    lines.append(f'save("{path(f"bits_{i}")}", {result})')
                subprocess.run([INGOT, "eval", "--device", DEVICE, "\n".join(lines)], check=True,
                               env={**os.environ, "IG_NUM_THREADS": threads})
                results = [np.load(path(f"bits_{i}")) for i in range(7)]
                found.append([(x if at else x[1]).tobytes() for x in results])
        for other in found[1:]:
            check(other == found[0], f"bits of {np.dtype(dtype)}")


def check_small():
    """Matrices of a stack, which are computed together, have the bits of each alone, and a bad one is named."""
    for dtype in DTYPES:
        shapes = ((1, 9, 1), (2, 8, 3), (5, 13, 1), (8, 37, 1), (17, 19, 4), (31, 17, 2), (32, 16, 1), (9, 11, 6))
        for n, count, columns in shapes[1::3] if QUICK else shapes:
            a, b = random((count, n, n), dtype), random((count, n, columns), dtype)
            a[1] = np.eye(n)
            s = (a @ np.swapaxes(a.conj(), -1, -2) + np.eye(n)).astype(dtype)
            for call, results in (("cholesky(a[0])", 1), ("lu_factor(a[1])", 2), ("solve(a[1], a[2])", 1),
                                  ("solve_triangular(a[0], a[2], lower=true)", 1),
                                  ("solve_triangular(a[0], a[2], trans=1, unit_diagonal=true)", 1)):
                pairs = [np.concatenate([s[i], a[i], b[i]], -1) for i in range(count)]
                whole = call.replace("a[0]", f"a[..., :{n}]").replace("a[1]", f"a[..., {n}:{2 * n}]").replace("a[2]", f"a[..., {2 * n}:]")
                found, *alone = decompose([(whole, np.stack(pairs), results)] + [(whole, x, results) for x in pairs])
                for i, one in enumerate(alone):
                    check(all(x[i].tobytes() == y.tobytes() for x, y in zip(found, one)),
                          f"{call} of matrix {i} of a stack of {np.dtype(dtype)} {a.shape}: other bits than alone")
            a[count - 2], s[count - 2] = 0, -s[count - 2]
            for call, x in (("cholesky(a)", s), ("inv(a)", a)):
                np.save(path("a"), x)
                said = refusal(f'a = load("{path("a")}"); print({call})')
                check(f"matrix {count - 2}" in said, f"{call} of a stack with a bad {np.dtype(dtype)} matrix: {said[:200]}")


def check_same():
    """The blocks of the CPU have the bits of the kernels, which another device runs."""
    for dtype in DTYPES:
        # The kernels run one lane after the other: a large complex matrix takes most of a minute.
        for n in (45, 150) if QUICK else (45, 150, 261):
            a = random((n, n + 5), dtype)
            np.save(path("same"), a)
            found = []
            for device in ("cpu", "gang"):
                lines = [f'a = load("{path("same")}"); s = a @ conj(matrix_transpose(a)) + eye({n}); b = a[:, :{n}]',
                         "f = lu(a); g = lu(matrix_transpose(a)); q = qr(b)"]
                results = ("cholesky(s)", "solve(b, a)", "solve(b, a[:, 0])", "inv(b)", "f[1]", "f[2]", "g[1]", "g[2]", "q[0]", "q[1]",
                           "cholesky(stack([s, 2*s]))", "solve(stack([b, s]), stack([a, a]))")
                lines += [f'save("{path(f"same_{i}")}", {result})' for i, result in enumerate(results)]
                subprocess.run([INGOT, "eval", "--device", device, "\n".join(lines)], check=True,
                               env={**os.environ, "IG_MATH": "same"})
                found.append([np.load(path(f"same_{i}")).tobytes() for i in range(len(results))])
            for result, x, y in zip(results, *found):
                check(x == y, f"bits of {result} of {np.dtype(dtype)} {n}, on two devices")


def main():
    for dtype in DTYPES:
        check_lu(dtype)
        check_qr(dtype)
        check_long(dtype)
        check_cholesky(dtype)
        check_systems(dtype)
    check_bits()
    check_small()
    check_long_gradients()
    if DEVICE == "cpu":
        check_same()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
