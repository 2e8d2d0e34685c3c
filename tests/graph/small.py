"""Small graphs that can be worked out on paper."""

from kg2vault.graph.aliases import AliasTable, parse_alias_table
from kg2vault.graph.build import GraphSettings, build_graph
from kg2vault.graph.model import Item, Reading


def reading(*tags_of_items, published=None):
    """Return a reading in which item 1 carries the first collection of tags, item 2 the second, and so on."""
    rows = sorted({(number, tag) for number, tags in enumerate(tags_of_items, start=1) for tag in tags})
    dates = published or {}
    items = {n: Item(n, title=f"Item {n}", published=dates.get(n, f"2026-01-{n % 28 + 1:02d}")) for n in range(1, len(tags_of_items) + 1)}
    return Reading(assignments=rows, items=items, feeds={})


def table(text):
    return parse_alias_table(text, "aliases.yaml")


def build(source, aliases="", *, previous=None, cached=None, recluster=False, **settings):
    chosen = table(aliases) if aliases else AliasTable.empty()
    return build_graph(source, chosen, GraphSettings(**settings), previous=previous, cached=cached, recluster=recluster)


def linked(*edges):
    """Return a reading with an edge of weight 2 (or the third value) for every pair."""
    items = []
    for first, second, *weight in edges:
        items.extend([(first, second)] * (weight[0] if weight else 2))
    return reading(*items)


def windmill(triangles, hub="hub"):
    """Return the edges of a hub joined to every corner of so many triangles that do not touch each other."""
    edges = []
    for number in range(triangles):
        a, b, c = (f"{corner}{number}" for corner in "abc")
        edges += [(a, b), (a, c), (b, c), (a, hub), (b, hub), (c, hub)]
    return edges


def clique(name, size, weight=2):
    """Return the edges among `size` concepts that are all linked."""
    return [(f"{name}{i}", f"{name}{j}", weight) for i in range(size) for j in range(i + 1, size)]
