"""Every op against NumPy: the cases of tests/test_numpy.py, through the Python package instead of the command."""
from against import attempt, check, finish, ig, np
from ingot import _names

import test_numpy

SPACE = _names._namespace()
SPACE.update(true=True, false=False)  # the calculator's names


def run(op, text, inputs, want, slack, error):
    inputs = inputs if isinstance(inputs, dict) else {"x": inputs}
    arrays = {name: ig.asarray(np.asarray(x, order="C")) for name, x in inputs.items()}
    text = text.format(**{name: name for name in inputs})
    got = eval(f"lambda {', '.join(arrays)}: {text}", SPACE)(**arrays)  # our own expressions
    got = np.asarray(got if isinstance(got, ig.Array) else ig.asarray(got))
    problem = test_numpy.compare(got, want, slack, error)
    check(f"{op}: {text}:", problem is None, problem)


for case in test_numpy.make_cases():
    attempt(f"{case[0]}: {case[1]}", run, *case)
finish()
