"""One self-contained HTML page of a trace: terms, scores and probabilities, without a request to anywhere."""

import html
import json
import os
import re
from functools import cached_property
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from .arguments import shown as quoted
from .errors import UsageError, whole_number, whole_numbers
from .explaining import divisor_by_rule, p2c_reads_ji, rounding_of, row_of_distance_zero
from .page_numbers import ENCODINGS, WORDS, encoded, fewer_heads, filled_views, packed
from .tracing import Trace

_TERMS = (("c2c", "c2p", "p2c"), ("ac", "bd", "ef"))
# The products of each term: the vectors of the query and of the key or of the table row ("r"), and whether a bias
# of the head, which a trace does not hold, belongs to the term.
_PRODUCTS: Tuple[Tuple[str, str, str, str, str, bool], ...] = (
    ("c2c", "q · k", "q", "k", "ij", False),
    ("c2p", "q · kʳ", "q", "k_r", "ir", False),
    ("p2c", "k · qʳ", "k", "q_r", "jr", False),
    ("ac", "q · k", "q", "k", "ij", True),
    ("bd", "q · rᵏ", "q", "r_k", "ir", True),
    ("scores", "q · k, rotated", "q_rot", "k_rot", "ij", False),
)


class _View:
    """One stack of pictures of the page: a content stream, a query stream, a segment, or the mask decoder.

    Its stages are named {before}{layer}.{after}{stem}.
    """

    def __init__(
        self, trace: Any, name: str, before: str, after: str, layers: Optional[Sequence[int]], samples: Sequence[int],
        beside: Optional["_View"] = None,
    ) -> None:
        self.heads: Optional[int] = None  # how many are shown where not all of them fit
        self.beside = beside  # the view of the trace that this one is compared with
        self.trace, self.name, self.before, self.after, self.samples = trace, name, before, after, list(samples)
        there = _layers_of(trace, before, after)
        self.layers = there if layers is None else list(layers)
        for layer in self.layers:
            if layer not in there:
                raise UsageError(f"layers holds {layer}, expected layers of the trace: {there}")
        self.shape = self.array(self.layers[0], "probs").shape
        mixed = self.has(self.layers[0], "scores_mixed")
        self.terms: List[str] = []
        for group in _TERMS:
            held = [stem for stem in group if all(self.has(layer, stem) for layer in self.layers)]
            if held and not mixed:
                self.terms = held
        self.scores = "scores_mixed" if mixed else "scores"
        if not self.terms and all(self.has(layer, self.scores) for layer in self.layers):
            self.terms = ["scores"]

    @property
    def values(self) -> int:
        """Numbers of one sample of one layer."""
        return max(1, len(self.terms)) * int(np.prod(self.shape[1:]))

    def stage(self, layer: int, stem: str) -> str:
        """The name of a stage; keys and positions of a query stream are those of the content stream."""
        after = "" if stem in ("k", "r_k", "r_k_backward") else self.after
        return f"{self.before}{layer}.{after}{stem}"

    def has(self, layer: int, stem: str) -> bool:
        return self.stage(layer, stem) in self.trace

    def array(self, layer: int, stem: str) -> np.ndarray:
        whole = np.asarray(self.trace[self.stage(layer, self.scores if stem == "scores" else stem)])
        return whole[:, : self.heads] if whole.ndim == 4 else whole

    def show_heads(self, count: int) -> None:
        """Shows the first heads alone."""
        self.heads = count
        self.shape = (self.shape[0], count, *self.shape[2:])

    @cached_property
    def scale(self) -> Tuple[float, str]:
        """What the sum of the terms is multiplied by, and how the page says it.

        It is read off the first layer whose scores say it.  Where all are zero, which every divisor fits, it is that of
        the family's formula.
        """
        if self.terms in ([], ["scores"]):
            return 1.0, ""
        for layer in self.layers:
            found = self._scale_of(layer)
            if found is not None:
                return found
        width = self._width(self.layers[0])
        if not width:
            return 1.0, ""
        divisor, count = divisor_by_rule(self.terms, width)
        return 1 / divisor, _root(count, width)

    def _width(self, layer: int) -> int:
        return int(self.array(layer, "q").shape[-1]) if self.has(layer, "q") else 0

    def _scale_of(self, layer: int) -> Optional[Tuple[float, str]]:
        """The same by the numbers of one layer; None where they do not say it."""
        parts = [np.asarray(self.array(layer, stem), np.float64) for stem in self.terms]
        scores, width = self.array(layer, "scores").astype(np.float64), self._width(layer)
        with np.errstate(all="ignore"):
            total, size = sum(parts), sum(np.abs(part) for part in parts)
            # Cells that overflowed say nothing of the scale.
            usable = (self.array(layer, "probs") > 0) & np.isfinite(total) & np.isfinite(scores)
            total, size, scores = (np.where(usable, array, 0) for array in (total, size, scores))
            factor = float((scores * total).sum() / (total * total).sum()) if np.any(total) else 0.0
            if not np.isfinite(factor) or factor <= 0:
                return None
            count = round(1 / (factor * factor * width)) if width else 0
            if count and abs(count * width * factor * factor - 1) < 1e-3:
                return factor, _root(count, width)
            rounding = rounding_of(self.trace, *(self.stage(layer, stem) for stem in (*self.terms, "scores")))
            fits = bool((np.abs(scores - factor * total) <= 4 * rounding * factor * size).all())
        return factor, f"÷ {1 / factor:.5g}" if fits else f"÷ about {1 / factor:.3g}: the trace has other scores"

    def visible(self) -> Optional[np.ndarray]:
        """1 where a pair is visible, [B,Tq,Tk]; None where everything is.

        What the trace shows beyond doubt comes first: a probability above 0 is that of a visible key, and one of exactly 0
        in every head that is none by the scores is that of a hidden one.  The rest is what the inputs and the family say:
        probabilities may also be too small for a number, NaN, or all the same.  Where nobody says anything, it is visible.
        """
        given = known_mask(self)
        if given is None and self.beside is not None:
            given = known_mask(self.beside)
        count, _, queries, keys = self.shape
        shape = (len(self.samples), queries, keys)
        known = np.ones(shape, bool) if given is None else given
        seen, hidden = np.zeros(shape, bool), np.zeros(shape, bool)
        uniform, ignored = np.ones(shape[:2], bool), np.zeros(shape[:2], bool)
        for layer in self.layers:
            probs = np.asarray(self.array(layer, "probs")[self.samples], np.float64)
            positive = probs > 0
            seen |= positive.any(axis=1)
            with np.errstate(all="ignore"):
                uniform &= (np.ptp(probs, axis=-1) == 0).all(axis=1)
                scores = self._scores(layer)
                if scores is not None:
                    exponents, readable = _exponentials(scores)
                    sums = np.where(positive, exponents, 0).sum(axis=-1, keepdims=True)
                    hidden |= (readable & ~positive & (probs == 0) & (exponents > 1e-5 * sums) & (sums > 0)).any(axis=1)
                    # No softmax gives a row of zeros, nor equal numbers of different scores.
                    apart = (exponents.max(axis=-1) > 1.05 * exponents.min(axis=-1)) | (probs == 0).all(axis=-1)
                    ignored |= (readable.all(axis=-1) & apart).any(axis=1)
            if (seen | hidden).all() and not uniform.any():
                break
        shown = seen | (known & ~hidden)
        # A row of one value for every key is that of a query that sees nothing, where the scores or the mask say so.
        shown[uniform & (ignored | ~known.any(axis=-1))] = False
        return None if shown.all() else shown.astype(np.uint8)

    def _scores(self, layer: int) -> Optional[np.ndarray]:
        """The scores as the page computes them; None where the trace holds none."""
        if not self.terms:
            return None
        parts = [np.asarray(self.array(layer, stem)[self.samples], np.float64) for stem in self.terms]
        return np.asarray(sum(parts)) * self.scale[0]

    def blind(self, visible: Optional[np.ndarray]) -> float:
        """The probability of every key in a row that sees nothing."""
        if visible is None:
            return 0.0
        probs = self.array(self.layers[0], "probs")[self.samples, :, :, 0]
        rows = np.broadcast_to(~visible.any(axis=-1)[:, None], probs.shape) & np.isfinite(probs)
        return float(probs[rows].max(initial=0.0))

    def side(self) -> Dict[str, Any]:
        """What the page computes scores and probabilities with: of each of two traces its own."""
        scale, divisor = self.scale
        visible = self.visible()
        return {
            "scale": scale, "divisor": divisor, "blind": self.blind(visible),
            "visible": None if visible is None else packed(visible.tobytes()),
        }

    def rows(self) -> Optional[List[int]]:
        """Row of the relative table for every i - j, from 1 - T to T - 1; None for other families."""
        index = self.trace.get("relative.index")
        if index is None:
            return None
        length = index.shape[1]
        return [int(index[0, length - 1 - n]) for n in range(length - 1)] + [int(index[n, 0]) for n in range(len(index))]

    def p2c_turned(self) -> bool:
        """True where p2c reads the row of j - i, as the paper prints it; False where a trace does not hold the vectors."""
        first, index = self.layers[0], self.trace.get("relative.index")
        if index is None or not all(self.has(first, stem) for stem in ("p2c", "k", "q_r")):
            return False
        p2c, k, q_r = (self.array(first, stem) for stem in ("p2c", "k", "q_r"))
        return p2c_reads_ji(k[0, 0], q_r[0], p2c[0, 0], index)

    def products(self) -> List[Dict[str, Any]]:
        """The terms whose vectors the trace holds for every layer."""
        return [
            {"term": term, "name": name, "left": left, "right": right, "by": by, "bias": bias,
             "turned": term == "p2c" and self.p2c_turned()}
            for term, name, left, right, by, bias in _PRODUCTS
            if term in self.terms and self.scores == "scores" and ("r" not in by or self.far() is not None)
            and all(self.has(layer, stem) for layer in self.layers for stem in (left, right))
        ]

    def far(self) -> Optional[int]:
        """Which row of r_k serves i - j = 0; 0 where the rows are those of a relative table, None if that is unknown."""
        if "relative.index" in self.trace:
            return 0
        first = self.layers[0]
        if not self.has(first, "r_k") or self.has(first, "r_k_backward"):
            return None
        return row_of_distance_zero(self.shape[3], self.array(first, "r_k").shape[1])

    def vectors(self, layer: int, encoding: str) -> Dict[str, Any]:
        """What the products of a layer are made of, as the page reads it."""
        found: Dict[str, Any] = {}
        rows = self.rows()
        used = None if rows is None else sorted(set(rows))
        for product in self.products():
            for stem in (product["left"], product["right"]):
                if stem in found:
                    continue
                array = self.array(layer, stem)
                each = array.ndim == 4
                array = array[self.samples] if each else array[None, :, used] if used is not None else array[None]
                found[stem] = {**encoded(array, encoding), "rows": array.shape[2], "width": array.shape[3], "each": each}
        return found

    def data(self) -> Dict[str, Any]:
        """What the page knows of this view beside its layers."""
        rows = self.rows()
        queries, keys = self.trace.places(self.stage(self.layers[0], "probs"))
        targets: Any = None  # tokens of the queries where they are not all in a row; 0: nobody knows
        if self.after == "g.":
            targets = 0 if queries is None else queries[self.samples].tolist()
        return {
            "name": self.name, "what": "pass" if self.before == "emd." else "layer", "before": self.before,
            "after": self.after, "tq": self.shape[2], "tk": self.shape[3],
            "q0": int(queries[0, 0]) if queries is not None and targets is None else 0, "k0": int(keys[0]), "at": targets,
            "terms": self.terms, "rows": rows, "turned": self.p2c_turned(), **self.side(),
        }


