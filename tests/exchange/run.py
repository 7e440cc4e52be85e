#!/usr/bin/env python3
"""Exported files in the programs that they are for, where these come from npm or PyPI: make test-exchange.

    tests/exchange/run.py --build build [-k NAME]

Installs below BUILD/exchange, from the package registries, what is checked with:

    speedscope (npm)            its own importer, run in chromium: speedscope, pprof, folded and callgrind files; and
                                its published JSON schema, by the package jsonschema (PyPI)
    duckdb (PyPI)               queries of csv, npy and sqlite files
    opentelemetry-proto (PyPI)  the generated decoder of OTLP's profiles

Nothing of these is part of tidemark. The consumers that Debian has (go tool pprof, ms_print, callgrind_annotate,
heaptrack_print, dh_view.html, sqlite3, numpy) are in tests/e2e/test_export*.py. Not to be had from these registries:
Perfetto's trace_processor (its package downloads the program from elsewhere), and a validator of the Firefox
Profiler's format; tests/e2e/test_export_tables.py states the rules that are checked in their place.
"""
import argparse
import base64
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from browser import Browser  # noqa: E402
from exported import RECORDINGS, add, by_name, export, record, same, stacks  # noqa: E402
from harness import Test  # noqa: E402

SPEEDSCOPE = "speedscope@1.25.0"
PYTHON_PACKAGES = ("duckdb==2.0.0", "opentelemetry-proto==1.45.2", "jsonschema", "numpy", "pandas")
METRICS = ("live", "total", "temporary", "peak")


