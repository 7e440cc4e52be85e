"""The giants: how each is installed, run, and what must come out of it.

A giant is a function that gets a Place (where it may keep and write things) and returns a Giant. It is called once a
run, so that a run finds nothing of the one before.
"""
import dataclasses
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
MARKER = "the big one"  # the comment on the line of the known big allocation
PYPI = ["pandas", "scipy", "scikit-learn", "polars", "jax", "tensorflow-cpu"]
CRATES = """anyhow = "1"
chrono = "0.4"
clap = { version = "4", features = ["derive"] }
hyper = { version = "1", features = ["full"] }
itertools = "0.13"
rand = "0.8"
rayon = "1"
regex = "1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
tempfile = "3"
thiserror = "1"
tokio = { version = "1", features = ["full"] }
toml = "0.8"
tracing-subscriber = "0.3"
walkdir = "2"
"""


class Missing(Exception):
    """It could not be installed; the text says what."""


@dataclasses.dataclass
class Giant:
    command: typing.List[str]
    source: str = ""  # the file with the marked line; "": its big allocation is not known
    metric: str = "peak"
    in_stack: bool = False  # functions of the library lie between the line and the allocation
    leaves: typing.Callable[[str], bytes] = lambda stdout: stdout.encode()  # what must be the same in both runs
    environment: typing.Dict[str, str] = dataclasses.field(default_factory=dict)
    ratio: float = 1.8  # of wall times, at most; 0: heaptrack's
    heaptrack: bool = False  # is it run under heaptrack too, for comparison?
    rss_bytes: typing.Callable[[int], float] = lambda nodes: 400e6  # that the collector may take
    end_s: float = 0  # the recording may end so long after the program; 0: whatever


@dataclasses.dataclass
class Place:
    kept: str  # what was installed or generated once
    fresh: str  # an empty folder for one run


def marked_line(path):
    with open(path) as lines:
        return next(number for number, line in enumerate(lines, 1) if MARKER in line)


