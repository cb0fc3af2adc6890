"""The mpirun of the tests and its module: MPIRUN names another one than `mpirun`, such as mpirun.mpich or mpirun.openmpi."""
import os
import shutil
import subprocess

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
_program = os.environ.get("MPIRUN", "mpirun")
_found = shutil.which(_program)
_version = subprocess.run([_found, "--version"], capture_output=True, text=True, check=False).stdout if _found else ""

OPEN_MPI = "Open MPI" in _version
# A machine with few cores runs all ranks. The tests may run in a container as root.
MPIRUN = [_program, "--allow-run-as-root", "--oversubscribe"] if OPEN_MPI else [_program]
_modules = [os.path.join(BUILD, name) for name in (["libingot-mpi.so"] if OPEN_MPI else ["libingot-mpich.so", "libingot-mpi.so"])]
MODULE = next((m for m in _modules if os.path.exists(m)), None) if _found else None
MISSING = f"{_program} or its module is missing; tools/setup --test installs MPI"
ENV = {"IG_MPI": MODULE or "", "OMPI_MCA_btl_base_warn_component_unused": "0"}
PATIENCE_S = 600  # for a command; a test that hangs is ended earlier, because it uses no CPU time


def ranks_of(name, program):
    """The processes of a team that was started with TEST_TEAM=name, by rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                words = dict(w.split(b"=", 1) for w in f.read().split(b"\0") if b"=" in w)
            with open(f"/proc/{pid}/comm") as f:
                watches = f.read().strip() == "ingot-watch"
            exe = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        if exe == os.path.realpath(program) and not watches and words.get(b"TEST_TEAM") == name.encode():
            found[int(words.get(b"OMPI_COMM_WORLD_RANK", words.get(b"PMI_RANK", b"-1")))] = int(pid)
    return found
