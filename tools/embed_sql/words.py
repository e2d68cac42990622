"""Words from tables in src/model that SQL uses."""
import re

from embed_sql import fail

EVENT = re.compile(r'\{EventKind::(\w+), "(\w+)"\}')


def read_events(header):
    """The stored names of the kinds of events."""
    pairs = EVENT.findall(header.read_text())
    for enumerator, word in pairs:
        if enumerator != word:
            fail(header, f"EventKind::{enumerator} is called '{word}': use one word")
    return {word for _, word in pairs}
