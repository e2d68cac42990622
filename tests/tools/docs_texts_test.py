#!/usr/bin/env python3
"""docs/errors.md and docs/logging.md have the codes, messages and log lines of the sources."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from embed_sql.texts import read_texts  # noqa: E402

LOG_CALL = re.compile(r"log(?:\(\)|_)(?:\.|->)(?:debug|info|warning|error|write)\(")
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s+"(?:[^"\\\n]|\\.)*")*')


def page(name):
    return (ROOT / "docs" / name).read_text()


def log_lines():
    """(file, format) of each call that logs a literal."""
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        source = path.read_text()
        for call in LOG_CALL.finditer(source):
            statement = source[call.end():source.index(";\n", call.end())]
            if found := LITERALS.search(statement):
                parts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', found[0])
                yield path.relative_to(ROOT), "".join(parts).replace(r'\"', '"')


class DocsTextsTest(unittest.TestCase):
    def test_errors_md_has_every_code(self):
        header = (ROOT / "include" / "pawl" / "error.h").read_text()
        codes = re.findall(r"^    (\w+),", header[header.index("enum class ErrorCode"):header.index("};")], re.MULTILINE)
        self.assertGreater(len(codes), 40)
        table = page("errors.md").split("\n## ")[0]
        self.assertEqual([code for code in codes if f"`{code}`" not in table], [])

    def test_errors_md_has_every_message(self):
        block = page("errors.md").split("\n## Messages\n")[1].split("```")[1]
        expected = list(read_texts(ROOT / "src" / "model" / "texts.h").values())
        self.assertEqual(block.strip().split("\n"), expected)

    def test_logging_md_has_every_log_line(self):
        lines = re.findall(r"`([^`\n]+)`", page("logging.md"))
        found = list(log_lines())
        self.assertGreater(len(found), 40)
        for path, text in found:
            text = text.removeprefix("worker '{}': ")
            if text == "worker '{}' ({}): {}":
                continue  # the prefix of a worker's lines
            # The page may cut long lines.
            begin = re.sub(r"\{[^}]*$", "", text[:60])
            pattern = re.compile(".+?".join(map(re.escape, re.split(r"\{[^}]*\}", begin))))
            known = any(pattern.search(line) for line in lines)
            self.assertTrue(known, f"{path}: docs/logging.md does not have: {text}")


if __name__ == "__main__":
    unittest.main()
