"""tidemark threads: exact figures of threads that free each other's blocks, and the picture."""
import browser
from harness import cases


def record(t, count):
    return t.record(t.build("many_threads.c", "-O1"), str(count))


def workers(rows):
    return {r["name"]: r for r in rows if r["name"].startswith("w")}


def test_64_threads(t):
    found = t.ask(record(t, 64), "threads")
    own = workers(found["threads"])
    t.equal("threads", len(own), 64)
    for i in range(64):
        row, size = own["w%d" % i], 100 * (i + 1)
        # A thread may make blocks of libc's own besides; they are none of these sizes.
        t.equal("w%d" % i, (row["live_bytes"], row["live_blocks"], row["allocated_bytes"], row["allocations"], row["freed_bytes"]),
                (10 * size, 10, 100 * size, 100, 90 * size))
        t.equal("last moment of w%d" % i, row["live"][-1], 10 * size)
        t.true("w%d at its highest" % i, max(10 * size, row["at_peak_bytes"]) <= row["highest_bytes"] <= 100 * size, row)
    t.equal("moments", {len(r["live"]) for r in found["threads"]}, {len(found["moments_ns"])})
    t.equal("the order", [r["highest_bytes"] for r in found["threads"]],
            sorted((r["highest_bytes"] for r in found["threads"]), reverse=True))


def test_focus(t):
    profile = record(t, 4)
    rows = t.ask(profile, "threads", "--within", "^work$")["threads"]
    t.equal("only work's", {r["name"]: r["allocated_bytes"] for r in rows if r["allocations"]},
            {"w%d" % i: 10000 * (i + 1) for i in range(4)})
    rows = t.ask(profile, "threads", "--thread", "w2")["threads"]
    t.equal("one thread", {r["name"]: r["live_bytes"] for r in rows if r["allocations"]}, {"w2": 3000})


def test_csv_and_text(t):
    profile = record(t, 4)
    lines = t.run("threads", profile, "--csv")[0].splitlines()
    t.equal("rows", len(lines), 1 + 5)
    t.equal("w3", [line.split(",")[4:9] for line in lines if line.startswith("w3,")], [["4000", "10", "100", "40000", "36000"]])
    text = t.run("threads", profile, "--top", "2")[0]
    t.true("others", "... 3 more threads with " in text, text)


@cases(count=(4, 400))
def test_picture(t, count):
    """Legible with 4 and with 400 threads: few lines, every name in the file beside it."""
    profile, path = record(t, count), t.file("threads.svg")
    t.equal("nothing is printed", t.run("threads", profile, "--plot", path, "--rebase"), ("", "", 0))
    with open(path + ".legend.txt") as file:
        legend = file.read().splitlines()
    t.equal("names in the legend file", {line.split()[1] for line in legend} >= {"w%d" % i for i in range(count)}, True)
    t.equal("lines of it", len(legend), count + 1)
    with open(path) as file:
        svg = file.read()
    seen = browser.look(t, svg, """
        const lines = window.tidemark.lines, box = document.querySelector('svg').viewBox.baseVal;
        seen.push(lines.length, lines[0].name, lines[1].name, lines[lines.length - 1].name.replace(/[0-9]+/, 'N'));
        const inside = (e) => { const b = e.getBBox(); return b.x >= 0 && b.y >= 0 && b.x + b.width <= box.width && b.y + b.height <= box.height; };
        seen.push(Array.from(document.querySelectorAll('svg text')).every(inside));
        const legend = Array.from(document.querySelectorAll('.l')).map((g) => g.getBBox());
        const apart = legend.every((a, i) => legend.every((b, k) => i === k || a.x + a.width <= b.x || b.x + b.width <= a.x ||
                                                                     a.y + a.height <= b.y + 1 || b.y + b.height <= a.y + 1));
        seen.push(apart);
        """)
    lines = 2 + 5 if count == 4 else 2 + 14 + 1
    t.equal("in the browser", seen, [str(lines), "heap of the process", "RSS of the process, rebased",
                                     seen[3] if count == 4 else "N other threads, together", "true", "true"])


def test_wrong_usage(t):
    profile = record(t, 4)
    _, stderr, status = t.run("threads", profile, "--thread", "nobody")
    t.true("no such thread", status == 1 and stderr.count("\n") == 1, (status, stderr))
    _, stderr, status = t.run("threads", profile, "--plot", "/nowhere/at/all.svg")
    t.true("cannot write", status == 1 and "cannot write /nowhere/at/all.svg" in stderr, (status, stderr))
