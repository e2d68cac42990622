#!/usr/bin/env python3
"""Fails when a file includes what its layer may not know, or when tests/store knows a store.

Usage: check_layers.py [REPOSITORY]"""

import pathlib
import re
import sys

# Folders of src: the folders that each may include in addition to itself and the public headers.
LAYERS = {
    "base": set(),
    "model": {"base"},
    "seam": {"base", "model"},
    "store": {"base", "model", "seam"},  # shared by stores
    "postgres": {"base", "model", "seam", "store"},
    "rowstore": {"base", "model", "seam", "store"},  # a store over statements in SQLite's dialect
    "sqlite": {"base", "model", "seam", "store", "rowstore"},
    "engine": {"base", "model", "seam"},  # code that drives a store
    "runtime": {"base", "model", "seam", "engine"},
    "api": {"base", "model", "seam", "engine", "runtime"},
    "http": {"base"},
    "sinks": {"base", "model", "http"},
    "metrics": {"base", "model", "seam", "runtime"},
    "cli": set(),  # uses the public headers, and HEADERS
}
# Parts of the storage interface that the API forwards to.
NOT_RUNTIME = {"seam/backend.h", "seam/catalogue.h", "seam/reports.h"}
# Headers that a folder may include although their folder is not open to it: pure functions without a source file.
HEADERS = {"cli": {"base/similar.h"}}
# A file directly in src is the composition root and may include every layer. Native headers (a file, or a folder of
# them) may be included only by their folder.
NATIVE = {"libpq-fe.h": "postgres", "sqlite3.h": "sqlite", "curl": "http", "prometheus": "metrics"}
# Public headers must not include these; nlohmann is allowed in the opt-in header json.h.
NOT_PUBLIC = re.compile(r"(libpq-fe\.h|sqlite3\.h|curl/.*|httplib\.h|prometheus/.*|fmt/.*|nlohmann/.*)$")
# Opt-in headers, and the library that each adapts.
ADAPTERS = {
    pathlib.PurePath("include/pawl/json.h"): "nlohmann",
    pathlib.PurePath("include/pawl/format.h"): "fmt",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]')


def src_folder(target):
    folder, slash, _ = target.partition("/")
    return folder if slash and folder in LAYERS else None


def complaint_in_src(path, target):
    layer = path.parts[1] if len(path.parts) > 2 else None
    folder = src_folder(target)
    if layer and layer not in LAYERS:
        return f"src/{layer} is not a known layer; add it to {pathlib.Path(__file__).name}"
    allowed = target in HEADERS.get(layer, set())
    if layer and folder and folder not in LAYERS[layer] | {layer} and not allowed:
        return f"{layer} may not include {folder}"
    if layer == "runtime" and target in NOT_RUNTIME:
        return "the runtime knows only Engine"
    native = target if target in NATIVE else target.partition("/")[0]
    if native in NATIVE and layer != NATIVE[native]:
        return f"only src/{NATIVE[native]} may include it"
    return None


def complaint_in_public(path, target):
    if src_folder(target):
        return "a public header may not include src"
    if NOT_PUBLIC.match(target) and ADAPTERS.get(path) != target.partition("/")[0]:
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
        # With ".." a path could reach a layer without naming it first.
        complaint = "write it from the include root" if ".." in target.split("/") else rule(path, target)
        if complaint:
            print(f"{path}:{number}: {target}: {complaint}", file=sys.stderr)
            bad += 1
    return bad


# tests/store is the contract of every store: access below the API is in tests/support/store_kit.h.
LITERAL = re.compile(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"')
STORE_ACCESS = re.compile(
    r"\bdatabase\(\)|\bon_postgres\b|\bDatabase\b|\bBackendKind::|\bPAWL_WITH_|\.(?:table|schema)\("
    r"|(?i:postgres|sqlite|pawl_(?!for_each|test_))"
)
# Also parts of composed statements.
SQL = re.compile(
    r"^\s*(?:select\s|insert into\b|update(?:\s*$|\s.*\sset\s)|delete from\b|set \w+ = |where \w+ |pragma\s"
    r"|(?:create|drop|alter) (?:or|unique|table|index|view|function|trigger|schema|role)\b"
    r"|(?:begin|commit|rollback)\s*;?\s*$)"
)


def complaint_in_contract(line):
    found = STORE_ACCESS.search(line)
    if found:
        return f"{found[0]}: tests/store must not depend on a store; use the kit or its traits"
    for raw, plain in LITERAL.findall(line):
        if SQL.match(raw or plain):
            return f'"{raw or plain}": SQL belongs in a kit (tests/support)'
    return None


def check_contract(root):
    bad = 0
    for path in sorted((root / "tests/store").rglob("*.[ch]*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            complaint = complaint_in_contract(line)
            if complaint:
                print(f"{path.relative_to(root)}:{number}: {complaint}", file=sys.stderr)
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
    return bad + check_contract(root) > 0


if __name__ == "__main__":
    sys.exit(main())
