"""What tools/embed_sql.py is made of: one module per thing that it reads."""
import sys


def fail(where, what):
    sys.exit(f"{where}: {what}")
