"""One self-contained HTML page of a trace: terms, scores and probabilities, without a request to anywhere."""

import base64
import html
import json
import os
import zlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .errors import UsageError

_TERMS = (("c2c", "c2p", "p2c"), ("ac", "bd", "ef"))
# How the page stores numbers, finest first, and how many bytes of the page one number takes, about.
_ENCODINGS = (("f16", 2.4), ("i8", 1.0))
_WORDS = {
    "f16": "float16 (2^-11 of each value), zlib, base64",
    "i8": "8 bits (1/254 of the largest value of each head), zlib, base64",
}


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def encoded(array: np.ndarray, encoding: str) -> Dict[str, Any]:
    """An array [B,H,Tq,Tk] as the page reads it."""
    array = np.nan_to_num(np.asarray(array, np.float32), nan=0.0, posinf=3e38, neginf=-3e38)
    if encoding == "f16":
        largest = float(np.abs(array).max(initial=0.0))
        scale = largest / 60000 if largest > 60000 else 1.0
        halves = (array / scale).astype("<f2").view(np.uint8).reshape(-1, 2)
        return {"e": "f16", "s": scale, "d": _packed(halves.T.tobytes())}
    largest_of = np.maximum(np.abs(array).max(axis=(2, 3)), 1e-30)
    steps = np.rint(array / largest_of[..., None, None] * 127).astype(np.int8)
    return {"e": "i8", "s": [float(f"{x:.6g}") for x in (largest_of / 127).ravel()], "d": _packed(steps.tobytes())}


class _Content:
    """What of a trace the page shows."""

    def __init__(self, trace: Any, layers: Optional[Sequence[int]]) -> None:
        self.trace = trace
        there = [layer for layer in trace.layers if f"layer.{layer}.probs" in trace]
        if not there:
            raise UsageError("the trace holds no layer.*.probs, expected at least one layer with its probabilities")
        self.layers = there if layers is None else list(layers)
        for layer in self.layers:
            if layer not in there:
                raise UsageError(f"layers holds {layer}, expected layers of the trace: {there}")
        at = f"layer.{self.layers[0]}."
        self.shape = trace[at + "probs"].shape
        mixed = at + "scores_mixed" in trace
        self.terms: List[str] = []
        for group in _TERMS:
            held = [stem for stem in group if all(f"layer.{layer}.{stem}" in trace for layer in self.layers)]
            if held and not mixed:
                self.terms = held
        self.scores = "scores_mixed" if mixed else "scores"
        has_scores = all(f"layer.{layer}.{self.scores}" in trace for layer in self.layers)
        if not self.terms and has_scores:
            self.terms = ["scores"]

    @property
    def values(self) -> int:
        """Numbers of one sample of one layer."""
        return max(1, len(self.terms)) * int(np.prod(self.shape[1:]))

    def array(self, layer: int, stem: str) -> np.ndarray:
        name = self.scores if stem == "scores" else stem
        return np.asarray(self.trace[f"layer.{layer}.{name}"])

    def scale(self) -> Tuple[float, str]:
        """What the sum of the terms is multiplied by, and how the page says it."""
        if self.terms in ([], ["scores"]):
            return 1.0, ""
        layer = self.layers[0]
        total = sum(np.asarray(self.array(layer, stem), np.float64) for stem in self.terms)
        probs = self.array(layer, "probs")
        scores = np.where(probs > 0, self.array(layer, "scores").astype(np.float64), 0)
        total = np.where(probs > 0, total, 0)
        factor = float((scores * total).sum() / (total * total).sum()) if np.any(total) else 1.0
        queries = self.trace.get(f"layer.{layer}.q")
        width = 0 if queries is None else queries.shape[-1]
        count = round(1 / (factor * factor * width)) if width else 0
        root = f"√({count} · {width})" if width and abs(count * width * factor * factor - 1) < 1e-3 else f"{1 / factor:.5g}"
        return factor, f"÷ {root}"

    def visible(self, samples: Sequence[int]) -> Optional[np.ndarray]:
        """1 where a pair is visible, [B,Tq,Tk]; None where everything is."""
        probs = self.array(self.layers[0], "probs")[list(samples)]
        shown: np.ndarray = np.asarray((probs > 0).any(axis=1))
        # A row of one value for every key is that of a query that sees nothing.
        blind = (np.ptp(probs, axis=-1) == 0).all(axis=1) & (probs.shape[-1] > 1)
        shown[blind] = False
        return None if shown.all() else shown.astype(np.uint8)

    def blind(self) -> float:
        probs = self.array(self.layers[0], "probs")
        flat = (np.ptp(probs, axis=-1) == 0).all(axis=1)
        return float(probs[..., 0].max(axis=1)[flat].max(initial=0.0)) if flat.any() else 0.0


def _layers(content: _Content, samples: Sequence[int], encoding: str, limit: float) -> List[Dict[str, Any]]:
    """The layers of a trace as the page reads them, as many as stay below `limit` bytes."""
    stems = content.terms or ["probs"]
    listed: List[Dict[str, Any]] = []
    size = 0
    for layer in content.layers:
        data = {stem: encoded(content.array(layer, stem)[list(samples)], encoding) for stem in stems}
        size += sum(len(entry["d"]) for entry in data.values())
        if size > limit:
            break
        listed.append({"l": layer, "data": data})
    return listed


