"""How Locus refuses: one sentence that names the file, field or value and what was expected."""


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
