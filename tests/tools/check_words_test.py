#!/usr/bin/env python3
"""Tests of tools/check_words.py: phrases, lines that are too long, and what is exempt."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_words  # noqa: E402

RULES = check_words.read_rules("# a comment\n\nfor ever  => forever\nmend(ed|s)? => fix\n")


def found(name, text):
    return check_words.check_text(name, text, RULES)


class CheckWordsTest(unittest.TestCase):
    def test_a_phrase_is_reported_with_its_line_and_a_suggestion(self):
        self.assertEqual(found("a.cpp", "// fine\n// It waits for ever.\n"), ["a.cpp:2: 'for ever': forever"])

    def test_case_does_not_matter_and_parts_of_words_do_not_count(self):
        self.assertEqual(found("a.h", "// Mended\n"), ["a.h:1: 'Mended': fix"])
        self.assertEqual(found("a.h", "// recommended, amends\n"), [])

    def test_a_phrase_that_is_broken_over_two_lines_is_reported_once(self):
        for text in ("-- it waits for\n-- ever and ever\n", "  it waits for\n  ever and ever\n"):
            self.assertEqual(found("a.sql", text), ["a.sql:2: 'for ever': forever"])

    def test_code_and_quotes_of_a_page_are_exempt(self):
        self.assertEqual(found("a.md", "`for ever`, \"for ever\"\n```\nfor ever\n```\n"), [])
        self.assertEqual(len(found("a.md", "```\n```\nfor ever\n")), 1)
        self.assertEqual(len(found("a.cpp", 'log("waits for ever");\n')), 1)

    def test_a_marked_line_is_exempt(self):
        self.assertEqual(found("a.cpp", "// for ever  words: ok\n"), [])

    def test_long_lines_of_pages_are_reported_except_in_tables_and_code(self):
        long = "x" * 121
        self.assertEqual(found("a.md", long + "\n"), ["a.md:1: 121 columns, at most 120"])
        self.assertEqual(found("a.md", "x" * 120 + "\n"), [])
        self.assertEqual(found("a.md", f"| {long} |\n```\n{long}\n```\n"), [])
        self.assertEqual(found("a.cpp", long + "\n"), [])

    def test_a_line_that_is_not_a_rule_is_an_error(self):
        with self.assertRaises(ValueError):
            check_words.read_rules("for ever\n")

    def test_the_list_in_the_repository_is_valid(self):
        self.assertTrue(check_words.read_rules(check_words.WORDS.read_text()))


if __name__ == "__main__":
    unittest.main()
