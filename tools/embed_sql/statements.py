"""Named statements: their headers, their parameters, and what both dialects must have in common."""
import re

from embed_sql import fail
from embed_sql.rows import cpp_name

HEADER = re.compile(r"^-- (?P<kind>name|shared): (?P<name>\w+)\((?P<parameters>[\w, ]*)\)(?: -> (?P<row>\w+))?$")
PARAMETER = re.compile(r"(?<![@\w])@([a-z_]\w*)")


class Statement:
    def __init__(self, where, match):
        self.where = where
        self.name = match["name"]
        self.is_shared = match["kind"] == "shared"
        self.parameters = [p.strip() for p in match["parameters"].split(",") if p.strip()]
        self.row = match["row"]
        self.lines = []

    def text(self, style):
        """With parameters by their numbers."""
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
        return f"{self.name}({', '.join(self.parameters)})" + (f" -> {self.row}" if self.row else "")


def statements_of(path, text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := HEADER.match(line):
            found.append(Statement(f"{path}:{number}", match))
        elif line.startswith(("-- name:", "-- shared:")):
            fail(f"{path}:{number}", "not a statement header: -- name: statement(parameter, ...) -> row")
        elif found and not line.startswith("--"):
            found[-1].lines.append(line)
    return found


def read_statements(folder, source, rows):
    """The statements of a dialect by their names."""
    found = {}
    for path in sorted(folder.glob("*.sql")):
        for statement in statements_of(path, source.substitute(path, path.read_text())):
            if statement.name in found:
                fail(statement.where, f"{statement.name} is already defined")
            if statement.row and statement.row not in rows:
                fail(statement.where, f"row {statement.row} is not in rows.txt")
            found[statement.name] = statement
    return found


def check_shared(dialects):
    """Statements that are declared as shared have one signature in every dialect."""
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
    for statement in statements.values():
        columns = f", store::row::{cpp_name(statement.row)}::names" if statement.row else ""
        yield (f'inline constexpr store::Statement {statement.name}{{"{statement.name}", '
               f'{raw(statement.text(style))}, {len(statement.parameters)}{columns}}};')
    places = ", ".join(f"&{name}" for name in statements)
    yield f"inline constexpr std::array<const store::Statement*, {len(statements)}> every_statement{{{places}}};"
