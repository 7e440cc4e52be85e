"""tidemark push: what a server receives is what the report says, within the server's limits; and what becomes of it if there is none."""
import base64
import gzip
import http.server
import io
import os
import re
import socket
import ssl
import stat
import subprocess
import threading
import time
import urllib.parse

from exported import record, stacks
from harness import eventually
from test_export import Pprof, fields, packed
from test_otlp import Otlp

TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
TOKEN = "not-to-be-shown"


class Received:
    """A request, as Pyroscope's handler of /ingest reads it: with format=pprof the body is the profile."""

    def __init__(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        self.path, self.headers = url.path, handler.headers
        self.query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
        self.body = handler.rfile.read(int(handler.headers["Content-Length"]))

    def series(self):
        """NAME{KEY=VALUE,...} -> (NAME, {KEY: VALUE})"""
        name, _, labels = self.query["name"].partition("{")
        return name, dict(pair.split("=", 1) for pair in labels.rstrip("}").split(",") if pair)

    def problem(self):
        """What Pyroscope refuses, by its documentation of /ingest and of the limits that it has unless it is configured otherwise."""
        if self.path.endswith("/v1development/profiles"):
            return self.otlp_problem()
        if set(self.query) != {"name", "from", "until", "format", "spyName"} or self.query["format"] != "pprof":
            return "parameters %s" % sorted(self.query)
        series = re.fullmatch(r"[A-Za-z0-9_./-]{1,1024}\{((?:[a-zA-Z_][a-zA-Z0-9_]{0,1023}=[^,{}]{1,2048},?)*)\}", self.query["name"])
        if not series or series.group(1).endswith(","):
            return "the name %s" % self.query["name"]
        keys = list(self.series()[1])
        if len(keys) != len(set(keys)) or len(keys) > 30 or any(key.startswith("__") for key in keys):
            return "labels %s" % keys
        start, end, now = int(self.query["from"]), int(self.query["until"]), time.time()
        if not (start <= end and now - 3600 <= end <= now + 600):
            return "times %d to %d at %d" % (start, end, now)
        profile = self.profile()
        samples = [fields(v) for n, v in profile.fields if n == 2]
        if len(gzip.decompress(self.body)) > 4 << 20 or len(samples) > 16000:
            return "%d samples in %d bytes" % (len(samples), len(gzip.decompress(self.body)))
        if any(len(packed(dict(s)[1])) > 1000 or len([1 for n, _ in s if n == 3]) > 100 for s in samples):
            return "a stack of more than 1,000 calls, or more than 100 labels"
        return None

    def otlp_problem(self):
        """OTLP/HTTP: protobuf, packed as the header says; and the rules of the format."""
        if (self.headers["Content-Type"], self.headers["Content-Encoding"]) != ("application/x-protobuf", "gzip"):
            return "headers %s" % self.headers
        return self.otlp().problems or None

    def otlp(self):
        return Otlp(io.BytesIO(self.body))

    def profile(self):
        return Pprof(io.BytesIO(self.body))

    def sums(self):
        values = self.profile().stacks()[0].values()
        return tuple(sum(column) for column in zip(*values))


class Server:
    """Answers with the given statuses, then with 200, but with 422 to what Pyroscope would refuse."""

    def __init__(self, statuses=(), context=None, port=0):
        self.received, self.statuses, self.at_request, self.problems = [], list(statuses), None, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.received.append(Received(self))
                if outer.at_request:
                    outer.at_request()
                problem = outer.received[-1].problem()
                outer.problems += [problem] if problem else []
                status = outer.statuses.pop(0) if outer.statuses else 422 if problem else 200
                self.send_response(status)
                text = b"" if status == 200 else b"reason\x1b[31m %d\nsecond line" % status
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.url = "http%s://127.0.0.1:%d" % ("s" if context else "", self.port)
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
        assert not self.problems, self.problems


def push(t, profile, url, *options, status=0, env=None):
    """Its lines on stderr, without "tidemark push: "."""
    clean = {"no_proxy": "*", "TIDEMARK_PUSH_TOKEN": "", **(env or {})}
    stdout, stderr, got = t.run("push", profile, "--to", url, *options, env=clean)
    t.equal("status of push (%s)" % stderr, (got, stdout), (status, ""))
    lines = stderr.splitlines()
    t.true("who says it", all(line.startswith("tidemark push: ") for line in lines), lines)
    return [line[len("tidemark push: "):] for line in lines]


def reported(t, profile, *options):
    return tuple(t.report(profile, metric, *options)["sum"][key] for metric in ("total", "live") for key in ("count", "bytes"))


def small(t):
    return t.record(t.build("deep_tree.c", "-O1"), "3", "3")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_what_arrives(t):
    profile = record(t, "native")
    with Server() as server:
        said = push(t, profile, server.url + "/", "--label", "commit=a=b c", "--label", "branch=main")
        one, = server.received
        got = one.profile()
        t.equal("where", (one.path, one.headers["Content-Type"], one.query["format"]), ("/ingest", "application/octet-stream", "pprof"))
        t.equal("series", one.series(), ("exported", {"commit": "a=b c", "branch": "main"}))
        t.equal("types", got.types, TYPES)
        total, live = stacks(t, profile, "total"), stacks(t, profile, "live")
        want = {s: (*reversed(total.get(s, (0, 0))), *reversed(live.get(s, (0, 0)))) for s in {*total, *live}}
        t.equal("stacks", {s: v for s, v in got.stacks()[0].items() if any(v)}, want)
        t.equal("sums", one.sums(), reported(t, profile))
        t.equal("said", said, ["sent %d stacks to %s" % (sum(n == 2 for n, _ in got.fields), server.url)])
        start = int(one.query["from"]), int(one.query["until"])
        time = dict(got.fields)[9]
        t.true("times", start[0] <= start[1] == time // 10**9 and start[0] > 1700000000, (start, time))
        t.equal("no labels of samples", got.stacks()[1], {})
        t.equal("quiet", push(t, profile, server.url, "--quiet", "--name", "team/app-1", "--metric", "peak"), [])
        t.equal("another name and metric", (server.received[1].series(), server.received[1].profile().types),
                (("team/app-1", {}), ["peak_objects", "peak_space"]))
        peak = t.report(profile, "peak")["sum"]
        t.equal("its sum", server.received[1].sums(), (peak["count"], peak["bytes"]))


def test_too_many_stacks(t):
    """32,767 stacks of 16 bytes each: the server takes 16,000."""
    profile = t.record(t.build("deep_tree.c", "-O1"), "0", "15")
    with Server() as server:
        said = push(t, profile, server.url)
        one, = server.received
        found = one.profile().stacks()[0]
        rows = {tuple((f["function"], f["line"]) for f in r["stack"]) for m in ("total", "live")
                for r in t.report(profile, m, "--by", "stack")["rows"]}
        t.true("stacks there were", len(rows) >= 32767, len(rows))
        t.equal("samples", sum(n == 2 for n, _ in one.profile().fields), 16000)
        pruned = len(rows) - 15999
        other = found[("[other]",)]
        t.equal("[other]", other, (pruned, 16 * pruned, pruned, 16 * pruned))
        t.equal("said", said, ["the server takes 16,000 stacks in 4 MiB: the smallest {:,}, with {} bytes (--metric live), became [other]".format(pruned, 16 * pruned),
                               "sent 16,000 stacks to " + server.url])
        t.equal("sums", one.sums(), reported(t, profile))


def test_too_many_bytes(t):
    """8,191 stacks of 900 calls and more."""
    profile = t.record(t.build("deep_tree.c", "-O1"), "900", "13")
    with Server() as server:
        said = push(t, profile, server.url)
        one, = server.received
        size = len(gzip.decompress(one.body))
        t.true("size", 3 << 20 < size <= 4 << 20, size)
        t.true("said", len(said) == 2 and "became [other]" in said[0], said)
        t.equal("sums", one.sums(), reported(t, profile))


def test_too_deep(t):
    """7 stacks of more than 1,000 calls. The outermost calls stay, and nothing is charged to a function that did not allocate."""
    profile = t.record(t.build("deep_tree.c", "-O1"), "1200", "3")
    with Server() as server:
        said = push(t, profile, server.url)
        one, = server.received
        found = one.profile().stacks()[0]
        t.equal("said", said[0], "7 stacks with more than 1,000 calls: the innermost calls became [other]")
        t.equal("deepest", max(len(s) for s in found), 1000)
        deep = {s: v for s, v in found.items() if len(s) == 1000}
        t.equal("deep ones", list(deep.values()), [(7, 112, 7, 112)])
        t.equal("their ends", {(s[0], s[1], "main" in s) for s in deep}, {("[other]", "descend", True)})
        t.equal("sums", one.sums(), reported(t, profile))


def test_again_if_busy(t):
    profile = small(t)
    with Server([503, 429]) as server:
        push(t, profile, server.url)
        t.equal("requests", len(server.received), 3)
        t.equal("the same each time", len({(r.body, r.query["name"]) for r in server.received}), 1)
    with Server([503, 503]) as server:
        said = push(t, profile, server.url, "--retries", "1", status=1)
        t.equal("it gives up", (len(server.received), said), (2, ["%s answers 503: reason?[31m 503 second line" % server.url]))


def test_refused(t):
    """What the server will never take is not sent again, nor kept."""
    profile, queue = small(t), t.file("queue")
    with Server([422]) as server:
        said = push(t, profile, server.url, "--queue", queue, status=1)
        t.equal("said", (len(server.received), said), (1, ["%s answers 422: reason?[31m 422 second line" % server.url]))
        t.equal("kept", os.listdir(queue), [])
    with Server([404]) as server:
        said = push(t, profile, server.url + "/wrong", status=1)
        t.equal("a wrong path", (server.received[0].path, len(said), "answers 404" in said[0]), ("/wrong/ingest", 1, True))


def test_queue(t):
    """The server is down for two pushes; the third sends all three, oldest first."""
    profile, queue, port = small(t), t.file("queue"), free_port()
    url = "http://127.0.0.1:%d" % port
    for i in range(2):
        said = push(t, profile, url.replace("//", "//user:%s@" % TOKEN), "--queue", queue, "--retries", "0", "--label", "n=%d" % i, status=1,
                    env={"TIDEMARK_PUSH_TOKEN": TOKEN})
        t.true("one line", len(said) == 1 and said[0].startswith(url + ": ") and said[0].endswith("; kept in " + queue), said)
    files = [os.path.join(queue, name) for name in sorted(os.listdir(queue))]
    t.equal("files, for us only", [stat.S_IMODE(os.stat(f).st_mode) for f in (queue, *files)], [0o700, 0o600, 0o600])
    t.true("no secret in them", not any(TOKEN.encode() in open(f, "rb").read() for f in files))
    with Server(port=port) as server:
        said = push(t, profile, url, "--queue", queue, "--label", "n=2")
        t.equal("order", [r.series()[1]["n"] for r in server.received], ["0", "1", "2"])
        t.equal("sums", {r.sums() for r in server.received}, {reported(t, profile)})
        t.equal("said", said[0], "sent 2 profiles from the queue first")
    t.equal("left", os.listdir(queue), [])


def test_queue_is_bounded(t):
    profile, queue = small(t), t.file("queue")
    url = "http://127.0.0.1:%d" % free_port()
    push(t, profile, url, "--queue", queue, "--retries", "0", "--label", "n=0", status=1)
    size = os.path.getsize(os.path.join(queue, os.listdir(queue)[0]))
    said = [push(t, profile, url, "--queue", queue, "--queue-size", str(2 * size + size // 2), "--retries", "0", "--label", "n=%d" % n, status=1)
            for n in (1, 2, 3)]
    t.equal("what was dropped is said", [len(lines) for lines in said], [1, 2, 2])
    t.equal("which", said[2][0], "the queue in %s is full: dropped its oldest 1 profile" % queue)
    said = push(t, profile, url, "--queue", queue, "--queue-size", "10", "--retries", "0", status=1)
    t.true("one that is too large", "it is lost: it is larger than --queue-size" in said[0], said)
    with Server() as server:
        push(t, profile, server.url, "--queue", queue, "--label", "n=4")
        t.equal("the newest stay", [r.series()[1]["n"] for r in server.received], ["2", "3", "4"])


def test_refused_from_the_queue(t):
    profile, queue = small(t), t.file("queue")
    push(t, profile, "http://127.0.0.1:%d" % free_port(), "--queue", queue, "--retries", "0", status=1)
    with open(os.path.join(queue, "00000000001.000000000-1.tidemark-push"), "w") as file:
        file.write("damaged")
    with open(os.path.join(queue, "notes.txt"), "w") as file:
        file.write("not ours")
    with Server([400]) as server:
        said = push(t, profile, server.url, "--queue", queue)
        t.equal("said", [line.split(":")[0] for line in said[:2]], ["a profile from the queue was dropped"] * 2)
        t.equal("requests", len(server.received), 2)
    t.equal("left", os.listdir(queue), ["notes.txt"])


def test_certificates(t):
    profile, key, certificate = small(t), t.file("key.pem"), t.file("certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tidemark-test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(context=context) as server:
        said = push(t, profile, server.url, "--retries", "0", status=1)
        t.true("not trusted", len(said) == 1 and "certificate is not trusted" in said[0] and "--ca FILE" in said[0], said)
        t.equal("nothing was sent", server.received, [])
        push(t, profile, server.url, "--ca", certificate)
        t.equal("trusted", [r.sums() for r in server.received], [reported(t, profile)])
        said = push(t, profile, server.url.replace("127.0.0.1", "localhost"), "--ca", certificate, "--retries", "0", status=1)
        t.true("another name", len(said) == 1 and "certificate is not trusted" in said[0], said)
        said = push(t, profile, server.url, "--ca", t.file("none.pem"), "--retries", "0", status=1)
        t.true("no such file", len(said) == 1 and "none.pem" in said[0], said)


def command_lines():
    """Those of our children."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as status, open("/proc/%s/cmdline" % pid) as line:
                if int(status.read().rsplit(")", 1)[1].split()[1]) == os.getpid():
                    found.append(line.read().split("\0"))
        except OSError:  # it has ended
            pass
    return found


def test_secrets(t):
    """Password and token reach the server, and no message nor command line."""
    profile = small(t)
    with Server([401, 200, 401]) as server:
        url = server.url.replace("//", "//me:%s%%2f@" % TOKEN)
        said = push(t, profile, url, status=1)
        t.equal("password", base64.b64decode(server.received[0].headers["Authorization"].split()[1]), b"me:" + TOKEN.encode() + b"/")
        t.equal("said", said, ["%s answers 401: reason?[31m 401 second line" % server.url])
        lines = []
        server.at_request = lambda: lines.extend(command_lines())
        said = push(t, profile, url)
        server.at_request = None
        t.true("not shown", TOKEN not in str(said), said)
        t.true("the command line", ["push", profile] in [line[1:3] for line in lines] and TOKEN not in str(lines), lines)
        said = push(t, profile, server.url, status=1, env={"TIDEMARK_PUSH_TOKEN": TOKEN})
        t.equal("token", server.received[2].headers["Authorization"], "Bearer " + TOKEN)
        t.true("not shown", TOKEN not in str(said), said)
        said = push(t, profile, "http://me:%s/more@127.0.0.1" % TOKEN, status=2)
        t.true("badly written", TOKEN not in str(said) and "%2F" in said[0], said)


def test_wrong_usage(t):
    profile = small(t)
    url = "http://127.0.0.1:%d" % free_port()
    for options in (("--label", "x"), ("--label", "=x"), ("--label", "a-b=c"), ("--label", "1a=c"), ("--label", "a=b,c=d"), ("--label", "a=}"),
                    ("--label", "a="), ("--label", "__name__=x"), ("--name", "a{b}"), ("--name", ""), ("--queue-size", "x"), ("--retries", "-1"),
                    ("--since", "start")):
        said = push(t, profile, url, *options, status=2)
        t.equal("lines with %s" % (options,), len(said), 1)
    for wrong in ("127.0.0.1:4040", "ftp://host", "http://", "http:///x", "http://host/?a=b", "http://ho st"):
        t.equal("lines with " + wrong, len(push(t, profile, wrong, status=2)), 1)
    t.run("push", profile)
    t.true("no URL", t.status == 2 and "--to" in t.stderr, t.stderr)
    said = push(t, profile, "http://no-such-host.invalid", "--retries", "0", status=1)
    t.equal("an unknown host", (len(said), said[0].startswith("http://no-such-host.invalid: ")), (1, True))


def test_without_libcurl(t):
    """A library of that name without its functions stands for one that is missing."""
    profile, source = small(t), t.file("empty.c")
    open(source, "w").close()
    subprocess.run(["cc", "-shared", "-o", t.file("libcurl.so.4"), source], check=True)
    said = push(t, profile, "http://127.0.0.1:1", status=1, env={"LD_LIBRARY_PATH": t.dir})
    t.true("which package to install", len(said) == 1 and "apt-get install libcurl4" in said[0], said)


def grown(received):
    """MiB that grow() holds in what is live."""
    found = received.profile().stacks()[0]
    return sum(v[1] for s, v in found.items() if "grow" in s) >> 20


def test_run_pushes(t):
    """Each step of the program waits for a profile of the one before: 0, 1 and 3 MiB. Nothing is written but the recording."""
    program, steps, out = t.build("grows_on_command.c", "-O1"), t.file("step"), t.file("app.tide")
    with Server() as server:
        def next_step():
            step = {0: 1, 1: 2, 3: 3}[grown(server.received[-1])]
            open("%s.%d" % (steps, step), "w").close()

        server.at_request = next_step
        url = server.url.replace("//", "//me:%s@" % TOKEN)
        t.run("run", "--quiet", "-o", out, "--push", url, "--every", "0.1s", "--push-label", "host=h1", program, steps, "1", "2",
              env={"no_proxy": "*", "TIDEMARK_PUSH_TOKEN": ""})
        t.equal("run", (t.status, t.stdout, t.stderr), (0, "", ""))
        sizes = [grown(r) for r in server.received]
        t.equal("grown", sorted(set(sizes)), sorted({0, 1, 3}))
        t.equal("in order", sizes, sorted(sizes))
        t.equal("series", {str(r.series()) for r in server.received}, {str(("grows_on_command", {"host": "h1"}))})
        last = server.received[-1]
        live = t.report(out)["sum"]
        t.equal("the last is the recording", (last.profile().types, last.sums()), (["inuse_objects", "inuse_space"], (live["count"], live["bytes"])))
        t.equal("files", [f for f in os.listdir(t.dir) if f.endswith(".tide")], ["app.tide"])
        with open(out, "rb") as file:
            t.true("no secret in it", TOKEN.encode() not in file.read())


def test_run_without_a_server(t):
    """The program runs as it would; the recording says that something is missing, and stderr why."""
    steps, out = t.file("step"), t.file("app.tide")
    url = "http://127.0.0.1:%d" % free_port()
    program = t.build("grows_on_command.c", "-O1")
    for step in (1, 2):
        open("%s.%d" % (steps, step), "w").close()
    cache = t.file("cache")
    t.run("run", "--quiet", "-o", out, "--push", url, program, steps, "1", env={"no_proxy": "*", "XDG_CACHE_HOME": cache})
    t.equal("status", (t.status, len(t.stderr.splitlines())), (0, 1))
    queue = os.path.join(cache, "tidemark-push", "http___127.0.0.1_%d" % int(url.rsplit(":", 1)[1]))
    t.true("said", t.stderr.startswith("tidemark run: not pushed: %s: " % url) and t.stderr.endswith("; kept in %s\n" % queue), t.stderr)
    with Server() as server:
        said = t.run("push", "--to", server.url, "--queue", queue, env={"no_proxy": "*"})[1]
        t.equal("what was kept can be sent", (t.status, said), (0, "tidemark push: sent 1 profile from the queue first\n"))
        t.equal("it is the last state", [grown(r) for r in server.received], [1])
    t.equal("and is gone", os.listdir(queue), [])
    t.run("run", "--quiet", "-o", out, "--push", url, "--push-queue", "off", program, steps, "1", env={"no_proxy": "*", "XDG_CACHE_HOME": cache})
    t.true("no queue", "kept" not in t.stderr and t.stderr.startswith("tidemark run: not pushed: "), t.stderr)
    t.run("push", "--to", url)
    t.true("push needs a file or a queue", t.status == 2 and "--queue" in t.stderr, t.stderr)
    for options in (("--every", "1s"), ("--push-label", "a=b"), ("--push-queue", "x"), ("--push-queue-size", "1M"), ("--push", url, "--push-queue-size", "x"), ("--push", "ftp://x"), ("--push", url, "--push-label", "x"),
                    ("--push", url, "--every", "1ms"), ("--push", url, "--snapshot-every", "10s"), ("--push", url, "--keep", "3"),
                    ("--push", url, "-o", "|cat")):
        t.run("run", *options, "true")
        t.equal("wrong usage: %s" % (options,), (t.status, len(t.stderr.splitlines())), (2, 1))


def started(t, *arguments):
    return subprocess.Popen([t.tidemark, "run", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env={**os.environ, "no_proxy": "*", "TIDEMARK_PUSH_TOKEN": ""})


def kept(queue):
    return [n for n in os.listdir(queue) if n.endswith(".tidemark-push")] if os.path.isdir(queue) else []


def test_run_queues(t):
    """The server comes up after the third snapshot: what was kept is sent first, oldest first, and nothing is missing."""
    steps, out, queue, port = t.file("step"), t.file("app.tide"), t.file("queue"), free_port()
    child = started(t, "--quiet", "-o", out, "--push", "http://127.0.0.1:%d" % port, "--every", "0.1s", "--push-queue", queue,
                    t.build("grows_on_command.c", "-O1"), steps, "1", "2")
    eventually("three are kept", lambda: len(kept(queue)) >= 3)
    first = sorted(kept(queue))[0]
    with Server(port=port) as server:
        server.at_request = lambda: open("%s.%d" % (steps, {0: 1, 1: 2, 3: 3}[grown(server.received[-1])]), "w").close()
        said = child.communicate()[1]
        t.equal("run", (child.returncode, said), (0, b""))
        sizes = [grown(r) for r in server.received]
        t.true("all steps", sorted(set(sizes)) == [0, 1, 3] and sizes == sorted(sizes), sizes)
        until = [int(r.query["until"]) for r in server.received]
        t.true("in the order of time, with those that were kept", until == sorted(until) and sizes.count(0) >= 3, until)
        live = t.report(out)["sum"]
        t.equal("the last is the recording", server.received[-1].sums(), (live["count"], live["bytes"]))
    t.equal("the queue is empty", kept(queue), [])
    t.true("first was kept", first.endswith(".tidemark-push"))
    t.equal("no note: nothing was lost", [n for n in t.report(out)["notes"] if "push" in n], [])


def test_run_queue_is_bounded(t):
    """Without a server, the queue keeps the newest within its size, and the recording says that some were dropped."""
    steps, out, queue = t.file("step"), t.file("app.tide"), t.file("queue")
    url = "http://127.0.0.1:%d" % free_port()
    child = started(t, "--quiet", "-o", out, "--push", url, "--every", "0.1s", "--push-queue", queue, "--push-queue-size", "2K",
                    t.build("grows_on_command.c", "-O1"), steps, "1")
    names = set()

    def many():
        names.update(kept(queue))
        return len(names) >= 12

    eventually("twelve were kept", many)
    for step in (1, 2):
        open("%s.%d" % (steps, step), "w").close()
    said = child.communicate()[1].decode()
    t.equal("status", child.returncode, 0)
    t.true("one line", said.count("\n") == 1 and said.startswith("tidemark run: not pushed: ") and said.endswith("kept in %s\n" % queue), said)
    size = sum(os.path.getsize(os.path.join(queue, n)) for n in kept(queue))
    t.true("its size", 0 < size <= 2048, size)
    t.equal("which", sorted(kept(queue))[:-1], [n for n in sorted(names | set(kept(queue))) if n in kept(queue)][:-1])
    t.equal("the recording says so", [n.split(":")[0] for n in t.report(out)["notes"] if "--push" in n][:1],
            ["at snapshot %s the queue of --push was full" % next((n.split()[2] for n in t.report(out)["notes"] if "--push" in n), "?")])


def test_otlp(t):
    """--format otlp: to the path of OTLP/HTTP, with labels as attributes of the resource; also from the queue."""
    profile, queue = record(t, "native"), t.file("queue")
    options = ("--format", "otlp", "--label", "commit=abc", "--name", "app-1", "--queue", queue)
    push(t, profile, "http://127.0.0.1:%d" % free_port(), *options, "--retries", "0", status=1)
    with Server() as server:
        said = push(t, profile, server.url, *options)
        t.equal("said", said[0], "sent 1 profile from the queue first")
        t.equal("where", [r.path for r in server.received], ["/v1development/profiles"] * 2)
        for received in server.received:
            got = received.otlp()
            t.equal("of what", (got.resource["service.name"], got.resource["commit"]), ("app-1", "abc"))
            sums = [sum(v[0] for v in p["stacks"].values()) for p in got.profiles]
            want = reported(t, profile)
            t.equal("sums", sums, [want[3], want[2], want[1], want[0]])
            t.equal("no threads: they would be series", [p["threads"] for p in got.profiles], [{}] * 4)
    t.true("wrong format", "'pprof' or 'otlp'" in push(t, profile, "http://127.0.0.1:1", "--format", "json", status=2)[0])
