#!/usr/bin/env python3
"""Compiles a program with a mistake, and checks that the compiler's first error names the fix.

usage: check_mistake.py COMPILER SOURCE [FLAG...]

The source begins with comments: `// error: TEXT`, which the first error must contain, and `// standard: c++17` to
compile it with another standard than C++20. The compiler must print one error, and few lines.
"""
import subprocess
import sys

MAX_LINES = 18


def heading(source, name, default=None):
    for line in source.splitlines():
        if not line.startswith("//"):
            break
        if line.startswith(f"// {name}: "):
            return line.partition(": ")[2]
    return default


def problems(source, status, output):
    """What is wrong with the compiler's answer, as sentences."""
    lines = output.splitlines()
    # A fatal error only ends the compilation: it follows an #error.
    errors = [line for line in lines if " error: " in line and " fatal error: " not in line]
    wanted = heading(source, "error")
    if status == 0 or not errors:
        return ["the program compiles"]
    found = []
    if wanted not in errors[0]:
        found.append(f"the first error does not contain '{wanted}'")
    if len(errors) > 1:
        found.append(f"{len(errors)} errors instead of one")
    if len(lines) > MAX_LINES:
        found.append(f"{len(lines)} lines, at most {MAX_LINES}")
    return found


def main():
    compiler, path, *flags = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    standard = heading(source, "standard", "c++20")
    done = subprocess.run(
        [compiler, f"-std={standard}", "-fsyntax-only", "-fdiagnostics-color=never", *flags, path],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    found = problems(source, done.returncode, done.stdout)
    if found:
        print(done.stdout)
    for problem in found:
        print(f"{path}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
