"""Numbers in the calculator against Python's own: random expressions without parentheses where
precedence decides, with integers, floats, bools and every operator, are evaluated by both.

An expression that Python refuses (division by zero, a float's bits), or whose integers leave 64
bits, must be refused here too. INGOT names the command. Ends with "N passed, N failed".
"""
import ast
import operator
import os
import random
import subprocess
import sys
import tempfile
import warnings

INGOT = os.environ.get("INGOT", "build/ingot")
COUNT = 2000
REFUSED = 150  # each of these needs a process of its own
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
COMPARE = ["==", "!=", "<", "<=", ">", ">="]
MARK = "----"
rng = random.Random(3)
warnings.simplefilter("ignore")


def operand(depth):
    kind = rng.random()
    if depth and kind < 0.25:
        return f"({expression(depth - 1)})"
    sign = rng.choice(["", "", "", "-", "+", "~", "- -"])
    if kind < 0.75:
        return sign + str(rng.choice([0, 1, 2, 3, 5, 7, 10, 63, 1000, 2**31, 12345678901]))
    if kind < 0.95:
        sign = sign.replace("~", "-")
        return sign + rng.choice(["0.5", "2.0", "1e-3", "3.75", "1e10", ".25", "7."])
    return rng.choice(["True", "False"])


def expression(depth):
    text = operand(depth)
    for _ in range(rng.randint(0, 4)):
        text += f" {rng.choice(BINARY)} {operand(depth)}"
    if rng.random() < 0.15:
        text += f" {rng.choice(COMPARE)} {operand(depth)}"
    return text


class Wide(Exception):
    """An integer on the way does not fit in 64 bits, or a number is complex."""


class Number:
    """A Python number that watches over its integers."""

    def __init__(self, value):
        self.value = value
        if isinstance(value, complex) or (isinstance(value, int) and not -2**63 <= value < 2**63):
            raise Wide


def unary(function):
    return lambda x: Number(function(x.value))


def binary(function):
    def method(x, y):
        grows = function in (operator.pow, operator.lshift) and abs(x.value) > 0
        if grows and isinstance(x.value, int) and isinstance(y.value, int) and y.value > 64:
            if function is operator.lshift or abs(x.value) > 1:
                raise Wide
        return Number(function(x.value, y.value))
    return method


for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and",
             "or", "xor", "eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(Number, f"__{name}__", binary(getattr(operator, f"__{name}__")))
for name in ["invert", "neg", "pos"]:
    setattr(Number, f"__{name}__", unary(getattr(operator, f"__{name}__")))


class Wrap(ast.NodeTransformer):
    """Every literal becomes a Number."""

    def visit_Constant(self, node):
        return ast.Call(ast.Name("Number", ast.Load()), [node], [])


def python_says(text):
    """What Python gives, or None where the expression must be refused."""
    tree = ast.fix_missing_locations(Wrap().visit(ast.parse(text, mode="eval")))
    try:
        return str(eval(compile(tree, "test", "eval"), {"Number": Number}).value)
    except (Wide, ZeroDivisionError, TypeError, OverflowError, ValueError):
        return None


def main():
    good, refused = [], []
    while len(good) < COUNT or len(refused) < REFUSED:
        text = expression(2)
        says = python_says(text)
        (good if says is not None else refused).append((text, says))
    good, refused = good[:COUNT], refused[:REFUSED]
    failed = 0
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f'print({text})\nprint("{MARK}")\n' for text, _ in good))
        file.flush()
        done = subprocess.run([INGOT, "eval", "-f", file.name], capture_output=True, text=True, check=False)
    got = done.stdout.split(f"\n{MARK}\n")
    print(done.stderr, end="")
    for (text, says), ours in zip(good, got + [""] * COUNT):
        if says != ours:
            failed += 1
            print(f"FAILED {text}: {ours}, Python {says}")
    for text, _ in refused:
        done = subprocess.run([INGOT, "eval", "--", text], capture_output=True,
                              check=False)
        if done.returncode != 1:
            failed += 1
            print(f"FAILED {text}: not refused: {done.stdout.decode().strip()}")
    print(f"{len(good) + len(refused) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
