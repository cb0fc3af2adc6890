"""A process that saves one checkpoint over another is killed (SIGKILL) at random moments: each time
the file in its place must be one of the versions, complete, and no other file may remain. Where the system has
files without names (Linux), a kill between the last two system calls of a save can still leave one.

BUILD names the build, whose tests/unit/tensors_tool does the saving and checks what it finds. Ends
with "N passed, N failed".
"""
import os
import random
import subprocess
import sys
import tempfile
import time

TOOL = os.path.join(os.environ.get("BUILD", "build"), "tests/unit/tensors_tool")
KILLS = 200
LONGEST_S = 0.025  # several saves on a fast disk; on a slow one, most kills hit the first
PATIENCE_S = 60    # for a disk that other programs keep busy
MOST_LEFT = KILLS // 20 if sys.platform == "linux" else KILLS


def start(path):
    """The process, after it has said what it found; and the version, or what is wrong with it."""
    process = subprocess.Popen([TOOL, "loop", path], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def clean(folder):
    """Removes what the killed processes left beside the file; returns how many that were."""
    left = [name for name in os.listdir(folder) if ".tmp-" in name]
    for name in left:
        os.remove(os.path.join(folder, name))
    return len(left)


def main():
    if not os.path.exists(TOOL):
        print(f"{TOOL} is not built\n0 passed, 1 failed")
        return 1
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    passed = failed = midway = 0
    last = 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ingot-kill-") as folder:
        path = os.path.join(folder, "model.safetensors")
        for _ in range(KILLS):
            process, found = start(path)
            time.sleep(chance.uniform(0, LONGEST_S))
            process.kill()
            process.wait()
            process.stdout.close()
            version = int(found.removeprefix("version ")) if found.startswith("version ") and \
                found.split()[-1].isdigit() else -1
            # A file that was in its place never goes back to an older one.
            if version >= last:
                passed += 1
            else:
                failed += 1
                print(f"FAILED after version {last}: {found}")
            last = max(last, version)
            midway += clean(folder)
            if time.monotonic() - begin > PATIENCE_S:
                print("the disk is slow: ended early")
                break
        names = os.listdir(folder)
        if names != ["model.safetensors"]:
            failed += 1
            print(f"FAILED to leave one file: {names}")
    print(f"{last} versions saved, {midway} kills left a temporary file")
    if last == 0:
        failed += 1
        print("FAILED to save a version before the first kill")
    if midway > MOST_LEFT:
        failed += 1
        print(f"FAILED: more than {MOST_LEFT} temporary files remained")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
