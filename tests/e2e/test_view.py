"""tidemark view: the page in a real browser, its numbers, its manners towards strangers, and its server."""
import gzip
import http.client
import http.server
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from urllib.parse import unquote, urlparse

from browser import Browser
from harness import ROOT, eventually

API = ("-I", os.path.join(ROOT, "include"))
CORE = 800_000  # bytes that a page may have besides twice its recording

# Threads that keep what they allocate, and a child of its own; names of all kinds.
PYTHON = """
import json, os, subprocess, sys, threading
def keeps(kept, size):
    for i in range(20):
        kept.append(bytearray(size + i))
def parses():
    return [json.loads('{"a": [1, 2, 3], "b": "%s"}' % ("x" * 500)) for _ in range(200)]
kept = []
threads = [threading.Thread(target=keeps, args=(kept, size), name="worker-%d" % size) for size in (1000, 20000)]
for thread in threads: thread.start()
for thread in threads: thread.join()
parses()
subprocess.run([sys.executable, "-c", "x = [bytearray(50000) for _ in range(30)]"], check=True)
"""

# Names that would do harm in a page that did not take them as text.
EVIL = "</script><script>globalThis.evil = 1</script><img src=x onerror='globalThis.evil=1'>\"'&<!--\x01\u202e"
HOSTILE = """
import sys
evil, long = sys.argv[1], "n" * 100000
def plain(kept):
    kept.append(bytearray(70000))
kept = []
for name in (evil, long):
    code = plain.__code__.replace(co_name=name)
    plain.__code__ = code.replace(co_qualname=name) if hasattr(code, "co_qualname") else code
    plain(kept)
"""


def make_page(t, *arguments):
    """Writes a page; returns its path."""
    out, err, status = t.run("view", "--no-open", *arguments)
    t.equal("view %s" % (arguments,), (err, status), ("", 0))
    return os.path.join(t.dir, out.strip())


def embedded(page, name):
    """The JSON that a page has in one of its elements; None: it has no such element."""
    with open(page) as file:
        found = re.search(r'<script type="application/json" id="tidemark-%s">([^<]*)</script>' % name, file.read())
    return json.loads(found.group(1)) if found else None


def address(path):
    return "file://" + path.replace("%", "%25").replace("#", "%23").replace("?", "%3F")


