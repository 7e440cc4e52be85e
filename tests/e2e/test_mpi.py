"""Ranks of an MPI job: Open MPI's mpirun with eight of them, end to end."""
import glob
import json
import os
import socket

from harness import eventually

RANKS = 8
BYTES = 512 * 10 * sum(range(1, RANKS + 1))  # of fill, in all ranks
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Messages through memory only, and no waiting in a loop: eight ranks share few processors.
QUIET = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def program_of(t):
    return t.build("mpi_rank.c", "-O1", cc="mpicc")


def mpirun(t, *arguments, env=None, ranks=RANKS, options=()):
    return t._run(("mpirun", "--oversubscribe", *options, "-n", str(ranks), *arguments), {**ROOT, **QUIET, **(env or {})})


def check_sums(t, merged, ranks=range(RANKS)):
    row = next(r for r in t.report(merged)["rows"] if r["name"] == "fill")
    each = [512 * 10 * (rank + 1) for rank in ranks]
    t.equal("fill", {k: row[k] for k in ("self_bytes", "self_count", "inputs", "min_bytes", "max_bytes", "max_input", "mean_bytes")},
            {"self_bytes": sum(each), "self_count": sum(each) // 512, "inputs": len(each), "min_bytes": min(each),
             "max_bytes": max(each), "max_input": "rank %d" % max(ranks), "mean_bytes": (sum(each) + len(each) // 2) // len(each)})


def inputs(t, merged):
    return {entry["input"]: entry for entry in json.loads(t.run("merge", "--list", merged, "--json")[0])["inputs"]}


def test_a_file_for_each_rank(t):
    mpirun(t, t.tidemark, "run", "-o", t.file("job.%q{OMPI_COMM_WORLD_RANK}.tide"), program_of(t))
    t.equal("exit status", t.status, 0)
    t.equal("only rank 0 prints", (t.stderr.count("written to"), t.stderr.count("job.0.tide")), (1, t.stderr.count(".tide")))
    files = [t.file("job.%d.tide" % rank) for rank in range(RANKS)]
    for rank, file in enumerate(files):
        t.equal("rank %d" % rank, t.total(t.report(file), "fill"), (5120 * (rank + 1), 10 * (rank + 1)))
    t.run("merge", t.file("job.tide"), *files)
    check_sums(t, t.file("job.tide"))
    t.equal("inputs", sorted(inputs(t, t.file("job.tide"))), ["rank %d" % rank for rank in range(RANKS)])


def test_merged_as_they_end(t):
    """--merge; with -o the recordings of the ranks are kept, and their merge is the same file."""
    merged = t.file("job.tide")
    mpirun(t, t.tidemark, "run", "--merge", merged, "-o", t.file("rank.%q{OMPI_COMM_WORLD_RANK}.tide"), program_of(t))
    t.equal("exit status", t.status, 0)
    t.equal("only rank 0 prints", t.stderr.count("tidemark: ranks are merged into " + merged), 1)
    check_sums(t, merged)
    t.equal("nothing else is left", sorted(os.listdir(t.dir)), ["job.tide"] + ["rank.%d.tide" % rank for rank in range(RANKS)])
    mpirun(t, t.tidemark, "run", "--merge", merged, program_of(t), ranks=2)
    check_sums(t, merged, range(2))
    t.true("another job begins anew", sorted(inputs(t, merged)) == ["rank 0", "rank 1"], inputs(t, merged))
    t.true("no folder is left", not glob.glob(merged + ".parts*"))


def test_a_killed_rank_loses_only_itself(t):
    """mpirun goes on without it, or ends the job: what the others have recorded is merged either way."""
    program, merged = program_of(t), t.file("job.tide")
    mpirun(t, t.tidemark, "run", "--merge", merged, program, env={"KILL": "3"}, options=("--enable-recovery",))
    check_sums(t, merged)  # its collector lives on
    t.equal("how they ended", {k: v["signal"] for k, v in inputs(t, merged).items() if v["signal"]}, {"rank 3": 9})
    t.true("text says so", "1 killed by a signal, the first is rank 3" in " ".join(t.run("report", merged)[0].split()), t.stdout)
    os.unlink(merged)
    mpirun(t, t.tidemark, "run", "--merge", merged, program, env={"KILL_COLLECTOR": "5"}, options=("--enable-recovery",))
    eventually("the others are merged", lambda: os.path.exists(merged) and len(inputs(t, merged)) == RANKS - 1)
    check_sums(t, merged, [rank for rank in range(RANKS) if rank != 5])


def test_mpi_reduces(t):
    """tidemark-mpi-merge gives the file that tidemark merge gives."""
    reducer = os.path.join(os.path.dirname(t.tidemark), "tidemark-mpi-merge")
    mpirun(t, t.tidemark, "run", "--quiet", "-o", t.file("job.%q{OMPI_COMM_WORLD_RANK}.tide"), program_of(t))
    files = [t.file("job.%d.tide" % rank) for rank in range(RANKS)]
    t.run("merge", t.file("flat.tide"), *files)
    with open(t.file("flat.tide"), "rb") as flat:
        want = flat.read()
    for ranks in 1, 3, 5:
        mpirun(t, reducer, t.file("tree.tide"), *files, ranks=ranks)
        t.equal("exit status", t.status, 0)
        with open(t.file("tree.tide"), "rb") as tree:
            t.true("%d processes give the same file" % ranks, tree.read() == want)
    t.run("merge", t.file("nodes.%s.tide" % socket.gethostname()), *files)
    mpirun(t, reducer, t.file("nodes.tide"), ranks=2)
    t.equal("exit status", t.status, 0)
    with open(t.file("nodes.tide"), "rb") as tree:
        t.true("of what each machine has, likewise", tree.read() == want)
    mpirun(t, reducer, t.file("none.tide"), t.file("absent.tide"), ranks=2)
    t.true("nothing to merge", t.status == 1 and "absent.tide" in t.stderr and not os.path.exists(t.file("none.tide")), t.stderr)
    mpirun(t, reducer, ranks=2)
    t.true("usage", t.status == 2 and t.stderr.count("usage:") == 1, t.stderr)


def test_launchers(t):
    """The rank is taken from what the launcher says in the environment."""
    program = t.build("rank.c", "-O1")
    for variable in "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID":
        file = t.file(variable + ".tide")
        t.run("run", "-o", file, program, env={variable: "6"})
        t.equal("not rank 0: silent with %s" % variable, t.stderr, "")
        t.run("merge", "--quiet", t.file("m.tide"), file)
        t.equal(variable, [(k, v["rank"]) for k, v in inputs(t, t.file("m.tide")).items()], [("rank 6", 6)])
    t.run("run", "-o", t.file("x.tide"), program, env={"PMI_RANK": "six"})
    t.run("merge", "--quiet", t.file("m.tide"), t.file("x.tide"))
    t.equal("nonsense is no rank", [v["rank"] for v in inputs(t, t.file("m.tide")).values()], [None])


def test_slurm_and_pmi(t):
    """How many ranks there are, and how many of them here: with all of them here, one file and nothing else is left."""
    program, host = t.build("rank.c", "-O1"), socket.gethostname()
    for name, common, each in (
            ("slurm", {"SLURM_NTASKS": "3", "SLURM_STEP_TASKS_PER_NODE": "3", "SLURM_NODEID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}, "SLURM_PROCID"),
            ("pmi", {"PMI_SIZE": "3", "MPI_LOCALNRANKS": "3", "PMI_JOBID": "j1"}, "PMI_RANK")):
        for rank in range(3):
            t.run("run", "--quiet", "--merge", t.file(name + ".tide"), program, env={**common, each: str(rank), "RANK": str(rank)})
            t.equal("status: " + t.stderr, t.status, 0)
        t.equal("inputs of " + name, sorted(inputs(t, t.file(name + ".tide"))), ["rank 0", "rank 1", "rank 2"])
    t.equal("nothing else is left", sorted(os.listdir(t.dir)), ["pmi.tide", "slurm.tide"])
    for tasks, node, local in (("2(x2),1", "2", 1), ("2(x2),1", "1", 2), ("5", "0", 5), ("1,4", "1", 4)):
        common = {"SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": tasks, "SLURM_NODEID": node, "SLURM_JOB_ID": "8", "SLURM_STEP_ID": "0"}
        merged = t.file("node.tide" if local == 5 else "node.%s.tide" % host)
        for rank in range(local):
            t.run("run", "--quiet", "--merge", t.file("node.tide"), program, env={**common, "SLURM_PROCID": str(rank), "RANK": str(rank)})
        t.equal("ranks of %s on node %s" % (tasks, node), len(inputs(t, merged)), local)
        t.true("no folder is left", not glob.glob(t.file("node.tide.parts*")), os.listdir(t.dir))
        os.unlink(merged)


def test_machines_of_a_job(t):
    """Where a job has more ranks than there are here, each machine has its file."""
    program, host = t.build("rank.c", "-O1"), socket.gethostname()
    for rank in range(3):
        t.run("run", "--merge", t.file("job.tide"), program,
              env={"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "5", "OMPI_COMM_WORLD_LOCAL_SIZE": "3", "RANK": str(rank),
                   "PMIX_NAMESPACE": "job1"})
        if rank == 0:
            t.true("rank 0 says what to do", "tidemark-mpi-merge " + t.file("job.tide") in t.stderr, t.stderr)
    t.equal("files", os.listdir(t.dir), ["job.%s.tide" % host])
    t.equal("inputs", sorted(inputs(t, t.file("job.%s.tide" % host))), ["rank 0", "rank 1", "rank 2"])
    t.run("run", "--merge", t.file("job.tide"), "-o", "|cat", program)
    t.equal("usage", t.status, 2)


def test_merge_into_a_folder_is_refused_before_the_program_runs(t):
    os.mkdir(t.file("there"))
    t.run("run", "--merge", t.file("there"), "/usr/bin/touch", t.file("ran"))
    t.equal("status, lines", (t.status, len(t.stderr.splitlines())), (125, 1))
    t.equal("files", os.listdir(t.dir), ["there"])


def test_what_run_merge_suggests_is_a_word_for_a_shell(t):
    t.run("run", "--merge", "a b.tide", t.build("rank.c", "-O1"))
    t.true("quoted", "next: tidemark report 'a b.tide'" in t.stderr, t.stderr)
