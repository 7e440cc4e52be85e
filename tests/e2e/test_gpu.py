"""Memory of graphics processors: by the driver's functions, and by tensors; with stand-ins for both (tests/programs/gpu*.c)."""
import struct
import subprocess

from harness import cases
from test_api import INCLUDE
from test_bad_files import chunk, varints

MIB = 1 << 20
PITCHED = 512 * 2048
ALL = 300 * MIB + 10 * MIB + PITCHED + 2 * MIB


def built(t, opt="-O1", cc="gcc", tensors=True, older=False):
    parts = [t.build("gpu.c", "-O1", "-Wno-strict-prototypes", *INCLUDE), "plain", t.build("gpu_driver.c", opt, "-Wl,-soname,libcuda.so.1", shared=True, cc=cc)]
    if tensors:
        parts.append(t.build("gpu_tensors.c", opt, *(["-DOLDER"] if older else []), shared=True, cc=cc))
    return parts


def sums(report):
    return report["sum"]["bytes"], report["sum"]["count"]


@cases(opt=("-O0", "-O2"), cc=("gcc", "clang"))
def test_driver_at_moments(t, opt, cc):
    command = built(t, opt, cc)
    plain = t.plain(*command)
    profile = t.record(*command)
    t.equal("same output", (t.stdout, t.status), (plain[0], 0))
    t.equal("at large", sums(t.report(profile, "gpu", "--at", "large")), (300 * MIB, 3))
    t.equal("at all", sums(t.report(profile, "gpu", "--at", "all")), (ALL, 15))
    t.equal("at half", sums(t.report(profile, "gpu", "--at", "half")), (100 * MIB + 4 * MIB + PITCHED, 6))
    t.equal("from all to half", sums(t.report(profile, "gpu", "--since", "all", "--at", "half")), (-(200 + 6 + 2) * MIB, -9))
    end = t.report(profile, "gpu")
    t.equal("at the end", sums(end), (103 * MIB, 4))
    t.equal("peak", (end["gpu"]["peak_bytes"], end["gpu"]["peak_count"]), (ALL, 15))
    peak = t.report(profile, "gpu", "--at", "peak")
    t.equal("at the peak", sums(peak), (ALL, 15))
    t.equal("by function", {name: t.row(peak, name)["self_bytes"] for name in ("large", "small", "pitched", "created")},
            {"large": 300 * MIB, "small": 10 * MIB, "pitched": PITCHED, "created": 2 * MIB})
    t.equal("no frame of ours", [r["name"] for r in peak["rows"] if "tidemark" in (r["module"] or "")], [])
    t.equal("stacks", sorted(stack[:3] for _, _, stack in t.stacks(profile, "large", "gpu", "--at", "peak")),
            [["large", "plain", "main"]])


def test_the_closing_lines(t):
    _, stderr, _ = t.run("run", "-o", t.file("a.tide"), "--", *built(t))
    t.true("both peaks", "  GPU memory: peak 313.0 MiB, of tensors 56.6 KiB\n" in stderr, stderr)
    _, stderr, _ = t.run("run", "-o", t.file("b.tide"), "--", *built(t, tensors=False))
    t.true("the driver's", "  GPU memory: peak 313.0 MiB\n" in stderr, stderr)


def test_the_heap_is_recorded_too(t):
    profile = t.record(*built(t, tensors=False))
    totals = t.consistent(profile)
    heap = t.row(t.report(profile, "total", "--native-only"), "give")
    t.equal("the driver's own blocks", heap["self_count"], 3 + 10 + 1 + 2 + 1)
    t.true("device memory is not live memory", totals["peak_bytes"] < MIB, totals)
    tensor = t.run("report", profile, "--metric", "tensor")
    t.equal("no tensors", (tensor[2], "did not load PyTorch" in tensor[1]), (1, True))


@cases(older=(False, True))
def test_tensors(t, older):
    profile = t.record(*built(t, older=older))
    t.equal("at their peak", sums(t.report(profile, "tensor", "--at", "peak")), (58000, 9))
    at_end = t.report(profile, "tensor")
    t.equal("at the end", (sums(at_end), at_end["tensor"]["peak_bytes"]), ((4000, 4), 58000))
    t.equal("by function", (t.row(at_end, "tensor")["total_bytes"], t.row(at_end, "report")["self_bytes"]), (4000, 4000))
    text = t.run("report", profile)[0]
    t.true("the summary has both", "gpu        313.0 MiB in 15 blocks at the peak (" in text and "tensors    56.6 KiB in 9 blocks at the peak (" in text, text)


