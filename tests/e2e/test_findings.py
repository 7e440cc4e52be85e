"""tidemark findings: the planted problem is named first, and programs that are fine are left alone."""
import os

from harness import ROOT, cases

API = ("-I", os.path.join(ROOT, "include"))


def findings_of(t, profile, *options):
    return t.ask(profile, "findings", *options)


def record(t, number, *arguments):
    return t.record(t.build("planted.cpp", "-O1", *API), str(number), *arguments)


@cases(planted=(("4", "churn", "planted_temporary"), ("6", "overhead", "planted_small")))
def test_planted(t, planted):
    number, kind, function = planted
    found = findings_of(t, record(t, number))
    t.equal("clean", found["clean"], False)
    first = found["findings"][0]
    t.equal("first", (first["kind"], first["function"].split("(")[0]), (kind, function))
    t.equal("stack", first["stack"][0]["function"].split("(")[0], function)
    t.true("sentences", all(first[key] for key in ("title", "why", "do")), first)
    t.true("place", first["file"].endswith("planted.cpp") and first["line"] > 0, first)


def test_numbers(t):
    found = findings_of(t, record(t, 4))
    first = found["findings"][0]
    t.equal("temporaries", (first["count"], first["bytes"]), (2000000, 2000000 * 64))


def test_honest_program(t):
    """The same work without a planted problem."""
    profile = record(t, 0)
    found = findings_of(t, profile)
    t.equal("clean", (found["clean"], found["findings"]), (True, []))
    text = t.run("findings", profile)[0]
    t.true("text", "nothing worth your time" in text and "peak 4." in text, text)
