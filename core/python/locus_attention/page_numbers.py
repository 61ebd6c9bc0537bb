"""How a page stores the numbers of its pictures, and which of them fit into it."""

import base64
import copy
import zlib
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from .errors import UsageError

# How the page stores numbers, finest first, and how many bytes of the page one number takes, about.
ENCODINGS = (("f16", 2.4), ("i8", 1.0))
WORDS = {
    "f16": "float16 (2^-11 of each value), zlib, base64",
    "i8": "8 bits (1/254 of the largest value of each head), zlib, base64",
}


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def encoded(array: np.ndarray, encoding: str) -> Dict[str, Any]:
    """An array [B,H,Tq,Tk] as the page reads it: NaN and infinity stay what they are, in 8 bits both are NaN."""
    array = np.asarray(array, np.float32)
    usable = np.isfinite(array)
    finite = np.where(usable, array, np.float32(0))
    if encoding == "f16":
        largest = float(np.abs(finite).max(initial=0.0))
        scale = largest / 60000 if largest > 60000 else 1.0
        halves = (array / scale).astype("<f2").view(np.uint8).reshape(-1, 2)
        return {"e": "f16", "s": scale, "d": packed(halves.T.tobytes())}
    largest_of = np.maximum(np.abs(finite).max(axis=(2, 3)), 1e-30)
    steps = np.where(usable, np.rint(finite / largest_of[..., None, None] * 127), -128).astype(np.int8)
    return {"e": "i8", "s": [float(f"{x:.6g}") for x in (largest_of / 127).ravel()], "d": packed(steps.tobytes())}


def _layers(view: Any, encoding: str, limit: float, channels: bool) -> List[Dict[str, Any]]:
    """The layers of a view as the page reads them, as many as stay below `limit` bytes."""
    stems = view.terms or ["probs"]
    listed: List[Dict[str, Any]] = []
    size = 0
    for layer in view.layers:
        one: Dict[str, Any] = {
            "l": layer, "data": {stem: encoded(view.array(layer, stem)[view.samples], encoding) for stem in stems}
        }
        if channels:
            one["vectors"] = view.vectors(layer, encoding)
        size += sum(len(entry["d"]) + 40 for held in (one["data"], one.get("vectors", {})) for entry in held.values())
        if size > limit:
            break
        listed.append(one)
    return listed


def _size(layers: Sequence[Dict[str, Any]]) -> int:
    return sum(len(entry["d"]) for one in layers for part in ("data", "vectors") for entry in one.get(part, {}).values())


def size_shown(size: int) -> str:
    """10 bytes, 2.5 kB, 5 MB"""
    return f"{size} bytes" if size < 1000 else f"{size / 1e3:.3g} kB" if size < 1e6 else f"{size / 1e6:.3g} MB"


def filled_views(
    views: Sequence[Any], others: Sequence[Any], limit: int, chosen: bool, channels: bool
) -> Tuple[str, List[Dict[str, Any]]]:
    """Encoding and data of the views, in the finest encoding that stays below the limit.

    Where even the coarsest does not: the first layers of the first view, or a refusal if the layers were chosen.
    """
    wanted = sum(view.values * len(view.samples) * len(view.layers) for view in (*views, *others))
    for encoding, cost in ENCODINGS:
        if wanted * cost > limit - 40_000 and encoding != "i8":
            continue  # would not fit, and is not tried
        left = float(limit - 40_000)
        filled: List[Dict[str, Any]] = []
        for n, view in enumerate(views):
            share = left if not others else left / 2
            here = _layers(view, encoding, share, channels)
            other = _layers(others[n], encoding, share, False) if others else []
            fits = len(here) if not others else min(len(here), len(other))
            if fits < len(view.layers) and (encoding != "i8" or chosen or (n == 0 and not fits)):
                break  # a finer encoding is given up; a coarse one is refused below
            if fits < len(view.layers) and n > 0:
                continue  # a further view is there as a whole or not at all
            beside = others[n] if others else None
            filled.append({"view": view, "beside": beside, "layers": here[:fits], "other": other[:fits]})
            left -= _size(here[:fits]) + _size(other[:fits])
        else:
            return encoding, filled
    raise _too_large(views[0], bool(others), limit, chosen, channels)


def fewer_heads(views: Sequence[Any], limit: int) -> Tuple[str, List[Dict[str, Any]], str]:
    """The first layer with as many heads as fit, and what the page says of it; a refusal where not one head fits."""
    view = copy.copy(views[0])
    view.layers, heads = view.layers[:1], view.shape[1]
    size = _size(_layers(view, "i8", float("inf"), False))
    count = min(heads - 1, int(heads * (limit - 40_000) / (1.1 * size)))
    if count < 1:
        raise _too_large(views[0], False, limit, False, False)
    enough = -int(-(1.1 * size + 40_000) // 1_000_000)
    views[0].show_heads(count)
    view.show_heads(count)
    filled = {"view": views[0], "beside": None, "layers": _layers(view, "i8", limit, False), "other": []}
    note = f"{count} of {heads} heads are shown, trace.html(\"page.html\", limit={enough}_000_000) shows all of them; "
    return "i8", [filled], note


def _too_large(view: Any, twice: bool, limit: int, chosen: bool, channels: bool) -> UsageError:
    """What to say where not even the first layer fits, or not all that were chosen: with a limit that suffices."""
    count = len(view.layers) if chosen else 1
    first = copy.copy(view)
    first.layers = view.layers[:1]
    size = 1.1 * _size(_layers(first, "i8", float("inf"), channels)) * count * (2 if twice else 1) + 40_000
    does, them = ("one layer of this trace does", "it") if count == 1 else (f"{count} layers of this trace do", "them")
    return UsageError(
        f'{does} not fit into a page of {size_shown(limit)}; html("page.html", limit={-int(-size // 1_000_000)}_000_000) '
        f"takes {them}, or choose fewer layers= or samples=" + (", or leave channels= out" if channels else "")
    )
