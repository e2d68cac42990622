"""The modules of tools/embed_sql.py, one per kind of input."""
import sys


def fail(where, what):
    sys.exit(f"{where}: {what}")
