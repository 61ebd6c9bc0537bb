"""A progress bar for long work, where tqdm is installed."""

import warnings
from contextlib import contextmanager
from typing import Callable, Iterator, Optional


@contextmanager
def shown_progress(what: str, unit: str) -> Iterator[Optional[Callable[[int], None]]]:
    """A function of the number of steps done so far, which shows them from the second second on; None without tqdm."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # in a notebook without ipywidgets, tqdm would say so under every cell
            from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(desc=f"locus {what}", unit=f" {unit}", leave=False, delay=1) as bar:
        yield lambda done: bar.update(done - bar.n)