def test_threads(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "threads", command[2])
    end = t.report(profile, "gpu")
    t.equal("what is left", sums(end), (4 * 500 * 4096, 4 * 500))
    t.equal("the peak is exact", (end["gpu"]["peak_bytes"], end["gpu"]["peak_count"]), (4 * 2000 * 4096, 4 * 2000))
    t.equal("by thread", sorted(r["self_count"] for r in t.report(profile, "gpu", "--by", "thread")["rows"]), [4 * 500])


def test_mappings_hold_the_memory_of_a_handle(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "mapped", command[2])
    t.equal("same output", t.stdout, t.plain(command[0], "mapped", command[2])[0])
    want = {"released": 3, "retained": 3, "unmapped": 1, "followed": 1, "end": 0}
    t.equal("live", {at: sums(t.report(profile, "gpu", "--at", at)) for at in want}, {at: (2 * n * MIB, n) for at, n in want.items()})
    t.equal("the peak", t.report(profile, "gpu")["gpu"]["peak_bytes"], 6 * MIB)


@cases(mode=("plain", "threads"))
def test_sampling_the_heap_changes_nothing(t, mode):
    command = built(t)
    profile = t.record(command[0], mode, *command[2:], opts=("--sample=100M",))
    want = {"plain": (103 * MIB, 4), "threads": (4 * 500 * 4096, 4 * 500)}
    t.equal("gpu at the end", sums(t.report(profile, "gpu")), want[mode])
    if mode == "plain":
        t.equal("tensors at their peak", sums(t.report(profile, "tensor", "--at", "peak")), (58000, 9))


def test_loaded_while_paused(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "resumed", command[2])
    t.equal("what came after", sums(t.report(profile, "gpu")), (200 * MIB, 2))
    profile = t.record(command[0], "resumed", command[2], opts=("--paused",))
    t.equal("paused from the start", sums(t.report(profile, "gpu")), (200 * MIB, 2))


def test_loaded_while_dormant(t):
    command, profile = built(t, tensors=False), t.file("dormant.tide")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--dormant", "--", command[0], "later", command[2]],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.equal("it waits", tool.stdout.readline(), "ready\n")
    t.run("ctl", str(tool.pid), "start")
    tool.communicate("go\n")
    t.equal("its status", tool.returncode, 0)
    t.equal("what came after", sums(t.report(profile, "gpu")), (200 * MIB, 2))


def test_frees_that_the_driver_refuses(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "refused", command[2])
    want = {"refused": 2, "one freed": 2, "peak": 3, "end": 1}
    t.equal("live", {at: sums(t.report(profile, "gpu", "--at", at)) for at in want}, {at: (100 * n * MIB, n) for at, n in want.items()})


def test_the_heap_at_another_peak(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "before", command[2])
    at_peak, heap = t.report(profile, "gpu", "--at", "peak"), t.report(profile, "live", "--at", "peak")
    t.equal("the peak", sums(at_peak), (100 * MIB, 1))
    totals = at_peak["totals"]
    t.true("the heap was small then", totals["live_bytes"] < MIB > totals["bytes_allocated"] and totals["peak_bytes"] < MIB, totals)
    t.true("a moment in the window", totals["peak_time_ns"] <= at_peak["at_ns"] < heap["at_ns"], (totals, at_peak["at_ns"]))
    text = t.run("report", profile, "--metric", "gpu", "--at", "peak")[0]
    t.true("its words", "; the table is exact, the heap is as at its interval's end" in text, text)
    t.equal("the heap's own", heap["totals"]["peak_bytes"] >= 8 * MIB, True)
    for chosen in ((), ("--at", "peak")):
        massif = t.file("massif.out")
        t.run("export", profile, "--format", "massif", "--metric", "gpu", *chosen, "-o", massif)
        with open(massif) as lines:
            found = [part.split("\nmem_heap_B=")[1].split("\n")[0] for part in lines.read().split("snapshot=") if "heap_tree=peak" in part]
        t.equal("massif's peak", found, [str(100 * MIB)])


