"""tidemark import of memray's files, which a Python that has memray reads for it: here a stand-in."""
import os

from test_import import by_function, refused, written

STAND_IN = '''
import datetime, enum
__version__ = "9.9"
class AllocatorType(enum.IntEnum):
    FREE = 5
    MALLOC = 6
    MMAP = 14
    MUNMAP = 15
    PYMALLOC_FREE = 1
class FileFormat(enum.Enum):
    ALL_ALLOCATIONS = 0
    AGGREGATED_ALLOCATIONS = 1
class Record:
    def __init__(self, address, size, allocator, stack_id, tid, name, count=1):
        self.address, self.size, self.allocator, self.stack_id, self.tid, self.thread_name = address, size, int(allocator), stack_id, tid, name
        self.n_allocations, self.native_stack_id, self.native_segment_generation = count, 0, 0
    def stack_trace(self):
        return {1: [("leak", "a.py", 3), ("<module>", "a.py", 9)], 2: [("<module>", "a.py", 8)], 0: []}[self.stack_id]
class Snapshot:
    def __init__(self, time, rss, heap):
        self.time, self.rss, self.heap = time, rss, heap
class Metadata:
    start_time = datetime.datetime.fromtimestamp(1000, datetime.timezone.utc)
    end_time = datetime.datetime.fromtimestamp(1002, datetime.timezone.utc)
    pid, command_line, main_thread_id, has_native_traces = 77, "a.py x", 1, False
class FileReader:
    def __init__(self, path):
        text = open(path, "rb").read()
        if b"broken" in text:
            raise OSError("The file is corrupted:\\ncut")
        self.metadata = Metadata()
        self.metadata.file_format = FileFormat.AGGREGATED_ALLOCATIONS if b"sums" in text else FileFormat.ALL_ALLOCATIONS
    def __enter__(self):
        return self
    def __exit__(self, *unused):
        pass
    def get_memory_snapshots(self):
        return [Snapshot(1000500, 4096, 100), Snapshot(1001000, 8192, 300)]
    def get_allocation_records(self):
        A = AllocatorType
        yield Record(0x1000, 100, A.MALLOC, 1, 1, "")
        yield Record(0x2000, 200, A.MALLOC, 2, 2, "worker")
        yield Record(0x2000, 0, A.FREE, 0, 2, "worker")
        yield Record(0x9000, 4096, A.MMAP, 2, 1, "")
        yield Record(0x9000, 4096, A.MUNMAP, 0, 1, "")
        yield Record(0x3000, 7, A.FREE, 0, 1, "")
    def get_high_watermark_allocation_records(self, merge_threads):
        return [Record(0, 300, AllocatorType.MALLOC, 1, 1, "", 3)]
    def get_leaked_allocation_records(self, merge_threads):
        return [Record(0, 100, AllocatorType.MALLOC, 1, 1, "", 1)]
'''


def memray(t, content):
    written(t, "memray.py", STAND_IN)
    path = written(t, "memray-a.bin", b"memray\0" + content.encode())
    return path, {"PYTHONPATH": t.dir}


def import_memray(t, content):
    path, env = memray(t, content)
    out = t.file("m.tide")
    t.run("import", path, "-o", out, "--python", "/usr/bin/python3", env=env)
    t.equal("status: " + t.stderr, t.status, 0)
    return out


def test_memray(t):
    profile = import_memray(t, "")
    report = t.report(profile)
    totals = report["totals"]
    t.equal("totals", [totals[k] for k in ("allocations", "frees", "bytes_allocated", "live_bytes", "peak_bytes", "temporary_allocations", "unknown_frees")],
            [3, 2, 4396, 100, 4196, 1, None])
    t.equal("process", (report["pid"], report["command"], report["duration_ns"]), (77, ["a.py", "x"], 2000000000))
    t.equal("from", report["imported"]["from"], "memray 9.9")
    t.equal("rows", [(r["name"], r["file"], r["line"], r["self_bytes"]) for r in report["rows"] if r["self_bytes"]], [("leak", "a.py", 3, 100)])
    t.equal("kind", t.report(profile, "live", "--by", "stack")["rows"][0]["stack"][0]["kind"], "python")
    t.equal("threads", {r["name"]: r["self_bytes"] for r in t.report(profile, "total", "--by", "thread")["rows"]}, {"main": 4196, "worker": 200})
    t.equal("resident", [(m["time_ns"], m["rss_bytes"], m["live_bytes"]) for m in t.ask(profile, "marks", "--stamps")["marks"]][-1:], [(1000000000, 8192, 300)])


def test_memray_sums(t):
    profile = import_memray(t, "sums")
    totals = t.report(profile)["totals"]
    t.equal("totals", [totals[k] for k in ("allocations", "frees", "bytes_allocated", "live_bytes", "live_blocks", "peak_bytes")], [None, None, None, 100, 1, 300])
    t.equal("peak", by_function(t, profile, "peak"), {"leak": (3, 300)})


def test_memray_fails(t):
    path, env = memray(t, "broken")
    os.environ.update(env)
    try:
        refused(t, path, "memray cannot read %s: The file is corrupted: cut" % path, "--python", "/usr/bin/python3")
    finally:
        for name in env:
            del os.environ[name]
    os.unlink(t.file("memray.py"))
    refused(t, path, "/usr/bin/python3 has no memray", "--python", "/usr/bin/python3")
    refused(t, path, "cannot run /nowhere/python", "--python", "/nowhere/python")