def call(command, what, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise Missing("%s: %s" % (what, (done.stdout.strip().splitlines() or ["no output"])[-1][:200]))


def once(kept, name, content, make):
    """Runs make() unless it was done for the same content before."""
    stamp = os.path.join(kept, name + ".done")
    wanted = hashlib.sha256(content.encode()).hexdigest()
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return
    make()
    with open(stamp, "w") as out:
        out.write(wanted)


# --- Python -----------------------------------------------------------------------------------------------------------


def interpreter():
    """One that all wheels are made for."""
    versions = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/bin/python")))
    return versions[-1] if versions else "/usr/bin/python3"


def from_pypi(place):
    folder = os.path.join(place.kept, "venv")
    python = os.path.join(folder, "bin", "python")

    def make():
        print("installing %s into %s" % (" ".join(PYPI), folder), file=sys.stderr)
        call([interpreter(), "-m", "venv", folder], "venv")
        call([python, "-m", "pip", "install", "-q", "--no-cache-dir", *PYPI], "pip")
    once(place.kept, "venv", " ".join([interpreter(), *PYPI]), make)
    return python


def script(name, python=from_pypi, **more):
    def giant(place):
        path = os.path.join(HERE, "scripts", "big_%s.py" % name)
        return Giant([python(place), path], source=path, **more)
    return giant


def from_debian(_):
    if subprocess.run(["/usr/bin/python3", "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"]).returncode:
        raise Missing("Debian's python3-torch")
    return "/usr/bin/python3"


# --- compilers --------------------------------------------------------------------------------------------------------


def cxx_source(kinds):
    """As many kinds of maps, sorts, functions and expressions; no two share an instantiation."""
    parts = ["#include <algorithm>\n#include <functional>\n#include <map>\n#include <memory>\n#include <regex>\n"
             "#include <string>\n#include <tuple>\n#include <unordered_map>\n#include <variant>\n#include <vector>\n"]
    for i in range(kinds):
        parts.append("""
struct S%(i)d { int a[%(n)d]; std::string s; bool operator<(const S%(i)d &o) const { return s < o.s || a[0] < o.a[0]; } };
long f%(i)d(const std::string &t) {
    std::map<S%(i)d, std::vector<std::tuple<S%(i)d, std::string, long>>> m;
    std::unordered_map<std::string, std::variant<S%(i)d, std::unique_ptr<S%(i)d>, long>> u;
    std::vector<std::pair<S%(i)d, std::function<long(const S%(i)d &)>>> v;
    for (auto c : t) {
        S%(i)d s{{c}, t};
        m[s].emplace_back(s, t, c);
        u[t] = std::make_unique<S%(i)d>(s);
        v.emplace_back(s, [&m](const S%(i)d &x) { return (long)m.count(x); });
    }
    std::sort(v.begin(), v.end(), [](auto &x, auto &y) { return x.first < y.first; });
    std::stable_sort(v.begin(), v.end(), [](auto &x, auto &y) { return y.first < x.first; });
    std::partial_sort(v.begin(), v.begin() + 1, v.end(), [](auto &x, auto &y) { return x.first < y.first; });
    long sum = (long)u.size();
    for (auto &[s, f] : v) sum += f(s);
    return sum + std::regex_match(t, std::regex("a%(i)d+b"));
}
""" % {"i": i, "n": i + 1})
    return "".join(parts)


CXX_KINDS = 14  # about 25 s of CPU time


def clang(place):
    source, made = os.path.join(place.kept, "large.cpp"), os.path.join(place.fresh, "large.o")
    if not shutil.which("clang++"):
        raise Missing("Debian's clang")
    with open(source, "w") as out:
        out.write(cxx_source(CXX_KINDS))

    def leaves(stdout):
        with open(made, "rb") as file:
            return stdout.encode() + file.read()
    return Giant(["clang++", "-std=c++17", "-O2", "-c", source, "-o", made], leaves=leaves)


def cargo(place):
    folder = os.path.join(place.kept, "crate")
    tool = shutil.which("cargo") or os.path.expanduser("~/.cargo/bin/cargo")
    if not os.access(tool, os.X_OK):
        raise Missing("cargo")

    def make():
        os.makedirs(os.path.join(folder, "src"), exist_ok=True)
        with open(os.path.join(folder, "Cargo.toml"), "w") as out:
            out.write('[package]\nname = "large"\nversion = "1.0.0"\nedition = "2021"\n\n[workspace]\n\n'
                      '[profile.dev]\ndebug = 0\n\n[dependencies]\n' + CRATES)
        with open(os.path.join(folder, "src", "main.rs"), "w") as out:
            out.write('fn main() { println!("{}", serde_json::json!({"regex": regex::Regex::new("a+").unwrap().as_str()})); }\n')
        call([tool, "fetch"], "cargo fetch", cwd=folder)
    once(place.kept, "crate", CRATES, make)
    program = os.path.join(place.fresh, "debug", "large")

    def leaves(stdout):
        return (stdout + subprocess.run([program], stdout=subprocess.PIPE, text=True).stdout).encode()
    return Giant([tool, "build", "--quiet", "--offline", "-j2", "--manifest-path", os.path.join(folder, "Cargo.toml"),
                  "--target-dir", place.fresh], leaves=leaves)


# --- desktop programs -------------------------------------------------------------------------------------------------


def chromium(place):
    page, made = os.path.join(place.kept, "page.html"), os.path.join(place.fresh, "page.png")
    tool = shutil.which("chromium")
    if not tool:
        raise Missing("Debian's chromium")
    with open(page, "w") as out:
        out.write("<!DOCTYPE html><title>large</title><style>p{margin:1px} p:nth-child(3n){color:#07c}</style><h1>Rows</h1>"
                  "<svg width=400 height=200>%s</svg><div id=d></div><script>for (let i = 0; i < 3000; i++) {"
                  "const p = document.createElement('p'); p.textContent = 'row ' + i + ' ' + (i * 7919 %% 1000);"
                  "document.getElementById('d').append(p) }</script>"
                  % "".join("<circle cx=%d cy=%d r=9 fill=none stroke=red />" % (i * 7 % 400, i * 13 % 200) for i in range(500)))

    def leaves(_):
        with open(made, "rb") as file:
            return file.read()
    return Giant([tool, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=800,2000",
                  "--user-data-dir=" + os.path.join(place.fresh, "profile"), "--screenshot=" + made, "file://" + page], leaves=leaves)


def libreoffice(place):
    document, made = os.path.join(place.kept, "document.html"), os.path.join(place.fresh, "document.pdf")
    tool = shutil.which("soffice")
    if not tool:
        raise Missing("Debian's libreoffice-writer-nogui")
    with open(document, "w") as out:
        out.write("<html><body>%s</body></html>" % "".join(
            "<h2>Part %d</h2><p>%s</p><table border=1><tr><td>%d</td><td>%d</td></tr></table>"
            % (i, "Some words to fill a page with. " * 40, i, i * i) for i in range(150)))

    def leaves(_):
        with open(made, "rb") as file:  # that of the same document, but for when and as which one it was written
            return re.sub(rb"/(CreationDate|DocChecksum|ID)[^\n]*(\n<[^\n]*)?", b"", file.read())
    return Giant([tool, "--headless", "--convert-to", "pdf", "--outdir", place.fresh, document, "-env:UserInstallation=file://"
                  + os.path.join(place.fresh, "profile")], leaves=leaves)


# --- programs made to be large ----------------------------------------------------------------------------------------


def program(name, count, **more):
    def giant(place):
        source, made = os.path.join(HERE, "programs", name + ".c"), os.path.join(place.kept, name)
        call(["gcc", "-O1", "-g", "-o", made, source], "gcc")
        return Giant([made, str(count)], source=source, **more)
    return giant


def room_for_nodes(nodes):
    return 400e6 + 64 * nodes


# Small ones first.
ALL = {
    "pandas": script("pandas"),
    "scipy": script("scipy"),
    "scikit-learn": script("sklearn"),
    "polars": script("polars", metric="mapped", in_stack=True),
    "jax": script("jax"),
    "torch": script("torch", python=from_debian),
    "DataLoader, 12 workers": script("loader", python=from_debian, ratio=1.5),
    "tensorflow": script("tensorflow", in_stack=True),
    "libreoffice": libreoffice,
    "chromium": chromium,
    "clang": clang,
    "cargo build": cargo,
    "5 M distinct stacks": program("distinct_stacks", 5_000_000, rss_bytes=room_for_nodes, ratio=0, heaptrack=True),
    "50 M live blocks": program("live_blocks", 50_000_000, rss_bytes=lambda nodes: float("inf"), ratio=2.5, end_s=2, heaptrack=True),
    "20 M distinct stacks": program("distinct_stacks", 20_000_000, rss_bytes=room_for_nodes, ratio=0, heaptrack=True),
}
