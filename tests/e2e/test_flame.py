"""tidemark flame: folded stacks and pictures, looked at in a real browser."""
import os
import re
import subprocess

import browser
from harness import ROOT, bare

API = ("-I", os.path.join(ROOT, "include"))


def folded(text, numbers=1):
    """{stack: amount or amounts} of folded text."""
    found = {}
    for line in text.splitlines():
        words = line.rsplit(" ", numbers)
        amounts = tuple(int(w) for w in words[1:])
        found[words[0]] = amounts[0] if numbers == 1 else amounts
    return found


def draw(t, text, *options):
    done = subprocess.run([t.tidemark, "flame", "--from-folded", "-", *options], input=text.encode(), capture_output=True)
    t.equal("status", (done.returncode, done.stderr), (0, b""))
    return done.stdout.decode()


def test_folded(t):
    profile = t.record(t.build("phases.c", "-O1"))
    for metric in ("live", "total", "peak", "temporary"):
        text = t.run("flame", profile, "--metric", metric, "--folded")[0]
        t.equal("sorted", text.splitlines(), sorted(text.splitlines()))
        want = {}
        for row in t.report(profile, metric, "--by", "stack")["rows"]:
            stack = ";".join(f["function"] for f in reversed(row["stack"]))
            want[stack] = want.get(stack, 0) + row["bytes"]
        t.equal(metric, folded(text), {stack: amount for stack, amount in want.items() if amount})


def boxes(answer):
    """The boxes of `flame --json`, each as {column: value}, with texts in place of their numbers."""
    columns = ("depth", "start", "width", "name", "place", "module", "kind", "now", "self")
    columns += ("before",) if answer["difference"] else ()
    found = [dict(zip(columns, values)) for values in zip(*(answer[c] for c in columns))]
    for box in found:
        box.update({c: answer["names"][box[c]] for c in ("name", "place", "module")})
        box["kind"] = answer["kinds"][box["kind"]]
    return found


def stacks_of(found, value):
    """{folded stack: own amount} of boxes, depth first."""
    path, stacks = [], {}
    for box in found[1:]:
        path[box["depth"] - 1:] = [box["name"]]
        if box[value]:
            stacks[";".join(path)] = stacks.get(";".join(path), 0) + box[value]
    return stacks


def test_json(t):
    profile = t.record(t.build("phases.c", "-O1"))
    for options in ((), ("--reverse",), ("--metric", "total", "--by", "function"), ("--by-thread",)):
        answer = t.ask(profile, "flame", "--min-width", "0", *options)
        text = t.run("flame", profile, "--folded", *(o for o in options if o not in ("--by", "function")))[0]
        found = boxes(answer)
        t.equal("stacks", stacks_of(found, "self"), folded(text))
        t.equal("the sum", (found[0]["now"], found[0]["width"]), (sum(folded(text).values()),) * 2)
        t.equal("none is left out", (answer["boxes"], answer["boxes_left_out"]), (len(found), 0))
        inside = []
        for box in found:
            del inside[box["depth"]:]
            if inside:
                below = inside[-1]
                t.true("within its caller", below["start"] <= box["start"] and
                       box["start"] + box["width"] <= below["start"] + below["width"], box)
            inside.append(box)
    wide = boxes(t.ask(profile, "flame", "--min-width", "12"))
    all_boxes = boxes(t.ask(profile, "flame", "--min-width", "0"))
    t.equal("the others have the same numbers", [(b["name"], b["place"], b["depth"], b["width"], b["now"], b["self"]) for b in wide],
            [(b["name"], b["place"], b["depth"], b["width"], b["now"], b["self"]) for b in all_boxes
             if b["width"] >= 0.01 * all_boxes[0]["width"]])
    t.true("narrow boxes are left out", 0 < len(wide) < len(found), len(wide))
    t.equal("those below 1 %", [b for b in wide if b["width"] < 0.01 * wide[0]["width"]], [])
    both = boxes(t.ask(profile, "flame", "--since", "50%", "--min-width", "0"))
    at = t.ask(profile, "report", "--at", "50%")["sum"]["bytes"]
    t.equal("before", (both[0]["before"], both[0]["now"]), (at, t.ask(profile, "report")["sum"]["bytes"]))


