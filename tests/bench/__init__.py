"""How fast kg2vault is, measured against what the same work costs at least and what it usually costs: `python -m tests.bench`."""
