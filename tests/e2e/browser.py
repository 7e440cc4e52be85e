"""Pictures in a real browser: Debian's chromium, without a window."""
import html
import json
import os
import re
import shutil
import subprocess

from harness import Skipped

CHROMIUM = shutil.which("chromium")


def look(t, svg, script):
    """Runs a script inside the page of an SVG; what it puts into the array `seen` comes back, as texts."""
    if not CHROMIUM:
        raise Skipped("there is no chromium")
    page = os.path.join(t.dir, "page.html")
    body = re.sub(r"^<\?xml[^>]*>\s*", "", svg)
    with open(page, "w") as out:
        out.write("<!doctype html><meta charset=utf-8><body>%s<script>\nlet seen = [];\n"
                  "window.onerror = (m) => seen.push('error: ' + m);\n%s\n"
                  "const pre = document.createElement('pre'); pre.id = 'seen';\n"
                  "pre.textContent = JSON.stringify(seen.map(String)); document.body.appendChild(pre);\n"
                  "</script></body>" % (body, script))
    done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--user-data-dir=" + os.path.join(t.dir, "chromium"), "--dump-dom", "file://" + page],
                          capture_output=True, timeout=300)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    t.true("the page ran to its end", found, done.stderr.decode()[-500:])
    return json.loads(html.unescape(found.group(1)))
