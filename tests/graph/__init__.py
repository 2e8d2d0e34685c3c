"""The graph layer: pure, so every story is a few rows in and values out."""
