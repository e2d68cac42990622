"""The messages of src/model/texts.h, as SQL text."""
import re

from embed_sql import fail

TEXT = re.compile(
    r'^inline constexpr std::string_view (?P<name>\w+) =(?P<literals>(?:\s+"(?:[^"\\\n]|\\.)*")+);$', re.MULTILINE)
DECLARED = re.compile(r"^inline.*", re.MULTILINE)
RAISE = re.compile(r"\braise\s+\w+\s+'[^']*$")


def read_texts(header):
    source = header.read_text()
    texts = {}
    for match in TEXT.finditer(source):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match["literals"])).replace(r'\"', '"')
        if re.search(r"[%\\{}]", text.replace("{}", "")):
            fail(header, f"text {match['name']}: only {{}} and plain characters except % can be translated")
        texts[match["name"]] = text
    if len(texts) != len(DECLARED.findall(source)):
        fail(header, 'a declaration is not a text, or repeated: inline constexpr std::string_view name = "...";')
    return texts


def text_in_sql(text, before):
    """`text` for an SQL literal; `before` is the source text before it."""
    value = "%" if RAISE.search(before) else "%s"
    return text.replace("'", "''").replace("{}", value)
