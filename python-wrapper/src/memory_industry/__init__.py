"""Starts the memory-industry program. The package holds no executable."""

__version__ = "0.1.0"
