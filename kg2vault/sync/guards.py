"""Guards: a plan that looks like an accident is refused before anything is written.

Layer 1, pure. A source that shrank or is empty would retire notes; a vault that lost many notes at once is unmounted or being restored, and
would turn them all into tombstones. Each refusal says the counts and the flag that means "yes".
"""

from __future__ import annotations

from collections.abc import Mapping

from kg2vault.config import LimitsConfig
from kg2vault.errors import RefusedError, VaultError
from kg2vault.sync.layout import Layout
from kg2vault.sync.manifest import EntryState, Manifest
from kg2vault.sync.observed import Scan
from kg2vault.vault.desired import DesiredNote


def guard_source(desired: Mapping[str, DesiredNote], manifest: Manifest, limits: LimitsConfig, *, allow_retire: bool) -> None:
    """Raise RefusedError when more concept notes would leave than the limits allow, or all of them."""
    live = [key for key, entry in manifest.entries.items() if key.startswith("concept/") and entry.state is EntryState.LIVE]
    leaving = sum(key not in desired for key in live)
    if allow_retire or not leaving:
        return
    all_gone = leaving == len(live) and not any(key.startswith("concept/") for key in desired)
    if all_gone or (leaving > limits.max_retire_count and leaving > limits.max_retire_share * len(live)):
        raise RefusedError(
            f"{leaving} of {len(live)} concepts would leave the vault, which looks like a mistake in the source or the settings; "
            "nothing was written.",
            hint="If it is right, run `kg2vault sync --allow-retire` (limits.max_retire_share and max_retire_count set the limit).",
        )


def guard_vault(layout: Layout, manifest: Manifest, scan: Scan, limits: LimitsConfig, *, allow_missing: bool) -> None:
    """Raise VaultError when so many of our notes are gone that the vault is probably not all there."""
    live = sum(entry.state in (EntryState.LIVE, EntryState.ORPHANED) and _counts(key) for key, entry in manifest.entries.items())
    missing = sum(key not in layout.unseen and _counts(key) for key in layout.missing)
    if allow_missing or not missing:
        return
    all_gone = missing == live and live > 1
    if all_gone or (missing > limits.max_missing_count and missing > limits.max_missing_share * live):
        raise VaultError(
            f"{missing} of {live} notes are missing from the vault; is its drive mounted, or is it being restored? Nothing was written.",
            hint="If you deleted them, run `kg2vault sync --allow-missing` (limits.max_missing_share and max_missing_count set the limit).",
        )


def _counts(note_id: str) -> bool:
    """Return whether a note counts; those of items and feeds, ten times as many, would drown the others."""
    return not note_id.startswith(("item/", "feed/"))


def guard_scan(scan: Scan, *, knows_vault: bool) -> None:
    """Raise VaultError when the manifest is lost and the vault cannot be read completely: a note that is there would be written twice."""
    if knows_vault or scan.complete:
        return
    path, why = next(iter(sorted({**dict.fromkeys(scan.unavailable, "not on this disk yet"), **scan.unreadable}.items())))
    raise VaultError(
        f"{path} in the vault cannot be read ({why}), and without a manifest every note must be seen. Make it readable.", path=path
    )
