"""Databases of any size with the shape of real ones: `write_corpus()`.

Tags come from urns, one per topic and one for all (Simon 1955): a tag is drawn as often as it was used before, so use falls as Zipf
found, and two of three tags are used once. Every item has one topic, now and then a second one. Equal arguments give equal rows.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path

from kg2vault.demo.database import SCHEMA

_WORDS = (  # noqa: SIM905
    "graph memory agent model vision speech policy market energy climate robot cell protein kernel compiler network database "
    "privacy design theory logic quantum signal planet sensor language search reading garden history music finance"
).split()
_START = datetime(2012, 1, 1)
_DAYS = 5000


@dataclass(frozen=True, slots=True)
class Shape:
    """How a corpus is made: the share of tags that are new and live on, and of those that are used this once."""

    items: int
    topics: int = 60
    tags_per_item: tuple[int, ...] = (3, 4, 5, 5, 6, 7, 9)
    lasting: float = 0.025
    once: float = 0.02
    seed: int = 1


def ten_thousand_concepts() -> Shape:
    """Return the shape that gives about 10,000 concepts and 20,000 edges."""
    return Shape(items=44_000, topics=1_000, tags_per_item=(3, 4, 4, 5, 6), lasting=0.063, once=0.066)


def write_corpus(path: Path, shape: Shape) -> None:
    """Make a hermes.db; raises FileExistsError rather than touch one that is there."""
    if path.exists():
        raise FileExistsError(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(shape.seed)
    feeds = [(n, f"https://feed{n}.example.org/rss", f"The {_WORDS[n % len(_WORDS)]} letter {n}", None) for n in range(1, 41)]
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO feeds VALUES (?, ?, ?, ?)", feeds)
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _items(shape, draw))
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", _tags(shape, draw))


def add_item(path: Path, tags: tuple[str, ...]) -> None:
    """Add one item that carries `tags`, dated after all others."""
    with closing(sqlite3.connect(path)) as connection, connection:
        (number,) = connection.execute("SELECT max(id) + 1 FROM items").fetchone()
        (newest,) = connection.execute("SELECT max(published) FROM items").fetchone()
        row = (number, f"late-{number}", f"Late item {number}", f"https://late.example.org/{number}", newest)
        connection.execute("INSERT INTO items(id, guid, title, url, published, content_hash) VALUES (?, ?, ?, ?, ?, 'x')", row)
        connection.executemany("INSERT INTO item_tags VALUES (?, ?)", [(number, tag) for tag in tags])


def often_together(path: Path) -> tuple[str, str]:
    """Return two tags that share several items, so that one more changes no edge but its weight."""
    with closing(sqlite3.connect(path)) as connection:
        (common,) = connection.execute("SELECT tag FROM item_tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT 1 OFFSET 20").fetchone()
        query = (
            "SELECT other.tag FROM item_tags AS one JOIN item_tags AS other ON one.item_id = other.item_id AND one.tag <> other.tag "
            "WHERE one.tag = ? GROUP BY other.tag ORDER BY count(*) DESC, other.tag LIMIT 1"
        )
        (partner,) = connection.execute(query, (common,)).fetchone()
    return str(common), str(partner)


def _items(shape: Shape, draw: random.Random) -> Iterator[tuple[object, ...]]:
    for number in range(1, shape.items + 1):
        day = _START + timedelta(days=_DAYS * number / shape.items)
        title = f"{draw.choice(_WORDS).title()} {draw.choice(_WORDS)} for {draw.choice(_WORDS)} {number}"
        feed = draw.randrange(1, 41)
        url = f"https://feed{feed}.example.org/{day:%Y/%m}/{number}"
        yield number, feed, f"g{number}", title, url, title * 4, f"{day:%Y-%m-%d %H:%M:%S}", f"{number:064x}"


def _tags(shape: Shape, draw: random.Random) -> Iterator[tuple[int, str]]:
    urns: list[list[str]] = [[] for _ in range(shape.topics)]
    topics, shares = range(shape.topics), list(accumulate(1 / (rank + 3) for rank in range(shape.topics)))
    everywhere: list[str] = []
    made = 0
    for number in range(1, shape.items + 1):
        topic = draw.choices(topics, cum_weights=shares)[0]
        carried: set[str] = set()
        wanted = draw.choice(shape.tags_per_item)
        for _ in range(3 * wanted):
            where = draw.random()
            urn = urns[topic] if where < 0.9 else everywhere if where < 0.97 else draw.choice(urns)
            kind = draw.random()
            if kind < shape.lasting + shape.once or not urn:
                made += 1
                tag = f"{_WORDS[made % len(_WORDS)]}-{_WORDS[made // len(_WORDS) % len(_WORDS)]}-{made}"
            else:
                tag = draw.choice(urn)
            if not urn or kind >= shape.once:
                urn.append(tag)
                if draw.random() < 0.05:
                    everywhere.append(tag)
            carried.add(tag)
            if len(carried) == wanted:
                break
        for tag in sorted(carried):
            yield number, tag
