"""The version of the package, in a module that imports nothing and anything can import."""

__version__ = "0.1.0"
