"""Numbers for studies: long tables, shares of the terms, and terms left out of a live model."""

import re
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from .arguments import Globs, shown
from .errors import UsageError

_LAYER = re.compile(r"(?:^|\.)layer\.(\d+)\.")
_AXES = {"B": "sample", "H": "head", "Tq": "query", "Tk": "key", "T": "token", "d": "channel", "D": "channel",
         "H*d": "channel", "E": "channel", "F": "channel", "2k": "row", "R": "row", "V": "word", "P": "target"}


def long_frame(trace: Any, stages: Globs) -> Any:
    """One row per number of the stages that match: stage, layer, an index per axis, token, query_token, key_token, value.

    A pandas DataFrame where pandas is installed, else a polars one, else a dict of arrays.
    All stages must have the same axes.  Raises UsageError where they differ.
    """
    names = trace.matching(stages)
    numbers = {name: _LAYER.search(name) for name in names}
    axes = {trace.info[name].axes for name in names}
    if len(axes) != 1:
        raise UsageError(f"the stages {', '.join(names[:4])} have different axes, expected stages of one kind")
    (letters,) = axes
    columns: Dict[str, List[np.ndarray]] = {"stage": [], "layer": []}
    labels = [_AXES.get(letter, letter) for letter in letters]
    for name in names:
        array = trace[name]
        grid = np.indices(array.shape).reshape(array.ndim, -1)
        count = array.size
        columns["stage"].append(np.full(count, name, dtype=object))
        columns["layer"].append(np.full(count, int(found.group(1)) if (found := numbers[name]) else -1))
        for label, index in zip(labels, grid):
            columns.setdefault(label, []).append(index)
        samples = grid[labels.index("sample")] if "sample" in labels else np.zeros(count, int)
        for label, at in _tokens_of(trace, name, labels, samples, grid).items():
            pieces = np.array(trace.tokens, dtype=object)
            words = np.full(count, "", dtype=object)
            fits = (at >= 0) & (at < pieces.shape[1])
            words[fits] = pieces[samples[fits], at[fits]]
            columns.setdefault("piece" if label == "token" else label + "_piece", []).append(words)
        columns.setdefault("value", []).append(np.asarray(array).reshape(-1))
    joined = {label: np.concatenate(parts) for label, parts in columns.items()}
    for library in ("pandas", "polars"):
        try:
            return __import__(library).DataFrame(joined)
        except ImportError:
            continue
    return joined


def _tokens_of(
    trace: Any, name: str, labels: Sequence[str], samples: np.ndarray, grid: np.ndarray
) -> Dict[str, np.ndarray]:
    """For every number of a stage, the place in the text of its token, or of its query and key."""
    found: Dict[str, np.ndarray] = {}
    if not trace.tokens:
        return found
    if "token" in labels:
        found["token"] = grid[labels.index("token")]
    if {"sample", "query", "key"} <= set(labels):  # relative.index is the same for every text
        queries, keys = trace.places(name)
        asking = grid[labels.index("query")]
        found["query"] = np.full(len(samples), -1) if queries is None else queries[samples, asking]
        found["key"] = keys[grid[labels.index("key")]]
    return found


class Decomposition(NamedTuple):
    """What the terms of one head contribute.

    share         term -> its part of the variance of the scores along the keys; the parts of a head add up to 1
    by_distance   term -> {i - j: mean of the scaled term}
    by_pair       term -> {(query piece, key piece): mean of the scaled term}, strongest first
    """

    layer: int
    head: int
    share: Dict[str, float]
    by_distance: Dict[str, Dict[int, float]]
    by_pair: Dict[str, Dict[Tuple[str, str], float]]

    def __repr__(self) -> str:
        parts = [f"{stem} {share:.1%}" for stem, share in self.share.items()]
        strongest = [
            f"{stem}: {pair[0]} → {pair[1]} {value:.3g}"
            for stem, means in self.by_pair.items() for pair, value in list(means.items())[:1]
        ]
        shown = f"; strongest pairs {', '.join(strongest)}" if strongest else ""
        return f"<Decomposition of layer {self.layer}, head {self.head}: {', '.join(parts)}{shown}>"


