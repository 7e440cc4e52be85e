"""own_lines.py HOW: what one line of a script makes others hold.
  library: strings of 24 MB in all that the json module makes
  objects: 250,000 small dictionaries, in arenas of the interpreter
  little:  nothing to speak of"""
import json
import sys
import time


def load():
    return list(json.JSONEncoder().iterencode(["x" * 1000] * 24000))  # own: library


def explode():
    found = []
    for i in range(250000):
        found.append({"number": i})  # own: objects
    return found


def main():
    begun = time.monotonic()
    held = {"library": load, "objects": explode, "little": list}[sys.argv[1]]()
    time.sleep(0.3 + time.monotonic() - begun)  # so that it neither grows until the end nor has a short peak
    return held


main()
