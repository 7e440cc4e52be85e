"""tidemark maps: what a process had mapped, against known sizes and against what the kernel told the program itself."""
import csv
import glob
import io
import os
import re
import subprocess

from harness import ROOT, Skipped, eventually

API = ("-I", os.path.join(ROOT, "include"))
KIB, MIB = 1 << 10, 1 << 20
PAGE = 4096
KINDS = ["heap", "stacks", "program text", "program data", "library text", "library data", "files", "anonymous",
         "shared memory", "kernel", "tidemark"]
FIGURES = ["count", "size_bytes", "rss_bytes", "pss_bytes", "private_bytes", "dirty_bytes", "swap_bytes", "anonymous_bytes",
           "huge_bytes", "locked_bytes"]


def arguments(t):
    """The program with its library and its file of 3 MiB."""
    if t.dir.startswith("/dev/shm/"):
        raise Skipped("TMPDIR is in /dev/shm, where files are shared memory")
    with open(t.file("mapped.data"), "wb") as out:
        out.write(b"x" * 3 * MIB)
    return [t.build("maps.c", "-O1", *API), t.build("plugin.c", "-DNAME=plugged", shared=True), t.file("mapped.data")]


def record(t):
    """The profile, and VmRSS in bytes before and after each of the two snapshots."""
    profile = t.record(*arguments(t))
    return profile, [[int(n) * KIB for n in line.split()] for line in t.stdout.splitlines()]


def captured(t, profile):
    """Is there a look at its mappings in the file of a program that still runs?"""
    return os.path.exists(profile) and t.run("maps", profile)[2] == 0


def kinds_of(answer):
    return {row["kind"]: row for row in answer["rows"]}


def adds_up(t, what, answer):
    for key in FIGURES:
        t.equal("sum of %s, %s" % (key, what), sum(row[key] for row in answer["rows"]), answer["totals"][key])
    nodes = {}
    for row in answer["rows"]:
        for node, size in row["nodes"].items():
            nodes[node] = nodes.get(node, 0) + size
    t.equal("nodes, " + what, {n: s for n, s in nodes.items() if s}, {n: s for n, s in answer["totals"]["nodes"].items() if s})


def check_second(t, rows):
    """What there is besides what was there at first."""
    for kind, key, want in (("anonymous", "size_bytes", 64 * MIB), ("anonymous", "rss_bytes", 32 * MIB),
                            ("anonymous", "private_bytes", 32 * MIB), ("files", "size_bytes", 3 * MIB),
                            ("files", "rss_bytes", 3 * MIB), ("shared memory", "size_bytes", 7 * MIB),
                            ("shared memory", "rss_bytes", 6 * MIB), ("stacks", "size_bytes", 8 * (MIB + PAGE)),
                            ("stacks", "count", 16), ("anonymous", "count", 1), ("files", "count", 1), ("shared memory", "count", 2)):
        t.equal("%s of %s" % (key, kind), rows[kind][key], want)


def test_difference_is_exact(t):
    profile, _ = record(t)
    answer = t.ask(profile, "maps", "--since", "snapshot#1", "--at", "snapshot#2")
    t.equal("schema", answer["schema"], "tidemark.maps/1")
    t.equal("fields of a row", sorted(answer["rows"][0]), sorted(["kind", "change", *FIGURES, "nodes", "policy"]))
    t.equal("captures", [c["label"] for c in answer["captures"] if c["label"] != "periodic" and c["label"] != "start"],
            ["snapshot#1", "snapshot#2", "exit"])
    for side, label in (("since", "snapshot#1"), ("at", "snapshot#2")):
        t.equal(side, (answer[side]["moment"], answer[side]["capture"], answer[side]["moment_ns"] - answer[side]["time_ns"]),
                (label, label, 0))
    rows = kinds_of(answer)
    t.equal("kinds", [row["kind"] for row in answer["rows"]], KINDS)
    check_second(t, rows)
    t.equal("changes", [rows[k]["change"] for k in ("stacks", "files", "shared memory", "program text", "kernel")],
            ["grown", "new", "new", "same", "same"])
    t.equal("the recorder mapped nothing more", rows["tidemark"]["size_bytes"], 0)
    adds_up(t, "difference", answer)

    by_library = t.ask(profile, "maps", "--since", "snapshot#1", "--at", "snapshot#2", "--by", "library")
    plugin = {row["kind"]: row for row in by_library["rows"] if row["name"] and row["name"].endswith("/plugin.so")}
    t.equal("the loaded library", {k: r["change"] for k, r in plugin.items()}, {"library text": "new", "library data": "new"})
    with_kind = sum(row["size_bytes"] for row in answer["rows"] if row["kind"].startswith("library"))
    t.equal("no other library came", sum(row["size_bytes"] for row in plugin.values()), with_kind)
    adds_up(t, "by library", by_library)

    back = t.ask(profile, "maps", "--since", "snapshot#2")
    rows = kinds_of(back)
    t.equal("given back", [rows["anonymous"][k] for k in ("size_bytes", "rss_bytes", "change")], [-63 * MIB, -31 * MIB, "shrunk"])
    adds_up(t, "back", back)


