#!/usr/bin/env python3
"""Compares the functions that the library exports with the committed list.

usage: exported_symbols_test.py LIST LIBRARY [--write]

A symbol that appears here is a promise to programs that link the shared library. Reads the static library: the
visibility of a symbol is the same there.
"""

import subprocess
import sys


def exported(library):
    table = subprocess.run(
        ["readelf", "--syms", "--wide", library], check=True, capture_output=True, text=True
    ).stdout
    names = set()
    for line in table.splitlines():
        words = line.split()
        # Number, value, size, type, binding, visibility, section, name
        if len(words) < 8 or not words[0].endswith(":"):
            continue
        kind, binding, visibility, section, name = words[3:8]
        if kind == "FUNC" and binding == "GLOBAL" and visibility == "DEFAULT" and section != "UND":
            names.add(name)
    plain = subprocess.run(
        ["c++filt"], input="\n".join(sorted(names)), check=True, capture_output=True, text=True
    ).stdout
    return sorted(set(plain.split("\n")) - {""})


def main():
    path, library = sys.argv[1:3]
    found = exported(library)
    if "--write" in sys.argv[3:]:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in found)
        return 0
    with open(path, encoding="utf-8") as file:
        listed = [line.rstrip("\n") for line in file]
    for name in sorted(set(found) - set(listed)):
        print(f"exported, but not listed: {name}")
    for name in sorted(set(listed) - set(found)):
        print(f"listed, but not exported any more: {name}")
    if found != listed:
        print(f"if this is meant: {sys.argv[0]} {path} {library} --write")
    return 0 if found == listed else 1


if __name__ == "__main__":
    sys.exit(main())
