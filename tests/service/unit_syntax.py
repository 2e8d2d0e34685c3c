"""How systemd reads a command line, written from systemd.syntax(7) and systemd.service(5) alone, letter by letter."""

ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"', "'": "'", "s": " "}


def unquote(text):
    words, at = [], 0
    while True:
        while at < len(text) and text[at] in " \t":
            at += 1
        if at == len(text):
            return words
        word, quote = "", None
        if text[at] in "\"'":
            quote, at = text[at], at + 1
        while True:
            if at == len(text):
                assert quote is None, "unbalanced quotes"
                break
            char = text[at]
            if char == "\\":
                word, at = word + ESCAPES[text[at + 1]], at + 2
                continue
            at += 1
            if char == quote:
                assert at == len(text) or text[at] in " \t", "a closing quote ends the word"
                break
            if quote is None and char in " \t":
                break
            word += char
        words.append(word)


def specifiers(word):
    out, at = "", 0
    while at < len(word):
        if word[at] == "%":
            assert word[at + 1] == "%", "a specifier would be replaced"
            at += 1
        out, at = out + word[at], at + 1
    return out


def variables(word):
    """Return the word after substitution with no variable set; one that starts with a variable name would vanish or be split."""
    assert not (word.startswith("$") and word[1:2] not in ("$", "{")), "a word that is a variable"
    out, at = "", 0
    while at < len(word):
        if word[at : at + 2] == "$$":
            out, at = out + "$", at + 2
        elif word[at : at + 2] == "${" and "}" in word[at:]:
            at = word.index("}", at) + 1
        else:
            out, at = out + word[at], at + 1
    return out


def command_line(text):
    program, *arguments = [specifiers(word) for word in unquote(text)]
    return [program, *(variables(word) for word in arguments)]


def values(unit, section, key):
    """Return a key's values; a line that ends with a backslash goes on, and none of ours may."""
    found, current = [], None
    for line in unit.split("\n"):
        assert not line.endswith("\\")
        if line.startswith("["):
            current = line[1:-1]
        elif current == section and line.startswith(f"{key}="):
            found.append(line.removeprefix(f"{key}="))
    return found
