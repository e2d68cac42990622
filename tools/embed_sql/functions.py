"""Reads the definitions of SQL functions in sql/postgres/functions/."""
import re

from embed_sql import fail

DEFINITION = re.compile(r"^create or replace function \{schema\}\.(\w+)\(", re.MULTILINE)
BODY = re.compile(r"^as \$\$", re.MULTILINE)
SETTING = re.compile(r"set \w+ = \w+")


def files(folder):
    """The files of functions/, in the order of install_order.txt, which must name each of them once."""
    order = folder / "install_order.txt"
    if not order.exists():
        return []
    named = [line for line in order.read_text().splitlines() if line and not line.startswith("#")]
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.sql")}
    if repeated := {name for name in named if named.count(name) > 1}:
        fail(order, f"listed twice: {sorted(repeated)}")
    if different := set(named) ^ there:
        fail(order, f"listed but missing, or present but not listed: {sorted(different)}")
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
    """The text of a file with the listed settings in front of the bodies; adds its functions to `used`."""
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
    """(file, script) of everything that install() runs, in order, with planner settings."""
    settings_file = folder / "planner_settings.txt"
    settings = planner_settings(settings_file) if settings_file.exists() else {}
    used = set()
    scripts = [(path, with_settings(path, settings, used)) for path in files(folder)]
    if unknown := settings.keys() - used:
        fail(settings_file, f"no such functions: {sorted(unknown)}")
    return scripts


# --- calls ------------------------------------------------------------------------------------------------------

PARAMETER = re.compile(r"^(?:(out|variadic) )?(\w+) (.+?)(?: default .+)?$", re.DOTALL)
RESULT = re.compile(r"\s*(?:returns (.*?))?\s*language ", re.DOTALL)


class Signature:
    """The parameters of a function, as {name: type}, and the columns of its result; none for a single value."""

    def __init__(self, parameters, outputs, returns):
        self.parameters = parameters
        self.columns = outputs if len(outputs) > 1 else []
        self.is_row = bool(self.columns) or re.match(r"(setof )?\{schema\}\.", returns)
        if match := re.fullmatch(r"table \((.*)\)", returns, re.DOTALL):
            self.columns = [declared(text)[1] for text in split(match[1])]
            self.is_row = True

    def expression(self, function, given):
        arguments = ", ".join(f"{name} => @{name}::{self.parameters[name]}" for name in given)
        return f"{{schema}}.{function}({arguments})"

    def statement(self, function, given):
        if self.is_row:
            return f"select {', '.join(self.columns) or '*'} from {self.expression(function, given)}"
        return f"select {self.expression(function, given)}"


def split(text):
    """Splits a list at commas that are not in parentheses or brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in parts + [text[start:]] if part.strip()]


def declared(text):
    """(mode, name, type) of one declared parameter or column."""
    match = PARAMETER.match(" ".join(re.sub(r"--.*", "", text).split()))
    return match[1], match[2], match[3]


def closing(text, start):
    """The index of the parenthesis that closes the one before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text)


def signatures(folder):
    """{function: its signature}. If a name has several definitions, the first counts."""
    found = {}
    for path in files(folder):
        text = path.read_text()
        for match in DEFINITION.finditer(text):
            end = closing(text, match.end())
            parameters, outputs = {}, []
            for mode, name, kind in map(declared, split(text[match.end():end])):
                if mode == "out":
                    outputs.append(name)
                else:
                    parameters[name] = kind
            returns = RESULT.match(text, end + 1)[1] or ""
            found.setdefault(match[1], Signature(parameters, outputs, returns))
    return found


def call(where, known, function, given):
    """(parameters, statement) of a plain call. `given` is None for all parameters in the order of the signature; a
    last `...` stands for those that are not named."""
    if function not in known:
        fail(where, f"no function {function}")
    every = list(known[function].parameters)
    names = every if given is None else [name for name in given if name != "..."]
    if given and given[-1] == "...":
        names += [name for name in every if name not in names]
    if unknown := set(names) - set(every):
        fail(where, f"{function} has no parameters {sorted(unknown)}")
    return names, known[function].statement(function, names)


def with_calls(where, known, text):
    """The text with {call:function} replaced by a call with all parameters."""
    def expand(match):
        if match[1] not in known:
            fail(where, f"no function {match[1]}")
        return known[match[1]].expression(match[1], known[match[1]].parameters)

    return re.sub(r"\{call:(\w+)\}", expand, text)