class Consumers:
    """What is installed, once for all tests."""

    def __init__(self, build):
        self.folder = os.path.join(os.path.abspath(build), "exchange")
        self.python = os.path.join(self.folder, "venv", "bin", "python")
        self.page = os.path.join(self.folder, "speedscope", "index.html")
        self.release = os.path.join(self.folder, "node_modules", "speedscope", "dist", "release")
        os.makedirs(self.folder, exist_ok=True)
        if not os.path.exists(self.python):
            subprocess.run([sys.executable, "-m", "venv", os.path.join(self.folder, "venv")], check=True)
            subprocess.run([self.python, "-m", "pip", "install", "--quiet", *PYTHON_PACKAGES], check=True)
        if not os.path.exists(self.page):
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.folder, SPEEDSCOPE], check=True)
            self.open_importer()

    def open_importer(self):
        """A copy of speedscope's page whose importer can be called: the function that opens a file from base64 gets a name."""
        shutil.copytree(self.release, os.path.dirname(self.page), dirs_exist_ok=True)
        script, = glob.glob(os.path.join(os.path.dirname(self.page), "speedscope-*.js"))
        with open(script, encoding="utf-8") as file:
            text = file.read()
        found = re.search(r"async function ([\w$]+)\(\w+,\w+\)\{return\(await [\w$]+\)\.importProfileGroupFromBase64\(", text)
        text = text[:found.start()] + "globalThis.importFile=%s;" % found.group(1) + text[found.start():]
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)

    def ask_python(self, script, *arguments):
        """What a script in the environment with the packages prints, as JSON."""
        done = subprocess.run([self.python, "-c", script, *arguments], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


# --- speedscope

IMPORT = """
const group = await importFile(%s, %s);
return group.profiles.map(p => {
  const stacks = {}, path = [];
  let last = 0;
  const put = value => { if (path.length && value > last) { const key = JSON.stringify(path); stacks[key] = (stacks[key] || 0) + value - last; } last = value; };
  p.forEachCall((node, value) => { put(value); path.push(node.frame.name); }, (node, value) => { put(value); path.pop(); });
  const frames = [];
  p.forEachFrame(f => frames.push([f.name, f.getSelfWeight(), f.getTotalWeight()]));
  return {name: p.getName(), unit: p.getWeightUnit(), total: p.getTotalWeight(), stacks: Object.entries(stacks), frames};
});"""


def imported(consumers, browser, path, name):
    """[{name, unit, total, stacks: {innermost first: weight}, self: {function: weight}}] that speedscope makes of a file."""
    with open(path, "rb") as file:
        content = base64.b64encode(file.read()).decode()
    browser.open("file://" + consumers.page)
    got = browser.run(IMPORT % (json.dumps(name), json.dumps(content)), timeout=300)
    for profile in got:
        profile["stacks"] = {tuple(reversed(json.loads(key))): weight for key, weight in profile["stacks"]}
        own = {}
        for function, weight, _ in profile["frames"]:
            own[function] = own.get(function, 0) + weight
        profile["self"] = {n: w for n, w in own.items() if w}
    return got


def amounts(t, profile, metric):
    return {s: v[0] for s, v in stacks(t, profile, metric).items() if v[0]}


def selves(t, profile, metric):
    return {n: v[0] for n, v in by_name(stacks(t, profile, metric))[0].items() if v[0]}


def test_speedscope(t, consumers):
    """Every profile, stack and function that speedscope's importer makes of its own format has the report's bytes."""
    with Browser() as browser:
        for kind in RECORDINGS:
            profile = record(t, kind)
            got = imported(consumers, browser, export(t, profile, "speedscope"), "app.speedscope.json")
            t.equal("profiles of " + kind, [p["unit"] for p in got], ["bytes"] * 4)
            for metric, p in zip(METRICS, got):
                want = amounts(t, profile, metric)
                t.equal("sum of %s, %s" % (metric, kind), p["total"], sum(want.values()))
                same(t, "stacks of %s, %s" % (metric, kind), p["stacks"], want)
                same(t, "functions of %s, %s" % (metric, kind), p["self"], selves(t, profile, metric))


def test_speedscope_of_other_formats(t, consumers):
    """pprof (it shows the default type: what is live), folded stacks and callgrind (its first event)."""
    profile = record(t, "native")
    want = amounts(t, profile, "live")
    with Browser() as browser:
        for form, name in (("pprof", "app.pb.gz"), ("folded", "app.folded")):
            got, = imported(consumers, browser, export(t, profile, form, *(("--metric", "live") if form == "folded" else ())), name)
            t.equal("sum of " + form, got["total"], sum(want.values()))
            shown = {}
            for row in t.report(profile, "live", "--by", "stack")["rows"]:  # of pprof, it leaves out what is inlined
                names = [f["function"].replace(";", ":") for f in row["stack"] if form == "folded" or f["kind"] != "inlined"]
                add(shown, tuple(names), row["bytes"])
            same(t, "stacks of " + form, got["stacks"], {s: v[0] for s, v in shown.items() if v[0]})
        got = imported(consumers, browser, export(t, profile, "callgrind", "--metric", "live"), "callgrind.out.1")[0]
        own = {re.sub(r"'\d+$", "", n): w for n, w in got["self"].items() if n != "[all]"}
        t.equal("sum of callgrind", got["total"], sum(want.values()))
        same(t, "functions of callgrind", own, selves(t, profile, "live"))


def test_speedscope_schema(t, consumers):
    """The files satisfy the schema that speedscope publishes."""
    schema = os.path.join(consumers.release, "file-format-schema.json")
    script = ("import json, sys, jsonschema\nschema, *files = [json.load(open(p)) for p in sys.argv[1:]]\n"
              "print(json.dumps([e.message[:200] for f in files for e in jsonschema.Draft7Validator(schema).iter_errors(f)]))")
    for kind in RECORDINGS:
        t.equal("errors in " + kind, consumers.ask_python(script, schema, export(t, record(t, kind), "speedscope")), [])


# --- DuckDB

DUCKDB = """
import json, sqlite3, sys
import duckdb, numpy, pandas
csv, npy, sqlite = sys.argv[1:]
db = duckdb.connect()
out = {"csv": db.execute("SELECT name, sum(self_bytes)::BIGINT FROM read_csv(?) GROUP BY name", [csv]).fetchall()}
array = numpy.load(npy)
table = {n: array[n].astype(str) if array.dtype[n].kind == "S" else array[n] for n in array.dtype.names}
db.register("mine", pandas.DataFrame(table))
out["npy"] = [[n, int(v)] for n, v in db.execute("SELECT name, sum(self_bytes) FROM mine GROUP BY name").fetchall()]
try:
    db.execute("INSTALL sqlite; LOAD sqlite")
    db.execute("ATTACH '%s' AS app (TYPE sqlite)" % sqlite)
    out["by"] = "extension"
except duckdb.Error:  # the extension is not in the package: Python's sqlite3 hands over the tables
    out["by"] = "tables"
    db.execute("CREATE SCHEMA app")
    source = sqlite3.connect(sqlite)
    for name in ("processes", "functions", "frames", "stacks", "sites", "intervals", "changes"):
        db.register("given", pandas.read_sql("SELECT * FROM %s" % name, source))
        db.execute("CREATE TABLE app.%s AS SELECT * FROM given" % name)
out["sqlite"] = [[n, int(v)] for n, v in db.execute(
    "SELECT functions.name, sum(live_bytes) FROM app.sites JOIN app.functions ON functions.id = sites.function "
    "WHERE domain IN ('heap', 'arena') GROUP BY 1").fetchall()]
out["live"] = int(db.execute("SELECT sum(changes.bytes - changes.freed_bytes) FROM app.changes JOIN app.sites ON sites.id = changes.site "
                             "WHERE domain IN ('heap', 'arena')").fetchone()[0])
print(json.dumps(out))
"""


def test_duckdb(t, consumers):
    """The sums of DuckDB over csv, npy and sqlite are the report's."""
    for kind in ("native", "python"):
        profile = record(t, kind)
        array = t.file("report.npy")
        t.run("export", profile, "--format", "npy", "-o", array)
        files = [export(t, profile, "csv"), array, export(t, profile, "sqlite")]
        got = consumers.ask_python(DUCKDB, *files)
        want = {}
        for row in t.report(profile)["rows"]:
            add(want, row["name"], row["self_bytes"])
        want = {n: v[0] for n, v in want.items() if v[0]}
        for form in ("csv", "npy", "sqlite"):
            same(t, "%s of %s (%s)" % (form, kind, got["by"]), {n: v for n, v in got[form] if v}, want)
        t.equal("changes of " + kind, got["live"], t.report(profile)["totals"]["live_bytes"])


# --- OTLP

OTLP = """
import gzip, json, sys
from opentelemetry.proto.profiles.v1development import profiles_pb2
data = profiles_pb2.ProfilesData()
data.ParseFromString(gzip.open(sys.argv[1]).read())
d = data.dictionary
def unknown(message):  # fields that the definition does not have
    from google.protobuf import unknown_fields
    return len(unknown_fields.UnknownFieldSet(message))
out = {"profiles": [], "unknown": unknown(data) + unknown(d), "resource": {a.key: a.value.string_value or a.value.int_value
       for a in data.resource_profiles[0].resource.attributes},
       "first": [t[0] == type(t[0])() for t in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table)]}
for p in data.resource_profiles[0].scope_profiles[0].profiles:
    sums = {}
    out["unknown"] += unknown(p)
    for s in p.samples:
        names = [d.string_table[d.function_table[line.function_index].name_strindex]
                 for i in d.stack_table[s.stack_index].location_indices for line in d.location_table[i].lines]
        key = json.dumps(names)
        sums[key] = sums.get(key, 0) + sum(s.values)
        out["unknown"] += unknown(s)
    out["profiles"].append({"type": [d.string_table[p.sample_type.type_strindex], d.string_table[p.sample_type.unit_strindex]],
                            "stacks": list(sums.items())})
print(json.dumps(out))
"""


def test_otlp(t, consumers):
    """OpenTelemetry's own decoder finds every stack with the report's numbers, and no field that it does not know."""
    for kind in RECORDINGS:
        profile = record(t, kind)
        got = consumers.ask_python(OTLP, export(t, profile, "otlp"))
        t.equal("unknown fields, and empty first entries", (got["unknown"], got["first"]), (0, [True] * 6))
        t.equal("types", [p["type"] for p in got["profiles"]],
                [["inuse_space", "bytes"], ["inuse_objects", "count"], ["alloc_space", "bytes"], ["alloc_objects", "count"]])
        for p, (metric, which) in zip(got["profiles"], (("live", 0), ("live", 1), ("total", 0), ("total", 1))):
            want = {s: v[which] for s, v in stacks(t, profile, metric).items() if v[which]}
            same(t, "%s of %s" % (p["type"][0], kind), {tuple(json.loads(k)): v for k, v in p["stacks"]}, want)
        t.equal("of what", got["resource"]["process.pid"], t.report(profile)["pid"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("-k", default="", help="only tests whose name contains this")
    options = parser.parse_args()
    consumers = Consumers(options.build)
    failed = passed = 0
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_") and options.k in n]:
        t = Test(os.path.abspath(options.build))
        try:
            test(t, consumers)
        except Exception:  # a test that breaks off has failed, whatever it was
            t.failures.append(traceback.format_exc())
        for failure in t.failures:
            print("FAIL %s: %s" % (name[5:], failure))
        print("%s %s" % ("FAIL" if t.failures else "ok  ", name[5:]), flush=True)
        failed, passed = failed + bool(t.failures), passed + (not t.failures)
        shutil.rmtree(t.dir, ignore_errors=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
