"""Names of NumPy, PyTorch, JAX and MLX: each of tools/names/public.txt works, or its error says what to use instead. The advice
names functions that exist."""
import os
import re

from against import ROOT, check, finish, ig

PLACES = {"numpy.linalg": "linalg", "numpy.fft": "fft", "jax.numpy.linalg": "linalg", "jax.numpy.fft": "fft", "mlx.core.linalg": "linalg",
          "mlx.core.fft": "fft", "torch.linalg": "linalg", "torch.fft": "fft", "numpy.random.Generator": "random", "mlx.core.random": "random",
          "torch.nn": "nn", "torch.nn.functional": "nn.functional", "torch.nn.init": "nn.init", "torch.nn.utils": "nn.utils", "mlx.nn": "nn",
          "mlx.nn.layers": "nn", "torch.optim": "optim", "torch.optim.lr_scheduler": "optim.lr_scheduler", "mlx.optimizers": "optim",
          "torch.utils.data": "data"}

FAMILIES = {"jax.lax": "lax.", "jax.scipy.special": "special.", "jax.nn": "jax.nn.", "mlx.core.fast": "fast."}  # no modules here


def place(path, at=ig):
    for part in filter(None, path.split(".")):
        at = getattr(at, part)
    return at


def names():
    """(module, name) of each name."""
    module = None
    with open(os.path.join(ROOT, "tools/names/public.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("["):
                module = line.strip()[1:-1]
            elif not line.startswith("#"):
                yield from ((module, word) for word in line.split())


def missing():
    """The names without a meaning and without advice."""
    array, module = ig.ones((2, 2)), ig.nn.Linear(1, 1)
    for library, name in names():
        at = array if library == "torch.Tensor" else module if library == "torch.nn.Module" else place(PLACES.get(library, ""))
        try:
            if library in FAMILIES:
                ig._names.find(name, FAMILIES[library])
            else:
                getattr(at, name)
        except AttributeError as error:
            if not re.search(r"'[\w.]+': \S", str(error)):
                yield f"{library}.{name}"


def wrong():
    """Functions in the texts that do not exist, and texts that neither offer something nor say why there is nothing."""
    for module, words, text in ig._ingot._advice():
        for path in re.findall(r"\big\.([A-Za-z_][\w.]*\w|[A-Za-z])", text):
            try:
                place(path)
            except AttributeError:
                yield f"{words.split()[0]}: ig.{path}"
        if len(text) < 8 or (not text.startswith("use ") and " " not in text):
            yield f"{words}: {text}"


found = list(missing())
check("every name works or has advice", not found, f"{len(found)}: {' '.join(found[:200])}")
found = list(wrong())
check("advice names what exists", not found, "; ".join(found[:20]))
rows = [(module, word) for module, words, _ in ig._ingot._advice() for word in words.split()]
check("no name is there twice", len(rows) == len(set(rows)), str([row for row in rows if rows.count(row) > 1][:10]))
check("a table", len(rows) > 400)
finish()
