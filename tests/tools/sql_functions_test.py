#!/usr/bin/env python3
"""Tests of tools/embed_sql/functions.py: planner settings and calls that are generated from the definitions of functions."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from embed_sql import functions as sql_functions  # noqa: E402

FUNCTIONS = """
create or replace function {schema}.settle(
    ids       bigint[],
    delays_ms bigint[] default array[1, 2],  -- milliseconds
    repeated  boolean default false
) returns text[]
language plpgsql
as $$
begin
end
$$;
create or replace function {schema}.finish(id bigint, out outcome text, out awaited bigint)
language sql
as $$ select 1 $$;
create or replace function {schema}.rows(most integer) returns table (id bigint, price numeric(10, 2))
language sql
as $$ select 1 $$;
create or replace function {schema}.runs() returns setof {schema}.run_info
language sql
as $$ select 1 $$;
"""


class SqlFunctionsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        (self.folder / "a.sql").write_text(FUNCTIONS)
        (self.folder / "install_order.txt").write_text("# order\na.sql\n")

    def refused(self, action, *arguments):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as error:
            action(*arguments)
        return str(error.exception)

    def set_list(self, text):
        (self.folder / "planner_settings.txt").write_text(text)

    def call(self, function, given=None):
        return sql_functions.call("here", sql_functions.signatures(self.folder), function, given)

    def test_settings_are_added_in_front_of_the_bodies_of_listed_functions_only(self):
        self.set_list("# why\nset a = off set b = off\nset c = on\n    settle\n\nset d = off\n    rows\n")
        (_, text), = sql_functions.texts(self.folder)
        self.assertIn("language plpgsql\nset a = off set b = off set c = on\nas $$", text)
        self.assertIn("language sql\nset d = off\nas $$", text)
        self.assertEqual(text.count("set "), 4)

    def test_a_listed_function_must_exist_and_be_listed_once(self):
        self.set_list("set a = off\n    settle gone\n")
        self.assertIn("no such functions: ['gone']", self.refused(sql_functions.texts, self.folder))
        self.set_list("set a = off\n    settle\nset b = off\n    settle\n")
        self.assertIn("already in the list", self.refused(sql_functions.texts, self.folder))

    def test_a_call_has_the_types_of_the_signature(self):
        parameters, text = self.call("settle")
        self.assertEqual(parameters, ["ids", "delays_ms", "repeated"])
        self.assertEqual(text, "select {schema}.settle(ids => @ids::bigint[], delays_ms => @delays_ms::bigint[], "
                               "repeated => @repeated::boolean)")

    def test_parameters_may_be_given_in_another_order_or_left_out(self):
        self.assertEqual(self.call("settle", ["ids", "repeated", "..."])[0], ["ids", "repeated", "delays_ms"])
        self.assertEqual(self.call("settle", ["repeated", "ids"]), (
            ["repeated", "ids"], "select {schema}.settle(repeated => @repeated::boolean, ids => @ids::bigint[])"))

    def test_columns_come_from_the_signature(self):
        self.assertEqual(self.call("finish")[1], "select outcome, awaited from {schema}.finish(id => @id::bigint)")
        self.assertEqual(self.call("rows")[1], "select id, price from {schema}.rows(most => @most::integer)")
        self.assertEqual(self.call("runs")[1], "select * from {schema}.runs()")

    def test_what_does_not_exist_is_refused(self):
        self.assertIn("no function gone", self.refused(self.call, "gone"))
        self.assertIn("has no parameters ['queue']", self.refused(self.call, "settle", ["queue"]))

    def test_a_call_inside_of_a_statement_is_expanded(self):
        known = sql_functions.signatures(self.folder)
        self.assertEqual(sql_functions.with_calls("here", known, "select array[{call:finish}]"),
                         "select array[{schema}.finish(id => @id::bigint)]")
        self.assertIn("no function gone", self.refused(sql_functions.with_calls, "here", known, "{call:gone}"))


if __name__ == "__main__":
    unittest.main()
