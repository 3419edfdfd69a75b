"""Losses that have read records: exact scores at points, and bounds over boxes."""
