"""Why has this cell its value?  From the vectors to the terms, the score and the probability."""

from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from . import _core
from .errors import UsageError


class Cell(NamedTuple):
    """Query i and key j of one head: trace.cell(layer, head, i, j).

    stream: "g" is the query stream of XLNet.  segment: of a text in segments, None where there are none.
    """

    trace: Any
    sample: int
    layer: int
    head: int
    i: int
    j: int
    stream: str = ""
    segment: Optional[int] = None

    @property
    def query(self) -> Optional[int]:
        """The token that asks, by its place in the text; None where the trace does not say what a target is."""
        queries, _ = self.trace.places(self.name("probs"))
        return None if queries is None else int(queries[self.sample, self.i])

    @property
    def key(self) -> int:
        """The token that is asked, by its place in the text; below 0 it is memory from before the text."""
        return int(self.trace.places(self.name("probs"))[1][self.j])

    def name(self, stem: str) -> str:
        """The name of a stage at this cell; keys and positions of a query stream are those of the content stream."""
        segment = "" if self.segment is None else f"segment.{self.segment}."
        stream = self.stream + "." if self.stream and stem not in ("k", "r_k") else ""
        return f"{segment}layer.{self.layer}.{stream}{stem}"


class Term(NamedTuple):
    """One product: left . right, channel by channel; running is the sum after each channel.

    row: of the relative table or of r_k.  bias: what a bias of the head adds to the products (ac and bd of XLNet and
    Transformer-XL).  The arrays have one number per channel; they are empty where the trace lacks the vectors.
    """

    name: str
    value: float
    row: Optional[int]
    left: np.ndarray
    right: np.ndarray
    products: np.ndarray
    running: np.ndarray
    bias: float = 0.0


class Explanation:
    """The steps from two vectors to one probability.

    terms        c2c, c2p, p2c (ac, bd, ef; q . k), each with its products and partial sums
    total        their sum;  divisor: what it is divided by;  score: the quotient
    softmax      visible, row_maximum, row_maximum_key, exponential, denominator, probability
    """

    def __init__(self, cell: Cell, terms: List[Term], score: float, divisor: float, softmax: Dict[str, Any]) -> None:
        self.cell, self.terms, self.score, self.divisor, self.softmax = cell, terms, score, divisor, softmax
        self.total = sum(term.value for term in terms)

    @property
    def probability(self) -> float:
        """What the query makes of the key, from 0 to 1."""
        return float(self.softmax["probability"])

    def __str__(self) -> str:
        cell = self.cell
        tokens = cell.trace.tokens[cell.sample] if cell.trace.tokens else []
        query, key = (
            f"{'target' if at is None else 'token'} {own if at is None else at}"
            + (f' "{tokens[at]}"' if at is not None and 0 <= at < len(tokens) else "")
            if at is None or at >= 0 else f"memory {-at}"
            for at, own in ((cell.query, cell.i), (cell.key, cell.j))
        )
        apart = "" if cell.query is None else f", i - j = {cell.query - cell.key}"
        where = "" if cell.segment is None else f"segment {cell.segment}, "
        where += f"layer {cell.layer}, head {cell.head}" + (", query stream" if cell.stream else "")
        lines = [f"{where}: query {query}, key {key}{apart}"]
        for term in self.terms:
            table = "r_k" if term.name == "bd" else "the relative table"
            row = "" if term.row is None else f"   row {term.row} of {table}"
            row += f"   {term.bias:.6g} of it the bias of the head" if term.bias else ""
            lines.append(f"  {term.name:8} {term.value: .6g}{row}")
        if self.terms:
            lines.append(f"  sum      {self.total: .6g} / {self.divisor:.6g}")
        lines.append(f"  score    {self.score: .6g}")
        if not self.softmax["visible"]:
            return "\n".join(lines + ["  hidden by the mask: probability 0"])
        lines.append(
            f"  softmax  exp({self.score:.6g} - {self.softmax['row_maximum']:.6g}) = {self.softmax['exponential']:.6g}"
            f", over {self.softmax['denominator']:.6g}"
        )
        return "\n".join(lines + [f"  probability {self.probability:.6g}"])

    __repr__ = __str__


def _term(name: str, left: np.ndarray, right: np.ndarray, row: Optional[int]) -> Term:
    exact = np.float32 if left.dtype == right.dtype == np.float32 else np.float64
    replay = _core.replayed_product_f32 if exact is np.float32 else _core.replayed_product_f64
    products, running = replay(left.astype(exact).tolist(), right.astype(exact).tolist())
    return Term(name, float(running[-1]), row, left, right, np.array(products, exact), np.array(running, exact))


