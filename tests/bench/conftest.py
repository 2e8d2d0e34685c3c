"""The terminal of the end-to-end stories."""

from tests.e2e.conftest import no_aliases, terminal, vault

__all__ = ["no_aliases", "terminal", "vault"]
