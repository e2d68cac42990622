"""Named statements: their headers, their parameters, and the checks across dialects."""
import re

from embed_sql import fail
from embed_sql.functions import call, signatures, with_calls
from embed_sql.rows import cpp_name, struct_lines

CALL = re.compile(
    r"^-- (?P<kind>call|shared call): (?:(?P<alias>\w+) = )?(?P<function>\w+)(?:\((?P<parameters>[\w, .]*)\))?"
    r"(?: -> (?P<row>\w+))?$")
HEADER = re.compile(
    r"^-- (?P<kind>name|shared): (?P<name>\w+)\((?P<parameters>[\w, ]*)\)"
    r"(?: -> (?:(?P<row>\w+)|\((?P<columns>[\w, ]+)\)))?$")
PARAMETER = re.compile(r"(?<![@\w])@([a-z_]\w*)")


def listed(names):
    return [name.strip() for name in names.split(",") if name.strip()]


class Statement:
    def __init__(self, where, name, match):
        self.where = where
        self.name = name
        self.is_shared = match["kind"].startswith("shared")
        self.parameters = listed(match["parameters"] or "")
        self.row = match["row"]  # declared in rows.txt
        self.columns = listed(match.groupdict().get("columns") or "")  # declared by the statement itself
        self.is_call = False
        self.lines = []

    def text(self, style):
        """The SQL text with numbered parameters."""
        text = "\n".join(self.lines).strip()

        def number(match):
            if match[1] not in self.parameters:
                fail(self.where, f"@{match[1]} is not in the signature")
            return style.format(self.parameters.index(match[1]) + 1)

        used = {match[1] for match in PARAMETER.finditer(text)}
        if unused := set(self.parameters) - used:
            fail(self.where, f"never uses {sorted(unused)}")
        return PARAMETER.sub(number, text)

    def signature(self):
        row = self.row or (f"({', '.join(self.columns)})" if self.columns else "")
        return f"{self.name}({', '.join(self.parameters)})" + (f" -> {row}" if row else "")

    def row_struct(self):
        """The C++ name of the row that it returns; empty if it declares none."""
        if self.row:
            return f"store::row::{cpp_name(self.row)}"
        return f"row::{cpp_name(self.name)}" if self.columns else ""


def call_of(where, match, known):
    """The statement of a '-- call:' line."""
    statement = Statement(where, match["alias"] or match["function"], match)
    given = None if match["parameters"] is None else statement.parameters
    statement.parameters, text = call(where, known, match["function"], given)
    statement.lines = [text]
    statement.is_call = True
    if not statement.row:
        statement.columns = known[match["function"]].columns
    return statement


def statements_of(path, text, known):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if match := HEADER.match(line):
            found.append(Statement(where, match["name"], match))
        elif match := CALL.match(line):
            found.append(call_of(where, match, known))
        elif line.startswith(("-- name:", "-- shared:", "-- call:", "-- shared call:")):
            fail(where, "not a header: -- name: statement(parameter, ...) -> row, or -- call: function(parameter, ...)")
        elif found and not line.startswith("--"):
            if found[-1].is_call and line.strip():
                fail(where, "a call must not have text")
            found[-1].lines.append(line)
    return found


def read_statements(folder, source, rows):
    """The statements of a dialect by name."""
    found = {}
    known = signatures(folder / "functions")
    for path in sorted(folder.glob("*.sql")):
        text = source.substitute(path, with_calls(path, known, path.read_text()))
        for statement in statements_of(path, text, known):
            if statement.name in found:
                fail(statement.where, f"{statement.name} is already defined")
            if statement.row and statement.row not in rows:
                fail(statement.where, f"row {statement.row} is not in rows.txt")
            if "names" in statement.columns or len(set(statement.columns)) != len(statement.columns):
                fail(statement.where, "a row names a column twice, or a column 'names'")
            found[statement.name] = statement
    return found


def check_shared(dialects):
    """Fails unless shared statements have the same signature in every dialect."""
    for name, statements in dialects.items():
        for statement in statements.values():
            for other_name, others in dialects.items():
                other = others.get(statement.name)
                if statement.is_shared and not (other and other.is_shared):
                    fail(statement.where, f"shared {statement.name} is not declared as shared in {other_name}")
                if statement.is_shared and other.signature() != statement.signature():
                    fail(statement.where, f"{statement.signature()} is {other.signature()} in {other_name}")


def check_rows_used(path, rows, dialects):
    used = {statement.row for statements in dialects.values() for statement in statements.values()}
    if unused := set(rows) - used:
        fail(path, f"no statement returns {', '.join(sorted(unused))}")


def statement_lines(statements, style, raw):
    """The rows that statements declare themselves, then the statements."""
    yield from ["namespace row {", ""]
    for statement in statements.values():
        if statement.columns:
            yield from struct_lines(statement.name, statement.columns)
    yield from ["}  // namespace row", ""]
    for statement in statements.values():
        struct = statement.row_struct()
        columns = f", {struct}::names" if struct else ""
        yield (f'inline constexpr store::Statement {statement.name}{{"{statement.name}", '
               f'{raw(statement.text(style))}, {len(statement.parameters)}{columns}}};')
    places = ", ".join(f"&{name}" for name in statements)
    yield f"inline constexpr std::array<const store::Statement*, {len(statements)}> every_statement{{{places}}};"
