#!/usr/bin/env python3
"""Packs the folder that scripts/portable.sh made as a wheel: scripts/make_wheel.py FOLDER VERSION OUT

pip puts the program into bin and the rest beside it (lib/tidemark, share), as meson does, so that the tool finds its
recorder from where it is. The Python module is in site-packages, where its pytest plugin and `%load_ext tidemark` are
found; that in lib/tidemark is for other interpreters that the tool records. Nothing of it is compiled for an
interpreter, so one wheel is for all of them. The tag says what the program needs, as check_portable.py sees it.
"""
import base64
import hashlib
import os
import sys
import zipfile

import check_portable

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MODULE = os.path.join(ROOT, "bindings", "python", "tidemark")

METADATA = """Metadata-Version: 2.1
Name: tidemark
Version: {version}
Summary: A memory profiler for large programs on Linux, native and Python
License: Apache-2.0
Classifier: Environment :: Console
Classifier: Framework :: IPython
Classifier: Framework :: Pytest
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.6
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: tidemark
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""
# The name is that of the module, so that -p does not load it a second time.
ENTRY_POINTS = """[pytest11]
tidemark.pytest_plugin = tidemark.pytest_plugin
"""


def files_below(folder):
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(where, name)
            yield os.path.relpath(path, folder), path


def tag(folder):
    """The manylinux tag that is true for every file in the folder."""
    elves = [path for _, path in files_below(folder) if check_portable.is_elf(path)]
    newest = max((v for path in elves for v in check_portable.versions(path)), key=check_portable.number)
    return "manylinux_%s_%s" % (newest.replace(".", "_"), check_portable.machine(elves[0]))


class Wheel:
    """A zip file with the list of its content at the end."""

    def __init__(self, path, record):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record, self.rows = record, []

    def add(self, name, content, executable=False):
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes each time
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.rows.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def close(self):
        self.add(self.record, ("\n".join([*self.rows, self.record + ",,"]) + "\n").encode())
        self.zip.close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(folder, version, out):
    system = tag(folder)
    path = os.path.join(out, "tidemark-%s-py3-none-%s.whl" % (version, system))
    info, data = "tidemark-%s.dist-info" % version, "tidemark-%s.data" % version
    wheel = Wheel(path, info + "/RECORD")
    for name, source in files_below(MODULE):
        wheel.add("tidemark/" + name, read(source))
    for name, source in files_below(folder):
        if name.startswith(("include/", "lib/pkgconfig/")):
            continue  # for compilers: of no use to whom pip installs for
        where = "scripts/tidemark" if name == "bin/tidemark" else "data/" + name
        wheel.add("%s/%s" % (data, where), read(source), os.access(source, os.X_OK))
    wheel.add(info + "/METADATA", METADATA.format(version=version).encode() + read(os.path.join(ROOT, "packaging", "pypi.md")))
    wheel.add(info + "/WHEEL", WHEEL.format(platform=system).encode())
    wheel.add(info + "/entry_points.txt", ENTRY_POINTS.encode())
    wheel.add(info + "/licenses/LICENSE", read(os.path.join(ROOT, "LICENSE")))
    wheel.add(info + "/licenses/bundled.md", read(os.path.join(ROOT, "packaging", "bundled.md")))
    wheel.close()
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
