"""The product without a screen."""

__version__ = "0.1.0"
