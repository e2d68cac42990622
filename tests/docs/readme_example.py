#!/usr/bin/env python3
"""Fails if the program in README.md differs from examples/04_workflow.cpp, or its output from 04_workflow.output."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page):
    """(language, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def main():
    printed = blocks((ROOT / "README.md").read_text())
    at = next(i for i, (language, _) in enumerate(printed) if language == "cpp")
    program = (ROOT / "examples/04_workflow.cpp").read_text()
    program = re.sub(r"\A(//.*\n)+", "", program)  # the comment at its head is not printed
    output = (ROOT / "examples/04_workflow.output").read_text()
    failed = False
    for name, expected, (_, text) in zip(("04_workflow.cpp", "04_workflow.output"), (program, output), printed[at:]):
        if text != expected:
            failed = True
            print(f"README.md differs from examples/{name}:\n{text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
