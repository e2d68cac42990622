#!/usr/bin/env python3
"""Does what docs/quickstart.md says, in an empty folder, and compares what the programs print.

usage: run_quickstart.py BUILD COMPILER FLAGS, with the url of a server in PAWL_TEST_POSTGRES_URL

- ```cmake and ```cpp blocks are files; the line before a block names its file.
- In ``` blocks, `$ ` commands run in one shell. The lines after a command are what it must print, times and durations
  aside; nothing after it means that only its exit code counts.
- A command with `&` must print its lines before the next one runs. A command that ends with `^C` must print its lines,
  then gets SIGINT and must exit with 0.
- ```text blocks are not run. The first one installs pawl; this script installs BUILD instead.
"""

import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from run_blocks import ROOT, blocks, same

PAGE = "docs/quickstart.md"
DATABASE = "pawl_quickstart"
LIMIT = 240  # seconds for one command; it only ends what is stuck


def postgres_environment(url):
    """libpq's variables for the server, so that the page need not name it."""
    server = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(server.query))
    values = {
        "PGHOST": server.hostname or query.get("host"),
        "PGPORT": str(server.port or query.get("port") or ""),
        "PGUSER": urllib.parse.unquote(server.username or query.get("user") or ""),
        "PGPASSWORD": urllib.parse.unquote(server.password or ""),
    }
    return {name: value for name, value in values.items() if value}


class Shell:
    def __init__(self, home, environment):
        self.errors = home / "errors"
        self.err = open(self.errors, "wb")
        self.bash = subprocess.Popen(
            ["bash", "--norc"], cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.err, bufsize=0, start_new_session=True,
        )
        self.printed = b""  # since the last command
        self.send("set -m")  # else background processes ignore SIGINT

    def send(self, line):
        self.bash.stdin.write(line.encode() + b"\n")

    def wait_until(self, holds):
        """Reads what the shell and its programs print until it holds; false if they print nothing for too long."""
        while not holds(self.printed.decode(errors="replace")):
            ready, _, _ = select.select([self.bash.stdout], [], [], LIMIT)
            more = os.read(self.bash.stdout.fileno(), 65536) if ready else b""
            if not more:
                return False
            self.printed += more
        return True

    def finish(self, line):
        """Runs the line to its end; returns its exit code, None if it is stuck, and what was printed since the last."""
        end = re.compile(r"^--- (\d+)\n", re.MULTILINE)
        self.send(line)
        self.send('printf -- "--- %d\\n" $?')
        done = self.wait_until(end.search)
        text, self.printed = self.printed.decode(), b""
        return int(end.search(text).group(1)) if done else None, end.sub("", text)

    def run(self, command, expected):
        """A message if the command does not do what the page says."""
        lines = [line for line in expected if line != "^C"]
        if not command.endswith("&") and "^C" not in expected:
            code, text = self.finish(command)
        else:
            self.send(command if command.endswith("&") else command + " &")
            self.wait_until(lambda text: text.count("\n") >= len(lines))
            code, text = self.finish("kill -INT $! && wait $!" if "^C" in expected else "true")
        if code != 0:
            return "exit code %s\n%s" % (code, text)
        if lines and not same("\n".join(lines), text):
            return "it printed:\n%s" % text
        return None

    def close(self):
        self.send("kill -9 $(jobs -p) 2>/dev/null; exit")
        self.bash.communicate()
        self.err.close()


def commands(text):
    """(command, lines that it prints) of a console block."""
    found = []
    for row in text.split("\n"):
        if row.startswith("$ "):
            found.append((row[2:], []))
        elif row and found:
            found[-1][1].append(row)
    return found


def file_name(line):
    """The name in the last `code span` before a block."""
    before = "\n".join((ROOT / PAGE).read_text().split("\n")[: line - 1]).rstrip()
    return re.findall(r"`([\w.]+)`", before)[-1]


def walk(shell, home):
    for line, language, text in blocks(PAGE):
        if language in ("cmake", "cpp"):
            (home / "shop" / file_name(line)).write_text(text + "\n")
        elif language == "":
            for command, expected in commands(text):
                problem = shell.run(command, expected)
                if problem:
                    print("%s:%d: $ %s\n%s%s" % (PAGE, line, command, problem, shell.errors.read_text()))
                    return 1
    print("%s: all commands do what it says" % PAGE)
    return 0


def main(build, compiler, flags):
    home = pathlib.Path(tempfile.mkdtemp(prefix="pawl-quickstart-"))
    environment = dict(
        os.environ, **postgres_environment(os.environ["PAWL_TEST_POSTGRES_URL"]), HOME=str(home), COLUMNS="200",
        PATH="%s/.local/bin:%s" % (home, os.environ["PATH"]), CXX=compiler, CXXFLAGS=flags,
    )
    environment.pop("PAWL_URL", None)
    drop = ["dropdb", "--if-exists", "--force", DATABASE]
    (home / "pawl").symlink_to(ROOT)
    subprocess.run(["cmake", "--install", build, "--prefix", home / ".local"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(drop, check=True, env=environment, capture_output=True)
    shell = Shell(home, environment)
    try:
        return walk(shell, home)
    finally:
        shell.close()
        subprocess.run(drop, check=True, env=environment, capture_output=True)
        shutil.rmtree(home)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
