"""The version of this package, of the C library and of the programs that belong to it."""

__version__ = "0.1.0"
