"""Reads the definitions of SQL functions in sql/postgres/functions/."""
import pathlib
import re
import sys

DEFINITION = re.compile(r"^create or replace function \{schema\}\.(\w+)\(", re.MULTILINE)
BODY = re.compile(r"^as \$\$", re.MULTILINE)
SETTING = re.compile(r"set \w+ = \w+")


def fail(where, what):
    sys.exit(f"{where}: {what}")


def files(folder):
    """The files of functions/, in the order of install_order.txt, which must name each of them once."""
    order = folder / "install_order.txt"
    if not order.exists():
        return []
    named = [line for line in order.read_text().splitlines() if line and not line.startswith("#")]
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.sql")}
    if repeated := {name for name in named if named.count(name) > 1}:
        fail(order, f"named twice: {sorted(repeated)}")
    if different := set(named) ^ there:
        fail(order, f"named but missing, or there but not named: {sorted(different)}")
    return [folder / name for name in named]


def planner_settings(path):
    """{function: its settings} of planner_settings.txt: lines of settings, then indented names."""
    settings, found, open_for_settings = [], {}, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path}:{number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("set "):
            settings = (settings if open_for_settings else []) + SETTING.findall(line)
            open_for_settings = True
            if SETTING.sub("", line).strip():
                fail(where, "expected: set name = value ...")
            continue
        if not line.startswith("    ") or not settings:
            fail(where, "expected settings, or indented names of functions below settings")
        open_for_settings = False
        for name in line.split():
            if name in found:
                fail(where, f"{name} is already in the list")
            found[name] = " ".join(settings)
    return found


def with_settings(path, settings, used):
    """The text of a file with the listed settings in front of the bodies; adds the functions it has met to `used`."""
    text, parts, end = path.read_text(), [], 0
    for match in DEFINITION.finditer(text):
        name = match[1]
        if name not in settings:
            continue
        if name in used:
            fail(path, f"{name} is defined twice: a name in planner_settings.txt must have one definition")
        used.add(name)
        body = BODY.search(text, match.end())
        parts += [text[end:body.start()], settings[name], "\n"]
        end = body.start()
    return "".join(parts) + text[end:]


def texts(folder):
    """The scripts that install() runs, in order, complete with planner settings."""
    settings_file = folder / "planner_settings.txt"
    settings = planner_settings(settings_file) if settings_file.exists() else {}
    used = set()
    scripts = [with_settings(path, settings, used) for path in files(folder)]
    if unknown := settings.keys() - used:
        fail(settings_file, f"no such functions: {sorted(unknown)}")
    return scripts