def scaled_terms(trace: Any, at: str, head: int) -> Dict[str, np.ndarray]:
    """The terms of one head as they enter the score, by the beginning of their names ("layer.0."): [B,Tq,Tk] each, in
    double; their sum is the stage scores."""
    stems = [stem for stem in ("c2c", "c2p", "p2c", "ac", "bd", "ef") if at + stem in trace]
    rotated = not stems and (trace.family == "roformer" or at + "q_rot" in trace)
    rotary = rotated and at + "q" in trace and at + "k" in trace
    if not (stems or rotary) or at + "scores" not in trace:
        wanted = "q and k" if rotated else "c2c, c2p, p2c (or ac, bd, ef)"
        raise UsageError(f"the trace holds no terms at {at}, expected {wanted} and scores")
    heads = trace[at + "scores"].shape[1]
    if not 0 <= head < heads:
        raise UsageError(f"the head is {head}, expected 0 to {heads - 1}")
    if rotary:
        q, k = (np.asarray(trace[at + stem][:, head], np.float64) for stem in "qk")
        content = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        return {"content": content, "rotation": np.asarray(trace[at + "scores"][:, head], np.float64) - content}
    terms = {stem: np.asarray(trace[at + stem][:, head], np.float64) for stem in stems}
    scores, total = np.asarray(trace[at + "scores"][:, head], np.float64), np.sum(list(terms.values()), axis=0)
    scale = float((scores * total).sum() / (total * total).sum()) if np.any(total) else 1.0
    scaled = {stem: term * scale for stem, term in terms.items()}
    # Terms in bfloat16 are right to half a percent; one that is missing leaves far more.
    largest = max(np.abs(term).max(initial=0.0) for term in scaled.values())
    if not np.abs(scores - total * scale).max(initial=0.0) <= 0.02 * largest:
        there = ", ".join(stems)
        raise UsageError(f"the terms at {at} ({there}) do not add up to its scores, expected every term of the model")
    return scaled


def decompose(
    trace: Any, layer: int, head: int, *, stream: str = "", segment: Optional[int] = None
) -> Decomposition:
    """Shares of the terms of one head, by distance and by pair of tokens.

    The terms are c2c, c2p, p2c of DeBERTa, ac, bd, ef of Transformer-XL and XLNet.  RoFormer adds no term for places, it
    rotates: content is what a score would be of queries and keys as projected, rotation what rotating them adds.
    stream: "g" is the query stream of XLNet.  segment: of a text in segments.

    A share is the covariance of a term with the scores along each row of visible keys, over the variance of the scores:
    what is the same for every key of a query moves no probability, and counts nothing.
    Raises UsageError where the trace lacks the terms of that layer.
    """
    at = ("" if segment is None else f"segment.{segment}.") + f"layer.{layer}." + (f"{stream}." if stream else "")
    terms = scaled_terms(trace, at, head)
    probs = trace.get(at + "probs")
    shape = next(iter(terms.values())).shape
    seen = np.ones(shape, bool) if probs is None else np.asarray(probs[:, head]) > 0
    weight = seen / np.maximum(seen.sum(-1, keepdims=True), 1)

    def centred(array: np.ndarray) -> np.ndarray:
        moved: np.ndarray = (array - (array * weight).sum(-1, keepdims=True)) * seen
        return moved

    scores = centred(np.sum(list(terms.values()), axis=0))
    variance = float((scores * scores).sum())
    share = {stem: float((centred(term) * scores).sum()) / variance if variance else 0.0 for stem, term in terms.items()}
    sample, i, j = np.nonzero(seen)
    queries, keys = trace.places(at + "scores")
    if queries is not None:  # by their places in the text
        i, j, rows, columns = queries[sample, i], keys[j], i, j
    else:
        rows, columns = i, j
    by_distance: Dict[str, Dict[int, float]] = {}
    by_pair: Dict[str, Dict[Tuple[str, str], float]] = {}
    for stem, term in terms.items():
        values = term[sample, rows, columns]
        apart = np.unique(i - j).tolist() if queries is not None else []
        by_distance[stem] = {distance: float(values[i - j == distance].mean()) for distance in apart}
        by_pair[stem] = _mean_by_pair(trace, sample, i, j, values)
    return Decomposition(layer, head, share, by_distance, by_pair)