def test_output(t):
    profile = t.record(t.build("phases.c", "-O1"))
    want = t.run("flame", profile, "--folded")[0]
    for option in (("-o", t.file("a")), ("--output", t.file("b")), ("--output=" + t.file("c"),)):
        t.equal("output of " + option[0], t.run("flame", profile, "--folded", *option), ("", "", 0))
    t.equal("files", [open(t.file(name)).read() for name in "abc"], [want] * 3)


def test_from_folded_and_back(t):
    text = "a;b;c 12\na;b 3\nx;y with spaces 7\na;b;c 1\n"
    t.equal("sums", folded(draw(t, text, "--folded")), {"a;b": 3, "a;b;c": 13, "x;y with spaces": 7})
    t.equal("differences", folded(draw(t, "a;b 5 7\nc 3 0\n", "--folded"), 2), {"a;b": (5, 7), "c": (3, 0)})


def test_difference_of_runs(t):
    program = t.build("planted.cpp", "-O1", *API)
    quiet, leaking = t.record(program, "0"), t.record(program, "1")
    both = folded(t.run("flame", leaking, "--diff", quiet, "--folded")[0], 2)
    leak = [amounts for stack, amounts in both.items() if bare(stack.split(";")[-1]) == "planted_leak"]
    t.equal("the leak", leak, [(0, 40000)])
    t.equal("the rest is the same", {a == b for stack, (a, b) in both.items() if "planted_leak" not in stack}, {True})


def test_difference_of_moments(t):
    profile = t.record(t.build("planted.cpp", "-O1", *API), "1", "marks")
    both = folded(t.run("flame", profile, "--since", "event#50", "--at", "event#60", "--folded")[0], 2)
    leak = [amounts for stack, amounts in both.items() if bare(stack.split(";")[-1]) == "planted_leak"]
    t.equal("ten events", leak, [(50 * 400, 60 * 400)])


def test_picture(t):
    """Widths, zoom, search and keys, as a person would use them."""
    svg = draw(t, "main;left;inner 30\nmain;left 10\nmain;right 60\n", "--title", "three <parts> & more")
    seen = browser.look(t, svg, """
        const boxes = window.tidemark.boxes, svg = document.querySelector('svg');
        const width = (n) => { const b = boxes.find((b) => b.name === n);
            return b.g.style.display === 'none' ? 'hidden' : Math.round(+b.r.getAttribute('width')); };
        const widths = () => ['all', 'main', 'left', 'inner', 'right'].map(width).join(' ');
        const box = (n) => boxes.find((b) => b.name === n);
        const press = (key) => window.dispatchEvent(new KeyboardEvent('keydown', {key: key}));
        seen.push(svg.querySelector('text').textContent);
        seen.push(widths());
        box('left').g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
        seen.push(widths());
        seen.push(document.getElementById('reset').style.display);
        document.getElementById('reset').dispatchEvent(new MouseEvent('click', {bubbles: true}));
        seen.push(widths());
        box('inner').g.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
        seen.push(document.getElementById('details').textContent);
        window.prompt = () => '^(left|inner)$';
        press('/');
        seen.push(document.getElementById('matched').textContent);
        seen.push(document.querySelectorAll('.hit').length);
        press('Escape');
        seen.push(document.querySelectorAll('.hit').length + ' ' + document.getElementById('matched').textContent);
        box('main').g.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
        press('ArrowUp');
        seen.push(document.getElementById('details').textContent);
        press('ArrowLeft');
        press('Enter');
        seen.push(widths());
        """)
    t.equal("in the browser", seen, [
        "three <parts> & more",
        "1180 1180 472 354 708",
        "1180 1180 1180 885 hidden",
        "",
        "1180 1180 472 354 708",
        "inner, 30 (30.00 %)",
        "matched: 40.0 %",
        "2",
        "0 ",
        "right, 60 (60.00 %)",
        "1180 1180 1180 885 hidden"])


