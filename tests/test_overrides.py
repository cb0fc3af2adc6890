"""Overrides of linear algebra and transforms by libraries (IG_OVERRIDES), against own code and NumPy, through `ingot eval`.

Every op, dtype and odd shape is computed twice: with IG_OVERRIDES=all and off. Both must satisfy the definition, agree, and
fail with the same messages. Gradients and vmap are compared, too. `--explain` shows that the library was used, and that
math mode `same` never uses it. INGOT names the command, INGOT_DEVICE the device. Ends with "N passed, N failed", or says
that there is no library.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
DEVICE = os.environ.get("INGOT_DEVICE", "cpu")
FOLDER = tempfile.TemporaryDirectory()
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
LIBRARY = re.compile(r"by (openblas|accelerate|lapack|cuSOLVER|cuBLAS|cuFFT)\b")
MATRIX_OPS = ["lu(a)[1]", "solve(a, b)", "inv(a)", "qr(a)[1]", "eigh(s)[0]", "svd(a)[1]", "det(a)",
              "solve_triangular(a, b, lower=True)"]
# On the CPU, own code computes cholesky and transforms.
CUDA_OPS = ["cholesky(s)", "abs(fft(a))", "abs(ifft(a))", "abs(rfft(a))", "irfft(a)"] if DEVICE.startswith("cuda") else []
np.seterr(all="ignore")
rng = np.random.default_rng(5)
counts = {True: 0, False: 0}


def check(holds, what):
    counts[bool(holds)] += 1
    if not holds:
        print(f"FAILED {what}")


def run(script, overrides, *options, math="strict"):
    env = dict(os.environ, IG_OVERRIDES=overrides, IG_MATH=math)
    return subprocess.run([INGOT, "eval", "--device", DEVICE, *options, script], capture_output=True, text=True,
                          timeout=300, env=env)


def path(name):
    return os.path.join(FOLDER.name, name + ".npy")


class Script:
    """Expressions of arrays, computed by one process for each setting."""

    def __init__(self):
        self.lines, self.inputs, self.asked = [], 0, []

    def give(self, **arrays):
        for name, x in arrays.items():
            at = path(f"in{self.inputs}")
            self.inputs += 1
            np.save(at, x)
            self.lines.append(f'{name} = load("{at}")')

    def ask(self, expression, results, judge):
        """judge gets the results, a list of arrays, and a name."""
        k = len(self.asked)
        self.lines.append(f"r = {expression}")
        self.lines += [f'save("{{}}/r{k}_{i}.npy", {"r" if results == 1 else f"r[{i}]"})' for i in range(results)]
        self.asked.append((expression, results, judge))

    def run(self, title):
        found = {}
        for overrides in ("off", "all"):
            folder = tempfile.mkdtemp(dir=FOLDER.name)
            done = run("\n".join(line.replace("{}/", folder + "/") for line in self.lines), overrides)
            if done.returncode:
                check(False, f"{title}, overrides {overrides}: {done.stderr[:400]}")
                return
            found[overrides] = [[np.load(f"{folder}/r{k}_{i}.npy") for i in range(n)]
                                for k, (_, n, _) in enumerate(self.asked)]
        for k, (expression, _, judge) in enumerate(self.asked):
            own, other = found["off"][k], found["all"][k]
            what = f"{title}: {expression}"
            check([x.shape for x in own] == [x.shape for x in other] and [x.dtype for x in own] == [x.dtype for x in other],
                  f"{what}: shapes or dtypes differ")
            judge(own, f"{what} (own)")
            judge(other, f"{what} (override)")


def random(shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def definite(a):
    n = a.shape[-1]
    return (a @ adjoint(a) + n * np.eye(n)).astype(a.dtype)


def near(got, want, dtype, what, factor=1.0):
    """The error is a small multiple of the roundoff, relative to the largest element."""
    size = max(1.0, float(np.abs(want).max()) if want.size else 1.0)
    bound = 20 * factor * max(want.shape[-1] if want.ndim else 1, 1) * np.finfo(dtype).eps * size
    error = float(np.abs(got.astype(np.complex128) - want).max()) if want.size else 0.0
    check(got.shape == want.shape and error <= bound, f"{what}: error {error:.2e}, allowed {bound:.2e}")


def orthogonal(v, dtype, what):
    near(adjoint(v) @ v, np.broadcast_to(np.eye(v.shape[-1]), (*v.shape[:-2], v.shape[-1], v.shape[-1])), dtype, what)


def ask_square(script, a, b, dtype):
    """Well-conditioned systems: the matrix is a + 3 sqrt(n) I."""
    n = a.shape[-1]
    a = (a + 3 * np.sqrt(n) * np.eye(n)).astype(dtype)
    s = definite(a)
    wide, wide_b, wide_s = (x.astype(np.complex128) for x in (a, b, s))
    script.give(a=a, b=b, s=s)

    def unpivoted(r, what):
        f, order = r[0].astype(np.complex128), r[1]
        lower, upper = np.tril(f, -1) + np.eye(n), np.triu(f)
        for at in np.ndindex(order.shape[:-1]):
            x = wide[at].copy()
            for i, p in enumerate(order[at]):
                x[[i, p]] = x[[p, i]]
            near(lower[at] @ upper[at], x, dtype, what)

    script.ask("cholesky(s)", 1, lambda r, what: (near(r[0] @ adjoint(r[0]), wide_s, dtype, what),
                                                  check(not np.triu(r[0], 1).any(), f"{what}: not lower")))
    script.ask("cholesky(s, upper=True)", 1, lambda r, what: near(adjoint(r[0]) @ r[0], wide_s, dtype, what))
    script.ask("lu_factor(a)", 2, unpivoted)
    script.ask("lu(a)", 3, lambda r, what: near(r[0] @ r[1] @ r[2], wide, dtype, what))
    script.ask("solve(a, b)", 1, lambda r, what: near(wide @ r[0], wide_b, dtype, what))
    script.ask("inv(a)", 1, lambda r, what: near(wide @ r[0], np.broadcast_to(np.eye(n), a.shape), dtype, what))
    script.ask("cho_solve(cholesky(s), b, lower=True)", 1, lambda r, what: near(wide_s @ r[0], wide_b, dtype, what, 4))
    for lower in (True, False):
        for trans in (0, 1, 2):
            t = (np.tril if lower else np.triu)(wide)
            t = [t, np.swapaxes(t, -1, -2), adjoint(t)][trans]
            script.ask(f"solve_triangular(a, b, lower={lower}, trans={trans})", 1,
                       lambda r, what, t=t: near(t @ r[0], wide_b, dtype, what))
    unit = np.tril(wide, -1) / n + np.eye(n)
    script.ask(f"solve_triangular(a * {1 / n!r}, b, lower=True, unit_diagonal=True)", 1,
               lambda r, what: near(unit @ r[0], wide_b, dtype, what, 4))
    script.ask("eigh(s)", 2, lambda r, what: (near(wide_s @ r[1], r[1] * r[0][..., None, :], dtype, what),
                                              orthogonal(r[1], dtype, what),
                                              near(r[0], np.linalg.eigvalsh(wide_s), dtype, what)))
    script.ask("eigvalsh(s)", 1, lambda r, what: near(r[0], np.linalg.eigvalsh(wide_s), dtype, what))
    script.ask("slogdet(a)", 2, lambda r, what: near(r[1], np.linalg.slogdet(wide)[1], dtype, what))


def ask_any(script, a, dtype):
    (m, n), k = a.shape[-2:], min(a.shape[-2:])
    wide = a.astype(np.complex128)
    script.give(a=a)
    values = np.linalg.svd(wide, compute_uv=False)
    for mode, columns in (("reduced", k), ("complete", m)):
        script.ask(f'qr(a, mode="{mode}")', 2,
                   lambda r, what: (near(r[0] @ r[1], wide, dtype, what), orthogonal(r[0], dtype, what),
                                    check(not np.tril(r[1], -1).any(), f"{what}: not upper")))
    script.ask('qr(a, mode="r")[0]', 1, lambda r, what: near(adjoint(r[0]) @ r[0], adjoint(wide) @ wide, dtype, what, 4))
    for full in (True, False):
        script.ask(f"svd(a, full_matrices={full})", 3,
                   lambda r, what: (near((r[0][..., :k] * r[1][..., None, :]) @ r[2][..., :k, :], wide, dtype, what),
                                    orthogonal(r[0], dtype, what), orthogonal(adjoint(r[2]), dtype, what),
                                    near(r[1], values, dtype, what)))
    script.ask("svdvals(a)", 1, lambda r, what: near(r[0], values, dtype, what))
    script.ask("svd(transpose(a))[1]" if a.ndim == 2 else "svd(a)[1]", 1, lambda r, what: near(r[0], values, dtype, what))
    script.ask("lu(a)", 3, lambda r, what: near(r[0] @ r[1] @ r[2], wide, dtype, what))


def check_matrices(dtype):
    script = Script()
    for shape, columns in (((1, 1), 1), ((5, 5), 2), ((33, 33), 1), ((70, 70), 3), ((3, 4, 4), 2), ((2, 2, 9, 9), 1)):
        a = random(shape, dtype)
        ask_square(script, a, random((*shape[:-1], columns), dtype), dtype)
    for shape in ((1, 4), (7, 3), (3, 7), (40, 40), (65, 31), (2, 3, 8, 5), (3, 1, 6)):
        ask_any(script, random(shape, dtype), dtype)
    x = random((6, 6), dtype)
    script.give(x=x)  # views: transposed, sliced, broadcast
    t = (x[:5, 1:] + 9 * np.eye(5)).T.astype(np.complex128)
    script.ask(f"inv(transpose(x[:5, 1:] + 9 * eye(5)))", 1, lambda r, what: near(t @ r[0], np.eye(5), dtype, what))
    script.ask("solve(broadcast_to(transpose(x) + 9 * eye(6), [3, 6, 6]), stack([x, x, x]))", 1,
               lambda r, what: near((x.T + 9 * np.eye(6)) @ r[0], np.stack([x] * 3), dtype, what))
    for call, results in (("cholesky(e)", 1), ("qr(e)", 2), ("eigh(e)", 2), ("svd(e)", 3), ("inv(e)", 1)):
        script.give(e=np.zeros((2, 0, 0), dtype))
        script.ask(call, results, lambda r, what: check(all(x.size == 0 for x in r), f"{what}: not empty"))
    script.run(np.dtype(dtype).name)


def check_transforms(dtype):
    script = Script()
    real = np.dtype(dtype).kind != "c"
    for shape in ((1,), (7,), (8,), (97,), (360,), (3, 20), (4, 5, 6), (2, 4099)):
        x = random(shape, dtype)
        wide = x.astype(np.float64 if real else np.complex128)
        script.give(x=x)
        for axis in range(x.ndim):
            for name in ("fft", "ifft", *(("rfft", "ihfft") if real else ()), "irfft", "hfft"):
                if shape[axis] == 1 and name in ("irfft", "hfft"):
                    continue
                for norm in ("backward", "ortho"):
                    want = getattr(np.fft, name)(wide, axis=axis, norm=norm)
                    script.ask(f'{name}(x, axis={axis}, norm="{norm}")', 1,
                               lambda r, what, want=want: near(r[0], want, dtype, what))
        n = shape[-1] + 3
        want = np.fft.irfft(wide, n=n)
        script.ask(f"irfft(x, n={n})", 1, lambda r, what, want=want: near(r[0], want, dtype, what))
    x = random((12, 15), dtype)
    script.give(x=x)
    for name in ("fft2", "ifft2", "fftn", *(("rfft2",) if real else ("irfft2",))):
        want = getattr(np.fft, name)(x.astype(np.float64 if real else np.complex128))
        script.ask(f"{name}(x)", 1, lambda r, what, want=want: near(r[0], want, dtype, what))
    script.run(f"transforms of {np.dtype(dtype).name}")


def check_refusals():
    """The same message with and without overrides."""
    bad = {"indefinite": "a = eye(70) - 1.5 * tril(triu(ones([70, 70]), 41), 41) - 1.5 * transpose(tril(triu(ones([70, 70]), 41), 41)); cholesky(a)",
           "negative": "a = eye(70); a = a - 2 * (reshape(arange(70), [70, 1]) == 33) * eye(70); cholesky(a)",
           "stack": "a = stack([eye(9), eye(9), -eye(9)]); cholesky(a)",
           "nan": "a = eye(70) + where(eye(70) * (reshape(arange(70), [70, 1]) == 20) > 0, nan, 0.0); cholesky(a)",
           "singular": "a = eye(70) * (reshape(arange(70), [70, 1]) != 40); solve(a, ones([70]))",
           "singular inverse": "inv(ones([40, 40]))",
           "zero": "inv(zeros([3, 3]))",
           "triangle": "solve_triangular(eye(70) * (reshape(arange(70), [70, 1]) != 7), ones([70, 2]), lower=True)",
           "not finite": "eigh(eye(70) / 0)", "svd": "svd(eye(70) + nan)"}
    for name, script in bad.items():
        own, other = run(script, "off"), run(script, "all")
        check(own.returncode and other.returncode, f"{name}: no failure (own {own.returncode}, override {other.returncode})")
        check(own.stderr == other.stderr, f"{name}: {own.stderr[:200]!r} differs from {other.stderr[:200]!r}")
    for script in ("det(zeros([70, 70]))", "slogdet(zeros([5, 5]))[1]", "lu(zeros([4, 4]))[2]"):
        own, other = run(script, "off"), run(script, "all")
        check(own.returncode == 0 and own.stdout == other.stdout, f"{script}: {own.stdout[:80]!r} and {other.stdout[:80]!r}")


def check_gradients():
    """They follow from the definition of each op, so own code and overrides agree closely."""
    script, results = Script(), []

    def keep(r, what):
        results.append((r[0], what))

    a = random((6, 6), np.float64) + 6 * np.eye(6)
    script.give(a=a, b=random((6, 2), np.float64), w=random((6, 6), np.float64),
                some=np.stack([definite(a), definite(a.T), definite(a + 1)]))
    for f in ("sum(w * cholesky(a @ transpose(a)))", "sum(solve(a, b) ** 2)", "sum(w * inv(a))", "det(a)",
              "sum(w * qr(a)[1])", "sum(eigvalsh(a @ transpose(a)) ** 2)", "sum(svdvals(a) ** 3)", "sum(abs(fft(a)) ** 4)",
              "sum(abs(w @ eigh(a @ transpose(a))[1]))", "sum(irfft(rfft(a) ** 2) ** 2)"):
        script.ask(f"grad({f}, a)", 1, keep)
    for f in ("cholesky(x)", "inv(x)", "eigvalsh(x)", "svdvals(x)", "solve(x, b)", "solve(a, x)", "lu_factor(x)[0]",
              "abs(qr(x)[1])", "abs(fft(x))", "abs(rfft(x))", "irfft(x)", "abs(eigh(x)[1])"):
        script.ask(f"vmap(lambda x: {f})(some)", 1, keep)
    script.run("gradients and vmap")
    check(len(results) == 2 * len(script.asked), "gradients and vmap: some are missing")
    for (own, what), (other, _) in zip(results[::2], results[1::2]):
        near(other, own.astype(np.complex128), np.float64, what, 1000)


def check_modes():
    """The library runs in mode strict, by --explain, and never in mode same."""
    used = 0
    given = "a = normal(key(0), [20, 20]); s = a @ transpose(a) + eye(20); b = normal(key(1), [20, 2]); "
    for call in MATRIX_OPS + CUDA_OPS:
        strict, same = run(given + call, "all", "--explain"), run(given + call, "all", "--explain", math="same")
        off = run(given + call, "off", "--explain")
        check(strict.returncode == same.returncode == 0, f"--explain of {call}: {strict.stderr[:200]}{same.stderr[:200]}")
        used += bool(LIBRARY.search(strict.stdout))
        check(not LIBRARY.search(same.stdout), f"{call}: mode same uses a library")
        check(not LIBRARY.search(off.stdout), f"{call}: IG_OVERRIDES=off uses a library")
        own, other = run(given + call, "off", math="same"), run(given + call, "all", math="same")
        check(own.stdout == other.stdout, f"{call}: mode same depends on IG_OVERRIDES")
    return used


used = check_modes()
if used == 0:
    print("no library for overrides on this device: skipped")
    sys.exit(0)
check(used == len(MATRIX_OPS + CUDA_OPS), f"only {used} of {len(MATRIX_OPS + CUDA_OPS)} ops use a library")
for each in DTYPES:
    check_matrices(each)
    if CUDA_OPS:
        check_transforms(each)
check_refusals()
check_gradients()
print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
