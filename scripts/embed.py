#!/usr/bin/env python3
"""Writes a file as a C array: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
with open(target, "w") as out:
    out.write("#include <stddef.h>\n\nextern const char %s[];\nextern const size_t %s_size;\n\n" % (name, name))
    out.write("const char %s[] = {" % name)
    for start in range(0, len(content), 20):
        out.write("\n   " + "".join(" %d," % (b if b < 128 else b - 256) for b in content[start:start + 20]))
    out.write(" 0};\nconst size_t %s_size = sizeof %s - 1;\n" % (name, name))
