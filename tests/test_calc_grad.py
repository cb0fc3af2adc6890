"""grad in the calculator against derivatives that are known.

Random expressions of two named numbers: first and second derivatives against Taylor series, which
carry them along exactly; and the value must be the one that it is without grad. Then formulas of
arrays against their derivatives, written down with NumPy. INGOT names the command. Ends with
"N passed, N failed".
"""
import math
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

INGOT = os.environ.get("INGOT", "build/ingot")
COUNT = 300
MARK = "----"
rng = random.Random(5)


class Series:
    """f, f' and f'' at a point, by the rules of calculus."""

    def __init__(self, f, d=0.0, dd=0.0):
        self.f, self.d, self.dd = f, d, dd

    def __add__(self, o):
        return Series(self.f + o.f, self.d + o.d, self.dd + o.dd)

    def __neg__(self):
        return Series(-self.f, -self.d, -self.dd)

    def __sub__(self, o):
        return self + -o

    def __mul__(self, o):
        return Series(self.f * o.f, self.d * o.f + self.f * o.d,
                      self.dd * o.f + 2 * self.d * o.d + self.f * o.dd)

    def __truediv__(self, o):
        return self * o ** Series(-1.0)

    def __pow__(self, o):
        """To a constant power, or a positive base to any: f**g = exp(g * log(f))."""
        if o.d == 0 and o.dd == 0:
            n = o.f
            return self.chain(self.f ** n, n * self.f ** (n - 1) if n else 0.0,
                              n * (n - 1) * self.f ** (n - 2) if n not in (0, 1) else 0.0)
        log = self.chain(math.log(self.f), 1 / self.f, -1 / self.f ** 2)
        y = o * log
        e = math.exp(y.f)
        return y.chain(e, e, e)

    def chain(self, f, d, dd):
        return Series(f, d * self.d, dd * self.d ** 2 + d * self.dd)


def expression(depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(["x", "x", "y", "2.0", "0.5", "3.25"])
    kind = rng.random()
    if kind < 0.15:
        return f"(-{expression(depth - 1)})"
    if kind < 0.35:
        return f"({expression(depth - 1)}) ** {rng.choice(['2.0', '3.0', '-1.0', '1.0'])}"
    if kind < 0.45:
        return f"(x * x + y * y + 1.0) ** ({expression(depth - 1)})"
    left, right = expression(depth - 1), expression(depth - 1)
    return f"({left} {rng.choice(['+', '-', '*', '/'])} {right})"


def series(text, x, y):
    wrapped = re.sub(r"\d+\.\d+", lambda m: f"S({m.group()})", text)
    return eval(wrapped, {"S": Series, "x": x, "y": y})


def run(program):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(program)
        file.flush()
        done = subprocess.run([INGOT, "eval", "--full", "-f", file.name], capture_output=True,
                              text=True, check=False)
    print(done.stderr, end="")
    return done.stdout.split(f"\n{MARK}\n")


def sample():
    """A text that depends on x, and what it and its derivatives by x and y are, or None."""
    text = expression(3)
    x, y = round(rng.uniform(-2, 2), 3), round(rng.uniform(-2, 2), 3)
    if "x" not in text or "y" not in text:
        return None
    try:
        by_x = series(text, Series(x, 1.0), Series(y))
        by_y = series(text, Series(x), Series(y, 1.0))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    wanted = [by_x.f, by_x.d, by_y.d, by_x.dd]
    if any(isinstance(w, complex) or not 1e-8 < abs(w) < 1e8 for w in wanted):
        return None
    return text, x, y, wanted


def check_numbers():
    samples = []
    while len(samples) < COUNT:
        samples += filter(None, [sample()])
    with_grad, without = "", ""
    for text, x, y, _ in samples:
        start = f"x = {x}; y = {y}; f = {text}; print(f)"
        with_grad += (f"{start}; g = grad(f, [x, y]); print(g[0]); print(g[1])\n"
                      f'print(grad(g[0], x)); print("{MARK}")\n')
        without += f'{start}; print("{MARK}")\n'
    failed = 0
    for (text, x, y, wanted), got, plain in zip(samples, run(with_grad), run(without)):
        lines = got.split()
        scale = max(map(abs, wanted))
        near = len(lines) == 4 and all(abs(float(a) - b) <= 1e-9 * scale
                                       for a, b in zip(lines, wanted))
        if not near or lines[0] != plain.strip():
            failed += 1
            print(f"FAILED {text} at {x}, {y}: {lines}, wanted {wanted}, value {plain.strip()}")
    return COUNT - failed, failed


def arrays():
    """(names and their values, formula, the gradients by the names in order)"""
    r = np.random.default_rng(1)
    x, w, v = r.normal(size=(4, 3)), r.normal(size=(3, 2)), r.uniform(0.5, 2, size=5)
    s = 0.7
    h = x @ w
    p = np.exp(v) / np.exp(v).sum()
    return [
        ({"x": x}, "sum(x**2)", [2 * x]),
        ({"x": x}, "mean(sin(x))", [np.cos(x) / x.size]),
        ({"x": x, "w": w}, "sum((x @ w)**2)", [2 * h @ w.T, 2 * x.T @ h]),
        ({"x": x, "w": w}, "sum(tanh(x @ w))", [(1 - np.tanh(h)**2) @ w.T,
                                                x.T @ (1 - np.tanh(h)**2)]),
        ({"v": v}, "log(sum(exp(v)))", [p]),
        ({"v": v}, "prod(v)", [np.prod(v) / v]),
        ({"v": v}, "sum(v[::-1] * v)", [2 * v[::-1]]),
        ({"v": v}, "v[1] * v[3]", [np.array([0, v[3], 0, v[1], 0])]),
        ({"v": v}, "sum(grad(sum(v**4), v))", [12 * v**2]),
        ({"v": v, "s": s}, "sum(s * v**2)", [2 * s * v, np.sum(v**2)]),
        ({"v": v, "s": s}, "sum((v - s)**2) * s", [2 * s * (v - s),
                                                  np.sum((v - s)**2) - 2 * s * np.sum(v - s)]),
    ]


def as_text(value):
    return repr(value) if isinstance(value, float) else f"array({value.tolist()}, f64)"


def check_arrays():
    program, wanted = "", []
    for names, formula, gradients in arrays():
        for name, value in names.items():
            program += f"{name} = {as_text(value)}\n"
        program += f"g = grad({formula}, [{', '.join(names)}])\n"
        for i, (name, gradient) in enumerate(zip(names, gradients)):
            program += f'save("FOLDER/{len(wanted)}.npy", g[{i}])\n'
            wanted.append((f"{formula} by {name}", gradient))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        run(program.replace("FOLDER", folder))
        for i, (what, gradient) in enumerate(wanted):
            path = os.path.join(folder, f"{i}.npy")
            got = np.load(path) if os.path.exists(path) else np.array(np.nan)
            if got.shape != np.shape(gradient) or not np.allclose(got, gradient, 1e-12):
                failed += 1
                print(f"FAILED {what}: {got}, not {gradient}")
    return len(wanted) - failed, failed


def main():
    tallies = [check_numbers(), check_arrays()]
    passed, failed = (sum(column) for column in zip(*tallies))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
