"""ingot train learns, and always the same: for any number of threads, and when it was interrupted.

Losses are compared to the last bit. INGOT names the command. Ends with "N passed, N failed".
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

INGOT = os.environ.get("INGOT", "build/ingot")
CURVE = ("loss", "accuracy", "test_accuracy")
ACCURACY = 0.97  # of the digits that were held back, by convolution


def command(*words):
    return [INGOT, "train", "digits", "--json", *words]


def train(*words, code=0, **how):
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False,
                          **how)
    assert done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout) if done.stdout else done.stderr


def curve(result):
    return [result[key] for key in CURVE]


def interrupt(number, file, *words):
    """Ends a run by a signal once it has made its first epoch; what it printed and said."""
    running = subprocess.Popen(command("--save", file, *words), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    said = running.stderr.readline()
    time.sleep(0.05)
    running.send_signal(number)
    out, err = running.communicate()
    assert running.returncode == 130, f"exit code {running.returncode}: {said}{err}"
    return json.loads(out), said + err


def check_threads(folder):
    """The same losses for 1 and 2 threads, and each time."""
    for model, epochs in (("mlp", "2"), ("cnn", "1")):
        options = ("--model", model, "--epochs", epochs, "--seed", "3")
        one = train(*options, "--threads", "1")
        assert curve(one) == curve(train(*options, "--threads", "2"))
        assert curve(one) == curve(train(*options, "--threads", "2"))
        assert curve(one) != curve(train(*options[:-1], "4"))


def check_interrupt(folder):
    """Ctrl-C, then --resume: the losses of a run without it."""
    for number, model, more in ((signal.SIGINT, "mlp", 20), (signal.SIGTERM, "mlp", 20), (signal.SIGINT, "cnn", 1)):
        file = os.path.join(folder, f"{model}.safetensors")
        part, said = interrupt(number, file, "--model", model, "--epochs", "100000")
        done = len(part["loss"])
        assert part["interrupted"] and part["test_accuracy"] is None
        assert done >= 1, f"{done} epochs were done"
        assert f"--resume {file}" in said and "interrupted in epoch" in said, said
        whole = train("--model", model, "--epochs", str(done + more))
        assert part["loss"] == whole["loss"][:done]
        assert curve(train("--resume", file, "--epochs", str(done + more))) == curve(whole)


def check_stages(folder):
    """Two epochs, then two more, with each optimizer: four epochs."""
    file = os.path.join(folder, "stages.safetensors")
    for optimizer in ("sgd", "adam", "adamw", "rmsprop", "lion"):
        options = ("--optimizer", optimizer, "--batch", "50")
        whole = train(*options, "--epochs", "4")
        train(*options, "--epochs", "2", "--save", file)
        assert curve(train("--resume", file, "--epochs", "4")) == curve(whole), optimizer


def check_second_interrupt(folder):
    """The second Ctrl-C ends it at once, and the checkpoint of the last epoch is good."""
    file = os.path.join(folder, "twice.safetensors")
    running = subprocess.Popen(command("--save", file, "--epochs", "100000"), text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    running.stderr.readline()
    running.stderr.readline()
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGTERM)
    running.communicate()
    code = running.returncode
    assert code in (130, -signal.SIGINT, -signal.SIGTERM), code
    done = train("--resume", file, "--epochs", "1")
    assert len(done["loss"]) >= 1


def check_ignored(folder):
    """Started with signals ignored, as by nohup, it goes on."""
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    running = subprocess.Popen(command("--epochs", "30"), stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, **ignore)
    running.stderr.readline()
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate()
    assert running.returncode == 0 and len(json.loads(out)["loss"]) == 30


def check_full_disk(folder):
    """A checkpoint that cannot be written leaves the old one as it was, and says so in one line."""
    file = os.path.join(folder, "full.safetensors")
    train("--epochs", "1", "--save", file)
    with open(file, "rb") as old:
        before = old.read()

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    said = train("--resume", file, "--epochs", "3", "--save", file, "--quiet", code=5,
                 preexec_fn=small_files)
    assert said.count("\n") == 1 and file in said, said
    with open(file, "rb") as now:
        assert now.read() == before
    assert os.listdir(folder) == [os.path.basename(file)], os.listdir(folder)


def check_accuracy(folder):
    """The convolutional network reads the digits that it has not seen."""
    result = train("--model", "cnn", "--epochs", "24")
    print(f"  accuracy {result['test_accuracy']:.4f}")
    assert result["test_accuracy"] >= ACCURACY, result["test_accuracy"]
    assert result["loss"][-1] < result["loss"][0] / 10


def main():
    failed = 0
    checks = [check_threads, check_interrupt, check_stages, check_second_interrupt, check_ignored,
              check_full_disk, check_accuracy]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder)
                print(f"ok       {check.__doc__}")
            except AssertionError as problem:
                failed += 1
                print(f"FAILED   {check.__doc__}\n    {problem}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
