"""The live blocks of a recording's scans, read as docs/FORMAT.md says."""
from test_manuals import READERS, chunks_of

ASKED, EXIT, END = range(3)
KINDS = ("unknown", "lost", "indirect", "reachable")


class Scan:
    """rows: (kind, blocks, bytes, untouched bytes, functions innermost first)."""

    def __init__(self, profile, strings, scan):
        self.kind, self.held, self.residency = scan["kind"], scan["held"], scan["residency"]
        self.reason, self.intervals = scan["reason"].decode(), scan["intervals"]
        self.rows = [(KINDS[reach], blocks, size, untouched, functions(profile, strings, site))
                     for site, _, reach, blocks, size, _, untouched, _, _ in scan["rows"]]

    def sizes(self):
        """{kind: [size of each block, sorted]} for programs whose rows have blocks of one size."""
        result = {}
        for kind, blocks, size, _, _ in self.rows:
            result.setdefault(kind, []).extend([size // blocks] * blocks)
        return {kind: sorted(sizes) for kind, sizes in result.items()}

    def total(self, *kinds):
        """(blocks, bytes) of these kinds."""
        rows = [row for row in self.rows if row[0] in kinds]
        return sum(row[1] for row in rows), sum(row[2] for row in rows)


def functions(profile, strings, site):
    names, node = [], profile["sites"][site]["node"]
    while node:
        node, address = profile["nodes"][node]
        names += [strings[f[0]] for f in profile["frames"].get(address, ()) if "libtidemark" not in strings[f[1]]]
    return names


def read_profiles(t, path):
    """(what the file has of each process, the program itself first; strings)."""
    profiles, strings = {}, []
    with open(path, "rb") as file:
        for kind, process, payload in chunks_of(t, file.read()):
            if kind == "STRS":
                strings = [payload.string().decode(errors="replace") for _ in range(payload.varint())]
            elif kind in READERS:  # others have nothing to say of blocks
                READERS[kind](payload, profiles.setdefault(process, {}))
    return [p for _, p in sorted(profiles.items())], strings


def processes(t, path):
    """The scans of each process of a recording, the program itself first."""
    profiles, strings = read_profiles(t, path)
    return [[Scan(p, strings, scan) for scan in p.get("scans", ())] for p in profiles]


def scans(t, path):
    return processes(t, path)[0]
