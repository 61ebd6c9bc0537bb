"""A kit from a live model: its cases, and the weights of its first layers inside."""

import os
from typing import Any, Optional, Tuple

from . import _core
from .checking import temporary_folder
from .errors import LocusError, UsageError
from .progress import shown_progress

_LAYERS = 2  # that the cases of a kit for one model ask for
_DIALECT = "hf"  # what the classes of transformers compute


def _is_free(folder: str) -> bool:
    """True for a folder that is not there, or empty."""
    try:
        return not os.listdir(folder)
    except FileNotFoundError:
        return True
    except OSError:  # a file, or a folder that may not be looked into
        return False


def write_kit(
    model: Any, folder: str, source: str, at: Optional[str], progress: Optional[bool]
) -> Tuple[int, int, int]:
    """Writes the kit; returns its cases, files and bytes.  source: what every kit is made of."""
    from .recording import choose_encoder
    from .weights import export_model

    encoder = choose_encoder(model, at)
    if not _is_free(folder):
        raise UsageError(f"{folder}: is there already, expected a new or an empty folder")
    with temporary_folder() as exported, shown_progress("kit", "cases", progress) as steps:
        export_model(encoder, exported, layers=_LAYERS)
        try:
            return _core.export_kit(folder, source, exported, _DIALECT, steps, True)
        except LocusError as error:  # what it names will be gone
            weights = os.path.join(exported, "model.safetensors")
            said = str(error).replace(weights, "the live model").replace(exported, "the live model")
            raise type(error)(said) from None
