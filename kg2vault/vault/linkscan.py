"""Which links a text holds, as Obsidian's metadata cache counts them: `parse_links` for a body, `property_link` for a frontmatter string.

Layer 1, pure. A wikilink is the shortest text from `[[` to the first `]]` on one line, without another `[[` inside; its words begin at the
first `|`. Markdown links to files of the vault count too. Links in code, math, HTML and HTML comments do not count; links in
`%% comments %%` do. Indented code is read as text: telling it from a list needs a whole Markdown parser, and nothing of ours is indented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from kg2vault.vault.resolve import clean_path


@dataclass(frozen=True, slots=True)
class WikiLink:
    """A link that counts in Obsidian's graph: `text[start:end]`. `target` is a path or name, `display` None where the text gives none."""

    target: str
    subpath: str  # "#heading" or "#^block", else empty
    display: str | None
    start: int
    end: int
    embed: bool = False
    markdown: bool = False  # written [text](target)

    @property
    def in_code(self) -> bool:
        """False: links in code are not links, and are not returned."""
        return False


# One alternative per construct that can swallow a link or be one; whatever begins first wins. Every alternative begins with a literal
# character, which lets the regular expression engine skip plain text; quantifiers are possessive where a failed match would otherwise be
# tried again in every split.
_CONSTRUCT = re.compile(
    r"""
      \\[!-/:-@\[-`{-~]
    | \[\[(?P<wiki>(?:[^\[\]\r\n]++|\](?!\])|\[(?!\[))+)\]\]
    | \[(?P<markdown>(?P<words>(?:[^\[\]\\\n]++|\\.|\[[^\[\]\n]*+\])*+)\]
        \([ \t]*+(?:<(?P<angle>[^<>\n]*+)>|(?P<address>[^\s()<>]++(?:\([^\s()]*+\)[^\s()]*+)*+))
        (?:[ \t]++(?:"[^"\n]*+"|'[^'\n]*+'))?[ \t]*+\))
    | `(?P<code>`*+)
    | ~(?P<tildes>~~++)
    | <(?P<markup>!--|/?[A-Za-z][A-Za-z0-9-]*+)
    | \$(?P<math>\$)
    | \$(?![\s$])(?:\\.|[^$\\\n])*+(?<!\s)\$(?!\d)
    """,
    re.VERBOSE,
)
# What may stand before a block on its line: quotes, list markers, blanks.
_CONTAINER = re.compile(r"(?:[ \t]*+(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))*+[ \t]*+")
# HTML blocks that end with their tag, and those that end with a blank line: CommonMark 0.31, section 4.6, kinds 1 and 6.
_RAW = frozenset({"script", "pre", "style", "textarea"})
_HTML_BLOCK = re.compile(
    r"/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset"
    r"|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol"
    r"|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)"
)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_TAG_END = re.compile(r"[^<>]*+>")
_BLANK_LINE = re.compile(r"\n[ \t\r]*(?:\n|$)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")


def parse_links(text: str) -> tuple[WikiLink, ...]:
    """Return the links of a note's body (or a part of it that begins at a line start), in order."""
    if "[" not in text:
        return ()
    links: list[WikiLink] = []
    at = 0
    while found := _CONSTRUCT.search(text, at):
        start, before, at = found.start(), at, found.end()
        kind = found.lastgroup
        if kind == "wiki" or kind == "markdown":
            embed = start > before and text[start - 1] == "!"
            written = _wiki(found[kind], start - embed, at, embed) if kind == "wiki" else _markdown(found, embed)
            if written is not None:
                links.append(written)
        elif kind is not None:
            at = _skip(text, found, kind)
    return tuple(links)


def property_link(value: str) -> WikiLink | None:
    """Return the link that a frontmatter string is, or None: only a string that is one wikilink from end to end counts."""
    if len(value) < 5 or not (value.startswith("[[") and value.endswith("]]")):
        return None
    return _wiki(value[2:-2], 0, len(value), False)


def _wiki(inner: str, start: int, end: int, embed: bool) -> WikiLink:
    bar = inner.find("|", 1)
    written, display = (inner, None) if bar < 0 else (inner[:bar], inner[bar + 1 :].strip())
    target, subpath = _split(written[:-1] if written[-1] == "\\" else written)
    return WikiLink(target, subpath, display or None, start, end, embed)


def _markdown(found: re.Match[str], embed: bool) -> WikiLink | None:
    written = found["angle"] if found["angle"] is not None else found["address"]
    if _ADDRESS.match(written):
        return None
    target, subpath = _split(unquote(written))
    words = _BACKSLASH.sub(r"\1", found["words"]).strip()
    return WikiLink(target, subpath, words or None, found.start() - embed, found.end(), embed, markdown=True)


def _split(written: str) -> tuple[str, str]:
    target, mark, subpath = clean_path(written).strip().partition("#")
    return target.rstrip(), mark + subpath


def _skip(text: str, found: re.Match[str], kind: str) -> int:
    """Return where the construct that `found` opens ends; behind its opening when it is never closed and then is nothing."""
    start, at = found.start(), found.end()
    if kind == "markup":
        return _skip_markup(text, start, at, found["markup"].lower())
    mark = text[start:at]
    if kind != "math" and len(mark) >= 3 and _begins_block(text, start) and not (mark[0] == "`" and "`" in text[at : _line_end(text, at)]):
        # Ends with a fence of its own kind at least as long, or with the text.
        closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE).search(text, at)
        return closing.end() if closing else len(text)
    return at if kind == "tildes" else _skip_span(text, mark, at)


def _skip_markup(text: str, start: int, at: int, name: str) -> int:
    if name == "!--":
        closing = text.find("-->", at)
        if closing >= 0:
            return closing + 3
        return len(text) if _begins_block(text, start) else at
    if name in _RAW and _begins_block(text, start):
        closed = _RAW_END.search(text, at)
        return closed.end() if closed else len(text)
    if _HTML_BLOCK.fullmatch(name) and _begins_block(text, start):
        return _paragraph_end(text, at)
    tag = _TAG_END.match(text, at, _paragraph_end(text, at))
    return tag.end() if tag else at


def _skip_span(text: str, mark: str, at: int) -> int:
    """Skip inline code or display math that ends within its paragraph: a code span ends with a run of backticks exactly as long."""
    char, limit = mark[0], _paragraph_end(text, at)
    closing = text.find(mark, at, limit)
    while closing >= 0:
        after = closing + len(mark)
        if char == "$" or (text[closing - 1] != char and text[after : after + 1] != char):
            return after
        while text[after : after + 1] == char:
            after += 1
        closing = text.find(mark, after, limit)
    return at


def _begins_block(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    container = _CONTAINER.match(text, line, start)
    return container is not None and container.end() == start


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _paragraph_end(text: str, at: int) -> int:
    blank = _BLANK_LINE.search(text, at)
    return blank.start() if blank else len(text)
