"""tidemark threads: exact figures of threads that free each other's blocks, and the picture."""
import os

import browser
from harness import ROOT, cases, slow

API = ("-I", os.path.join(ROOT, "include"))


def record(t, count):
    return t.record(t.build("many_threads.c", "-O1", *API), str(count))


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
        t.equal("w%d, named as in a report" % i, (row["bytes_allocated"], row["frees"], row["peak_bytes"]), (100 * size, 90, 100 * size))
        t.equal("last moment of w%d" % i, row["live"][-1], 10 * size)
        t.equal("w%d at its highest, which the mark has seen" % i, row["highest_bytes"], 100 * size)
        t.true("w%d at the process's peak" % i, row["at_peak_bytes"] <= 100 * size, row)
    t.equal("moments", {len(r["live"]) for r in found["threads"]}, {len(found["moments_ns"])})
    t.equal("the first thread is as old as the process", [r["start_ns"] for r in found["threads"] if r["name"] == "main"], [0])
    t.equal("it ended well", [found[k] for k in ("exit_code", "signal", "complete")], [0, None, True])
    t.equal("the order", [r["highest_bytes"] for r in found["threads"]],
            sorted((r["highest_bytes"] for r in found["threads"]), reverse=True))


def foreign(count, i, first, last):
    """(bytes, blocks) of others that thread i of foreign_frees.c frees one by one, blocks `first` to `last`."""
    owners = [(i + k) % count for k in range(first, last)]
    return sum(100 * (o + 1) for o in owners if o != i), sum(o != i for o in owners)


@cases(count=(64, 7))
def test_frees_of_others(t, count):
    """Each thread frees blocks of sixty threads, its own among them, and reallocates some of its neighbour's."""
    profile = t.record(t.build("foreign_frees.c", "-O1", *API), str(count))
    t.consistent(profile)
    halves = (t.ask(profile, "threads", "--at", "half"), t.ask(profile, "threads", "--since", "half"))
    whole = t.ask(profile, "threads")
    names = ["f%d" % i for i in range(count)]
    got = [{r["name"]: (r["freed_of_others_bytes"], r["freed_of_others_blocks"]) for r in found["threads"]}
           for found in (whole, *halves)]
    neighbours = {name: 10 * 100 * ((i + 1) % count + 1) for i, name in enumerate(names)}
    first = {name: foreign(count, i, 0, 30) for i, name in enumerate(names)}
    second = {name: foreign(count, i, 30, 60) for i, name in enumerate(names)}
    second = {name: (b + neighbours[name], n + 10) for name, (b, n) in second.items()}
    t.equal("first half", {n: got[1][n] for n in names}, first)
    t.equal("second half", {n: got[2][n] for n in names}, second)
    t.equal("whole run", {n: got[0][n] for n in names},
            {n: (first[n][0] + second[n][0], first[n][1] + second[n][1]) for n in names})
    rows = {r["name"]: r for r in whole["threads"]}
    for i, name in enumerate(names):
        right = 100 * ((i + 1) % count + 1)
        t.equal("own blocks of " + name, [rows[name][k] for k in ("allocations", "allocated_bytes", "live_blocks", "live_bytes")],
                [110, 100 * 100 * (i + 1) + 10 * (right + 1), 30, 30 * 100 * (i + 1)])
        series = rows[name]["freed_of_others"]
        t.equal("over time, " + name, (series[0], series[-1]), (0, got[0][name][0]))
    t.equal("by who allocated them, too: all frees but each thread's own", sum(n for _, n in (got[0][x] for x in names)),
            sum(foreign(count, i, 0, 60)[1] + 10 for i in range(count)))
    lines = t.run("threads", profile, "--csv")[0].splitlines()
    t.equal("CSV", {line.split(",")[0]: tuple(map(int, line.split(",")[-2:])) for line in lines[1:]}, got[0])
    t.true("text", "of others" in t.run("threads", profile)[0])