def _root(count: int, width: int) -> str:
    return f"÷ √{width}" if count == 1 else f"÷ √({count} · {width})"


def _exponentials(scores: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """exp of the scores below the largest of their row, and where a score is a number."""
    readable = np.isfinite(scores)
    top = np.where(readable, scores, -np.inf).max(axis=-1, keepdims=True)
    return np.where(readable, np.exp(scores - top), 0), readable


def known_mask(view: _View) -> Optional[np.ndarray]:
    """Which pairs are visible by the inputs of the trace and by its family, bool [B,Tq,Tk]; None where nobody says it."""
    trace, (_, _, queries, keys) = view.trace, view.shape
    count, memory = len(view.samples), keys - queries
    if trace.family == "transfo-xl":  # no query sees a key after itself
        return np.tile(np.arange(keys) <= np.arange(queries)[:, None] + memory, (count, 1, 1))
    number = int(view.before.split(".")[1]) if view.before.startswith("segment.") else 0
    given = trace.inputs[number] if number < len(trace.inputs) else {}

    def read(name: str, *shape: int) -> Optional[np.ndarray]:
        """An input of the samples that are shown; None where it is missing or of another text."""
        array = np.asarray(given.get(name, ()))
        fits = array.ndim == len(shape) + 1 and len(array) == view.shape[0] and array.shape[1:] == shape
        return array[view.samples] != 0 if fits else None

    if trace.family == "xlnet":
        return _mask_of_xlnet(view, read)
    tokens = read("mask", keys)
    if tokens is None:
        return read("mask", queries, keys)
    pairs = np.repeat(tokens[:, None, :], queries, axis=1)
    return pairs & tokens[:, :, None] if trace.family == "deberta" and queries == keys else pairs


def _mask_of_xlnet(view: _View, read: Callable[..., Optional[np.ndarray]]) -> Optional[np.ndarray]:
    """The order of prediction and the padding; memory was predicted before, and a token of the content sees itself."""
    keys, at = view.shape[3], None
    if view.after:
        at, _ = view.trace.places(view.stage(view.layers[0], "probs"))
        own = _layer_before(view)
        if at is None or own is None:
            return None
        at, length = at[view.samples], own
    else:
        length = view.shape[2]
    order, padding, visible = read("perm_mask", length, length), read("input_mask", length), read("mask", length)
    if padding is None and visible is not None:
        padding = ~visible
    if order is None and padding is None:
        return None
    hidden = np.zeros((len(view.samples), length, length), bool) if order is None else order.copy()
    if padding is not None:
        hidden |= padding[:, None, :]
    if at is not None:
        hidden = np.take_along_axis(hidden, at[:, :, None], axis=1)
    else:
        hidden[:, np.arange(length), np.arange(length)] = False
    before = np.zeros((*hidden.shape[:2], keys - length), bool)
    return ~np.concatenate([before, hidden], axis=2)


def _layer_before(view: _View) -> Optional[int]:
    """How many tokens the segment of a query stream has; None where the trace does not say it."""
    name = view.stage(view.layers[0], "probs").replace(".g.", ".")
    if name in view.trace:
        return int(view.trace[name].shape[2])
    number = int(view.before.split(".")[1]) if view.before.startswith("segment.") else 0
    tokens = view.trace.inputs[number].get("tokens") if number < len(view.trace.inputs) else None
    return None if tokens is None else int(np.asarray(tokens).shape[1])


def _layers_of(trace: Any, before: str, after: str) -> List[int]:
    """The layers of which a trace holds the probabilities, under these parts of their names."""
    pattern = re.compile(re.escape(before) + r"(\d+)\." + re.escape(after) + "probs")
    return sorted(int(found.group(1)) for found in map(pattern.fullmatch, trace) if found)


def _views(trace: Any, layers: Optional[Sequence[int]], samples: Sequence[int]) -> List[_View]:
    """Everything that the page can show of a trace, what is looked at first at the front."""
    parts = [("layer.", "content stream" if _layers_of(trace, "layer.", "g.") else "encoder")]
    segments = {int(name.split(".")[1]) for name in trace if name.startswith("segment.")}
    parts += [(f"segment.{n}.layer.", f"segment {n + 1} of {len(segments)}") for n in sorted(segments)]
    found = []
    for before, name in parts:
        for after in ("", "g."):
            if _layers_of(trace, before, after):
                shown = name if not after else "query stream" + (f", {name}" if before.startswith("segment") else "")
                found.append(_View(trace, shown, before, after, layers, samples))
    if layers is None and _layers_of(trace, "emd.", ""):
        found.append(_View(trace, "mask decoder", "emd.", "", None, samples))
    if not found:
        raise UsageError("the trace holds no layer.*.probs, expected at least one layer with its probabilities")
    return found


def _report(report: Any) -> Optional[Dict[str, Any]]:
    if report is None:
        return None
    wrong = [entry for entry in report.stages.values() if not entry["pass"]]
    wrong.sort(key=lambda entry: entry["stage"] != report.first)
    named = f"; {report.of_first}" if report.of_first else ""
    head = (
        f"checked: {len(report.stages)} stages inside the tolerance" if report.passed
        else f"first wrong stage: {report.first}{named}"
    )
    failing = [{"name": entry["stage"], "text": f'{entry["stage"]}: {entry["reason"]}'} for entry in wrong[:40]]
    return {"passed": report.passed, "head": head, "failing": failing}


def _without_number(filled: Sequence[Dict[str, Any]]) -> int:
    """How many numbers of the page are NaN or infinite."""
    return sum(
        int(np.count_nonzero(~np.isfinite(np.asarray(view.array(layer["l"], stem))[view.samples])))
        for one in filled for view, layers in ((one["view"], one["layers"]), (one["beside"], one["other"]))
        for layer in layers for stem in view.terms or ["probs"]
    )


def _note(encoding: str, views: Sequence[_View], filled: Sequence[Dict[str, Any]]) -> str:
    """How the numbers of the page are stored, and what is not in it."""
    note = f"{WORDS[encoding]}; scores and probabilities are computed from that in this page"
    if count := _without_number(filled):
        note += f"; {count} of them are not finite, and magenta in the pictures"
    left_out = views[0].layers[len(filled[0]["layers"]):]
    if left_out:
        note += f"; layers {left_out[0]} to {left_out[-1]} are left out, layers= chooses others"
    absent = [view.name for view in views if all(one["view"] is not view for one in filled)]
    if absent:
        note += f"; left out for its size: {', '.join(absent)}"
    return note


def _locked(cell: Any, views: Sequence[_View]) -> Optional[List[int]]:
    """The cell that is locked at the start, as the page counts: view, sample, layer, head, query, key."""
    if cell is None:
        return None
    sample, layer, head, i, j = cell[1:6] if hasattr(cell, "trace") else (views[0].samples[0], *cell)
    name = cell.name("probs") if hasattr(cell, "trace") else ""
    for n, view in enumerate(views):
        if name and name != f"{view.before}{layer}.{view.after}probs":
            continue
        sizes = (("head", head, view.shape[1]), ("query", i, view.shape[2]), ("key", j, view.shape[3]))
        for what, at, size in sizes:
            if not 0 <= at < size:
                raise UsageError(f"the {what} of cell is {at}, expected 0 to {size - 1}")
        if layer not in view.layers or sample not in view.samples:
            break
        return [n, view.samples.index(sample), view.layers.index(layer), head, i, j]
    raise UsageError(f"cell names layer {layer} of sample {sample}, expected one that the page shows: {views[0].layers}")


def _shell() -> str:
    """The page without its data; what only helps its readers in the source tree is left out."""
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")
    with open(file, encoding="utf-8") as opened:
        return re.sub(r"(?m)^ *//.*\n|  // .*$|^ +", "", opened.read())


def _trace_name(trace: Any) -> str:
    name = trace.model if trace.made_by == "Locus" else trace.made_by
    return os.path.basename(name.rstrip("/")) or trace.family or "a trace"


def _samples(views: Sequence[_View], samples: Optional[List[int]], limit: int) -> List[int]:
    """The samples that were asked for; where none were, all that fit, or the first."""
    count = views[0].shape[0]
    if samples is None:
        numbers = sum(view.values * len(view.layers) for view in views)
        samples = [0] if numbers * count * ENCODINGS[0][1] > limit else list(range(count))
    if any(sample >= count for sample in samples) or not samples:
        raise UsageError(f"samples holds {samples}, expected numbers from 0 to {count - 1}")
    return samples


def page_of(
    trace: Any,
    *,
    layers: Optional[Iterable[int]] = None,
    samples: Optional[Iterable[int]] = None,
    compare: Any = None,
    report: Any = None,
    title: str = "",
    theme: str = "",
    cell: Any = None,
    channels: bool = False,
    limit: int = 5_000_000,
    whole: bool = False,
) -> str:
    """The text of one HTML page that needs nothing else: what Trace.html writes, which says what the options do."""
    limit = whole_number("limit", limit, 1)
    if compare is not None and not isinstance(compare, Trace):
        raise UsageError(f"compare is {quoted(compare)}, expected a trace: locus.load reads one from a file")
    layers = None if layers is None else whole_numbers("layers", layers)
    samples = None if samples is None else whole_numbers("samples", samples)
    if theme not in ("", "dark", "light"):
        raise UsageError(f'theme is "{theme}", expected dark, light or nothing')
    first = _views(trace, layers, [0])
    shown = _samples(first, samples, limit)
    views = _views(trace, layers, shown)
    products = [view.products() for view in views]
    if channels and not products[0]:
        raise UsageError("channels: the trace lacks vectors of its terms, expected the stages q, k, q_r, k_r of each layer")
    others: List[_View] = []
    if compare is not None:
        others = [_View(compare, one.name, one.before, one.after, one.layers, shown, one) for one in views
                  if set(one.layers) <= set(_layers_of(compare, one.before, one.after))]
        views = [one for one in views if any((one.before, one.after) == (two.before, two.after) for two in others)]
        if not others or any(one.shape != two.shape or one.terms != two.terms for one, two in zip(views, others)):
            raise UsageError("the traces to compare differ in shape or terms, expected two of the same text and model")
    fewer = ""
    try:
        encoding, filled = filled_views(views, others, limit, layers is not None, channels)
    except UsageError:
        if whole or others or channels or cell is not None or layers is not None:
            raise
        encoding, filled, fewer = fewer_heads(views, limit)
    listed = []
    for one in filled:
        view = one["view"]
        view.layers = view.layers[: len(one["layers"])]
        more: Dict[str, Any] = {"layers": one["layers"], "other": one["other"]}
        if one["beside"] is not None:
            one["beside"].layers = view.layers
            more["b"] = one["beside"].side()
        if channels:
            rows = view.rows()
            more.update(products=view.products(), used=None if rows is None else sorted(set(rows)), far=view.far())
        listed.append({**view.data(), **more})
    closing = f", closing {np.max(list(trace.closing.values())):.1e}" if trace.closing else ""
    data = {
        "title": title or f"{_trace_name(trace)}{closing}",
        "tokens": [trace.tokens[s] for s in shown] if trace.tokens else [],
        "samples": len(shown), "heads": views[0].shape[1], "theme": theme,
        "cell": _locked(cell, [one["view"] for one in filled]),
        "names": None if compare is None else [_trace_name(trace), _trace_name(compare)],
        "hint": "" if channels or not products[0] else "html(channels=True) adds the products, channel by channel",
        "views": listed, "encoding": WORDS[encoding], "note": fewer + _note(encoding, views, filled),
        "report": _report(report if report is not None else trace.report),
    }
    text = json.dumps(_as_json(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c")
    text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)  # half a character, which no file holds
    return _shell().replace("/*DATA*/", text)


def _as_json(value: Any) -> Any:
    """The same with null for inf and nan, which JSON does not have and no browser reads."""
    if isinstance(value, dict):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def notebook_of(trace: Any) -> str:
    """The page inside a notebook, in a frame of its own; with the products of every cell where there is room.  Of a trace
    that has no page, its one line and the reason: a notebook would show the exception's stack instead."""
    page = reason = ""
    options: Dict[str, Any]
    for options in ({"limit": 2_000_000, "channels": True}, {"limit": 2_000_000, "whole": True}, {}):
        try:
            page = page_of(trace, **options)
            break
        except Exception as error:  # a foreign file holds anything under the names of stages
            reason = str(error)
    if not page:
        return f"<p>{html.escape(repr(trace))}<br>{html.escape(reason)}</p>"
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts allow-downloads" '
        'style="width:100%;height:760px;border:0"></iframe>'
    )