def test_each_mapping(t):
    profile, _ = record(t)
    rows = t.ask(profile, "maps", "--at", "snapshot#2", "--by", "mapping")["rows"]
    t.true("no overlap", all(a["end"] <= b["start"] for a, b in zip(*[sorted(rows, key=lambda r: r["start"])[k:] for k in (0, 1)])))
    t.equal("sizes", [r for r in rows if r["size_bytes"] != r["end"] - r["start"] or r["count"] != 1], [])
    by_size = {r["size_bytes"]: r for r in rows if r["kind"] == "anonymous"}
    t.equal("anonymous", {k: by_size[64 * MIB][k] for k in ("name", "access", "rss_bytes")},
            {"name": None, "access": "rw-p", "rss_bytes": 32 * MIB})
    file = [r for r in rows if r["name"] == t.file("mapped.data")]
    t.equal("the file", [(r["kind"], r["access"], r["rss_bytes"], r["offset"]) for r in file], [("files", "r--p", 3 * MIB, 0)])
    memory = [r for r in rows if (r["name"] or "").startswith("/memfd:known")]
    t.equal("shared memory", [(r["kind"], r["access"], r["size_bytes"], r["rss_bytes"]) for r in memory],
            [("shared memory", "rw-s", 5 * MIB, 5 * MIB)])
    stacks = [r for r in rows if r["kind"] == "stacks" and r["name"] is None]
    t.equal("stacks and their guards", sorted((r["access"], r["size_bytes"]) for r in stacks),
            [("---p", PAGE)] * 8 + [("rw-p", MIB)] * 8)
    own = [r for r in rows if re.search("libtidemark[.]so|memfd:tidemark", r["name"] or "")]
    t.true("ours are apart", own and {r["kind"] for r in own} == {"tidemark"}, own)

    changed = t.ask(profile, "maps", "--since", "snapshot#2", "--by", "mapping")
    shrunk = [r for r in changed["rows"] if r["kind"] == "anonymous"]
    t.equal("what is left begins where it did", [(r["start"], r["change"], r["size_bytes"], r["rss_bytes"]) for r in shrunk],
            [(by_size[64 * MIB]["start"], "shrunk", -63 * MIB, -31 * MIB)])
    adds_up(t, "each", changed)


def test_agrees_with_the_kernel(t):
    """The sum over all mappings is what smaps_rollup tells the program just before and after."""
    profile, told = record(t)
    for number, (before, after) in enumerate(told, 1):
        answer = t.ask(profile, "maps", "--at", "snapshot#%d" % number)
        adds_up(t, "snapshot#%d" % number, answer)
        # The recorder touches a few pages of its own to ask for the snapshot.
        t.true("RSS at %d" % number, before <= answer["totals"]["rss_bytes"] + 64 * KIB and
               answer["totals"]["rss_bytes"] <= after + 64 * KIB, (before, answer["totals"]["rss_bytes"], after))
        t.equal("tidemark's own", {k: answer["tidemark"][k] for k in FIGURES},
                {k: kinds_of(answer)["tidemark"][k] for k in FIGURES})


def test_snapshot_file(t):
    """A snapshot is a profile by itself: its mappings are those of its moment."""
    profile, _ = record(t)
    whole = t.ask(profile, "maps", "--at", "snapshot#2")
    alone = t.ask(t.file("two.2.tide"), "maps")
    t.equal("captured", alone["at"]["capture"], "snapshot#2")
    t.equal("the same", alone["rows"], whole["rows"])


