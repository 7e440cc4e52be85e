"""The real programs that bench/run.py measures, and the inputs that it makes for them.

Inputs are made once, the same on every machine, under bench/out/inputs (TIDEMARK_BENCH_OUT in the environment names another
folder than bench/out); sizes are chosen for one to four seconds
without a profiler. After a change here, remove that folder. To add a workload, write a function with the decorator @workload.
"""
import json
import os
import random
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.environ.get("TIDEMARK_BENCH_OUT") or os.path.join(HERE, "out")
INPUTS = os.path.join(OUT, "inputs")
SCRATCH = os.path.join(OUT, "scratch")

ALL = {}


# A real program that allocates less than this is not doing what it is here for (an option ignored, an input empty).
LEAST_ALLOCATIONS = 1000000


class Workload:
    """One command line; `fresh` names files to remove before each run."""

    def __init__(self, argv, env=None, stdin=None, fresh=()):
        self.argv, self.env, self.stdin, self.fresh = argv, env or {}, stdin, fresh

    def prepare(self):
        for path in self.fresh:
            if os.path.exists(path):
                os.remove(path)


def workload(function):
    ALL[function.__name__.replace("_", "-")] = function
    return function


def made(name, write):
    """Path of an input; write(path) makes it the first time. A cut-off attempt leaves nothing behind."""
    path = os.path.join(INPUTS, name)
    if not os.path.exists(path):
        os.makedirs(INPUTS, exist_ok=True)
        unfinished = path + ".unfinished"
        if os.path.isdir(unfinished):
            shutil.rmtree(unfinished)
        write(unfinished)
        os.rename(unfinished, path)
    return path


def text(name, content):
    def write(path):
        with open(path, "w") as out:
            out.writelines([content] if isinstance(content, str) else content())
    return made(name, write)


CPP_HEAD = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct tag { static constexpr int value = N; };
template <typename T, int N> struct chain : chain<T, N - 1> {
    std::tuple<T, tag<N>> item;
    template <typename F> auto apply(F f) const { return f(std::get<0>(item)) + chain<T, N - 1>::apply(f); }
};
template <typename T> struct chain<T, 0> { template <typename F> int apply(F) const { return 0; } };
"""
CPP_UNIT = """\
namespace unit{i} {{
struct record {{ int id; std::string name; std::vector<double> values; }};
using key = std::tuple<int, std::string, tag<{i}>>;
inline bool operator<(const tag<{i}> &, const tag<{i}> &) {{ return false; }}
using value = std::variant<int, double, std::string, std::shared_ptr<record>>;
std::map<std::pair<int, std::string>, value> table;
std::unordered_map<std::string, std::vector<record>> index;
int run(int n) {{
    chain<int, {depth}> links{{}};
    std::vector<record> all;
    for (int k = 0; k < n; k++) all.push_back(record{{k, std::to_string(k), {{1.0 * k, 2.0 * k}}}});
    std::sort(all.begin(), all.end(), [](const record &a, const record &b) {{ return a.name < b.name; }});
    for (auto &r : all) {{
        table[{{r.id, r.name}}] = std::make_shared<record>(r);
        index[r.name].push_back(r);
    }}
    std::function<int(int)> f = [n](int x) {{ return x + n; }};
    return links.apply(f) + std::visit([](auto &&v) {{ return int(sizeof(v)); }}, table.begin()->second);
}}
}}
"""


@workload
def clang():
    """Compiles a C++ file with many templates."""
    source = text("templates.cpp", lambda: [CPP_HEAD] + [CPP_UNIT.format(i=i, depth=20 + i % 7) for i in range(5)])
    return Workload(["clang++", "-std=c++17", "-O1", "-c", source, "-o", os.path.join(SCRATCH, "templates.o")])


@workload
def lua():
    """Builds binary trees."""
    source = text("trees.lua", """\
local function tree(depth)
    if depth == 0 then return {} end
    return {tree(depth - 1), tree(depth - 1)}
end
local function count(node)
    if not node[1] then return 1 end
    return 1 + count(node[1]) + count(node[2])
end
local kept, total = tree(16), 0
for depth = 4, 16, 4 do
    for i = 1, 1 << (20 - depth) do total = total + count(tree(depth)) end
