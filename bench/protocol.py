"""How every benchmark here measures and reports.

Contenders take turns: in each round each of them runs once, in random order, so that a disturbance meets all alike. The median
of the rounds counts. The ratio is the median of a peer over ours: above 1 Ingot is faster. A row of the table is printed as soon as it is
measured. With --out, the row is also written as JSON lines, one for each peer:

    {"work", "ours_ms", "peer", "peer_ms", "ratio", "bar", "met", and facts of the row}
"""

import json
import random
import statistics
import sys

OURS = "ours"


def say(text):
    print(text, file=sys.stderr, flush=True)


def turns(contenders, rounds, warm_up=0, most=None, failures=Exception):
    """Milliseconds of each contender by its name. contenders: functions that return milliseconds, or None if they lack the work. One that
    raises one of `failures` is reported and left out; a failure of ours is raised. most: rounds of contenders that are slow."""
    times, gone = {name: [] for name in contenders}, set()
    for number in range(-warm_up, rounds):
        due = [name for name in contenders if name not in gone and number < (most or {}).get(name, rounds)]
        for name in random.sample(due, len(due)):
            try:
                ms = contenders[name]()
            except failures as failure:
                if name == OURS:
                    raise
                say(f"{name}: {(str(failure).splitlines() or [repr(failure)])[0]}")
                ms = None
            if ms is None:
                gone.add(name)
            elif number >= 0:
                times[name].append(ms)
    return {name: of for name, of in times.items() if of}


def medians(times):
    return {name: statistics.median(of) for name, of in times.items()}


def faster(ms, least, peer=""):
    """A bar: ours is `least` times as fast as the peer, or as the best one. None instead of a verdict if it has no time."""
    rival = ms.get(peer) if peer else min((t for name, t in ms.items() if name != OURS), default=None)
    return f"{least:g}x {peer}".strip(), rival and rival / ms[OURS] >= least


def under(ms, most_ms, above=""):
    """A bar: ours takes at most that long, or that much longer than a peer."""
    if above and above not in ms:
        return f"+{told(most_ms)}", None
    return f"{'+' if above else ''}{told(most_ms)}", ms[OURS] - (ms[above] if above else 0) <= most_ms


def told(ms):
    for unit, factor in (("s", 1e-3), ("ms", 1), ("us", 1e3)):
        if ms * factor >= 1 or unit == "us":
            return f"{ms * factor:.3g} {unit}" if ms * factor < 1000 else f"{ms * factor:.0f} {unit}"
    return None


def rounded(x, digits=4):
    return float(f"{x:.{digits}g}") if isinstance(x, float) else x


class Report:
    """The table on stdout, and JSON lines in a file. facts: of the whole run, in a line of their own."""

    def __init__(self, out=None, **facts):
        self.file = open(out, "w", encoding="utf-8") if out else None
        self.count = {"met": 0, "missed": 0, "no peer": 0, "WRONG": 0}
        if facts:
            self.write({name: rounded(fact) for name, fact in facts.items()})
            say(json.dumps(facts))
        self.row("work", OURS, "peer", "its time", "ratio", "bar", "", "")

    def write(self, line):
        if self.file:
            print(json.dumps(line), file=self.file, flush=True)

    @staticmethod
    def row(work, ours, peer, theirs, ratio, bar, verdict, note):
        print(f"{work:<40} {ours:>9} {peer:<16} {theirs:>9} {ratio:>7} {bar:<18} {verdict:<8} {note}".rstrip(), flush=True)

    def add(self, work, times, bars=(), note="", **facts):
        """A row by the result of turns. bars: results of faster and under."""
        ms = medians(times)
        ours, verdicts = ms.pop(OURS), {met for _, met in bars}
        best = min(ms, key=ms.get, default=None)
        met = None if not verdicts or None in verdicts else False not in verdicts
        verdict = "" if not verdicts else "no peer" if met is None else "met" if met else "missed"
        if verdict:
            self.count[verdict] += 1
        bar = ", ".join(text for text, _ in bars)
        self.row(work, told(ours), best or "-", told(ms[best]) if best else "-", f"{ms[best] / ours:.2f}" if best else "-", bar, verdict, note)
        for peer, its in ms.items() or [(None, None)]:
            ratio = rounded(its / ours) if peer else None
            self.write({"work": work, "ours_ms": rounded(ours), "peer": peer, "peer_ms": rounded(its), "ratio": ratio,
                        **({"bar": bar, "met": met} if bars else {}), **{name: rounded(fact) for name, fact in facts.items()}})

    def wrong(self, work, why):
        """An answer that differs from a peer's has no time."""
        self.count["WRONG"] += 1
        self.row(work, "-", "-", "-", "-", "", "WRONG", why)
        self.write({"work": work, "wrong": why})

    def end(self):
        """The exit status."""
        told_bars = ", ".join(f"{n} {name}" for name, n in self.count.items() if n)
        if told_bars:
            print(told_bars)
        if self.file:
            self.file.close()
        return bool(self.count["WRONG"])
