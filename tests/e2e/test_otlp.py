"""tidemark export --format otlp, and push: OpenTelemetry's profiles, decoded by the rules of profiles.proto (v1development)."""
import gzip

from exported import EVIL, RECORDINGS, add, export, nonzero, record, same, stacks
from harness import cases
from test_export import fields, packed


class Otlp:
    """ProfilesData. Every index is checked: entry 0 of each table is empty, and none points beyond a table."""

    def __init__(self, path):
        with gzip.open(path) as file:
            data = fields(file.read())
        self.problems = []
        dictionary = fields(dict(data)[2])
        tables = {n: [v for k, v in dictionary if k == n] for n in range(1, 8)}
        self.strings = [v.decode() for v in tables[5]]
        for n, table in tables.items():
            if not table or table[0] != b"":
                self.problems.append("entry 0 of table %d" % n)
        self.attributes = [self.attribute(v) for v in tables[6]]
        self.functions = [dict(fields(v)) for v in tables[3]]
        self.mappings = [self.mapping(v) for v in tables[1]]
        self.locations = [self.location(v) for v in tables[2]]
        self.stacks = [[self.locations[i] for i in packed(dict(fields(v)).get(1, b""))] for v in tables[7]]
        self.resource, self.scope, self.profiles = {}, None, []
        for number, value in data:
            if number == 1:
                self.take_resource(fields(value))

    def text(self, index):
        return self.strings[index]

    def any_value(self, value):
        (kind, content), = fields(value)
        return content.decode() if kind == 1 else content

    def attribute(self, value):
        found = dict(fields(value))
        return (self.text(found[1]), self.any_value(found[2])) if found else None

    def mapping(self, value):
        found = dict(fields(value))
        names = dict(self.attributes[i] for i in packed(found.get(5, b"")))
        return self.text(found.get(4, 0)), names.get("process.executable.build_id.gnu")

    def location(self, value):
        content = fields(value)
        found = dict(content)
        lines = [dict(fields(v)) for n, v in content if n == 3]
        kinds = dict(self.attributes[i] for i in packed(found.get(4, b"")))
        if kinds.get("profile.frame.type") == "native" and not found.get(2):
            self.problems.append("native code without an address")
        return {"mapping": self.mappings[found.get(1, 0)] if found.get(1) else None,
                "functions": [self.text(self.functions[line[1]][1]) for line in lines]}

    def take_resource(self, content):
        for number, value in content:
            if number == 1:
                for n, v in fields(value):
                    pair = dict(fields(v))
                    self.resource[pair[1].decode()] = self.any_value(pair[2])
            elif number == 2:
                for n, v in fields(value):
                    if n == 1:
                        self.scope = dict(fields(v))[1].decode()
                    elif n == 2:
                        self.profiles.append(self.profile(v))

    def value_type(self, value):
        found = dict(fields(value))
        return self.text(found[1]), self.text(found[2])

    def profile(self, value):
        content = fields(value)
        found = dict(content)
        sums, threads = {}, {}
        for n, v in content:
            if n != 2:
                continue
            sample = dict(fields(v))
            if not sample.get(1):
                self.problems.append("a sample without a stack")
            values = packed(sample[4])
            if len(values) != 1:
                self.problems.append("a sample with %d values" % len(values))
            names = [name for location in self.stacks[sample[1]] for name in location["functions"]]
            add(sums, tuple(names), *values)
            for index in packed(sample.get(2, b"")):
                key, text = self.attributes[index]
                if key == "thread.name":
                    add(threads, text, *values)
        return {"type": self.value_type(found[1]), "stacks": sums, "threads": threads, "time": found.get(3), "period": self.value_type(found[5])}


TYPES = [("inuse_space", "bytes"), ("inuse_objects", "count"), ("alloc_space", "bytes"), ("alloc_objects", "count")]


@cases(kind=RECORDINGS)
def test_stacks(t, kind):
    profile = record(t, kind)
    got = Otlp(export(t, profile, "otlp"))
    t.equal("rules", got.problems, [])
    t.equal("a profile for each value", [p["type"] for p in got.profiles], TYPES)
    for p, (metric, which) in zip(got.profiles, (("live", 0), ("live", 1), ("total", 0), ("total", 1))):
        same(t, "%s of %s" % (p["type"], kind), nonzero(p["stacks"]), nonzero({s: (v[which],) for s, v in stacks(t, profile, metric).items()}))
    rows = t.report(profile, "live", "--by", "thread")["rows"]
    t.equal("threads", nonzero(got.profiles[0]["threads"]), {r["name"]: (r["self_bytes"],) for r in rows if r["self_bytes"]})
    t.true("build ids", any(m[1] and len(m[1]) == 40 for m in got.mappings), got.mappings)
    report = t.report(profile)
    t.equal("of what", (got.scope, got.resource["process.pid"]), ("tidemark", report["pid"]))
    t.true("when", all(p["time"] > 1700000000 * 10**9 for p in got.profiles), got.profiles[0]["time"])
    if kind == "hostile":
        t.true("names as they are", any(EVIL in stack for p in got.profiles for stack in p["stacks"]))


def test_experimental(t):
    profile = record(t, "native")
    t.run("export", profile, "--format", "otlp", "-o", t.file("x"))
    t.true("stderr says so", "experimental" in t.stderr, t.stderr)
    for command in "export", "push":
        t.true("the help of %s says so" % command, "experimental" in t.run(command, "--help")[0])
