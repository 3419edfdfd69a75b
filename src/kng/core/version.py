"""The version, in one place that every layer may read."""

__version__ = "0.2.0.dev0"
