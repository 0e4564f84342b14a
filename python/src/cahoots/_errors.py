"""Errors that name the guilty."""


class CahootsError(Exception):
    """Something could not be done; the message says what and why."""


class InputError(ValueError):
    """The input was wrong; the message says how to mend it."""


# Where users find them.
CahootsError.__module__ = "cahoots"
InputError.__module__ = "cahoots"
