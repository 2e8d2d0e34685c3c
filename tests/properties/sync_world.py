"""The user of the state machine: everything a person, Obsidian or a sync tool may do to the files of a vault, one method each."""

import json
import re

from tests.crash.residue import residue, words_only

MARKER = re.compile(rb"^%% kg2vault:(begin|end)", re.MULTILINE)
REGION = re.compile(rb"^%% kg2vault:begin (\S+) [0-9a-f]{8} %%\r?$(.*?)^%% kg2vault:end \1 %%\r?$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[\[([^\]\[|#^\n]+)(\|[^\]\n]*)?\]\]")
OPEN_QUOTE = 'broken: "open'
GONE_STATES = ("live", "orphaned", "tombstone")


class User:
    """Edits the notes of a world. Remembers every word written (each is unique) and which of them the user has not taken away again."""

    def __init__(self, world):
        self.world = world
        self.count = 0
        self.written = set()
        self.alive = set()
        self.deleted = set()  # ids of notes the user deleted and the program knew
        self.strangers = {}
        self.bin = []
        self.undo = {}

    def notes(self):
        """Return the paths of the notes that carry an id."""
        return sorted(path for paths in self.world.ids().values() for path in paths)

    def bytes(self, path):
        return (self.world.vault / path).read_bytes()

    def word(self):
        self.count += 1
        self.written.add(f"word{self.count}x")
        return f"word{self.count}x"

    def settle(self):
        """Call after everything the user did: what is there now is what must stay."""
        present = b"\n".join(self.world.visible().values())
        self.alive = {word for word in self.written if word.encode() in present}
        self.deleted -= self.world.ids().keys()
        self.strangers = {path: data for path, data in self.world.visible().items() if path in self.strangers}

    def put(self, path, text):
        (self.world.vault / path).write_bytes(text.encode("utf-8", "surrogateescape"))

    def text(self, path):
        return self.bytes(path).decode("utf-8", "surrogateescape")

    # what a person writes

    def insert(self, path, place):
        """Write a word above, below, between or inside the regions, or into the frontmatter."""
        text, word = self.text(path), self.word()
        end = "\r\n" if "\r\n" in text else "\n"
        places = {
            "above": (r"(\A(?:\ufeff)?---.*?^---[ \t]*\r?\n)", rf"\g<1>{word}{end}"),
            "between": (r"(^%% kg2vault:end \S+ %%\r?\n)", rf"\g<1>{end}{word}{end}"),
            "inside": (r"(^%% kg2vault:begin \S+ \w{8} %%\r?\n)", rf"\g<1>{word}{end}"),
            "property": (r"(\A(?:\ufeff)?---[ \t]*\r?\n)", rf"\g<1>mine_{word}: {word} # 007{end}"),
            "comment": (r"(\A(?:\ufeff)?---[ \t]*\r?\n)", rf"\g<1># {word}{end}"),
            "tag": (r"^(tags: \[)", rf'\g<1>"{word}", '),
            "alias": (r"^(aliases: \[)", rf'\g<1>"{word}", '),
        }
        if place == "below":
            self.put(path, f"{text}{end}{word}")
        else:
            pattern, new = places[place]
            self.put(path, re.sub(pattern, new, text, count=1, flags=re.MULTILINE | re.DOTALL))

    def change_ends(self, path):
        data = self.bytes(path)
        windows = b"\r\n" in data
        (self.world.vault / path).write_bytes(data.replace(b"\r\n", b"\n") if windows else data.replace(b"\n", b"\r\n"))

    def damage(self, path, kind):
        before, text = self.bytes(path), self.text(path)
        patterns = {
            "no begin": (r"^%% kg2vault:begin .*\n", ""),
            "no end": (r"^%% kg2vault:end .*\n", ""),
            "two begins": (r"^(%% kg2vault:begin .*\n)", r"\1\1"),
            "two ends": (r"^(%% kg2vault:end .*\n)", r"\1\1"),
            "odd marker": (r"^%% kg2vault:end (.*)$", r"%% kg2vault:END \1 and more"),
            "frontmatter": (r"\A((?:\ufeff)?---[ \t]*\r?\n)", rf"\g<1>{OPEN_QUOTE}\n"),
        }
        pattern, new = patterns[kind]
        self.put(path, re.sub(pattern, new, text, count=1, flags=re.MULTILINE))
        self.undo[path] = (before, self.bytes(path))

    def mend(self, path):
        before, after = self.undo.pop(path)
        file = self.world.vault / path
        if file.is_file() and file.read_bytes() == after:
            file.write_bytes(before)

    def remove_region(self, path):
        data = self.bytes(path)
        (self.world.vault / path).write_bytes(REGION.sub(b"", data, count=1))

    # what a person does with files

    def move(self, path, target, *, obsidian):
        source, new = self.world.vault / path, self.world.vault / target
        if new.exists():
            return
        before = set(self.world.visible())
        new.parent.mkdir(parents=True, exist_ok=True)
        source.rename(new)
        if obsidian:
            self._rewrite_links(path, target, before)

    def _rewrite_links(self, old, new, before):
        paths = set(self.world.visible())
        short = new.rsplit("/", 1)[-1].removesuffix(".md")
        unique = sum(path.rsplit("/", 1)[-1].lower() == f"{short}.md".lower() for path in paths) == 1
        target = short if unique and "." not in short else new if "." in short else new.removesuffix(".md")
        for path in paths:
            if not path.endswith(".md"):
                continue
            text = self.text(path)
            source = old if path == new else path

            def rewritten(found, source=source):
                leads = leads_to(found[1], source, before) == old
                return f"[[{target}{found[2] or ''}]]" if leads else found[0]

            changed = LINK.sub(rewritten, text)
            if changed != text:
                self.put(path, changed)

    def copy(self, path):
        self.count += 1
        (self.world.vault / f"Copy {self.count}.md").write_bytes(self.bytes(path))

    def delete(self, path):
        data = self.bytes(path)
        self.bin.append((path, data))
        (self.world.vault / path).unlink()
        self.strangers.pop(path, None)
        self.note_deletions([data])

    def note_deletions(self, gone):
        """Remember which ids the user has deleted of notes the program knows, now that these files are gone."""
        known, here = self.manifest_states(), self.world.ids()
        for data in gone:
            found = re.search(rb'^kg_id: "(.*)"\r?$', data, re.MULTILINE)
            if found and found[1].decode() not in here and known.get(found[1].decode()) in GONE_STATES:
                self.deleted.add(found[1].decode())

    def put_back(self, number):
        path, data = self.bin.pop(number % len(self.bin))
        target = self.world.vault / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def take_id_away(self, path):
        """Make a note one's own."""
        data = self.bytes(path)
        (self.world.vault / path).write_bytes(re.sub(rb"^kg_id:.*\n", b"", data, flags=re.MULTILINE))
        self.strangers[path] = self.bytes(path)
        self.note_deletions([data])

    def write_own(self, path):
        """Write a note or file of one's own where there is none."""
        target = self.world.vault / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"---\ntitle: {self.word()}\n---\nsee [[web]] and [[rust|x]]\n", encoding="utf-8")
            self.strangers[path] = target.read_bytes()

    # what happens to our own state

    def manifest_states(self):
        try:
            rows = json.loads((self.world.vault / ".kg2vault" / "manifest.json").read_text(encoding="utf-8"))["entries"]
        except (OSError, ValueError, KeyError):
            return {}
        return {row[0]: row[2] for row in rows}

    def forget_deletions(self):
        """Only the manifest remembers deletions: with an older one, or none, those it does not know are forgotten."""
        known = self.manifest_states()
        self.deleted = {note_id for note_id in self.deleted if known.get(note_id) in GONE_STATES}


