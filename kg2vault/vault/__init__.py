"""What a note is. Layer 1, pure: knows Markdown, frontmatter and Obsidian's rules, and no files.

`render` makes notes of the graph, `note` takes a note's text apart and puts it together again without losing a byte, `readback` turns
notes back into a graph.
"""
