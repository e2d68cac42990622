"""The rows of sql/rows.txt: columns that statements of both dialects return and readers in C++ name."""
import re

from embed_sql import fail

ROW = re.compile(r"^(\w+): ([\w, ]+)$")


def read_rows(path):
    """Columns by the name of the row. A row may continue on indented lines."""
    rows = {}
    if not path.exists():
        return rows
    text = re.sub(r"\n[ \t]+", " ", path.read_text())
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = ROW.match(line)
        if not match:
            fail(path, f"not a row: {line[:60]}: expected name: column, column")
        columns = [column.strip() for column in match[2].split(",") if column.strip()]
        if match[1] in rows or len(set(columns)) != len(columns):
            fail(path, f"row {match[1]} is declared twice, or names a column twice")
        rows[match[1]] = columns
    return rows


def cpp_name(row):
    return "".join(word.capitalize() for word in row.split("_"))


def struct_lines(row, columns):
    """A struct with the index of each column."""
    names = ", ".join(f'"{column}"' for column in columns)
    return [
        f"struct {cpp_name(row)} {{",
        *(f"    static constexpr int {column} = {index};" for index, column in enumerate(columns)),
        f"    static constexpr std::array<std::string_view, {len(columns)}> names{{{names}}};",
        "};",
        "",
    ]


def row_lines(rows):
    lines = ["#include <array>", "#include <string_view>", "", "namespace pawl::store::row {", ""]
    for row, columns in rows.items():
        lines += struct_lines(row, columns)
    return lines + ["}"]
