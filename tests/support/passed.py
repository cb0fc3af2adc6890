"""Which tests passed with the present sources, in a file, so that `make test-full` continues after an interruption."""
import glob
import hashlib
import json
import os
import subprocess
import threading

from support.process import ROOT


def sources_digest():
    """A hash of every file that git does not ignore; without git, of every file outside the build folders."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = set(listed.stdout.split("\0")) - {""}
    if listed.returncode != 0:
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith(("build", ".git", "__pycache__"))]
            names.update(os.path.relpath(os.path.join(folder, f), ROOT) for f in files)
    digest = hashlib.sha256()
    for name in sorted(names):
        path = os.path.join(ROOT, name)
        if os.path.isfile(path):  # deleted ones are listed, too
            with open(path, "rb") as file:
                digest.update(f"{name}\0{hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return digest.hexdigest()


class Passed:
    """A line of JSON for each test that passed. Lines of other sources are dropped when the file is read."""

    def __init__(self, path):
        self.path, self.sources, self.lock, self.found = path, sources_digest(), threading.Lock(), {}
        kept = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue  # a run was killed while it wrote the last line
                    if row["sources"] == self.sources:
                        self.found[row["key"]] = row
                        kept.append(json.dumps(row) + "\n")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(kept)
        for old in set(glob.glob(glob.escape(path) + "-*")) - set(glob.glob(glob.escape(path) + f"-{self.sources[:16]}-*")):
            os.remove(old)

    def record(self, name):
        """The file in which `ingot verify --record` keeps what passed with these sources."""
        return f"{self.path}-{self.sources[:16]}-{name}"

    @staticmethod
    def key(stage, test):
        return hashlib.sha256(json.dumps([stage, test.name, test.command, sorted(test.env.items())]).encode()).hexdigest()

    def recall(self, stage, test):
        """Sets the counts of a test that passed before; returns whether it did."""
        row = self.found.get(self.key(stage, test))
        if row:
            test.passed, test.skipped = row["passed"], row["skipped"]
        return row is not None

    def add(self, stage, test):
        if test.failed or not test.passed:
            return
        row = {"sources": self.sources, "key": self.key(stage, test), "stage": stage, "name": test.name, "passed": test.passed,
               "skipped": test.skipped}
        with self.lock, open(self.path, "a", encoding="utf-8") as file:
            print(json.dumps(row), file=file)