def test_heap(t):
    """Arenas and large blocks are heap; and so they are in a forked child, where ours are still apart."""
    profile = t.record(t.build("heap_maps.c", "-O1"))
    answer = t.ask(profile, "maps")
    t.equal("captured", answer["at"]["capture"], "exit")
    pids = [p["pid"] for p in answer["processes"]]
    t.equal("processes", len(pids), 2)
    for pid in pids:
        answer = t.ask(profile, "maps", "--process", str(pid), "--by", "mapping")
        known = [r for r in answer["rows"] if r["kind"] == "stacks" and r["size_bytes"] == 3 * MIB]
        t.equal("a stack without guard, of a thread that runs", len(known), pid == pids[0])
        heap = [r for r in answer["rows"] if r["kind"] == "heap"]
        # 16 MiB in one block, 2 arenas of 64 MiB, and what brk gave.
        t.equal("large block", len([r for r in heap if 16 * MIB < r["size_bytes"] < 17 * MIB]), 1)
        arenas = [r for r in heap if r["access"] == "---p"]
        t.equal("reserves of arenas", len(arenas), 2)
        t.equal("arenas", [r["size_bytes"] + a["size_bytes"] for a in arenas for r in heap if r["end"] == a["start"]],
                [64 * MIB] * 2)
        t.equal("brk", len([r for r in heap if r["name"] == "[heap]"]), 1)
        rest = [r for r in answer["rows"] if r["kind"] == "anonymous" and r["size_bytes"] > 512 * KIB
                and (r["size_bytes"] != 3 * MIB or pid == pids[0])]
        t.equal("nothing large is left over", rest, [])


def test_killed(t):
    """What was seen last while it lived; it changed much, so it was looked at again."""
    profile, go = t.file("killed.tide"), t.file("go")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--", *arguments(t), go], cwd=t.dir)

    def largest():
        answer = t.ask(profile, "maps", "--by", "mapping") if captured(t, profile) else {"rows": []}
        return [(r["kind"], r["size_bytes"], r["rss_bytes"]) for r in answer["rows"]
                if r["kind"] in ("anonymous", "files", "shared memory")][:4]

    want = [("anonymous", 64 * MIB, 32 * MIB), ("shared memory", 5 * MIB, 5 * MIB), ("files", 3 * MIB, 3 * MIB),
            ("shared memory", 2 * MIB, 1 * MIB)]
    eventually("it is looked at again, as the last checkpoint says", lambda: largest() == want)
    open(go, "w").close()
    t.equal("status", tool.wait(), 137)
    t.equal("the largest", largest(), want)
    answer = t.ask(profile, "maps")
    t.true("captured", answer["at"]["capture"] in ("periodic", "start"), answer["at"])


def test_start_and_end(t):
    """A program that is over at once has its end; a longer one has its start too."""
    short = t.ask(t.record("/bin/true"), "maps")
    t.equal("short", short["captures"][-1]["label"], "exit")
    t.true("RSS", short["totals"]["rss_bytes"] > 500 * KIB, short["totals"])
    profile = t.file("longer.tide")
    tool = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", profile, "--", "/bin/cat"], stdin=subprocess.PIPE)
    eventually("it is looked at, as the last checkpoint says", lambda: captured(t, profile))
    tool.communicate()
    longer = t.ask(profile, "maps", "--at", "start")
    t.equal("longer", (longer["captures"][0]["label"], longer["at"]["capture"]), ("start", "start"))
    t.true("taken after it", longer["at"]["time_ns"] > longer["at"]["moment_ns"] == 0, longer["at"])


def test_nodes(t):
    """numa_maps counts the same pages, but for a few of the kernel's."""
    if not os.path.exists("/proc/self/numa_maps"):
        raise Skipped("this kernel has no numa_maps")
    profile, _ = record(t)
    answer = t.ask(profile, "maps", "--at", "snapshot#2", "--numa")
    rows = kinds_of(answer)
    for kind in ("anonymous", "files", "shared memory", "stacks", "heap"):
        t.equal("nodes of " + kind, sum(rows[kind]["nodes"].values()), rows[kind]["rss_bytes"])
    online = {os.path.basename(path)[4:] for path in glob.glob("/sys/devices/system/node/node[0-9]*")}
    t.true("nodes that there are", not online or set(answer["totals"]["nodes"]) <= online, answer["totals"]["nodes"])
    lines = t.run("maps", profile, "--numa")[0].splitlines()
    title = [line for line in lines if line.split()[:2] == ["mappings", "size"]][0]
    t.true("text", "node 0" in title and title.split()[-2:] == ["policy", "kind"], title)


