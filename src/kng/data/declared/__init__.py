"""What the holder of a table declares once: its columns, its relation and its ledger."""
