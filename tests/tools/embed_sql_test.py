"""What tools/embed_sql.py refuses, each on a small tree of its own. Run by ctest."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = """
inline constexpr int wide_set = 32;           // queues
inline constexpr Duration task_grace = 2s;    // after the timeout
"""
EVENTS = """
    {EventKind::step_failed, "step_failed"},
"""
TEXTS = """
inline constexpr std::string_view run_ended =
    "run {} is '{}': "
    "it has ended";
"""
USER = "auto text = model::texts::run_ended;\n"
RAISES = """-- name: refuse()
raise exception '{text:run_ended}', id, status
select format('{text:run_ended}', id, status)
"""
STATEMENT = """-- name: widest()
select {rule:wide_set}, {rule:task_grace_ms}, {rule:task_grace_us}, {rule:task_grace_s}
"""


class EmbedSqlTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.write("src/model/rules.h", RULES)
        self.write("src/model/event_kinds.h", EVENTS)
        self.write("src/model/texts.h", TEXTS)
        self.write("src/runs.cpp", USER)
        self.write("sql/postgres/texts.sql", RAISES)
        for dialect in ("postgres", "sqlite"):
            self.write(f"sql/{dialect}/queues.sql", STATEMENT)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def embed(self):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "tools/embed_sql.py", self.root / "sql", self.root / "src", self.root / "out"],
            capture_output=True, text=True)

    def accepted(self, file):
        done = self.embed()
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        return (self.root / "out" / file).read_text()

    def refused(self, *parts):
        done = self.embed()
        self.assertNotEqual(done.returncode, 0)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_rules_are_substituted_in_the_unit_that_is_named(self):
        self.assertIn("select 32, 2000, 2000000, 2", self.accepted("sqlite_sql.h"))

    def test_an_unknown_rule_is_refused_with_its_place(self):
        self.write("sql/sqlite/runs.sql", "-- name: find_run()\nselect {rule:widest_set}\n")
        self.refused("runs.sql:2", "{rule:widest_set} is not in")

    def test_a_duration_without_its_unit_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: find_run()\nselect {rule:task_grace}\n")
        self.refused("runs.sql:2", "durations end in _ms, _s or _us")

    def test_a_duration_that_is_not_whole_in_its_unit_is_refused(self):
        self.write("src/model/rules.h", RULES.replace("2s", "50ms"))
        self.refused("rule task_grace has no whole number of s")

    def test_an_unused_rule_is_refused(self):
        self.write("src/model/rules.h", RULES + "inline constexpr int narrow_set = 2;  // queues\n")
        self.refused("rules.h", "neither C++ nor SQL uses narrow_set")

    def test_a_rule_may_be_used_by_cpp_alone(self):
        self.write("src/model/rules.h", RULES + "inline constexpr int narrow_set = 2;  // queues\n")
        self.write("src/engine/claim.cpp", "int narrow = model::rules::narrow_set;\n")
        self.accepted("sqlite_sql.h")

    def test_a_line_that_is_not_a_rule_is_refused(self):
        for line in ("inline constexpr int x = 4 << 20;  // bytes", "inline constexpr int x = 4;",
                     "inline constexpr int x = 4s;  // seconds", "inline constexpr Duration x = 4;  // seconds",
                     "inline constexpr int wide_set = 4;  // again"):
            with self.subTest(line):
                self.write("src/model/rules.h", RULES + line + "\n")
                self.refused("rules.h:4", "rule")

    def test_kinds_of_events_are_substituted(self):
        self.write("sql/sqlite/runs.sql", "-- name: add_event()\nselect '{event:step_failed}'\n")
        self.assertIn("select 'step_failed'", self.accepted("sqlite_sql.h"))

    def test_an_unknown_kind_of_event_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: add_event()\nselect '{event:step_faild}'\n")
        self.refused("runs.sql:2", "{event:step_faild} is not in")

    def test_an_unknown_reference_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: add_event()\nselect '{evnt:step_failed}'\n")
        self.refused("runs.sql:2", "{evnt:step_failed}")

    def test_a_text_has_the_placeholders_of_its_place(self):
        text = self.accepted("postgres_sql.h")
        self.assertIn("raise exception 'run % is ''%'': it has ended', id", text)
        self.assertIn("format('run %s is ''%s'': it has ended', id", text)

    def test_a_text_may_have_quotes(self):
        self.write("src/model/texts.h", TEXTS.replace("it has ended", r'call retry(\"{}\")'))
        self.assertIn("raise exception 'run % is ''%'': call retry(\"%\")', id", self.accepted("postgres_sql.h"))

    def test_an_unknown_text_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: refuse()\nselect '{text:run_lost}'\n")
        self.refused("runs.sql:2", "{text:run_lost} is not in")

    def test_a_text_that_only_one_side_uses_is_refused(self):
        self.write("src/runs.cpp", "")
        self.refused("texts.h", "not used by both C++ and SQL: run_ended")
        self.write("src/runs.cpp", USER)
        self.write("sql/postgres/texts.sql", "")
        self.refused("texts.h", "not used by both C++ and SQL: run_ended")

    def test_a_text_that_cannot_be_translated_is_refused(self):
        for text in ("100 %", "run {:>3}", "run {0}", "a \\n line"):
            with self.subTest(text):
                self.write("src/model/texts.h", TEXTS + f'inline constexpr std::string_view other = "{text}";\n')
                self.refused("texts.h", "text other")

    def test_a_statement_names_the_columns_of_its_row(self):
        self.write("sql/rows.txt", "# rows\nrun_end: status,\n    output\n")
        for dialect in ("postgres", "sqlite"):
            self.write(f"sql/{dialect}/runs.sql", "-- shared: find_end(run_id) -> run_end\nselect @run_id\n")
        self.assertIn("1, store::row::RunEnd::names};", self.accepted("sqlite_sql.h"))
        rows = self.accepted("sql_rows.h")
        self.assertIn("struct RunEnd {", rows)
        self.assertIn("static constexpr int output = 1;", rows)

    def test_a_statement_declares_the_columns_of_a_row_of_its_own(self):
        self.write("sql/sqlite/runs.sql", "-- name: find_end(run_id) -> (status, output)\nselect @run_id, 1\n")
        header = self.accepted("sqlite_sql.h")
        self.assertIn("struct FindEnd {", header)
        self.assertIn("static constexpr int output = 1;", header)
        self.assertIn("1, row::FindEnd::names};", header)

    def test_a_call_has_the_row_of_its_function(self):
        self.write("sql/postgres/functions/install_order.txt", "ends.sql\n")
        self.write("sql/postgres/functions/ends.sql",
                   "create or replace function {schema}.find_end(run_id bigint)\n"
                   "returns table (status text, output text) language sql\nas $$ select '', '' $$;\n")
        self.write("sql/postgres/runs.sql", "-- call: find_end\n")
        self.assertIn("row::FindEnd::names};", self.accepted("postgres_sql.h"))

    def test_a_repeated_column_of_a_statement_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: find_end() -> (status, status)\nselect 1, 1\n")
        self.refused("runs.sql:1", "names a column twice")

    def test_an_unknown_row_is_refused(self):
        self.write("sql/sqlite/runs.sql", "-- name: find_end() -> run_end\nselect 1\n")
        self.refused("runs.sql:1", "row run_end is not in rows.txt")

    def test_a_row_that_no_statement_returns_is_refused(self):
        self.write("sql/rows.txt", "run_end: status, output\n")
        self.refused("rows.txt", "no statement returns run_end")

    def test_a_row_with_a_repeated_column_is_refused(self):
        self.write("sql/rows.txt", "run_end: status, status\n")
        self.refused("rows.txt", "names a column twice")

    def test_shared_statements_exist_in_both_dialects(self):
        self.write("sql/sqlite/runs.sql", "-- shared: find_end()\nselect 1\n")
        self.refused("runs.sql:1", "find_end is not declared as shared in postgres")
        self.write("sql/postgres/runs.sql", "-- name: find_end()\nselect 1\n")
        self.refused("runs.sql:1", "find_end is not declared as shared in postgres")

    def test_shared_statements_have_the_same_parameters_and_row(self):
        self.write("sql/rows.txt", "run_end: status\nrun: status\n")
        self.write("sql/sqlite/runs.sql", "-- shared: find_end(run_id) -> run_end\nselect @run_id\n"
                                          "-- name: find() -> run\nselect 1\n")
        for other in ("find_end(id) -> run_end", "find_end(run_id) -> run", "find_end(run_id)"):
            with self.subTest(other):
                parameter = other[9:other.index(")")]
                self.write("sql/postgres/runs.sql", f"-- shared: {other}\nselect @{parameter}\n")
                self.refused("runs.sql:1", "find_end(run_id) -> run_end", other)

    def test_functions_are_substituted_and_migrations_are_not(self):
        self.write("sql/postgres/functions/install_order.txt", "claim.sql\n")
        self.write("sql/postgres/functions/claim.sql", "select {rule:wide_set} from {schema}.queues\n")
        for dialect in ("postgres", "sqlite"):
            self.write(f"sql/{dialect}/migrations/0001_queue.sql", "create table {rule:wide_set}\n")
        text = self.accepted("postgres_migrations.h")
        self.assertIn("select 32 from {schema}.queues", text)
        self.assertIn("create table {rule:wide_set}", text)


if __name__ == "__main__":
    unittest.main()