def test_policy(t):
    profile = t.record(t.build("heap_maps.c", "-O1"), "interleave")
    if t.stdout.strip() == "no":
        raise Skipped("this machine has no NUMA policies")
    rows = t.ask(profile, "maps", "--by", "mapping")["rows"]
    placed = [r for r in rows if r["policy"] and r["policy"].startswith("interleave")]
    t.equal("the one mapping", [(r["size_bytes"], sum(r["nodes"].values())) for r in placed], [(8 * MIB, 8 * MIB)])


def test_text_and_csv(t):
    profile, _ = record(t)
    lines = t.run("maps", profile, "--at", "snapshot#2")[0].splitlines()
    t.true("which capture", lines[1].startswith("at snapshot#2: captured at ") and lines[1].endswith("(snapshot#2)"), lines[1])
    anonymous = [line for line in lines if line.endswith("  anonymous")][0].split()
    t.equal("a row", anonymous[1:], "64.0 MiB 32.0 MiB 32.0 MiB 32.0 MiB 32.0 MiB 0 B anonymous".split())
    t.true("total last", lines[-1].endswith("  total"), lines[-1])
    t.true("how far", " earlier" in t.run("maps", profile)[0].splitlines()[1])
    cut = t.run("maps", profile, "--by", "mapping", "--top", "3")[0].splitlines()
    whole = t.ask(profile, "maps", "--by", "mapping")["rows"]
    t.equal("the rest is counted", cut[-1], "... %d more rows; --top 0 shows all" % (len(whole) - 3))
    for options in ((), ("--by", "library"), ("--by", "mapping", "--since", "snapshot#1", "--at", "snapshot#2")):
        table = list(csv.DictReader(io.StringIO(t.run("maps", profile, *options, "--csv")[0])))
        rows = t.ask(profile, "maps", *options)["rows"]
        t.equal("CSV %s" % (options,), [{k: int(r[k]) for k in FIGURES} for r in table], [{k: r[k] for k in FIGURES} for r in rows])
        t.equal("names %s" % (options,), [(r["kind"], r["name"], r["change"]) for r in table],
                [(r["kind"], r.get("name") or "", r.get("change", "")) for r in rows])


def test_wrong_usage(t):
    profile = t.record("/bin/true")
    for arguments_, status, words in ((("--by", "function"), 2, "kind, library, mapping"), (("--at", "nothing"), 2, "not a moment"),
                                      (("--since", "end", "--at", "start"), 2, "swap them"), (("--process", "1"), 1, "no process 1"),
                                      (("--metric", "live"), 2, "--metric"), (("--json", "--csv"), 2, "exclude")):
        stdout, stderr, got = t.run("maps", profile, *arguments_)
        t.equal("status of %s" % (arguments_,), (got, stdout, stderr.count("\n")), (status, "", 1))
        t.true("%s says what is right" % (arguments_,), words in stderr, stderr)


def test_damaged(t):
    """A file that is cut before its mappings says that there are none; one that is cut after them still has them."""
    profile, _ = record(t)
    with open(profile, "rb") as file:
        content = file.read()
    at = content.index(b"MAPS")
    whole = t.ask(profile, "maps")
    stored = int.from_bytes(content[at + 8:at + 12], "little")
    for size, kept in ((at, False), (at + 24 + stored - 1, False), (at + 24 + stored, True)):
        with open(t.file("cut.tide"), "wb") as out:
            out.write(content[:size])
        stdout, stderr, status = t.run("maps", t.file("cut.tide"))
        if not kept:
            t.equal("nothing to show at %d" % size, (status, stdout), (1, ""))
            t.true("a sentence", "no mappings of process" in stderr and stderr.count("\n") == 1, stderr)
            continue
        t.equal("status", (status, stderr), (0, ""))
        t.true("says that it is cut", "\nincomplete " in stdout, stdout)
        t.equal("rows", t.ask(t.file("cut.tide"), "maps")["rows"], whole["rows"])
