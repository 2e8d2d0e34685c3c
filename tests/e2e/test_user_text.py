"""Every byte that is not ours survives every sync; what we cannot understand is left alone and said."""

import re

import pytest

from tests.crash.residue import residue

RUNS = 3


def synced(terminal):
    terminal.sync()
    return terminal.note("web")


def change_source(topics):
    """Change what the notes of web and python have to say."""
    topics.add("web", "python")


def survives(terminal, topics, path, *, ends_with=None):
    """Sync several times with a changed source: our part follows it, the user's bytes stay."""
    mine = residue(path.read_bytes())
    for run in range(RUNS):
        change_source(topics)
        result = terminal.run("sync")
        assert result.exit_code == 0, result.output
        data = path.read_bytes()
        assert residue(data) == mine
        assert f"{5 + run} items".encode() in data
        assert f"kg_items: {5 + run}".encode() in data
        if ends_with is not None:
            assert data.endswith(ends_with)


FRONTMATTER = {
    "a time": "time: 10:00",
    "leading zeros": "zip: 007",
    "a version": "ver: 1.10",
    "words that YAML 1.1 takes for booleans": "ans: no\non: yes\noff: y",
    "other number forms": "hex: 0x1F\nbig: 1_000\noctal: 0o17\nexp: 1e3",
    "a date": "date: 2012-10-11T23:39:45-04:00",
    "comments": "# a line of its own\nzeta: 1   # and one behind a value",
    "its own key order": "zeta: 1\nalpha: 2\nmiddle: 3",
    "quotes of both kinds": "single: 'it''s'\ndouble: \"a \\\"b\\\"\"\nplain: it's",
    "blank lines": "a: 1\n\n\nb: 2\n",
    "a block list": "list:\n- one\n-   two # why\n  # between\n- three",
    "a block text": "text: |\n  first\n\n   second  \nfolded: >-\n  a\n  b",
    "flow collections": "map: {a: 1, b: [x, y]}\nlinks: [\"[[One]]\",  '[[Two|2]]']",
    "an unquoted link": "up: [[Home]]",
    "an empty value": "empty:\nnull: ~",
    "an anchor": "base: &b 1\nsame: *b",
    "keys that are no words": "2024: year\n\"quoted key\": 1\nwith space: 2\nüñí: 3\n日本: 4",
    "emoji": "mood: 🚀",
    "odd spacing": "wide :    1\ntrailing: 2   ",
    "a long line": f"long: {'word ' * 60}end",
    "a key that looks like ours": "my_kg_id: x\nkg: y",
}  # fmt: skip


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("what", FRONTMATTER)
def test_frontmatter_with(what, place, terminal, topics):
    path = synced(terminal)
    text = path.read_text()
    head, rest = text[4:].split("\n---\n", 1)
    mine = FRONTMATTER[what]
    path.write_text(f"---\n{mine}\n{head}\n---\n{rest}" if place == "first" else f"---\n{head}\n{mine}\n---\n{rest}")
    survives(terminal, topics, path)
    assert mine in path.read_text()


def test_a_key_written_twice_is_left_as_it_is(terminal, topics):
    path = synced(terminal)
    path.write_text(path.read_text().replace("\n---\n", "\nmine: 1\nmine: 2\n---\n", 1))
    for _ in range(RUNS):
        change_source(topics)
        terminal.run("sync")
        assert "\nmine: 1\nmine: 2\n---\n" in path.read_text()


