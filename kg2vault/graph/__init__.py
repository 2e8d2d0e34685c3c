"""The knowledge graph, layer 1 and pure: from tagged items to concepts, edges, metrics and communities. Start at `build.build_graph`."""
