"""The bundled sample reading log: real papers and posts, tagged as a language model tags them, spelling variants and all.

Layer 2. `reading_log.jsonl` is the log, one item a line, by date then title; `database.py` makes a reader's hermes.db of it.
"""
