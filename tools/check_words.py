#!/usr/bin/env python3
"""Fails if a text contains a phrase of tools/words.txt, or if a line of a .md file is longer than 120 columns.

usage: check_words.py [PATH...]     files or folders, relative to the repository; default: CHECKED

In .md files the check skips fenced code, `code spans` and "quoted text", so that a page can quote the phrases;
in other files it reads all text. A line with the marker `words: ok` is not checked. Tables and code blocks may be wider.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "words.txt"

# Files and folders that are checked by ./dev lint. Add a path when its text is clean: include, src, sql, docs, ...
CHECKED = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "UPGRADING.md",
    "SECURITY.md",
    "bench",
    "cmake",
    "completions",
    "dev",
    "docs",
    "examples",
    "include",
    "sql",
    "src/api",
    "src/base",
    "src/cli",
    "src/engine",
    "src/http",
    "src/metrics",
    "src/model",
    "src/open.cpp",
    "src/postgres",
    "src/rowstore",
    "src/runtime",
    "src/seam",
    "src/sinks",
    "src/sqlite",
    "src/store",
    "tests",
    "tools",
]

# Paths that contain a phrase on purpose, or that must not change: SQLite stores the text of a table with the database.
ALLOWED = {
    "sql/sqlite/migrations/0002_workflow.sql",
    "tests/tools/check_words_test.py",
    "tools/check_words.py",
    "tools/words.txt",
}

SUFFIXES = {".md", ".h", ".cpp", ".sql", ".py", ".sh", ".bash", ".cmake", ".txt", ""}
COLUMNS = 120
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
MARGIN = re.compile(r"^\s*(///?<?|--|#|\*|-|>)?\s*")  # the marks of a comment, a list or a quotation


def read_rules(text):
    """(pattern, suggestion) of each line `REGEX => SUGGESTION`."""
    rules = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, arrow, suggestion = line.partition("=>")
        if not arrow or not pattern.strip() or not suggestion.strip():
            raise ValueError(f"words.txt: not a rule: {line}")
        rules.append((re.compile(rf"\b(?:{pattern.strip()})\b", re.IGNORECASE), suggestion.strip()))
    return rules


def check_text(name, text, rules):
    """A message for each problem in the text of a file."""
    markdown, fenced, found = name.endswith(".md"), False, []
    previous = ""  # the line before: a phrase may begin there
    for number, line in enumerate(text.splitlines(), 1):
        if markdown and line.lstrip().startswith("```"):
            fenced, previous = not fenced, ""
            continue
        if fenced or "words: ok" in line:
            previous = ""
            continue
        if markdown and len(line) > COLUMNS and not line.lstrip().startswith("|"):
            found.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")
        prose = MARGIN.sub("", QUOTED.sub(" ", line) if markdown else line)
        joined = f"{previous} {prose}"
        for pattern, suggestion in rules:
            for hit in pattern.finditer(joined):
                if hit.end() > len(previous):  # else it was reported with the line before
                    found.append(f"{name}:{number}: '{hit.group(0)}': {suggestion}")
        previous = prose.rstrip()
    return found


def files_below(paths):
    """Tracked and new files, without ignored ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    names = sorted(set(name for name in listed.split("\0") if name))
    return [n for n in names if pathlib.PurePath(n).suffix in SUFFIXES and n not in ALLOWED and (ROOT / n).is_file()]


def main(paths):
    rules = read_rules(WORDS.read_text())
    found = []
    for path in paths:
        names = files_below([path])
        if not names:
            found.append(f"{path}: no such file or folder")
        for name in names:
            found += check_text(name, (ROOT / name).read_text(errors="replace"), rules)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or CHECKED))