def test_pools(t):
    """Threads of one name are told apart, also where the kernel gave an id again; a renamed one has a row for each name."""
    profile = t.record(t.build("thread_pools.c", "-O1"))
    tids = list(map(int, t.stdout.split()))
    rows = t.ask(profile, "threads", "--within", "^leak$")["threads"]
    own = [r for r in rows if r["name"] in ("pool", "last")]
    t.equal("each is a row", sorted((r["allocations"], r["live_bytes"], r["tid"], r["name"]) for r in own),
            sorted(row for n, tid in enumerate(tids, 1) for row in
                   ([(n, 1000 * n, tid, "pool")] if n % 8 else [(n // 2, 500 * n, tid, name) for name in ("pool", "last")])))
    t.equal("labels differ", len({r["label"] for r in rows}), len(rows))
    t.true("and have name and id", all(r["label"].startswith("%s:%d" % (r["name"], r["tid"])) for r in own), own)


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


@slow
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
        const lines = window.tidemark.lines, svg = document.querySelector('svg');
        const rects = (what) => Array.from(svg.querySelectorAll(what)).map((e) => e.getBoundingClientRect()).filter((r) => r.width);
        const apart = (all) => all.every((a, i) => all.every((b, k) => i === k || a.right <= b.left || b.right <= a.left ||
                                                                       a.bottom <= b.top + 1 || b.bottom <= a.top + 1));
        const inside = () => { const box = svg.getBoundingClientRect();
          return rects('text').every((r) => r.left >= box.left && r.right <= box.right && r.top >= box.top && r.bottom <= box.bottom); };
        const look = () => seen.push(inside(), apart(rects('.l')), apart(rects('.xt')), apart(rects('.ml')));
        seen.push(lines.length, lines[0].name, lines[1].name, lines[lines.length - 1].name.replace(/[0-9]+/, 'N'));
        look();
        const ratio = (l) => { const r = l.line.getBBox(); return r.height / (l.panel.bottom - l.panel.top); };
        const first = lines.find((l) => /^w[0-9]+$/.test(l.name));
        seen.push(lines.every((l) => { const r = l.line.getBBox(); return r.y >= l.panel.top - 1 && r.y + r.height <= l.panel.bottom + 1; }));
        seen.push(svg.querySelectorAll('.panel').length, ratio(first) > 0.2);
        const x = 400.03;  // no point has it: they have one decimal
        const wide = window.tidemark.show(x), left = svg.querySelector('.m, .g').getBoundingClientRect().left;
        window.tidemark.layout(true);
        look();
        seen.push(+svg.getAttribute('viewBox').split(' ')[2] <= 440);
        const narrow = window.tidemark.show(68 + (x - 86) / (960 - 86) * (426 - 68));
        seen.push(JSON.stringify(narrow) === JSON.stringify(wide));
        window.tidemark.layout(false);
        look();
        seen.push(JSON.stringify(window.tidemark.show(x)) === JSON.stringify(wide) && wide.length > 1);
        """)
    lines = 2 + 5 if count == 4 else 2 + 14 + 1
    yes = ["true"] * 4  # all texts inside; legend, times and names of marks do not overlap
    t.equal("in the browser", seen, [str(lines), "heap of the process", "RSS of the process, rebased",
                                     seen[3] if count == 4 else "N other threads, together", *yes,
                                     "true", seen[9] if count == 4 else "2", "true", *yes, "true", "true", *yes, "true"])


def test_wrong_usage(t):
    profile = record(t, 4)
    _, stderr, status = t.run("threads", profile, "--thread", "nobody")
    t.true("no such thread", status == 1 and stderr.count("\n") == 1, (status, stderr))
    _, stderr, status = t.run("threads", profile, "--plot", "/nowhere/at/all.svg")
    t.true("cannot write", status == 1 and "cannot write /nowhere/at/all.svg" in stderr, (status, stderr))