def test_picture_of_a_program(t):
    """Every box of a real graph lies within its caller, and they all fit."""
    profile = t.record(t.build("standard_library.cpp", "-O1"))
    for options in ((), ("--inverted",), ("--reverse",), ("--by-thread",)):
        svg = t.run("flame", profile, "--metric", "total", "--min-width", "0", *options)[0]
        seen = browser.look(t, svg, """
            const boxes = window.tidemark.boxes, eps = 0.02;
            const orphans = boxes.filter((b) => b.d > 0 && !boxes.some((p) => p.d === b.d - 1 && p.x <= b.x + eps &&
                                                                       p.x + p.w >= b.x + b.w - eps));
            seen.push(orphans.length, boxes.length > 8, boxes.every((b) => b.x >= 9.9 && b.x + b.w <= 1190.1));
            """)
        t.equal("in the browser, %s" % (options,), seen, ["0", "true", "true"])


def test_lines(t):
    """Two lines of one function are two boxes, which say where they are; by function they are one."""
    profile = t.record(t.build("lines.c", "-O0"))
    rows = t.report(profile, "live", "--by", "line")["rows"]
    main = sorted("main  lines.c:%d" % r["line"] for r in rows if r["name"] == "main" and r["total_bytes"])
    script = """
        const main = window.tidemark.boxes.filter((b) => b.name === 'main');
        seen.push(main.map((b) => b.label).sort().join(), main.map((b) => b.g.querySelector('title').textContent.split('\\n')[1]).sort().join());
        window.tidemark.find('lines.c:');
        seen.push(document.querySelectorAll('.hit').length > 0);
        """
    seen = browser.look(t, t.run("flame", profile)[0], script)
    t.true("several lines", len(main) > 1, rows)
    t.equal("labels", seen[0], ",".join(main))
    t.true("tooltips have the path", all(p.startswith("/") and "/lines.c:" in p for p in seen[1].split(",")), seen[1])
    t.equal("found by file", seen[2], "true")
    seen = browser.look(t, t.run("flame", profile, "--by", "function")[0], script)
    t.equal("by function", seen, ["main", "%s" % seen[1], "false"])
    lines = folded(t.run("flame", profile, "--folded", "--by", "line")[0])
    t.equal("folded by line", sum(lines.values()), sum(folded(t.run("flame", profile, "--folded")[0]).values()))
    t.true("and says which", any("lines.c:" in stack for stack in lines), lines)
    _, stderr, status = t.run("flame", profile, "--by", "thread", "--folded")
    t.true("nothing else", status == 2 and "by function or by line" in stderr, (status, stderr))


def test_deep_stacks_open_on_something(t):
    """Rows that only lead to the next are thin: where a deep stack forks is on the first screen, below the root."""
    script = ("def left(): return bytearray(1 << 25)\ndef right(): return bytearray(1 << 26)\ndef fork(): return [left(), right()]\n"
              "def down(n): return [down(n - 1)] if n else fork()\nkept = down(150)\nimport os; os._exit(0)")
    profile = t.record("/usr/bin/python3", "-c", script)
    seen = browser.look(t, t.run("flame", profile)[0], """
        const svg = document.querySelector('svg'), boxes = window.tidemark.boxes;
        const shape = (b) => [+b.r.getAttribute('height'), b.t.textContent !== ''].join();
        const downs = boxes.filter((b) => b.name === 'down' && b.w > 500), fork = boxes.find((b) => b.name === 'fork');
        const y = (b) => +b.r.getAttribute('y');
        seen.push(downs.length, boxes[0].y < 100);
        seen.push(shape(downs[0]), shape(downs[75]), shape(fork), shape(boxes.find((b) => b.name === 'right')));
        seen.push(y(fork) < 1000, y(fork) - y(downs[0]) > 4 * 149, +svg.getAttribute('viewBox').split(' ')[3] < 1400);
        window.tidemark.zoom(boxes.indexOf(boxes.find((b) => b.name === 'left')));
        seen.push(shape(boxes.find((b) => b.name === 'left')), boxes.filter((b) => b.name === 'right')[0].g.style.display);
        window.tidemark.zoom(0);
        seen.push(shape(downs[75]), document.body.textContent.includes('thin rows: calls that only lead to the next'));
        """)
    t.equal("tall, its root on top, the fork in sight", seen, ["151", "true", "3,false", "3,false", "16,true", "16,true", "true", "true", "true",
                                                               "16,true", "none", "3,false", "true"])
    seen = browser.look(t, draw(t, "main;a 3\nmain;b 4\n"), "seen.push(window.tidemark.boxes[0].y > window.tidemark.boxes[1].y);")
    t.equal("a low one stands on it", seen, ["true"])


