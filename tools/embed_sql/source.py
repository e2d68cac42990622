"""Declarations in src/model that SQL uses: replaces {kind:name} in the files of sql/."""
import re

from embed_sql import fail
from embed_sql.rules import find_rule, read_rules
from embed_sql.texts import read_texts, text_in_sql
from embed_sql.words import read_events

REFERENCE = re.compile(r"\{(\w+):(\w+)\}")


class Source:
    def __init__(self, src_dir):
        self.src_dir = src_dir
        self.rules_header = src_dir / "model" / "rules.h"
        self.rules = read_rules(self.rules_header)
        self.used_rules = set()
        self.events_header = src_dir / "model" / "event_kinds.h"
        self.events = read_events(self.events_header)
        self.texts_header = src_dir / "model" / "texts.h"
        self.texts = read_texts(self.texts_header)
        self.used_texts = set()

    def substitute(self, path, text):
        """`text` of the file `path` with all references replaced."""
        def replace(match):
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            if match[1] == "text":
                return self.text(where, match[2], text[:match.start()])
            return self.value_of(where, match[1], match[2])

        return REFERENCE.sub(replace, text)

    def value_of(self, where, kind, name):
        if kind == "rule":
            return self.rule(where, name)
        if kind == "event":
            return self.event(where, name)
        fail(where, f"{{{kind}:{name}}}: use rule, event or text")

    def text(self, where, name, before):
        if name not in self.texts:
            fail(where, f"{{text:{name}}} is not in {self.texts_header}")
        self.used_texts.add(name)
        return text_in_sql(self.texts[name], before)

    def event(self, where, name):
        if name not in self.events:
            fail(where, f"{{event:{name}}} is not in {self.events_header}")
        return name

    def rule(self, where, name):
        found = find_rule(self.rules, name)
        if not found:
            fail(where, f"{{rule:{name}}} is not in {self.rules_header}; durations end in _ms, _s or _us")
        self.used_rules.add(found[0])
        return found[1](where)

    def check_all_used(self):
        """Called after every file of sql/ was substituted."""
        in_cpp = {"rules": set(), "texts": set()}
        for path in self.src_dir.rglob("*"):
            if path.suffix in (".h", ".cpp"):
                for kind, name in re.findall(r"\b(rules|texts)::(\w+)", path.read_text()):
                    in_cpp[kind].add(name)
        if unused := set(self.rules) - self.used_rules - in_cpp["rules"]:
            fail(self.rules_header, f"neither C++ nor SQL uses {', '.join(sorted(unused))}")
        if alone := set(self.texts) - (self.used_texts & in_cpp["texts"]):
            fail(self.texts_header, f"not used by both C++ and SQL: {', '.join(sorted(alone))}")
