"""The graph in the languages of other programs: one pure writer a format, all with the same facts (facts.py)."""