def legend(svg):
    """[(colour, words)] of what a picture says its colours mean."""
    return re.findall(r'<rect class="k"[^>]* fill="(#[0-9a-f]{6})"/><text [^>]*class="k">([^<]*)</text>', svg)


def test_legend(t):
    """The colours that occur, and no others."""
    native = legend(t.run("flame", t.record(t.build("phases.c", "-O0")))[0])
    t.equal("a program in C", [name for _, name in native], ["native"])
    python = legend(t.run("flame", t.record("/usr/bin/python3", "-c", "kept = [bytearray(100000) for i in range(50)]\nimport os; os._exit(0)"))[0])
    t.true("one in Python", {"native", "Python"} <= {name for _, name in python}, python)
    t.equal("they differ", len({color for color, _ in python}), len(python))
    t.equal("a difference", [name for _, name in legend(draw(t, "a 5 7\nb 3 0\n"))], ["grew, or is new", "the same", "shrank, or is gone"])


def test_wrong_usage(t):
    for arguments, wants in ((("--min-width", "x"), "--min-width 'x' is not a number"),
                             (("--colors", "mauve"), "--colors 'mauve' is not one of")):
        profile = t.file("none")
        _, stderr, status = t.run("flame", profile, *arguments)
        t.true(wants, status == 2 and wants in stderr and stderr.count("\n") == 1, (status, stderr))
    for arguments, wants in ((("--json", "--normalise"), "--normalise is for pictures; leave it out with --json"),
                             (("--json", "--colors", "heap"), "--colors is for pictures; leave it out with --json"),
                             (("--folded", "--title", "x"), "--title is for pictures; leave it out with --folded"),
                             (("--folded", "--inverted"), "--inverted is for pictures; leave it out with --folded"),
                             (("--folded", "--min-width", "1"), "--folded has every stack; leave out --min-width"),
                             (("--folded", "--json"), "--json excludes --folded and --from-folded"),
                             (("--from-folded", "--metric", "peak"), "--from-folded draws all that it reads; leave out --metric"),
                             (("--from-folded", "--within", "x"),
                              "--from-folded draws all that it reads; leave out options such as --within"),
                             (("--normalise",), "--normalise is for --diff")):
        t.equal(" ".join(arguments), t.run("flame", t.file("none"), *arguments), ("", "tidemark flame: %s\n" % wants, 2))
    profile = t.record("/bin/true")
    for command, arguments, wants in (("threads", ("--rebase",), "--rebase is for --plot and --gnuplot"),
                                      ("peaks", ("--rebase",), "--rebase is for --plot"),
                                      ("threads", ("--plot", "x", "--json"), "--plot writes its file and prints nothing; leave out --json"),
                                      ("marks", ("--npy", "x", "--csv"), "--npy writes its file and prints nothing; leave out --csv"),
                                      ("growth", ("--plot", "x", "--json"), "--plot writes its file and prints nothing; leave out --json")):
        t.equal(" ".join((command, *arguments)), t.run(command, profile, *arguments), ("", "tidemark %s: %s\n" % (command, wants), 2))
    done = subprocess.run([t.tidemark, "flame", "--from-folded", "-"], input=b"a;b\n", capture_output=True)
    t.equal("no number", (done.returncode, done.stderr.decode()),
            (2, "tidemark flame: line 1 does not end in a number: stacks are a;b;c 123\n"))


def test_no_picture_on_a_terminal(t):
    profile = t.record("/bin/true")
    ours, theirs = os.openpty()
    try:
        done = subprocess.run([t.tidemark, "flame", profile], stdout=theirs, stderr=subprocess.PIPE, text=True)
        t.equal("status, lines", (done.returncode, len(done.stderr.splitlines())), (2, 1))
        t.true("what to do", "-o FILE.svg" in done.stderr, done.stderr)
        done = subprocess.run([t.tidemark, "flame", profile, "--folded"], stdout=theirs, stderr=subprocess.PIPE, text=True)
        t.equal("text may be shown", (done.returncode, done.stderr), (0, ""))
    finally:
        os.close(ours)
        os.close(theirs)
