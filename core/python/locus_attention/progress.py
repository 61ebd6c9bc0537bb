"""A progress bar for long work, where tqdm is installed."""

import warnings
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional


def _is_of_notebook(bar: Any) -> bool:
    """True for the bar of a notebook, which is shown although nothing there is a terminal."""
    return any(kind.__module__ == "tqdm.notebook" for kind in bar.__mro__)


def _bar_class(progress: Optional[bool]) -> Any:
    """The bar of tqdm; None where none is wanted, or tqdm is not installed."""
    if progress is False:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without ipywidgets, tqdm would say so under every cell
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


@contextmanager
def shown_progress(what: str, unit: str, progress: Optional[bool] = None) -> Iterator[Optional[Callable[[int], None]]]:
    """A function of the number of steps done so far, which shows them from the second second on; None without tqdm.

    progress: True shows them anywhere, False nowhere, None in notebooks and where standard error is a terminal.
    """
    tqdm = _bar_class(progress)
    if tqdm is None:
        yield None
        return
    # tqdm itself reads None as: not into pipes and files.
    disable = None if progress is None and not _is_of_notebook(tqdm) else False
    with tqdm(desc=f"locus {what}", unit=f" {unit}", leave=False, delay=1, disable=disable) as bar:
        yield lambda done: bar.update(done - bar.n)
