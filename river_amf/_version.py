"""The version of the package, beneath all that must know it."""

__version__ = "0.1.0"
