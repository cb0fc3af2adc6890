"""Teams of processes under mpirun: bytes that are exchanged, results of shared evaluations for 1 to 4 ranks, and failures. Uses Open
MPI or MPICH; counts as skipped if mpirun or the module is missing."""
import os
import shutil
import subprocess
import tempfile

from support.tally import check, finish, skip

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
INGOT = os.path.join(BUILD, "ingot")
TOOL = os.path.join(BUILD, "tests/unit/team_tool")
MODULE = os.path.join(BUILD, "libingot-mpi.so")
PATIENCE_S = 120

if not shutil.which("mpirun") or not os.path.exists(MODULE):
    skip("teams", "mpirun or libingot-mpi.so is missing; tools/setup --test installs MPI")
    finish()

version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"] if "Open MPI" in version else ["mpirun"]
folder = tempfile.mkdtemp()
os.chdir(folder)


def team(n, *words, **environment):
    """The words as n processes."""
    env = {**os.environ, "IG_MPI": MODULE, "OMPI_MCA_btl_base_warn_component_unused": "0", **environment}
    return subprocess.run([*MPIRUN, "-n", str(n), *words], capture_output=True, text=True, env=env, timeout=PATIENCE_S)


try:
    for n in range(2, 5):
        p = team(n, TOOL, "moves")
        check(f"moves of {n} ranks", p.returncode == 0 and p.stdout.count(": right") == n, p.stdout + p.stderr)
    for rank in range(3):
        p = team(3, TOOL, "fail", str(rank))
        said = f"rank {rank} failed: the tool was told to fail" in p.stdout  # rank 0 ends all, perhaps before others print
        check("a rank fails", p.returncode != 0 and (said or rank == 0), p.stdout + p.stderr)
        p = team(3, TOOL, "die", str(rank))
        check("a rank dies", p.returncode != 0 and f"rank {rank}" in (p.stdout + p.stderr).lower(), p.stdout + p.stderr)
    p = team(2, TOOL, "differ")
    check("different data", "rank 1 and rank 0 have different numbers" in p.stdout, p.stdout)

    p = team(2, INGOT, "eval", "1 + 1")
    check("only rank 0 prints", p.stdout == "2\n" and p.returncode == 0, p.stdout + p.stderr)
    p = team(2, INGOT, "eval", "1 +")
    check("one message", p.returncode != 0 and p.stderr.count("ingot eval:") == 1, p.stderr)
    p = team(2, INGOT, "eval", "1 + 1", IG_MPI="/nowhere/libingot-mpi.so")
    check("no module", p.returncode != 0 and "build Ingot where mpicc is installed" in p.stderr, p.stderr)
    p = team(2, INGOT, "eval", "1 + 1", IG_MPI="off")
    check("switched off", p.stdout == "2\n2\n", p.stdout + p.stderr)
finally:
    os.chdir("/")
    shutil.rmtree(folder)
finish()
