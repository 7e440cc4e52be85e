"""Pictures and pages in a real browser: Debian's chromium, without a window."""
import base64
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from harness import Skipped

CHROMIUM = shutil.which("chromium")


def look(t, svg, script):
    """Runs a script inside the page of an SVG; what it puts into the array `seen` comes back, as texts."""
    page = os.path.join(t.dir, "page.html")
    body = re.sub(r"^<\?xml[^>]*>\s*", "", svg)
    with open(page, "w") as out:
        out.write("<!doctype html><meta charset=utf-8><body>%s<script>\nlet seen = [];\n"
                  "window.onerror = (m) => seen.push('error: ' + m);\n%s\n"
                  "const pre = document.createElement('pre'); pre.id = 'seen';\n"
                  "pre.textContent = JSON.stringify(seen.map(String)); document.body.appendChild(pre);\n"
                  "</script></body>" % (body, script))
    with Browser() as browser:
        browser.open("file://" + page)
        found = browser.run("return document.getElementById('seen')?.textContent")
        t.true("the page ran to its end", found, browser.complaints())
    return json.loads(found)


class Process:
    """A chromium, which is started when it is first asked for something, and the pipes to it.

    The runner keeps some for the tests, one of which at a time uses it: to start one takes longer than most tests.
    """

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tide-browser-")
        self.pid_file = os.path.join(self.folder, "pid")
        self.asked, self.asks = os.pipe()
        self.answers, self.answered = os.pipe()

    def start(self):
        """In a session of its own: it outlives the test that starts it."""
        if os.path.exists(self.pid_file):
            return

        def connect():  # 3 is what it reads, 4 what it writes
            low = os.dup(self.asked), os.dup(self.answered)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        with open(os.path.join(self.folder, "chromium.log"), "wb") as log:
            process = subprocess.Popen(
                [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--window-size=1280,900", "--user-data-dir=" + os.path.join(self.folder, "chromium"),
                 "--disable-ipc-flooding-protection",  # else it ignores changes of the address beyond 200 in 10 s
                 "--remote-debugging-pipe", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=connect, close_fds=False, start_new_session=True)
        with open(self.pid_file, "w") as out:
            out.write(str(process.pid))

    def end(self):
        if os.path.exists(self.pid_file):
            with open(self.pid_file) as text, contextlib.suppress(ProcessLookupError):
                os.killpg(int(text.read()), signal.SIGKILL)
        for number in (self.asked, self.asks, self.answers, self.answered):
            os.close(number)
        shutil.rmtree(self.folder, ignore_errors=True)


class Browser:
    """A window of a browser that is asked through its pipe for scripts (Chrome DevTools Protocol).

        with Browser() as browser:
            browser.open("file:///tmp/a.html")
            browser.run("return document.title")       # awaits promises; raises what the script throws
    """

    lent = None  # the Process that the runner keeps for this test

    def __init__(self):
        if not CHROMIUM:
            raise Skipped("there is no chromium")
        self.process = Browser.lent or Process()
        self.process.start()
        self.asks, self.answers = self.process.asks, self.process.answers
        # Numbers that no test before has used: the answers to that one may be on their way.
        self.number, self.buffer, self.session, self.frame_context = os.getpid() % 10000 * 100000, b"", None, None
        self.events, self.sessions = [], set()
        # As in a browser that was just installed: cookies, caches and storage are its own.
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.attach(target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def attach(self, target):
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.sessions.add(session)
        self.session = session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not Browser.lent:
            self.process.end()
            return
        self.session = None
        self.call("Target.disposeBrowserContext", browserContextId=self.context)
        while self.buffer:  # the next test begins with a whole message
            self.receive(time.monotonic() + 120)

    def receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout=120, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.asks, data):]
        until = time.monotonic() + timeout
        while True:
            got = self.receive(until)
            if got.get("sessionId", self.session) not in (self.session, *self.sessions):
                continue  # of a test before
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]["message"]))
                return got["result"]
            self.events.append(got)

    def open(self, address, timeout=120):
        """Opens a page and waits until it is loaded; forgets the events of pages before."""
        self.events = []
        self.call("Page.navigate", url=address)
        until = time.monotonic() + timeout
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive(until))

    def run(self, script, timeout=120):
        """The value that a script returns; it may await."""
        where = {"contextId": self.frame_context} if self.frame_context else {}
        got = self.call("Runtime.evaluate", timeout, expression="(async () => { %s })()" % script,
                        awaitPromise=True, returnByValue=True, **where)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", "it threw"))
        return got["result"].get("value")

    def wait(self, condition, timeout=60):
        """Waits until an expression is true."""
        until = time.monotonic() + timeout
        while not self.run("return Boolean(%s)" % condition):
            if time.monotonic() > until:
                raise TimeoutError("never true: " + condition)
            time.sleep(0.05)

    @contextlib.contextmanager
    def in_frame(self):
        """The page's first frame: inside, run() and wait() are about it."""
        until = time.monotonic() + 60
        before, self.frame_context = self.session, None
        while not self.frame_context and self.session == before and time.monotonic() < until:
            self.call("Runtime.disable")
            self.call("Runtime.enable")  # tells of every context again
            child = self.call("Page.getFrameTree")["frameTree"].get("childFrames", [{}])[0].get("frame", {}).get("id")
            apart = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "iframe"]
            for event in self.events:
                context = event["params"]["context"] if event.get("method") == "Runtime.executionContextCreated" else {}
                if child and context.get("auxData", {}).get("frameId") == child and context["auxData"].get("isDefault"):
                    self.frame_context = context["id"]
            if apart and not self.frame_context:  # in a process of its own
                self.attach(apart[0]["targetId"])
        try:
            self.wait("globalThis.tidemark")
            yield self
        finally:
            self.session, self.frame_context = before, None

    def requested(self):
        """Addresses that were asked for, but for those of the page's own memory."""
        self.run("return 1")  # what is under way has arrived
        urls = [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("blob:", "data:"))]

    def complaints(self):
        """What the page threw, and what the browser refused to it."""
        self.run("return 1")
        thrown = [event["params"]["exceptionDetails"].get("exception", {}).get("description", "?")
                  for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        return thrown + [event["params"]["entry"]["text"] for event in self.events
                         if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"]

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)

    def drag(self, x, y, to_x, to_y):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for i in range(1, 5):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + (to_x - x) * i / 4,
                      y=y + (to_y - y) * i / 4, button="left")
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)

    def key(self, key, text=None, modifiers=0):
        """Presses a key: key("?", "?"), key("ArrowDown"), key("Enter", "\\r")."""
        down = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