def _report(report: Any) -> Optional[Dict[str, Any]]:
    if report is None:
        return None
    wrong = [entry for entry in report.stages.values() if not entry["pass"]]
    wrong.sort(key=lambda entry: entry["stage"] != report.first)
    named = f"; {report.diagnoses[0]}" if report.diagnoses else ""
    head = (
        f"checked: {len(report.stages)} stages inside the tolerance" if report.passed
        else f"first wrong stage: {report.first}{named}"
    )
    failing = [{"name": entry["stage"], "text": f'{entry["stage"]}: {entry["reason"]}'} for entry in wrong[:40]]
    return {"passed": report.passed, "head": head, "failing": failing}


def _both(
    content: _Content, second: Optional[_Content], samples: Sequence[int], limit: int, chosen: bool
) -> Tuple[str, List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Encoding and layers of one or two traces, in the finest encoding that stays below the limit.

    Where even the coarsest does not: the first layers, or a refusal if the layers were chosen.
    """
    traces = [content] if second is None else [content, second]
    share = (limit - 40_000) / len(traces)
    for encoding, cost in _ENCODINGS:
        if content.values * len(samples) * len(content.layers) * cost > share and encoding != "i8":
            continue  # would not fit, and is not tried
        found = [_layers(one, samples, encoding, share) for one in traces]
        fits = min(len(layers) for layers in found)
        if fits == len(content.layers) or (encoding == "i8" and fits and not chosen):
            return encoding, found[0][:fits], found[1][:fits] if second is not None else []
    raise UsageError(
        f"{len(content.layers)} layers of this trace do not fit into a page of {limit / 1e6:.3g} MB; choose fewer layers= "
        "or samples=, or a larger limit="
    )


def page_of(
    trace: Any,
    *,
    layers: Optional[Sequence[int]] = None,
    samples: Optional[Sequence[int]] = None,
    compare: Any = None,
    report: Any = None,
    title: str = "",
    theme: str = "",
    cell: Optional[Tuple[int, int, int, int]] = None,
    limit: int = 5_000_000,
) -> str:
    """The text of one HTML page that needs nothing else.

    layers, samples: numbers; what fits below `limit` bytes where not given.  compare: another trace of the same shape.
    report: failing stages stand first (trace.check() leaves its own).  theme: "dark" or "light"; the reader's if empty.
    cell: (layer, head, i, j) that is locked at the start.
    """
    content = _Content(trace, layers)
    count = content.shape[0]
    shown = list(range(count)) if samples is None else list(samples)
    if samples is None and content.values * len(content.layers) * count * _ENCODINGS[0][1] > limit:
        shown = [0]
    if any(not 0 <= sample < count for sample in shown) or not shown:
        raise UsageError(f"samples holds {shown}, expected numbers from 0 to {count - 1}")
    second = None
    if compare is not None:
        second = _Content(compare, content.layers)
        if second.shape != content.shape or second.terms != content.terms:
            raise UsageError("the traces to compare differ in shape or terms, expected two of the same text and model")
    encoding, here, other = _both(content, second, shown, limit, layers is not None)
    left_out = content.layers[len(here):]
    content.layers = content.layers[: len(here)]
    scale, divisor = content.scale()
    visible = content.visible(shown)
    index = trace.get("relative.index")
    rows = None
    if index is not None:
        length = index.shape[1]
        rows = [int(index[0, length - 1 - n]) for n in range(length - 1)] + [int(index[n, 0]) for n in range(len(index))]
    closing = f", closing {max(trace.closing.values()):.1e}" if trace.closing else ""
    note = f"{_WORDS[encoding]}; scores and probabilities are computed from that in this page"
    if left_out:
        note += f"; layers {left_out[0]} to {left_out[-1]} are left out, layers= chooses others"
    name = trace.model if trace.made_by == "Locus" else trace.made_by
    data = {
        "title": title or f"{os.path.basename(name.rstrip('/')) or trace.family}{closing}",
        "tokens": [trace.tokens[s] for s in shown] if trace.tokens else [],
        "samples": len(shown), "heads": content.shape[1], "tq": content.shape[2], "tk": content.shape[3],
        "terms": content.terms, "scale": scale, "divisor": divisor, "rows": rows, "blind": content.blind(),
        "visible": None if visible is None else _packed(visible.tobytes()), "theme": theme,
        "cell": None if cell is None else [content.layers.index(cell[0]), *cell[1:]],
        "layers": here, "other": other, "encoding": _WORDS[encoding], "note": note,
        "report": _report(report if report is not None else trace.report),
    }
    shell_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")
    with open(shell_file, encoding="utf-8") as file:
        shell = file.read()
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return shell.replace("/*DATA*/", text)


def notebook_of(trace: Any) -> str:
    """The page inside a notebook, in a frame of its own."""
    page = page_of(trace, limit=2_000_000)
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts allow-downloads" '
        'style="width:100%;height:760px;border:0"></iframe>'
    )
