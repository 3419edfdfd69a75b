"""Losses that a caller writes in NumPy: traced into a graph, and only the graph runs on records."""