def _terms(cell: Cell) -> List[Term]:
    """The products behind a score, as far as the trace holds their vectors."""
    trace, b, h, i, j = cell.trace, cell.sample, cell.head, cell.i, cell.j

    def held(*stems: str) -> bool:
        return all(cell.name(stem) in trace for stem in stems)

    def row_of(stem: str, at: int) -> np.ndarray:
        return np.asarray(trace[cell.name(stem)][b, h, at])

    if held("ac", "bd"):
        return _biased_terms(cell)
    if held("q_rot", "k_rot"):
        return [_term("q . k", row_of("q_rot", i), row_of("k_rot", j), None)]
    terms = []
    if held("c2c", "q", "k"):
        terms.append(_term("c2c", row_of("q", i), row_of("k", j), None))
    if held("c2p", "p2c") or held("c2p") or held("p2c"):
        row = int(trace["relative.index"][i, j])
        if held("c2p", "q", "k_r"):
            terms.append(_term("c2p", row_of("q", i), np.asarray(trace[cell.name("k_r")][h, row]), row))
        if held("p2c", "k", "q_r"):
            terms.append(_term("p2c", row_of("k", j), np.asarray(trace[cell.name("q_r")][h, row]), row))
    return terms


def row_of_distance_zero(keys: int, rows: int) -> int:
    """Which row of r_k serves i - j = 0; the row before it serves i - j = 1.

    Transformer-XL has one row for every distance from keys - 1 to 0, XLNet begins one before and has negative ones.
    """
    return keys - 1 if rows == keys else keys


def _biased_terms(cell: Cell) -> List[Term]:
    """ac, bd and ef of Transformer-XL and XLNet: (q_i + u) . k_j, (q_i + v) . r_k and (q_i + s) . seg."""
    trace, b, h, i, j = cell.trace, cell.sample, cell.head, cell.i, cell.j
    keys, query = trace[cell.name("ac")].shape[3], cell.query
    hidden = trace[cell.name("probs")][b, h, i, j] == 0  # there, bd is 0 and no product
    terms = []
    for stem, right in (("ac", "k"), ("bd", "r_k"), ("ef", "")):
        if cell.name(stem) not in trace:
            continue
        value, row, other = float(trace[cell.name(stem)][b, h, i, j]), None, None
        if stem == "ac" and cell.name("k") in trace:
            other = np.asarray(trace[cell.name("k")][b, h, j])
        elif stem == "bd" and cell.name("r_k") in trace and query is not None and not hidden:
            table = trace[cell.name("r_k")]
            row = row_of_distance_zero(keys, table.shape[1]) - (query - cell.key)
            backward = cell.name("r_k_backward") in trace
            other = None if backward or not 0 <= row < table.shape[1] else np.asarray(table[h, row])
            row = None if other is None else row
        if other is None or cell.name("q") not in trace:
            nothing = np.zeros(0, np.float32)
            terms.append(Term(stem, value, None, nothing, nothing, nothing, nothing))
            continue
        products = _term(stem, np.asarray(trace[cell.name("q")][b, h, i]), other, row)
        terms.append(products._replace(value=value, bias=value - products.value))
    return terms


def explain(cell: Cell) -> Explanation:
    """Replays one cell of a trace by scalar arithmetic, from the vectors to the probability.

    cell: trace.cell(layer, head, i, j).  The terms need the stages q, k, q_r, k_r, c2c, c2p, p2c of that layer (q_rot
    and k_rot of RoFormer); the softmax needs scores and probs.  Raises UsageError naming the stage that is missing.
    """
    trace = cell.trace
    for stem in ("scores", "probs"):
        if cell.name(stem) not in trace:
            raise UsageError(f"the trace holds no {cell.name(stem)}, which explains the probability")
    scores, probs = trace[cell.name("scores")], trace[cell.name("probs")]
    for what, at, size in zip(("sample", "head", "query", "key"), (cell.sample, cell.head, cell.i, cell.j), scores.shape):
        if not 0 <= at < size:
            raise UsageError(f"the {what} is {at}, expected 0 to {size - 1}")
    row = scores[cell.sample, cell.head, cell.i]
    seen = probs[cell.sample, cell.head, cell.i] > 0
    blind = np.ptp(probs[cell.sample, cell.head, cell.i]) == 0 and np.ptp(row) > 0
    visible = [int(at) for at in (np.zeros_like(seen) if blind else seen)]
    replay = _core.replayed_softmax_f32 if row.dtype == np.float32 else _core.replayed_softmax_f64
    softmax = dict(replay(row.tolist(), visible, cell.j))
    if blind:  # a query that sees nothing: what the model's convention makes of it
        softmax["probability"] = float(probs[cell.sample, cell.head, cell.i, cell.j])
    terms = _terms(cell)
    score = float(row[cell.j])
    width = next((term.left.shape[-1] for term in terms if term.left.size), 1)
    count = len(terms) if terms and terms[0].name == "c2c" else 1
    return Explanation(cell, terms, score, float(np.sqrt(count * width)), softmax)