end
print(total + count(kept))
""")
    return Workload(["lua5.4", source])


@workload
def xmllint():
    """Parses a document of 20 MB into a tree, four times."""
    def document():
        chance = random.Random(1)
        yield '<?xml version="1.0"?>\n<run xmlns:d="http://example.org/detector">\n'
        for event in range(22200):
            yield '<event id="%d" weight="%.4f">\n' % (event, chance.random())
            for hit in range(10):
                yield '  <d:hit layer="%d" x="%.3f" y="%.3f">%s<note>cell &amp; pad %d</note></d:hit>\n' % (
                    hit, chance.random() * 100, chance.random() * 100, "a" * chance.randrange(10), chance.randrange(10000))
            yield "</event>\n"
        yield "</run>\n"
    return Workload(["xmllint", "--noout"] + [text("events.xml", document)] * 4)


@workload
def jq():
    """Groups and sums 30 MB of JSON."""
    def document():
        chance = random.Random(2)
        for item in range(182000):
            yield json.dumps({"id": item, "kind": "k%d" % chance.randrange(50), "name": "item number %d" % item,
                              "tags": ["t%d" % chance.randrange(1000) for _ in range(5)],
                              "at": {"x": chance.random(), "y": chance.random()}}) + "\n"
    program = "[.[] | select(.at.x > 0.2)] | group_by(.kind) | map({kind: .[0].kind, n: length, y: (map(.at.y) | add)})"
    return Workload(["jq", "-s", program, text("items.json", document)])


def sqlite_script(rows):
    return text("fill-%d.sql" % rows, """\
create table item(id integer primary key, name text, kind integer, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
insert into item select i, 'item number ' || (i * 7919 %% 1000003), i %% 97, i * 0.5 from n;
create index by_name on item(name);
create index by_kind on item(kind, value);
select count(*), sum(value) from item where kind = 13;
select kind, group_concat(substr(name, -3)) from (select * from item order by name limit 20000) group by kind;
""" % rows)


@workload
def sqlite_memory():
    """Fills and indexes a table in memory."""
    return Workload(["sqlite3", ":memory:"], stdin=sqlite_script(1500000))


@workload
def sqlite_file():
    """Fills and indexes a table in a file."""
    database = os.path.join(SCRATCH, "items.db")
    return Workload(["sqlite3", database], stdin=sqlite_script(1200000), fresh=(database, database + "-journal"))


@workload
def python():
    """Objects, dictionaries and JSON, every object from malloc. Not with -I, which ignores PYTHONMALLOC."""
    source = text("objects.py", """\
import json
class Hit:
    def __init__(self, layer, x):
        self.layer, self.x, self.links = layer, x, []
def event(n):
    hits = [Hit(i % 10, i * 0.25) for i in range(n)]
    for a, b in zip(hits, hits[1:]):
        a.links.append(b)
    by_layer = {}
    for hit in hits:
        by_layer.setdefault(hit.layer, {})[str(hit.x)] = hit
    text = json.dumps([{"layer": h.layer, "x": h.x, "links": len(h.links)} for h in hits])
    return sum(item["x"] for item in json.loads(text)) + len(by_layer)
print(sum(event(3000) for _ in range(250)))
""")
    return Workload(["/usr/bin/python3", source], env={"PYTHONMALLOC": "malloc"})


@workload
def perl():
    """Builds hashes of arrays of strings."""
    source = text("hashes.pl", """\
use strict;
my (%index, %count);
for my $i (1 .. 350000) {
    my $key = "key" . ($i * 7919 % 100003);
    push @{ $index{$key} }, { id => $i, name => "item $i", words => [ split / /, "a few words $i" ] };
    $count{ substr $key, 0, 5 }++;
    delete $index{ "key" . ($i * 104729 % 100003) };
}
my $total = 0;
$total += scalar @{ $index{$_} } for sort keys %index;
print "$total ", scalar(keys %count), "\\n";
""")
    return Workload(["perl", source])


def make_repository(path):
    """A history of 2,000 commits over 200 files, written with git fast-import."""
    chance = random.Random(3)
    files = {n: ["line %d of file %d\n" % (line, n) for line in range(300)] for n in range(200)}
    stream = []
    for commit in range(2000):
        touched = range(200) if commit == 0 else chance.sample(range(200), 8)
        stream.append("commit refs/heads/main\ncommitter A B <a@b> %d +0000\ndata 20\nchange %12d\n\n" % (1600000000 + commit * 60, commit))
        for n in touched:
            for _ in range(8):
                files[n][chance.randrange(len(files[n]))] = "changed in %d: %d\n" % (commit, chance.randrange(10 ** 9))
            content = "".join(files[n])
            stream.append("M 100644 inline dir%d/file%d.txt\ndata %d\n%s\n" % (n % 10, n, len(content), content))
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)


@workload
def git():
    """Walks a history with all its differences."""
    repository = made("history.git", make_repository)
    return Workload(["git", "--no-pager", "--git-dir", repository, "log", "-p", "--stat", "main"],
                    env={"GIT_CONFIG_NOSYSTEM": "1", "HOME": OUT})
