"""How Locus refuses: one sentence that names the file, field or value and what was expected."""

import operator
from typing import Any, Iterable, List


class LocusError(Exception):
    """Every refusal of Locus."""


class UsageError(LocusError, ValueError):
    """A value that the caller chose is wrong."""


class UnreadableError(LocusError, OSError):
    """A file is missing, damaged, or cannot be written."""


class UnsupportedError(LocusError, NotImplementedError):
    """Well formed, but outside what Locus does."""


class RecordingError(LocusError, RuntimeError):
    """A pass of a live model did not give all that was asked for."""


def whole_numbers(name: str, values: Any) -> List[int]:
    """The values as ints of at least 0, in their order.  Raises UsageError for what is no sequence of whole numbers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"{name} is {values!r}, expected a list of whole numbers")
    return [whole_number(name, value) for value in values]


def whole_number(name: str, value: Any, least: int = 0) -> int:
    """The value as an int.  Raises UsageError for 2.5, "2" and what is below `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {value!r}, expected a whole number") from None
    if number < least:
        raise UsageError(f"{name} is {number}, expected at least {least}")
    return number
