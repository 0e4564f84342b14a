"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import CahootsError, InputError, __version__

__all__ = ["CahootsError", "InputError", "__version__"]
