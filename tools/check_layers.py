#!/usr/bin/env python3
"""Fails when a file includes what its layer may not know. Usage: check_layers.py [REPOSITORY]"""

import pathlib
import re
import sys

# Folder of src: the folders it may include besides itself and the public headers.
LAYERS = {
    "base": set(),
    "model": {"base"},
    "seam": {"base", "model"},
    "store": {"base", "model", "seam"},  # what stores share
    "postgres": {"base", "model", "seam", "store"},
    "rowstore": {"base", "model", "seam", "store"},  # a store over statements in SQLite's dialect
    "sqlite": {"base", "model", "seam", "store", "rowstore"},
    "engine": {"base", "model", "seam"},  # what drives a store, for the runtime and the API
    "runtime": {"base", "model", "seam", "engine"},
    "api": {"base", "model", "seam", "engine", "runtime"},
    "http": {"base"},
    "sinks": {"base", "model", "http"},
    "metrics": {"base", "model", "seam", "runtime"},
    "cli": set(),  # a user of the library like any other
}
# A file directly in src is the composition root: it knows every layer.
# The native headers (a file, or a folder of them) stay inside their folder.
NATIVE = {"libpq-fe.h": "postgres", "sqlite3.h": "sqlite", "curl": "http", "prometheus": "metrics"}
# Who includes a public header must not need these; nlohmann is the opt-in of json.h.
NOT_PUBLIC = re.compile(r"(libpq-fe\.h|sqlite3\.h|curl/.*|httplib\.h|prometheus/.*|fmt/.*|nlohmann/.*)$")
JSON_ADAPTER = pathlib.PurePath("include/pawl/json.h")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]')


def src_folder(target):
    folder, slash, _ = target.partition("/")
    return folder if slash and folder in LAYERS else None


def complaint_in_src(path, target):
    layer = path.parts[1] if len(path.parts) > 2 else None
    folder = src_folder(target)
    if layer and layer not in LAYERS:
        return f"src/{layer} is not a known layer; add it to {pathlib.Path(__file__).name}"
    if layer and folder and folder not in LAYERS[layer] | {layer}:
        return f"{layer} may not include {folder}"
    native = target if target in NATIVE else target.partition("/")[0]
    if native in NATIVE and layer != NATIVE[native]:
        return f"only src/{NATIVE[native]} may include it"
    return None


def complaint_in_public(path, target):
    if src_folder(target):
        return "a public header may not include src"
    if NOT_PUBLIC.match(target) and not (target.startswith("nlohmann/") and path == JSON_ADAPTER):
        return "it does not belong in a public header"
    return None


def complaint_in_example(_path, target):
    if src_folder(target):
        return "examples use the public headers only"
    return None


RULES = {"src": complaint_in_src, "include": complaint_in_public, "examples": complaint_in_example}


def check_file(root, path, rule):
    bad = 0
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        target = found[1]
        # With ".." a layer could be reached without its name at the front.
        complaint = "write it from the include root" if ".." in target.split("/") else rule(path, target)
        if complaint:
            print(f"{path}:{number}: {target}: {complaint}", file=sys.stderr)
            bad += 1
    return bad


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    bad = sum(
        check_file(root, path.relative_to(root), rule)
        for folder, rule in RULES.items()
        for path in sorted((root / folder).rglob("*.[ch]*"))
        if path.is_file()
    )
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