TEXTS = {
    "plain words": b"My thoughts.\n",
    "a horizontal rule": b"before\n\n---\n\nafter\n---\nfoo: bar\n---\n",
    "blank lines": b"\n\n\n  \n\t\n",
    "trailing blanks": b"a line  \nanother\t\n",
    "a code block with frontmatter in it": b"```yaml\n---\nkg_id: \"concept/other\"\n---\n```\n",
    "comments": b"%% hidden %%\n\n%%\nhidden too\n%%\n<!-- and this -->\n",
    "a sentence about our markers": b"The lines with `%% kg2vault:begin` are not mine.\n",
    "odd white space": b"nbsp\xc2\xa0 ls\xe2\x80\xa8 nel\xc2\x85 ff\x0c vt\x0b zw\xe2\x80\x8b\n",
    "carriage returns alone": b"one\rtwo\rthree\n",
    "bytes that are not UTF-8": b"caf\xe9 \xff\xfe \xed\xa0\x80\n",
    "control characters": b"nul\x00 esc\x1b sep\x1c\x1d\x1e\x1f\n",
    "decomposed letters": "cafe\u0301 und \u212b\n".encode(),
    "links and embeds": b"[[Some note|x]] ![[image.png]] [a](b.md) #tag ^block\n",
    "windows line ends": b"one\r\ntwo\r\n\r\n",
    "a long line": b"word " * 4000 + b"\n",
    "a template": b"<% tp.date.now() %> {{date}}\n",
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_text_around_the_regions_with(what, terminal, topics):
    path = synced(terminal)
    mine = TEXTS[what]
    data = path.read_bytes()
    data = data.replace(b"\n---\n", b"\n---\n" + b"ABOVE\n" + mine, 1)
    data = re.sub(rb"(?m)^(%% kg2vault:end concept %%\n)", lambda found: found[1] + b"BETWEEN\n" + mine, data)
    path.write_bytes(data + b"BELOW\n" + mine)
    survives(terminal, topics, path, ends_with=b"BELOW\n" + mine)
    assert path.read_bytes().count(mine) == 3


FORMS = {
    "windows line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "a byte order mark and windows line ends": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "no final newline": lambda data: data.rstrip(b"\n"),
    "a last line of the user's without newline": lambda data: data + b"\nmine, and no newline",
    "mixed line ends": lambda data: b"".join(
        line.replace(b"\n", b"\r\n") if number % 2 else line for number, line in enumerate(data.splitlines(keepends=True))
    ),
    "blanks behind the rule that ends the frontmatter": lambda data: data.replace(b"\n---\n", b"\n---  \n", 1),
}


@pytest.mark.parametrize("what", FORMS)
def test_a_note_with(what, terminal, topics):
    path = synced(terminal)
    path.write_bytes(FORMS[what](path.read_bytes()))
    survives(terminal, topics, path)
    if "byte order" in what:
        assert path.read_bytes().startswith(b"\xef\xbb\xbf---")
    if "no final newline" in what:
        assert path.read_bytes()[-1:] != b"\n"


LISTS = {
    "a list in brackets": ("tags", "tags: [mine, {ours}, 'x y']", ["mine", "x y"]),
    "a list in lines": ("tags", "tags:\n  - mine # mine\n  - {ours}\n  -   'two'", ["mine # mine", "'two'"]),
    "lines without indent": ("tags", "tags:\n- mine\n- {ours}", ["- mine"]),
    "tags with hashes": ("tags", 'tags: ["#mine", {ours}]', ['"#mine"']),
    "one word": ("aliases", "aliases: Mine", ["Mine"]),
    "a list of aliases": ("aliases", "aliases: [Mine, 1e3, '007']", ["Mine", "1e3", "'007'"]),
}


@pytest.mark.parametrize("what", LISTS)
def test_entries_of_the_user_in_a_shared_list_stay_in_their_style(what, terminal, topics):
    path = synced(terminal)
    key, form, kept = LISTS[what]
    text = path.read_text()
    ours = re.search(r"^tags: \[(.*)\]$", text, re.MULTILINE)[1]
    own = form.format(ours=ours if "[" in form else ours.replace(", ", "\n  - " if "\n  -" in form else "\n- "))
    path.write_text(text.replace(f"tags: [{ours}]", own if key == "tags" else f"{own}\ntags: [{ours}]", 1))
    survives(terminal, topics, path)
    for entry in kept:
        assert entry in path.read_text()
    assert '"kg/concept"' in path.read_text()


def damage(old, new):
    def change(text):
        assert re.search(old, text, re.MULTILINE), old
        return re.sub(old, new, text, count=1, flags=re.MULTILINE)

    return change


BEGIN, END = r"^(%% kg2vault:begin concept [0-9a-f]{8} %%)$", r"^(%% kg2vault:end concept %%)$"


def whole_region(text):
    return re.search(BEGIN[:-1] + "(?s:.*?)" + END[1:], text, re.MULTILINE)[0]


DAMAGE = {
    "an end without a beginning": damage(BEGIN + "\n", ""),
    "a beginning without an end": damage(END + "\n", ""),
    "the end before the beginning": lambda text: "SWAP".join(text.split("%% kg2vault:begin concept")).replace(
        "%% kg2vault:end concept %%", "%% kg2vault:begin concept 00000000 %%").replace("SWAP", "%% kg2vault:end concept"),
    "two beginnings and one end": damage(BEGIN, r"\1\nmine\n\1"),
    "one beginning and two ends": damage(END, r"\1\nmine\n\1"),
    "two whole regions of one name": lambda text: text + "\nmine\n" + whole_region(text) + "\n",
    "a region in a region": damage(BEGIN, "%% kg2vault:begin items 00000000 %%\n" + r"\1"),
    "a marker in another case": damage(BEGIN, "%% KG2VAULT:BEGIN concept 00000000 %%"),
    "a marker without a digest": damage(BEGIN, "%% kg2vault:begin concept %%"),
    "a marker with words behind it": damage(END, r"\1 mine"),
    "a marker that was indented": damage(END, r"  \1"),
    "frontmatter that is a list": damage(r"\A---\n", "---\n- mine\n"),
    "frontmatter that does not parse": damage(r"^kg_items", "a: b: c\nkg_items"),
    "a tab in the frontmatter": damage(r"^kg_items", "mine:\n\t- x\nkg_items"),
    "a quote that never ends": damage(r"^kg_items", 'mine: "open\nkg_items'),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_a_note_is_left_alone_and_reported_with(what, terminal, topics):
    path = synced(terminal)
    whole = path.read_text()
    path.write_text(DAMAGE[what](whole + "\nmine, below\n"))
    damaged = path.read_bytes()
    for run in range(RUNS):
        change_source(topics)
        envelope = terminal.json("sync")
        assert path.read_bytes() == damaged
        assert envelope["exit_code"] == 1
        assert envelope["data"]["counts"]["damaged"] == 1
        problem = next(problem for problem in envelope["problems"] if problem["code"] == "damaged")
        assert problem["path"] == "Knowledge Graph/Concepts/web.md"
        assert problem["hint"]
        assert f"kg_items: {3 + run}" in terminal.note("python").read_text()
    path.write_text(whole + "\nmine, below\n")
    terminal.sync()
    assert "7 items" in path.read_text()
    assert path.read_text().endswith("\nmine, below\n")


NO_FRONTMATTER = {
    "a rule and words": b"---\nfoo\n---\nbar\n",
    "a list": b"---\n- foo\n---\nbar\n",
    "an empty block": b"---\n---\nbar\n",
    "a block that never ends": b"---\nfoo: 1\nbar\n",
    "rules with blanks": b"---  \nfoo: 1\n---  \nbar\n",
    "an id in a later block": b"words\n---\nkg_id: \"concept/web\"\n---\n",
    "an empty id": b"---\nkg_id:\n---\n",
    "an id that is a list": b"---\nkg_id: [concept/web]\n---\n",
    "a byte order mark and a mapping": b"\xef\xbb\xbf---\nfoo: 1\n---\nbar\n",
    "a malformed block": b"---\na: b: c\n\t- x\n---\nbar\n",
}  # fmt: skip


@pytest.mark.parametrize("what", NO_FRONTMATTER)
def test_a_note_of_the_users_at_our_path_is_never_written_with(what, terminal, topics, vault):
    folder = vault / "Knowledge Graph" / "Concepts"
    folder.mkdir(parents=True)
    (folder / "web.md").write_bytes(NO_FRONTMATTER[what])
    for _ in range(2):
        terminal.sync()
        assert (folder / "web.md").read_bytes() == NO_FRONTMATTER[what]
        topics.add("web", "python")
    ours = folder / "web (concept).md"
    assert 'kg_id: "concept/web"' in ours.read_text()
    assert "[[Knowledge Graph/Concepts/web (concept)|web]]" in terminal.note("wasm").read_text()


EDITS = {
    "a line changed": lambda text: text.replace("2 shared items", "lots of shared items", 1),
    "a line added": lambda text: text.replace("## Related concepts\n", "## Related concepts\nmy own words\n", 1),
    "a line taken out": lambda text: re.sub(r"^- \[\[.*\n", "", text, count=1, flags=re.MULTILINE),
    "everything taken out": lambda text: re.sub(r"(?s)(begin concept \w+ %%\n).*?(%% kg2vault:end concept)", r"\1\2", text),
    "a link made another": lambda text: text.replace("[[Knowledge Graph/Concepts/wasm|wasm]]", "[[Knowledge Graph/Concepts/rust|wasm]]", 1),
    "a name in a link changed": lambda text: text.replace("|wasm]]", "|my wasm]]", 1),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_inside_a_region_stays_and_is_a_conflict_with(what, terminal, topics):
    path = synced(terminal)
    before = path.read_text()
    path.write_text(EDITS[what](before))
    assert path.read_text() != before
    mine = path.read_text().split("%% kg2vault:begin concept")[1].split("%% kg2vault:end concept")[0]
    for run in range(RUNS):
        change_source(topics)
        envelope = terminal.json("sync")
        assert envelope["exit_code"] == 1
        assert envelope["data"]["counts"]["conflict"] == 1
        problem = next(problem for problem in envelope["problems"] if problem["code"] == "conflict")
        assert problem["path"] == "Knowledge Graph/Concepts/web.md"
        assert "resolve" in problem["hint"]
        assert mine in path.read_text()
        assert f"kg_items: {5 + run}" in path.read_text()
        assert f"Item {7 + run}" in path.read_text(), "the other region is not in conflict"
    assert terminal.run("sync").exit_code == 1
    assert terminal.run("--quiet", "sync").exit_code == 1


def test_an_edit_inside_a_region_that_is_undone_is_no_conflict_any_more(terminal, topics):
    path = synced(terminal)
    before = path.read_text()
    path.write_text(before.replace("2 shared items", "two", 1))
    change_source(topics)
    assert terminal.run("sync").exit_code == 1
    path.write_text(path.read_text().replace("— two", "— 2 shared items", 1))
    terminal.sync()
    assert "5 items" in path.read_text()


def test_an_edit_inside_a_region_is_told_even_when_the_source_is_quiet(terminal):
    path = synced(terminal)
    path.write_text(path.read_text().replace("2 shared items", "two", 1))
    edited = path.read_bytes()
    for _ in range(2):
        assert terminal.json("sync")["data"]["counts"]["conflict"] == 1
        assert path.read_bytes() == edited


WHITE_SPACE = {
    "line ends": ("\n", "\r\n"),
    "trailing blanks": ("items\n", "items  \n"),
    "blank lines": ("\n%% kg2vault:end", "\n\n\n%% kg2vault:end"),
}


@pytest.mark.parametrize("what", WHITE_SPACE)
def test_white_space_that_an_editor_changed_in_a_region_is_no_conflict(what, terminal, topics):
    path = synced(terminal)
    path.write_bytes(path.read_text().replace(*WHITE_SPACE[what]).encode())
    change_source(topics)
    terminal.sync()
    assert b"5 items" in path.read_bytes()


def test_a_region_that_the_user_removed_stays_away(terminal, topics):
    path = synced(terminal)
    path.write_text(re.sub(r"(?s)\n*%% kg2vault:begin items.*?kg2vault:end items %%\n?", "\n", path.read_text()))
    for run in range(RUNS):
        change_source(topics)
        terminal.sync()
        assert "Recent items" not in path.read_text()
        assert f"{5 + run} items" in path.read_text()


def test_text_the_user_wrote_survives_when_the_region_it_stands_between_is_removed(terminal, topics):
    path = synced(terminal)
    path.write_text(re.sub(r"(?s)%% kg2vault:begin concept.*?kg2vault:end concept %%", "mine instead", path.read_text()))
    for _ in range(RUNS):
        change_source(topics)
        terminal.sync()
        assert "mine instead" in path.read_text()
        assert "Related concepts" not in path.read_text()


def test_a_property_of_ours_that_the_user_removed_or_changed_is_set_again_with_the_next_change(terminal, topics):
    path = synced(terminal)
    path.write_text(re.sub(r"(?m)^kg_degree.*\n", "", path.read_text()).replace("kg_items: 4", "kg_items: 4000"))
    change_source(topics)
    terminal.sync()
    assert "kg_items: 5\n" in path.read_text()
    assert "kg_degree: 3\n" in path.read_text()


@pytest.mark.parametrize(("note", "region"), [("web", "concept"), ("web (community)", "community")])
def test_a_list_that_the_user_took_out_of_a_note_is_no_difference_to_the_graph(note, region, terminal, topics):
    terminal.sync()
    path = terminal.note(note)
    path.write_text(re.sub(rf"(?s)%% kg2vault:begin {region} .*?kg2vault:end {region} %%", "mine instead", path.read_text()))
    change_source(topics)
    terminal.sync()
    verified = terminal.json("verify")
    assert (verified["exit_code"], verified["problems"]) == (0, [])
