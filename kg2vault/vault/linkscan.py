"""Which links a text holds, as Obsidian's metadata cache counts them: `parse_links` for a body, `property_link` for a frontmatter string.

Layer 1, pure. A wikilink is the shortest text from `[[` to the first `]]` on one line, without another `[[` inside; its words begin at the
first `|`. Markdown links to files of the vault count too. Links in code, math, HTML and HTML comments do not count; links in
`%% comments %%` do. Indented code is read as text: telling it from a list needs a whole Markdown parser, and nothing of ours is indented.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from kg2vault.vault.resolve import clean_path


class WikiLink(NamedTuple):
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
_BLANK_LINE = re.compile(r"\n[ \t\r]*+(?:\n|\Z)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")


def parse_links(text: str) -> tuple[WikiLink, ...]:
    """Return the links of a note's body (or a part of it that begins at a line start), in order."""
    if "[" not in text:
        return ()
    links: list[WikiLink] = []
    reader = _Reader(text)
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
            at = reader.skip(found, kind)
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


class _Reader:
    """Knows where what cannot hold a link ends. Remembers what it looked for in vain, so that no text takes quadratic time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._paragraph = -1
        self._absent: dict[str, int] = {}  # delimiter → up to where it is known not to occur

    def skip(self, found: re.Match[str], kind: str) -> int:
        """Return where the construct that `found` opens ends; behind its opening when it is never closed and then is nothing."""
        start, at = found.start(), found.end()
        if kind == "markup":
            return self._skip_markup(start, at, found["markup"].lower())
        mark = self.text[start:at]
        if kind != "math" and len(mark) >= 3 and self._begins_block(start) and (mark[0] == "~" or "`" not in self._rest_of_line(at)):
            # Ends with a fence of its own kind at least as long, or with the text.
            closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE).search(self.text, at)
            return closing.end() if closing else len(self.text)
        return at if kind == "tildes" else self._skip_span(mark, at)

    def _skip_markup(self, start: int, at: int, name: str) -> int:
        text = self.text
        if name == "!--":
            closing = self._find("-->", at, len(text))
            if closing >= 0:
                return closing + 3
            return len(text) if self._begins_block(start) else at
        if name in _RAW and self._begins_block(start):
            closed = _RAW_END.search(text, at)
            return closed.end() if closed else len(text)
        if _HTML_BLOCK.fullmatch(name) and self._begins_block(start):
            return self._paragraph_end(at)
        tag = _TAG_END.match(text, at, self._paragraph_end(at))
        return tag.end() if tag else at

    def _skip_span(self, mark: str, at: int) -> int:
        """Skip inline code or display math that ends within its paragraph: a code span ends with a run of backticks exactly as long."""
        text, char, limit = self.text, mark[0], self._paragraph_end(at)
        after = at
        while (closing := self._find(mark, after, limit)) >= 0:
            after = closing + len(mark)
            if char == "$" or (text[closing - 1] != char and text[after : after + 1] != char):
                return after
            while text[after : after + 1] == char:
                after += 1
        self._absent[mark] = limit
        return at

    def _find(self, mark: str, at: int, limit: int) -> int:
        if self._absent.get(mark, -1) >= limit:
            return -1
        found = self.text.find(mark, at, limit)
        if found < 0:
            self._absent[mark] = limit
        return found

    def _begins_block(self, start: int) -> bool:
        line = self.text.rfind("\n", 0, start) + 1
        container = _CONTAINER.match(self.text, line, start)
        return container is not None and container.end() == start

    def _rest_of_line(self, at: int) -> str:
        end = self.text.find("\n", at)
        return self.text[at : end if end >= 0 else len(self.text)]

    def _paragraph_end(self, at: int) -> int:
        if at > self._paragraph:
            blank = _BLANK_LINE.search(self.text, at)
            self._paragraph = blank.start() if blank else len(self.text)
        return self._paragraph