def combinations(metrics, moments, focus, count):
    """So many of all combinations, spread over all of them, always the same."""
    groups = (("--by", "function"), ("--by", "line"), ("--by", "file"), ("--by", "library"), ("--by", "thread"),
              ("--by", "stack", "--top", "40"), ("--tree", "--min", "1"))
    every = list(itertools.product(metrics, groups, moments, focus))
    step = next(n for n in range(max(1, len(every) // count), len(every) + 1) if all(n % k for k in (2, 3, 5, 7)) or n == 1)
    for i in range(count):
        metric, group, moment, stacks = every[i * step % len(every)]
        yield ("report", "--metric", metric, *group, *moment, *stacks, "--json")


def recordings(t):
    """[(files, questions)] of five kinds."""
    everywhere = (("leaks", "--json"), ("findings", "--json"), ("growth", "--json"), ("marks", "--json"), ("maps", "--json"),
                  ("threads", "--json"), ("peaks", "--json"), ("tree", "--json"), ("report", "--csv"),
                  ("report", "--histogram", "size", "--json"), ("flame", "--folded"), ("report", "--top", "5"))
    planted = t.build("planted.cpp", "-O1", *API)
    plain, leaks = t.record(planted, "0"), t.record(planted, "1")
    heap, whole = ("live", "total", "peak", "sitepeak", "largest", "temporary", "mapped"), ((), ("--at", "peak"), ("--at", "50%"))
    # What glibc and the page's C library would understand in different ways.
    odd = [("report", "--within", regex, "--json") for regex in (
        r"\bplanted_leak\b", r"\<main\>", r"\Blanted", r"\w+_l\w+", r"mai\d", r"\mai\n", r"main\'", r"\`main", r"ma{,2}in",
        r"[[:alpha:]]_leak", r"[^]\d]ain", r"pl|main", r"(a)n\1*", "nothing at all")]
    yield (leaks,), [*everywhere, *odd, *combinations(heap, (*whole, ("--since", "20%", "--at", "70%")), (
        (), ("--within", "^planted"), ("--ignore", "std::"), ("--fold", "^main$"), ("--no-fold",)), 24)]

    source = t.file("a.c")
    with open(source, "w") as out:
        out.write("int f(int x) { return x * 2; }\n" * 1 + "".join("int g%d(int x) { return f(x) + %d; }\n".replace("f(x)", "x")
                                                                   % (i, i) for i in range(300)))
    compiler = t.record("clang", "-O1", "-c", source, "-o", t.file("a.o"))
    yield (compiler,), [*everywhere, ("report", "--process", "all", "--json"),
                        *combinations(heap, whole, ((), ("--within", "x"), ("--ignore", "alloc")), 20)]

    python = t.record(sys.executable if sys.executable.startswith("/usr/bin") else "/usr/bin/python3", "-c", PYTHON)
    yield (python,), [*everywhere, ("report", "--process", "all", "--json"), ("leaks", "--process", "all", "--json"),
                      *combinations(heap[:5], whole, ((), ("--python-only",), ("--native-only",), ("--within", "keeps")), 24)]

    sampled = t.record(t.build("shares.c", "-O2"), "2", "40000", opts=("--cpu", "--faults"))
    yield (sampled,), [*everywhere, *combinations(("cpu", "faults", "live", "total"), ((), ("--since", "30%", "--at", "80%")), (
        (), ("--within", "six"), ("--ignore", "six")), 24)]

    yield (plain, leaks), [("diff", *words[1:]) for words in combinations(heap, whole, ((), ("--within", "planted")), 24)]


def test_numbers_are_those_of_the_commands(t):
    """Each answer in the page is, byte for byte, what the command prints."""
    cases = 0
    with Browser() as browser:
        for files, questions in recordings(t):
            names = [os.path.basename(file) for file in files]
            page = make_page(t, *files)
            t.true("size of the page", os.path.getsize(page) <= 2 * sum(map(os.path.getsize, files)) + CORE,
                   os.path.getsize(page))
            browser.open(address(page))
            asked = browser.run("""const answers = [];
                for (const words of %s)
                    answers.push(await tidemark.core.text(words).catch((e) => "failed: " + e.message));
                return answers;""" % json.dumps(questions))
            for words, got in zip(questions, asked):
                out, err, status = t.run(words[0], *names, *words[1:])
                want = out if not status else "failed: " + re.sub(r"^tidemark \w+: ", "", err.strip())
                t.true(" ".join((*names, *words)), got == want, (got[:300], want[:300]))
                cases += not status
            t.equal("complaints", browser.complaints(), [])
            t.equal("nothing else was requested", browser.requested(), [address(page)])
    t.true("at least 100 answers compared", cases >= 100, cases)


def test_answers_stay_the_same(t):
    """A command leaves nothing behind that changes the next one; failures do not either."""
    page = make_page(t, t.record(t.build("phases.c", "-O1")))
    with Browser() as browser:
        browser.open(address(page))
        got = browser.run("""const core = tidemark.core, ask = (...words) => core.runner.run(core.words(words));
            const first = (await ask("report", "--json")).out, seen = [];
            for (const words of [["report", "--metric", "wrong"], ["report", "--bogus"], ["report", "--process", "all"],
                                 ["leaks", "--json"], ["run", "x"], ["report", "--within", "nothing"], ["flame", "-o", "/x"]]) {
                const {status, err} = await ask(...words);
                seen.push([status, err.split("\\n")[0]]);
                if ((await ask("report", "--json")).out !== first)
                    seen.push("another answer after " + words);
            }
            return seen;""")
    t.equal("statuses", [status for status, _ in got], [2, 2, 0, 0, 2, 1, 1])
    t.true("why", "unknown option '--bogus'" in got[1][1], got)


def test_hostile_names(t):
    profile = t.record("/usr/bin/python3", "-c", HOSTILE, EVIL)
    evil = t.file("<img src=x onerror=alert(1)>&'.tide")
    os.rename(profile, evil)
    page = make_page(t, evil)
    with Browser() as browser:
        browser.open(address(page))
        got = browser.run('const {rows, command} = await tidemark.core.ask(["report", "--metric", "total", "--json"]);'
                          'return {name: tidemark.core.files[0], rows, command}')
        browser.run("await new Promise((done) => setTimeout(done, 300))")
        t.equal("nothing of it ran", browser.run("return [globalThis.evil, document.querySelectorAll('img[src=x]').length]"),
                [None, 0])
        t.equal("nothing was requested", [unquote(url) for url in browser.requested()], ["file://" + page])
        t.equal("complaints", browser.complaints(), [])
    names = {row["name"] for row in got["rows"]}
    want = {row["name"] for row in t.report(evil, "total")["rows"]}
    t.equal("names", names, want)
    t.true("the long one", any("n" * 100 in name for name in names), sorted(map(len, names))[-3:])
    t.true("the evil one", any("globalThis.evil" in name for name in names), sorted(names)[:5])
    t.equal("the file's name", got["name"], os.path.basename(evil))
    t.equal("the command line", got["command"][-1], EVIL)


def test_policy_forbids_the_network(t):
    seen = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Note)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    there = "http://127.0.0.1:%d/" % server.server_port
    page = make_page(t, t.record(t.build("phases.c", "-O1")))
    with Browser() as browser:
        browser.open(address(page))
        refused = browser.run("""const there = "%s", refused = [];
            await fetch(there + "fetch").catch(() => refused.push("fetch"));
            await new Promise((done) => {
                const image = new Image();
                image.onerror = () => done(refused.push("image"));
                image.src = there + "image";
            });
            await new Promise((done) => {
                const script = document.createElement("script");
                script.onerror = () => done(refused.push("script"));
                script.src = there + "script";
                document.body.append(script);
            });
            const inline = document.createElement("script");
            inline.textContent = "globalThis.evil = 1";
            document.body.append(inline);
            try { new WebSocket(there.replace("http", "ws")).onerror = () => 0; } catch (e) { }
            navigator.sendBeacon(there + "beacon", "x");
            document.body.insertAdjacentHTML("beforeend", `<iframe src="${there}frame"></iframe>`);
            await new Promise((done) => setTimeout(done, 500));
            return [...refused, globalThis.evil];""" % there)
    server.shutdown()
    t.equal("refused", refused, ["fetch", "image", "script", None])
    t.equal("requests that arrived", seen, [])


class Server:
    """A running `tidemark view --serve`."""

    def __init__(self, t, *arguments, opens=False):
        display = {"DISPLAY": ":7", "PATH": t.dir + ":" + os.environ["PATH"]} if opens else {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
        self.process = subprocess.Popen([t.tidemark, "view", *arguments], stdout=subprocess.PIPE, text=True, cwd=t.dir,
                                        env={**os.environ, **display})
        self.link = self.process.stdout.readline().strip()
        self.url = urlparse(self.link)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stdout.close()

    def ask(self, path, body=None, query=None, method=None, **headers):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=120)
        connection.request(method or ("GET" if body is None else "POST"), path + "?" + (self.url.query if query is None else query),
                           body, headers)
        response = connection.getresponse()
        got = response.status, dict(response.getheaders()), response.read().decode()
        connection.close()
        return got

    def run(self, *words):
        return self.ask("/ask", "".join(word + "\0" for word in words).encode())


def test_serve(t):
    profile = t.record(t.build("planted.cpp", "-O1", *API), "1")
    name = os.path.basename(profile)
    with Server(t, profile, "--serve") as server:
        t.true("link", re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}", server.link), server.link)
        status, headers, text = server.ask("/")
        t.equal("the page", (status, headers["Content-Type"], "tidemark-about" in text), (200, "text/html; charset=utf-8", True))
        t.true("its policy", "connect-src 'self'" in headers["Content-Security-Policy"], headers)
        for words in (("report", "--json"), ("leaks", "--json"), ("report", "--metric", "peak", "--tree", "--json")):
            status, headers, text = server.run(words[0], name, *words[1:])
            t.equal(" ".join(words), (status, headers["X-Status"], text), (200, "0", t.run(words[0], profile, *words[1:])[0]))
        refusals = {
            "no token": server.ask("/", query="")[0], "a wrong token": server.ask("/", query="token=" + "0" * 32)[0],
            "another host": server.ask("/", Host="evil.example")[0],
            "a host that begins alike": server.ask("/", Host="127.0.0.1.evil.example")[0],
            "a foreign page": server.ask("/ask", b"report\0", Origin="http://evil.example")[0],
            "a page from a file": server.ask("/ask", b"report\0", Origin="null")[0],
            "another path": server.ask("/etc/passwd")[0], "another method": server.ask("/ask", method="PUT", body=b"x")[0],
            "nothing asked": server.ask("/ask", b"")[0],
        }
        t.equal("refusals", refusals, {"no token": 403, "a wrong token": 403, "another host": 421, "a host that begins alike": 421,
                                       "a foreign page": 403, "a page from a file": 403, "another path": 404,
                                       "another method": 404, "nothing asked": 404})
        many = server.run("report", name, *(("--within", ".") * 130))
        t.equal("too many words", (many[1]["X-Status"], unquote(many[1]["X-Message"])), ("2", "a page may ask with at most 256 words\n"))
        evil = t.file("evil")
        for words in (("flame", name, "-o", evil), ("report", "/etc/passwd"), ("report", name, "--suppressions", "/etc/passwd"),
                      ("marks", name, "--plot", evil), ("run", "touch", evil)):
            status, headers, text = server.run(*words)
            t.true(" ".join(words), headers["X-Status"] != "0" and text == "", (headers, text[:200]))
        t.true("nothing was written", not os.path.exists(evil))
        with Browser() as browser:
            browser.open(server.link)
            browser.wait("globalThis.tidemark")
            t.equal("mode", browser.run("return tidemark.core.mode"), "serve")
            got = browser.run('return await tidemark.core.text(["report", "--json"])')
            t.equal("in the page", got, t.run("report", profile, "--json")[0])
            why = browser.run('return tidemark.core.ask(["report", "--metric", "no"]).catch((e) => e.message)')
            t.true("failures too", why.startswith("--metric 'no' is not known"), why)
            why = browser.run('return tidemark.core.ask(["report", "--metric", "%ü\u2026".repeat(900)]).catch((e) => e.message)')
            t.true("in any letters, and cut", why.startswith("--metric '%ü\u2026%ü\u2026"), why[:80])
            t.equal("only this server was asked", {urlparse(url).netloc for url in browser.requested()}, {server.url.netloc})
            t.equal("complaints", [text for text in browser.complaints() if "favicon" not in text], [])
    t.equal("it ends with Ctrl-C", server.process.returncode, 0)


def test_serve_addresses(t):
    profile = t.record(t.build("phases.c", "-O1"))
    with Server(t, profile, "--serve=[::1]:0") as server:
        t.equal("IPv6", server.ask("/", Host="[::1]:%d" % server.url.port)[0], 200)
    with Server(t, profile, "--serve", "localhost:0") as server:
        t.equal("a word of its own", server.ask("/")[0], 200)
    for wrong in ("0.0.0.0:80", "example.com:80", "127.0.0.1:99999", "192.168.0.1:8000"):
        out, err, status = t.run("view", profile, "--serve=" + wrong)
        t.equal(wrong, (out, status, len(err.splitlines())), ("", 2, 1))


def test_running_recording(t):
    ready = t.file("ready")
    program = ("import sys, time\nkept = []\nfor line in sys.stdin:\n    kept.append(bytearray(int(line)))\n"
               "    open(%r, 'w').write(str(len(kept)))\n" % ready)
    run = subprocess.Popen([t.tidemark, "run", "--quiet", "-o", t.file("live.tide"), "--", "/usr/bin/python3", "-c", program],
                           stdin=subprocess.PIPE, text=True)

    def keep(size, count):
        run.stdin.write("%d\n" % size)
        run.stdin.flush()
        eventually("kept", lambda: os.path.exists(ready) and open(ready).read() == str(count))

    keep(3000000, 1)
    with Server(t, str(run.pid)) as server:  # the collector does not answer: nothing comes, and Ctrl-C still ends it
        os.kill(run.pid, signal.SIGSTOP)
        try:
            asks = threading.Thread(target=lambda: server.ask("/refresh", b""), daemon=True)
            files = "/proc/%d/fd" % server.process.pid
            before = len(os.listdir(files))
            asks.start()
            eventually("it has asked the collector", lambda: len(os.listdir(files)) >= before + 2)
            server.process.send_signal(signal.SIGTERM)
            t.equal("it ends", server.process.wait(60), 0)
        finally:
            os.kill(run.pid, signal.SIGCONT)
    with Server(t, str(run.pid)) as server:
        live = lambda: json.loads(server.run("report", str(run.pid), "--json")[2])["totals"]["live_bytes"]
        first = live()
        keep(5000000, 2)
        t.equal("as it was", live(), first)
        t.equal("refresh", server.ask("/refresh", b"")[0], 200)
        t.true("what came since", 5000000 <= live() - first < 5100000, live() - first)
        run.stdin.close()
        run.wait()
        status, _, text = server.ask("/refresh", b"")
        t.true("its end is told", status == 500 and "ended" in text, (status, text))
        t.true("and the last look stays", live() > first)
    out, err, status = t.run("view", "999999999")
    t.equal("no such process", (out, status), ("", 1))


def test_limits(t):
    planted = t.build("planted.cpp", "-O1", *API)
    before, after = t.record(planted, "0"), t.record(planted, "1")
    live = [t.report(file)["sum"]["bytes"] for file in (before, after)]
    t.true("there is a leak", live[1] > live[0], live)
    out, err, status = t.run("view", "--no-open", before, after, "--limit", "live +0 %", "--limit", "live +1 GiB")
    t.equal("broken", (out.strip(), status, len(err.splitlines())), (before + ".html", 3, 1))
    t.true("what it says", "--limit 'live +0 %' allows" in err, err)
    t.equal("in the page", embedded(before + ".html", "limits"), [
        {"limit": "live +0 %", "metric": "live", "unit": "bytes", "before": live[0], "after": live[1], "allowed": live[0], "broken": True},
        {"limit": "live +1 GiB", "metric": "live", "unit": "bytes", "before": live[0], "after": live[1],
         "allowed": live[0] + (1 << 30), "broken": False}])
    with Browser() as browser:
        browser.open(address(before + ".html"))
        browser.wait("document.querySelector('.limits li')")
        t.equal("on the first screen", browser.run("return [...document.querySelectorAll('.limits li')].map((li) => li.className)"),
                ["broken", "kept"])
    t.equal("kept", t.run("view", "--no-open", after, "--limit", "live 1 GiB")[2], 0)
    t.equal("one recording has no growth", t.run("view", "--no-open", after, "--limit", "live +5 %")[2], 2)
    for wrong in ("peak", "peak 5 %", "peek +5 %", ""):
        t.equal("wrong: " + wrong, t.run("view", "--no-open", after, "--limit", wrong)[2], 2)


def test_limits_of_all_processes(t):
    """The process that grows need not be the largest."""
    program = ("import subprocess, sys\nkept = bytearray(40000000)\n"
               "subprocess.run([sys.executable, '-c', 'kept = bytearray(%s)' % sys.argv[1]], check=True)\n")
    before, after = (t.record("/usr/bin/python3", "-c", program, size) for size in ("1000", "30000000"))
    peaks = [t.report(file, "peak", "--process", "all")["sum"]["bytes"] for file in (before, after)]
    t.true("the child's", 29000000 < peaks[1] - peaks[0] < 31000000, peaks)
    out, err, status = t.run("view", "--no-open", before, after, "--limit", "peak +5 %")
    t.equal("broken", (out.strip(), status), (before + ".html", 3))
    limit, = embedded(before + ".html", "limits")
    t.equal("how much", (limit["before"], limit["after"]), tuple(peaks))


def test_limits_of_time(t):
    profile = t.record(t.build("shares.c", "-O2"), "2", "40000", opts=("--cpu",))
    used = t.report(profile, "cpu")["sum"]["bytes"]
    for limit, want in (("cpu 1h", 0), ("cpu 1ms", 3)):
        out, err, status = t.run("view", "--no-open", profile, "--limit", limit)
        t.equal(limit, status, want)
        found, = embedded(profile + ".html", "limits")
        t.equal("how much", (found["unit"], found["after"], found["allowed"]), ("ns", used, {0: 3600 * 10**9, 3: 10**6}[want]))
    out, err, status = t.run("view", "--no-open", profile, "--limit", "cpu 64 KiB")
    t.true("a time is no size", status == 2 and "'cpu 5s'" in err, err)


def test_names_of_recordings(t):
    """Names that look like options, or are not UTF-8: the page answers, and its command can be run."""
    recorded = t.record(t.build("phases.c", "-O1"))
    want = t.run("report", recorded, "--json")[0]
    for name, shown in ((b"-o.tide", "./-o.tide"), (b"caf\xe9.tide", "caf\ufffd.tide")):
        path = os.path.join(os.fsencode(t.dir), name)
        os.rename(recorded, path)
        recorded = path
        target = t.file("page.html")
        done = subprocess.run([t.tidemark, "view", "--no-open", "-o", target, "--", name], cwd=t.dir, capture_output=True)
        t.equal("view", (done.returncode, done.stderr), (0, b""))
        with Browser() as browser:
            browser.open(address(target))
            browser.wait("document.getElementById('view')?.dataset.shows === 'summary'")
            t.equal("its name", browser.run("return tidemark.core.files"), [shown])
            t.equal("its answer", browser.run('return await tidemark.core.text(["report", "--json"])'), want)
            command = browser.run("return document.getElementById('command').textContent")
        if name.startswith(b"-"):
            words = shlex.split(command)
            t.equal("its command: " + command, (words[0], t.run(*words[1:])[2]), ("tidemark", 0))
        with Server(t, "--serve=0", "--", name) as server:
            status, headers, text = server.run("report", shown, "--json")
            t.equal("served", (status, headers["X-Status"], text == want), (200, "0", True))


def test_recordings_are_not_overwritten(t):
    profile, other = (t.record(t.build("phases.c", "-O1")) for _ in range(2))
    packed = t.file("packed.tide.gz")
    with open(profile, "rb") as file, gzip.open(packed, "wb") as out:
        out.write(file.read())
    for target in (profile, other, packed):
        with open(target, "rb") as file:
            before = file.read()
        for words in (("view", "--no-open", profile, "-o", target), ("flame", profile, "-o", target), ("marks", profile, "--plot", target),
                      ("threads", profile, "--gnuplot", target), ("peaks", profile, "--plot", target)):
            out, err, status = t.run(*words)
            t.equal(" ".join(words), (out, err, status), ("", "tidemark %s: %s is a recording and is not overwritten\n" % (words[0], target), 1))
        with open(target, "rb") as file:
            t.true("it is as it was", file.read() == before)


def test_with_source(t):
    profile = t.record(t.build("phases.c", "-O1"))
    source = os.path.join(ROOT, "tests", "programs", "phases.c")
    with open(source) as file:
        lines = file.read().splitlines()
    plain = make_page(t, profile, "-o", t.file("plain.html"))
    t.equal("never by default", embedded(plain, "sources"), None)
    out, err, status = t.run("view", "--no-open", "--with-source", profile)
    t.equal("status", (status, len(err.splitlines())), (0, 1))
    got = embedded(profile + ".html", "sources").get(source)
    t.true("some lines", got and len(got) > 10, got)
    t.equal("as they are", [lines[number - 1] for number, _ in got], [text for _, text in got])
    named = {row["line"] for row in t.report(profile, "total", "--by", "line")["rows"] if row.get("file") == source}
    t.true("every line that is named", named and named <= {number for number, _ in got}, named)


def test_usage(t):
    profile = t.record(t.build("phases.c", "-O1"))
    t.equal("-o", t.run("view", "--no-open", profile, "-o", "a.html"), ("a.html\n", "", 0))
    t.equal("by default", t.run("view", profile, env={"DISPLAY": "", "WAYLAND_DISPLAY": ""}), (profile + ".html\n", "", 0))
    out, err, status = t.run("view", "--no-open", profile, "-o", "-")
    t.true("-o -", status == 0 and out.startswith("<!doctype html>") and out == open(profile + ".html").read(), err)
    for words, want in (((), 2), (("--bogus", profile), 2), ((profile, profile, profile), 2), (("no.tide",), 1), (("/etc/passwd",), 1),
                        ((profile, "-o", "/nowhere/x.html"), 1), ((profile, "--serve", "-o", "x"), 2)):
        out, err, status = t.run("view", *words)
        t.equal(" ".join(words), (out, status, len(err.splitlines())), ("", want, 1))
    opened = t.file("opened")
    script = t.file("xdg-open")
    with open(script, "w") as out:
        out.write('#!/bin/sh\necho "$1" > %s.new && mv %s.new %s\n' % (opened, opened, opened))
    os.chmod(script, 0o755)
    t.run("view", profile, env={"DISPLAY": ":7", "PATH": t.dir + ":" + os.environ["PATH"]})
    eventually("it is opened where there is a display", lambda: os.path.exists(opened))
    t.equal("what is opened", open(opened).read().strip(), profile + ".html")
    out, err, status = t.run("view", profile, "--source-path", t.dir)
    t.equal("an option that would do nothing", (out, err, status), ("", "tidemark view: --source-path is for --with-source\n", 2))


def test_the_token_is_no_argument(t):
    """Other users see the arguments of processes."""
    profile = t.record(t.build("phases.c", "-O1"))
    opened = t.file("opened")
    with open(t.file("xdg-open"), "w") as out:
        out.write('#!/bin/sh\n{ echo "$1"; stat -c %%a "$1" "$(dirname "$1")"; cat "$1"; } > %s.new && mv %s.new %s\n'
                  % (opened, opened, opened))
    os.chmod(t.file("xdg-open"), 0o755)
    with Server(t, profile, "--serve=0", opens=True) as server:
        eventually("it is opened", lambda: os.path.exists(opened))
        path, mode, folder_mode, *text = open(opened).read().splitlines()
        token = server.link.split("token=")[1]
        t.true("not in the arguments", token not in path, path)
        t.equal("only this user reads it", (mode, folder_mode), ("600", "700"))
        t.true("it leads there", 'content="0; url=%s"' % server.link in "\n".join(text), text)
    t.true("it is removed", not os.path.exists(os.path.dirname(path)), path)
