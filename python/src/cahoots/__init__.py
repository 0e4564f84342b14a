"""Federated bandits: simulate them, reproduce papers, run them live."""

from cahoots._cahoots import __version__
from cahoots._errors import CahootsError, InputError

__all__ = ["CahootsError", "InputError", "__version__"]
