"""Threads that assign to items of arrays while other threads use the same arrays in calls that release the GIL. Each array
always has equal elements, so every result must be that of one of its states."""
import os
import sys
import threading

from against import attempt, check, finish, ig, np

N, ROUNDS = 64, 600
sys.setswitchinterval(2e-5)


def fill(x, value):
    x[:] = value


class Shared:
    """Arrays that one thread changes as long as others read."""

    def __init__(self):
        self.x = ig.full((N,), 1.0)
        self.m = ig.full((8, 8), 1.0)
        self.done, self.errors = threading.Event(), []

    def change(self):
        i = 0
        while not self.done.is_set():
            i += 1
            fill(self.x, float(i % 7 + 1))
            fill(self.m, float(i % 5 + 1))
            self.x += 0
            if i % 3 == 0:
                self.x.eval()
                self.m.eval()

    def read(self, use):
        try:
            for _ in range(ROUNDS):
                values = np.asarray(use(self))
                if values.size and not (values == values.flat[0]).all():
                    raise AssertionError(f"the elements differ: {values.tolist()!r:.200}")
        except BaseException as error:
            self.errors.append(repr(error))


class Slow:
    """A number whose conversion runs Python code, so that other threads run in the middle of a call."""

    def __init__(self, shared):
        self.shared = shared

    def __array__(self, dtype=None, copy=None):
        fill(self.shared.x, 3.0)
        return np.full(N, 2.0, "f4")


def use_grad(s):
    return ig.grad(lambda v: (v * v).sum())(s.x)


def use_vmap(s):
    return ig.vmap(lambda row: row.sum())(s.m)


def use_jit():
    step = ig.jit(lambda v: v * 2 + 1)
    return lambda s: step(s.x)


def use_mask(s):
    return s.x[s.x > 0]


def use_mask_assignment(s):
    y = s.x + 0
    y[s.x > 0] = 4
    return y


def use_unique(s):
    return ig.unique_values(s.x + 0)[:1]


def use_verify(s):
    return ig.asarray([ig.verify(s.x * 2).failed])


def use_explain(s):
    ig.explain(lambda v: v + 1)(s.x)
    return s.x


def use_conversion(s):
    return ig.stack([s.x[0], s.x[1]])[:1]


def use_operand(s):
    return s.x * Slow(s)


def use_function(s):
    return ig.add(s.x, Slow(s))


def use_list(s):
    return ig.where(s.x > 0, [2.0] * N, s.x)


def use_numpy(s):
    return np.array(s.x)


def use_dlpack(s):
    return np.from_dlpack(s.x).copy()


def use_at(s):
    return s.x.at[:].add(1)


def use_pickle(s):
    import pickle
    return pickle.loads(pickle.dumps(s.x))


def use_text(s):
    return ig.asarray([float(len(set(str(s.x).strip("[]").split())))])


def together(uses):
    """Two threads change the arrays; each use has its own thread."""
    s = Shared()
    writers = [threading.Thread(target=s.change) for _ in range(2)]
    readers = [threading.Thread(target=s.read, args=(use,)) for use in uses]
    for t in writers + readers:
        t.start()
    for t in readers:
        t.join()
    s.done.set()
    for t in writers:
        t.join()
    check(" ".join(u.__name__ for u in uses), not s.errors, "; ".join(s.errors[:3]))


def all_uses():
    together([use_grad, use_vmap, use_jit(), use_unique])
    together([use_mask, use_mask_assignment, use_verify, use_at])
    together([use_conversion, use_operand, use_function, use_list])
    together([use_numpy, use_dlpack, use_pickle, use_text, use_explain])


def released():
    """Arrays that were replaced during calls of other threads are released in the end."""
    before = ig.memory()["used"]
    x = ig.full((100_000,), 1.0).eval()
    stop = threading.Event()

    def work():
        y = ig.ones((300, 300)).eval()
        while not stop.is_set():
            (y @ y).eval()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for i in range(300):
        x[i] = 2.0
        x += 1
        x.eval()
    stop.set()
    for t in threads:
        t.join()
    peak = ig.memory()["peak"]
    del x
    ig.ones(1).eval()
    check("memory is released", ig.memory()["used"] - before < 100_000, f"{ig.memory()['used'] - before} B remain; peak {peak} B")


def forked():
    """A child of fork has only the calls of its own thread."""
    s = Shared()
    busy = threading.Thread(target=s.change)
    busy.start()
    child = os.fork()
    if child == 0:
        x = ig.full((1000,), 1.0).eval()
        for i in range(50):
            x[i] = 2.0
            x.eval()
        os._exit(0 if float(x.sum()) == 1050 else 1)
    _, status = os.waitpid(child, 0)
    s.done.set()
    busy.join()
    check("a child of fork", status == 0, f"ended with {status}")


for test in (all_uses, released, forked):
    attempt(test.__name__, test)
finish()
