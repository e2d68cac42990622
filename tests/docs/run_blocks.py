#!/usr/bin/env python3
"""Runs the SQL and shell blocks of one page as they are printed.

usage: run_blocks.py PAGE PAWL_PROGRAM, with the url of a server in PAWL_TEST_POSTGRES_URL

- ```sql blocks go to psql, statement by statement, in a database made for the page.
- In ``` and ```sh blocks, lines that begin with `$ pawl` or `pawl` are commands; what follows a `$ ` command is its
  output and must be what it prints, times and durations aside. `...` in the page stands for any text.
- ```bash blocks are endless loops of workers: they run until the page's check holds.

Pages that need a store in some state have a script PAGE.sh beside this file. It is sourced before block N as
`before N`, and says as `ready N` when a loop in block N has done its work. A block without a command is text.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT = 60  # seconds for one command; it only ends what is stuck


def blocks(page):
    """(line, language, text) of each fenced block."""
    lines = (ROOT / page).read_text().split("\n")
    found, start = [], None
    for number, line in enumerate(lines, 1):
        fence = re.match(r"\s*```(\w*)\s*$", line)
        if not fence:
            continue
        if start is None:
            start, language = number, fence.group(1)
        else:
            found.append((start, language, "\n".join(lines[start : number - 1])))
            start = None
    return found


class Page:
    def __init__(self, page, pawl, server_url):
        self.page, self.server_url = page, server_url
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-docs-"))
        (self.folder / "pawl").symlink_to(pawl)
        self.database = "docs_%s_%d" % (re.sub(r"\W", "_", page).lower(), os.getpid())
        self.database_url = re.sub(r"/[^/?]*(\?.*)?$", "/" + self.database, server_url)
        self.script = HERE / (pathlib.Path(page).stem + ".sh")
        self.environment = dict(
            os.environ, PATH="%s:%s" % (self.folder, os.environ["PATH"]), POSTGRES=self.database_url, COLUMNS="200",
            HOME=str(self.folder),
        )
        self.environment.pop("PAWL_URL", None)
        self.failures = 0

    def run(self, command, **more):
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=LIMIT, **more
        )

    def fail(self, line, what, finished):
        self.failures += 1
        print("%s:%d: %s\n%s%s" % (self.page, line, what, finished.stdout, finished.stderr))

    def administer(self, statement):
        finished = self.run(["psql", "-X", "-q", "-c", statement, self.server_url])
        if finished.returncode != 0:
            raise RuntimeError(finished.stderr)

    def hook(self, name, number):
        if not self.script.exists():
            return True
        script = 'set -euo pipefail; before() { :; }; ready() { :; }; source "$0"; "$1" "$2"'
        finished = self.run(["bash", "-c", script, str(self.script), name, str(number)])
        if name == "before" and finished.returncode != 0:
            raise RuntimeError("%s: before block %d:\n%s%s" % (self.script, number, finished.stdout, finished.stderr))
        return finished.returncode == 0

    def run_sql(self, line, text):
        finished = self.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.database_url], input=text)
        if finished.returncode != 0:
            self.fail(line, "this SQL fails", finished)

    def run_console(self, line, text):
        for command, expected, at in commands(text, line):
            finished = self.run(["bash", "-c", command])
            printed = finished.stderr if finished.returncode else finished.stdout  # remarks are not shown
            if expected is None:
                if finished.returncode != 0:
                    self.fail(at, "exit code %d: %s" % (finished.returncode, command), finished)
            elif not same(expected, printed):
                self.fail(at, "another output: %s" % command, finished)

    def run_loop(self, line, number, text):
        loop = subprocess.Popen(
            ["bash", "-c", text], cwd=self.folder, env=self.environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        try:
            deadline = time.monotonic() + LIMIT
            while not self.hook("ready", number):
                if time.monotonic() > deadline or loop.poll() is not None:
                    self.failures += 1
                    print("%s:%d: the loop does not do its work" % (self.page, line))
                    break
        finally:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()

    def run_all(self):
        self.administer('create database "%s"' % self.database)
        try:
            for url in (self.database_url, "sqlite:pawl.db"):
                self.run(["pawl", "--url", url, "install"], check=True)
            for number, (line, language, text) in enumerate(blocks(self.page), 1):
                self.hook("before", number)
                if language == "sql":
                    self.run_sql(line, text)
                elif language in ("", "sh"):
                    self.run_console(line, text)
                elif language == "bash":
                    self.run_loop(line, number, text)
            self.hook("before", 0)  # what is to be cleaned up outside of the database
        finally:
            self.administer('drop database "%s" with (force)' % self.database)
            shutil.rmtree(self.folder)
        return self.failures


def commands(text, line):
    """(command, expected output or None, line) of a console block."""
    found, console = [], "$ " in text
    for at, row in enumerate(text.split("\n"), line + 1):
        if row.startswith("$ pawl"):
            found.append((row[2:], "", at))
        elif not console and row.lstrip().startswith("pawl "):
            found.append((row.strip(), None, at))
        elif console and found:
            command, expected, begun = found[-1]
            found[-1] = (command, expected + row + "\n", begun)
    return found


def normal(text):
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"\+?\b\d+(\.\d+)?(ms|s|m)\b", "DURATION", text)
    return [re.sub(r"\s+", " ", row).strip() for row in text.strip().split("\n")]


def same(expected, printed):
    expected, printed = normal(expected), normal(printed)
    if len(expected) != len(printed):
        return False
    return all(
        re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), row)
        for wanted, row in zip(expected, printed)
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    failures = Page(*sys.argv[1:], os.environ["PAWL_TEST_POSTGRES_URL"]).run_all()
    print("%d failed" % failures if failures else "%s: all blocks run" % sys.argv[1])
    sys.exit(1 if failures else 0)
