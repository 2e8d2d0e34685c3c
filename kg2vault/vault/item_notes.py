"""The reading behind the graph: a note for each item and each feed, when they are wanted.

Layer 1, pure. With them the typed graph is in the vault: an item MENTIONS concepts (`kg_mentions`) and is PUBLISHED_IN a feed
(`kg_published_in`). Titles and summaries are strangers' text and stand here as inert text only.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator

from kg2vault.graph.model import Feed, Item
from kg2vault.vault import escape
from kg2vault.vault.desired import DesiredNote
from kg2vault.vault.paths import note_stems
from kg2vault.vault.scene import FEED_TAG, ITEM_TAG, Scene, counted, feed_id, feed_name, item_id, item_name, newest, recent_items, shown
from kg2vault.vault.sparkline import timeline
from kg2vault.vault.wikilinks import token
from kg2vault.vault.yaml_scalars import Scalar

SUMMARY_LIMIT = 1500  # characters; a note is not a copy of the article
_ABOUT = 8
_UNSEEN = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"</?[A-Za-z!][^<>]{0,2000}>")

Properties = dict[str, Scalar | tuple[Scalar, ...]]


def reading_notes(scene: Scene) -> Iterator[DesiredNote]:
    """Yield the notes of items and feeds, as far as the settings ask for them."""
    mentions: dict[int, list[str]] = {}
    for key, concept in scene.graph.concepts.items():
        for number in concept.item_ids:
            mentions.setdefault(number, []).append(key)
    if scene.settings.items:
        for item in scene.items.values():
            yield _item_note(scene, item, mentions.get(item.id, []))
    if scene.settings.feeds:
        published: dict[int, list[int]] = {}
        for item in scene.items.values():
            if item.feed_id is not None:
                published.setdefault(item.feed_id, []).append(item.id)
        for feed in scene.feeds.values():
            if feed.id in published:
                yield _feed_note(scene, feed, published[feed.id], mentions)


def _item_note(scene: Scene, item: Item, keys: list[str]) -> DesiredNote:
    name, day = shown(item_name(item)) or escape.UNTITLED, scene.days.get(item.id, "")
    links = tuple(scene.concept_link(key) for key in sorted(keys, key=lambda key: (scene.graph.concepts[key].label, key)))
    feed = scene.feeds.get(item.feed_id) if item.feed_id is not None else None
    properties: Properties = {"kg_id": item_id(item.id), "kg_type": "item", "kg_name": name}
    address = escape.safe_url(item.url)
    if address is not None:
        properties["kg_url"] = address
    if day:
        properties["kg_published"] = day
    if feed is not None and scene.settings.feeds:
        properties["kg_published_in"] = _feed_token(feed)
    if links:
        properties["kg_mentions"] = links
    where = " · ".join(fact for fact in (feed_name(scene, item.feed_id), day) if fact)
    sections = [[escape.link(item.title, item.url)] + ([where] if where else [])]
    if links:
        sections.append(["## Mentions", *(f"- {link}" for link in links)])
    summary = inert_summary(item.summary)
    if summary:
        sections.append(["## Summary", summary])
    body = "\n\n".join("\n".join(lines) for lines in sections)
    folder = f"{scene.settings.folder}/Items/{day[:4] or 'undated'}"
    stems = note_stems(name, item_id(item.id), "item", scene.reserved())
    return DesiredNote(item_id(item.id), "item", name, folder, stems, properties, (), (ITEM_TAG,), {"item": body})


def inert_summary(text: str) -> str:
    """Return a summary, often HTML, as one paragraph of inert text."""
    bare = html.unescape(_MARKUP.sub(" ", _UNSEEN.sub(" ", text[: 20 * SUMMARY_LIMIT])))
    return escape.inline(bare, limit=SUMMARY_LIMIT)


def _feed_note(scene: Scene, feed: Feed, numbers: list[int], mentions: dict[int, list[str]]) -> DesiredNote:
    name = shown(feed.title.strip() or feed.url) or escape.UNTITLED
    days = [scene.days[number] for number in numbers if number in scene.days]
    properties: Properties = {"kg_id": feed_id(feed.id), "kg_type": "feed", "kg_name": name}
    address = escape.safe_url(feed.url)
    if address is not None:
        properties["kg_url"] = address
    properties["kg_items"] = len(numbers)
    if days:
        properties |= {"kg_first": min(days), "kg_last": max(days)}
    counts = Counter(key for number in numbers for key in mentions.get(number, ()))
    ranked = sorted(counts, key=lambda key: (-counts[key], key))[:_ABOUT]
    about = ", ".join(f"{scene.concept_name(key)} ({counts[key]})" for key in ranked)
    lines = [escape.link(name, feed.url), counted(len(numbers), "item"), timeline(days), f"Mostly about {about}" if about else ""]
    regions = {"feed": "\n".join(line for line in lines if line)}
    regions.update(recent_items(scene, newest(scene, numbers), of_one_feed=True))
    stems = note_stems(name, feed_id(feed.id), "feed", scene.reserved())
    return DesiredNote(feed_id(feed.id), "feed", name, f"{scene.settings.folder}/Feeds", stems, properties, (), (FEED_TAG,), regions)


def _feed_token(feed: Feed) -> str:
    return token(feed_id(feed.id), escape.plain(feed.title) or feed.url)
