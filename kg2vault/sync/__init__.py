"""What to do about the differences between the notes the graph wants and those in the vault. Layer 1, pure.

`layout` places the notes, `merge` puts one of them into what the user has, `plan` decides them all, `guards` refuses what looks like an
accident; `manifest` and `observed` are what they reason about.
"""