def _mean_by_pair(
    trace: Any, sample: np.ndarray, i: np.ndarray, j: np.ndarray, values: np.ndarray
) -> Dict[Tuple[str, str], float]:
    sums: Dict[Tuple[str, str], List[float]] = {}
    for b, query, key, value in zip(sample, i, j, values):
        pieces = trace.tokens[b] if b < len(trace.tokens) else []
        if 0 <= key < len(pieces) and 0 <= query < len(pieces):
            sums.setdefault((pieces[query], pieces[key]), []).append(float(value))
    means = {pair: sum(found) / len(found) for pair, found in sums.items()}
    return dict(sorted(means.items(), key=lambda entry: -abs(entry[1])))


class Ablation:
    """What leaving a term out did, filled when the `with` ends: layers, and how many attentions ran without it.

    closing   layer -> max |context of all terms - measured context| / max |context|: that the terms which were left out
              and kept are those of the model
    change    layer -> max |context without the term - with it| / max |context|
    """

    def __init__(self, drop: Tuple[str, ...]) -> None:
        self.drop = drop
        self.layers: List[int] = []
        self.calls = 0
        self.closing: Dict[int, float] = {}
        self.change: Dict[int, float] = {}

    def __repr__(self) -> str:
        found = "".join(
            f", {what} {np.max(list(noted.values())):.1e}"
            for what, noted in (("closing", self.closing), ("change", self.change)) if noted
        )
        return f"<Ablation of {', '.join(self.drop)}: layers {self.layers}, {self.calls} attentions{found}>"


@contextmanager
def ablate(
    model: Any,
    drop: Union[str, Iterable[str]] = "c2p",
    *,
    heads: Optional[Iterable[int]] = None,
    layers: Optional[Iterable[int]] = None,
    at: Optional[str] = None,
) -> Iterator[Ablation]:
    """Leaves terms out of the scores of a live model for the time of the `with`: attention is computed by what remains.

    drop: one term or several, by their names: c2c, c2p, p2c of DeBERTa; content, rotation of RoFormer, whose scores are
    those of queries and keys as projected, and what their rotation adds; ac, bd, ef of XLNet (content,
    position, segments), in both streams.
    heads, layers: numbers; all where not given.  at: path of the encoder, where the model holds several.
    The context [B, T, D] of each attention is replaced by that of the remaining terms, in the model's own type; the
    divisor stays what it was, and so do values, also those that RoFormer rotates.  Where heads talk to each other
    (DeBERTa 1), what is left out of one reaches all.  A recording inside or around it sees the context that the model
    goes on with; its terms and probabilities, and attentions that the model returns, are those of all terms.
    No gradient flows through a context that was replaced, while gradients still flow past it, along the sum around each
    attention: after backward() they are not those of the model without the term.  Use it under torch.no_grad().
    Nothing stays behind, also after an exception.  Raises UsageError for a term that the model or its pass does not have.
    """
    from .ablating import AblationHooks
    from .recording import choose_encoder

    if not isinstance(drop, str) and not isinstance(drop, Iterable):
        raise UsageError(f"drop is {shown(drop)}, expected the name of a term or a list of names")
    done = Ablation((drop,) if isinstance(drop, str) else tuple(drop))
    hooks = AblationHooks(model, choose_encoder(model, at), done, heads, layers)
    with ExitStack() as stack:
        stack.callback(hooks.close)
        hooks.open()
        yield done
