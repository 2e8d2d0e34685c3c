"""kg2vault: a reader's tags as a knowledge graph, mirrored into an Obsidian vault.

The map (imports point down only):

    cli, mcp_server, service    front ends: flags and tools in, results out
    app, daemon, kg, result     one function per operation
    storage                     everything that touches the disk or the clock
    sync                        pure: what to do about differences
    vault                       pure: what a note is
    graph                       pure: tagged items → knowledge graph
    config, errors              typed settings; what can go wrong
"""

__version__ = "0.1.0"