def leads_to(target, source, paths):
    """Return the path that Obsidian opens for a link, for targets without `./`: the exact path, else a file in one's own folder, else the
    shortest path that ends so. An extension is added only when no file has the name as it is written.
    """
    name = target.rsplit("/", 1)[-1].lower()
    wanted = target.lower() if any(path.lower().rsplit("/", 1)[-1] == name for path in paths) and "." in name else f"{target}.md".lower()
    fits = [path for path in paths if f"/{path}".lower().endswith(f"/{wanted}")]
    own = source.rpartition("/")[0].lower()
    return min(fits, key=lambda path: (path.lower() != wanted, not path.lower().startswith(f"{own}/"), len(path), path), default=None)


def damaged(data):
    """Return whether a note's markers or frontmatter are broken in one of the ways of this user."""
    markers = sum(1 for line in re.split(rb"\r?\n", data) if re.match(rb"\s*%%\s*kg2vault:(begin|end)", line, re.IGNORECASE))
    names = [found[1] for found in REGION.finditer(data)]
    return markers != 2 * len(names) or len(set(names)) != len(names) or OPEN_QUOTE.encode() in data or nested(data)


def nested(data):
    return any(MARKER.search(found[2]) for found in REGION.finditer(data))


def same_words(before, after):
    """Return whether all bytes of the user in a note are the same; blank lines may differ where a region came or went."""
    if sorted(found[1] for found in REGION.finditer(before)) == sorted(found[1] for found in REGION.finditer(after)):
        return residue(before) == residue(after)
    return words_only(before) == words_only(after)
