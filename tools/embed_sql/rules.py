"""The numbers of src/model/rules.h, as SQL text."""
import re

from embed_sql import fail

DECLARATION = re.compile(
    r"^inline constexpr (?P<type>int|std::size_t|std::int64_t|Duration) (?P<name>[a-z]\w*) = "
    r"(?P<number>\d{1,3}(?:'\d{3})+|\d+)(?P<unit>ms|s|min|h)?; +// \S.*$")
MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
SQL_UNITS = {"ms": (1, 1), "s": (1, 1000), "us": (1000, 1)}  # multiplier, divisor of milliseconds


class Rule:
    def __init__(self, number, unit):
        self.is_duration = unit is not None
        self.value = number * MILLISECONDS[unit] if unit else number

    def in_sql(self, where, name, unit):
        if not self.is_duration:
            return str(self.value)
        multiplier, divisor = SQL_UNITS[unit]
        if self.value % divisor:
            fail(where, f"rule {name} has no whole number of {unit}")
        return str(self.value * multiplier // divisor)


def read_rules(header):
    """The rules by name. Every line that starts with 'inline' must be one."""
    rules = {}
    for number, line in enumerate(header.read_text().splitlines(), 1):
        if not line.startswith("inline"):
            continue
        where = f"{header}:{number}"
        match = DECLARATION.match(line)
        if not match or (match["type"] == "Duration") != (match["unit"] is not None):
            fail(where, "not a rule: inline constexpr TYPE name = NUMBER;  // unit, or what it means")
        if match["name"] in rules:
            fail(where, f"rule {match['name']} is already declared")
        rules[match["name"]] = Rule(int(match["number"].replace("'", "")), match["unit"])
    return rules


def find_rule(rules, name):
    """(declared name, function from `where` to SQL text) of {rule:name}, or None."""
    if name in rules and not rules[name].is_duration:
        return name, lambda where: rules[name].in_sql(where, name, None)
    stem, _, unit = name.rpartition("_")
    if unit in SQL_UNITS and stem in rules and rules[stem].is_duration:
        return stem, lambda where: rules[stem].in_sql(where, stem, unit)
    return None
