"""What file systems and Obsidian accept, written down a second time: nothing here uses kg2vault."""

from __future__ import annotations

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.token import Token

WINDOWS_DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | {
    f"{port}{number}" for port in ("COM", "LPT") for number in "0123456789¹²³"
}
# Obsidian's own pattern of a tag after the `#`: anything but this punctuation, white space and two blocks of general punctuation.
TAG = re.compile(r"""[^\u2000-\u206F\u2E00-\u2E7F'!"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+""")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HARMLESS_TOKENS = {
    "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "paragraph_open", "paragraph_close", "inline", "text",
    "text_special", "link_open", "link_close", "softbreak",
}  # fmt: skip


def faults_of_stem(stem: str) -> list[str]:
    faults = [f"{char!r} is illegal somewhere" for char in stem if char in '\\/:*?"<>|' or ord(char) < 32 or ord(char) == 127]
    faults += [f"{char!r} breaks links" for char in stem if char in "#^[]`$"]
    faults += [f"{char!r} cannot be seen" for char in stem if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
    faults += [f"{char!r} is a blank that is no space" for char in stem if char != " " and unicodedata.category(char) == "Zs"]
    if not stem or stem[0] in ". " or stem[-1] in ". ":
        faults.append("begins or ends with a dot or blank, or is empty")
    if "%%" in stem:
        faults.append("opens a comment")
    if unicodedata.normalize("NFC", stem) != stem:
        faults.append("is not NFC")
    if max(len(unicodedata.normalize(form, stem).encode()) for form in ("NFC", "NFD")) > 150:
        faults.append("is too long")
    if f"{stem}.md".split(".", 1)[0].rstrip().upper() in WINDOWS_DEVICES:
        faults.append("is a device of Windows")
    return faults


def faults_of_tag(tag: str) -> list[str]:
    faults = [f"the part {part!r} is no tag" for part in tag.split("/") if not TAG.fullmatch(part)]
    if re.fullmatch(r"[0-9/]*", tag):
        faults.append("is made of digits only")
    return faults


def same_file(path: str) -> str:
    """Equal for two names that some file system takes for one."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFD", path).casefold()) if not path.isascii() else path.casefold()


def tokens(markdown: str) -> list[Token]:
    flat: list[Token] = []
    for block in MARKDOWN.parse(markdown):
        flat.append(block)
        flat.extend(block.children or [])
    return flat


def rendered_text(markdown: str) -> str:
    """The words a reader sees."""
    return "".join(token.content for token in tokens(markdown) if token.type in {"text", "text_special", "code_inline"})


def active_in_raw_text(line: str) -> list[str]:
    """What programs that scan the text, and know no Markdown, would act upon."""
    found = [pair for pair in ("[[", "![", "<%", "::", "%%", "```", "~~~", "<!--", "~~") if pair in line]
    if re.search(r"(?<!\\)(?:\\\\)*\$", line):
        found.append("$")
    if re.search(r"\s\^[A-Za-z0-9-]+\s*$", line):
        found.append("block id")
    if re.search(r"(?:^|\s)#[^\s#]", line):
        found.append("tag")
    if re.search(r"(?<!\\)(?:\\\\)*`", line):
        found.append("code")
    if re.search(r"<[A-Za-z/!?%]", line):
        found.append("HTML")
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\ufeff\ud800-\udfff]", line):
        found.append("a character that hides or turns text")
    return found