def test_a_library_with_some_of_the_names(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "wrapped", command[2], t.build("gpu_wrapper.c", "-O1", "-ldl", shared=True))
    report = t.report(profile, "gpu")
    t.equal("all is seen", sums(report), (104 * MIB, 4))
    t.equal("by function", {name: t.row(report, name)["total_bytes"] for name in ("wrapped", "created", "large")},
            {"wrapped": 104 * MIB, "created": 2 * MIB, "large": 100 * MIB})


def test_unloaded_and_loaded_again(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "reload", command[2])
    t.equal("same output", t.stdout, t.plain(command[0], "reload", command[2])[0])
    # The driver that was unloaded took its memory along: the next one hands out the same addresses.
    t.equal("those of the second", sums(t.report(profile, "gpu")), (200 * MIB, 2))


def test_findings_name_who_holds_most(t):
    profile = t.record(*built(t, tensors=False))
    found = t.ask(profile, "findings")["findings"]
    gpu = [f for f in found if f["kind"] == "gpu"]
    t.equal("one", [(f["function"], f["bytes"], f["count"]) for f in gpu], [("large", 300 * MIB, 3)])
    text = t.run("findings", profile)[0]
    t.true("its words", "large holds 300.0 MiB of the 313.0 MiB of GPU memory at its peak" in text, text)
    t.true("the next command", "--metric gpu --at peak --callers large" in text, text)


def test_a_peak_that_contradicts_the_blocks(t):
    profile, bad = t.record(*built(t, tensors=False)), t.file("bad.tide")
    with open(profile, "rb") as lines:
        content, at, parts = lines.read(), 16, []
    while at < len(content):
        end = at + 24 + struct.unpack("<I", content[at + 8:at + 12])[0]
        gpu = content[at:at + 4] == b"GPUM"
        parts.append(chunk("GPUM", varints(1, 64 * MIB, 1, 1, 0, 0, 0, 0)) if gpu else content[at:end])
        at = end
    with open(bad, "wb") as out:
        out.write(content[:16] + b"".join(parts))
    t.equal("no finding of more than all", [f["bytes"] for f in t.ask(bad, "findings")["findings"] if f["kind"] == "gpu"], [])


def test_recordings_without(t):
    profile = t.record(t.build("pools.c", "-O1", *INCLUDE), "plain")
    for metric in ("gpu", "tensor"):
        stdout, stderr, status = t.run("report", profile, "--metric", metric)
        t.equal(metric, (stdout, status, stderr.count("\n")), ("", 1, 1))
        t.true("the sentence", "did not load" in stderr, stderr)
    t.true("nothing in the report", "\ngpu " not in t.run("report", profile)[0])


def test_a_child_alone_has_it(t):
    command = built(t, tensors=False)
    profile = t.record(command[0], "child", command[2])
    child = t.report(profile, "gpu", "--at", "peak")
    t.equal("the child is chosen", sums(child), (100 * MIB, 1))
    heap = t.report(profile, "live")
    t.true("for the heap, the parent", heap["pid"] != child["pid"] and "gpu" not in heap, heap)
    t.equal("each process's peak", child["gpu"]["peak_bytes"], 100 * MIB)
    together = t.report(profile, "gpu", "--process", "all")
    t.equal("all together", sums(together), (100 * MIB, 1))
    t.true("no peak of all together", "gpu" not in together, together.get("gpu"))


def test_merged(t):
    command = built(t)
    profiles = [t.record(*command) for _ in range(2)]
    merged = t.file("merged.tide")
    t.equal("merged", t.run("merge", merged, *profiles)[2], 0)
    t.equal("sum", sums(t.report(merged, "gpu")), (206 * MIB, 8))
    t.equal("each at its own peak", sums(t.report(merged, "gpu", "--at", "peak")), (2 * ALL, 30))


@cases(format=("pprof", "folded", "speedscope", "callgrind", "massif", "sqlite", "csv"))
def test_exports(t, format):
    profile = t.record(*built(t))
    out = t.file("out")
    chosen = [] if format == "sqlite" else ["--metric", "gpu"]
    stdout, stderr, status = t.run("export", profile, "--format", format, *chosen, "-o", out)
    t.equal("exported", (status, stderr), (0, stderr))
