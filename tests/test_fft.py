"""Fourier transforms against NumPy's long double transforms, through `ingot eval`.

Every function, for many lengths, f32 and f64: the error relative to the largest element is at most 0.6 log2(n) ulp, or 1. Some
lengths also run on the device gang, whose kernels must give the bits of the CPU. INGOT names the command. Ends with
"N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
rng = np.random.default_rng(24)
LENGTHS = [*range(1, 101), 127, 128, 243, 250, 256, 343, 360, 512, 625, 1000, 1001, 1021, 1024, 2048, 2310, 4096, 4097,
           5000, 8192, 10007, 65536]
SOME = LENGTHS[::2] if os.environ.get("IG_TEST_QUICK") else LENGTHS
BITS = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 31, 37, 100, 121, 1000, 1021, 5000]
KINDS = {"f32": (np.float32, np.complex64), "f64": (np.float64, np.complex128)}


def roots(n, sign):
    """exp(sign 2 pi i k / n), k < n, in long double."""
    k = np.arange(n, dtype=np.longdouble)
    angle = k * (8 * np.arctan(np.longdouble(1)) / n)
    return np.cos(angle) + sign * 1j * np.sin(angle)


def exact(x, sign):
    """The sums over the last axis in long double: by the definition for short rows, else by NumPy's transform."""
    n = x.shape[-1]
    x = x.astype(np.clongdouble)
    if n > 256:
        return np.fft.fft(x) if sign < 0 else np.fft.ifft(x) * n
    k = np.arange(n)
    return x @ roots(n, sign)[np.outer(k, k) % n]


def whole(z, n):
    """The n elements of a sequence that is its own conjugate backwards, from its first half."""
    z = z[:, :n // 2 + 1].astype(np.clongdouble)
    z = np.concatenate([z[:, :1].real, z[:, 1:]], 1)
    if n % 2 == 0:
        z[:, -1] = z[:, -1].real
    return np.concatenate([z, np.conj(z[:, 1:(n + 1) // 2][:, ::-1])], 1)


def cases(n, x, z):
    """(expression, what it should be)"""
    both = exact(z, -1)
    yield "fft(z)", both
    yield "fft(z.T, axis=0, norm='ortho').T", both / np.sqrt(np.longdouble(n))
    yield "ifft(z)", exact(z, 1) / n
    yield "rfft(x)", exact(x, -1)[:, :n // 2 + 1]
    yield f"irfft(z, {n})", exact(whole(z, n), 1).real / n
    yield f"hfft(z, {n}, norm='forward')", exact(np.conj(whole(z, n)), 1).real / n
    yield "conj(ihfft(x, norm='forward'))", exact(x, -1)[:, :n // 2 + 1]


def plane_cases(x, z):
    yield "fftn(z)", np.fft.fftn(z)
    yield "ifft2(z, axes=[2, 0])", np.fft.ifft2(z, axes=(2, 0))
    yield "rfftn(x, s=[8, 9], axes=[1, 0])", np.fft.rfftn(x, (8, 9), (1, 0))
    yield "irfftn(z, s=[4, 12])", np.fft.irfftn(z, (4, 12), (1, 2))
    yield "rfft2(x, norm='forward')", np.fft.rfft2(x, norm="forward")
    yield "fft(z, n=3, axis=1)", np.fft.fft(z, 3, 1)
    for n in (2048, 4096):  # long lines beside each other: blocks with dynamic shared memory
        yield f"fft(z, n={n}, axis=0)", np.fft.fft(z, n, 0)
    yield "fftshift(z, axes=[0, 2])", np.fft.fftshift(z, (0, 2))
    yield "idct(dct(x, 4), 4)", x
    yield "idst(dst(x, 1, norm='ortho'), 1, norm='ortho')", x
    yield "idct(dct(x, 3, n=7), 3)", np.concatenate([x, 0 * x[..., :1]], -1)
    yield "fftconvolve(z, z[:3, :2, :4], mode='valid')[0, 0, 0]", np.sum(z[:3, :2, :4] * z[2::-1, 1::-1, 3::-1])


def run(folder, lines, device):
    """Runs save("name", expression) lines of a script."""
    script = f"{folder}/script"
    with open(script, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    found = subprocess.run([INGOT, "eval", "--device", device, "--file", script], capture_output=True, text=True,
                           check=False)
    return found.stderr


def main():
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        wanted, lines, some = [], [], []
        for dtype, (real, pairs) in KINDS.items():
            for n in (*LENGTHS, 0):
                shape = (3, n) if n else (5, 4, 6)
                x = rng.standard_normal(shape).astype(real)
                z = (x + 1j * rng.standard_normal(shape)).astype(pairs)
                if n and n not in SOME:
                    continue
                np.save(f"{folder}/x{n}{dtype}.npy", x)
                np.save(f"{folder}/z{n}{dtype}.npy", z)
                load = f'x = load("{folder}/x{n}{dtype}.npy"); z = load("{folder}/z{n}{dtype}.npy")'
                lines.append(load)
                for text, want in cases(n, x, z) if n else plane_cases(x.astype(float), z.astype(complex)):
                    at = len(wanted)
                    lines.append(f'save("{folder}/cpu{at}.npy", {text})')
                    if n in BITS or n == 0:
                        some += [load, f'save("{folder}/gang{at}.npy", {text})']
                    wanted.append((f"{text}, n = {n}, {dtype}", want, np.finfo(real).eps, max(n, 120 if n == 0 else 2)))
        said = run(folder, lines, "cpu") + run(folder, some, "gang")
        for i, (name, want, eps, n) in enumerate(wanted):
            path = f"{folder}/cpu{i}.npy"
            if not os.path.exists(path):
                failures.append(f"{name}: no result")
                continue
            got = np.load(path)
            error = np.abs(got - want).max() / np.abs(want).max() / eps if got.shape == want.shape else np.inf
            if not error <= max(1, 0.6 * np.log2(n)):
                failures.append(f"{name}: {error:.2f} ulp, shape {got.shape}")
            else:
                passed += 1
            path = f"{folder}/gang{i}.npy"
            if os.path.exists(path):
                same = np.load(path).tobytes() == got.tobytes()
                passed += same
                if not same:
                    failures.append(f"{name}: the device gang has other bits")
        if len([f for f in os.listdir(folder) if f.startswith("gang")]) < len({*BITS} & {*SOME}):
            failures.append("the device gang computed too little")
    for line in failures[:40]:
        print(line)
    if failures:
        print(said)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
