"""Everything that touches the disk or the clock. Layer 2.

`hermes` reads the database, `vault_dir` is the only writer under the vault, `apply` carries out a plan, `manifest_file` and `cache_file`
keep our memory, `lock` lets one process write at a time, `watcher` tells when to look again.
"""
