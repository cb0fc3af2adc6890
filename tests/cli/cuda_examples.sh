# Every kernel of examples/cuda runs by the command of its header comment and prints what stands there.
. tests/check.sh
export INGOT=${INGOT:-build/ingot}

prints() {
    python3 - "$1" <<'PYTHON'
import os, re, subprocess, sys
head = open(sys.argv[1]).read().split("*/")[0]
command, expected = re.fullmatch(r".* \* Run:\n(.*?) \* Prints:\n(.*?) ?", head, re.S).groups()
strip = lambda text: "".join(line[5:] for line in text.splitlines(True))
command = re.sub(r"^ingot", os.environ["INGOT"], strip(command))
done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
print(done.stdout + done.stderr)
sys.exit(done.returncode or done.stdout != strip(expected) or not expected)
PYTHON
}

for source in examples/cuda/*.cu; do
    check "$source prints what it says" prints "$source"
done
check 'there are examples' ls examples/cuda/01_*.cu
finish
