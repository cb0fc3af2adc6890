# Every kernel of examples/cuda runs by the command of its header comment and prints what stands there; with
# --check, too, which finds nothing.
. tests/check.sh
export INGOT=${INGOT:-build/ingot}

prints() {
    python3 - "$1" <<'PYTHON'
import os, re, subprocess, sys
head = open(sys.argv[1]).read().split("*/")[0]
command, expected = re.fullmatch(r".* \* Run:\n(.*?) \* Prints:\n(.*?) ?", head, re.S).groups()
strip = lambda text: "".join(line[5:] for line in text.splitlines(True))
command = re.sub(r"^ingot", os.environ["INGOT"], strip(command))
def run(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    print(done.stdout + done.stderr)
    return done.returncode == 0 and expected and done.stdout == strip(expected) and done.stderr
said, found = run(command), run(command.replace(" run ", " run --check ", 1))
sys.exit(said != "" or "error:" in (found or "error:") or "no mistake" not in found and "warning:" not in found)
PYTHON
}

for source in examples/cuda/*.cu; do
    check "$source prints what it says" prints "$source"
done
check 'there are examples' ls examples/cuda/01_*.cu
finish
