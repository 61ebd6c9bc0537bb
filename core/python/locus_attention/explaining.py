"""Why has this cell its value?  From the vectors to the terms, the score and the probability."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _core
from .arguments import shown
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
    total        their sum;  divisor: what it is divided by;  score: the quotient.  The divisor is NaN where the terms
                 that the trace holds do not make its scores: one is missing, or a port has another formula
    mixed        with talking heads the score mixed over the heads, which the softmax reads; None without
    softmax      visible, row_maximum, row_maximum_key, exponential, denominator, probability
    """

    def __init__(
        self, cell: Cell, terms: List[Term], score: float, divisor: float, softmax: Dict[str, Any],
        mixed: Optional[float] = None,
    ) -> None:
        self.cell, self.terms, self.score, self.divisor, self.softmax = cell, terms, score, divisor, softmax
        self.mixed = mixed
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
        if self.terms and np.isnan(self.divisor):
            lines.append(f"  sum      {self.total: .6g}, of which no divisor makes the scores: a term is missing")
        elif self.terms:
            lines.append(f"  sum      {self.total: .6g} / {self.divisor:.6g}")
        lines.append(f"  score    {self.score: .6g}")
        read = self.score
        if self.mixed is not None:
            read = self.mixed
            lines.append(f"  mixed    {read: .6g}   over the heads, by the model's talking heads")
        if not self.softmax["visible"]:
            return "\n".join(lines + ["  hidden by the mask: probability 0"])
        lines.append(
            f"  softmax  exp({read:.6g} - {self.softmax['row_maximum']:.6g}) = {self.softmax['exponential']:.6g}"
            f", over {self.softmax['denominator']:.6g}"
        )
        return "\n".join(lines + [f"  probability {self.probability:.6g}"])

    __repr__ = __str__


def _term(name: str, left: np.ndarray, right: np.ndarray, row: Optional[int]) -> Term:
    exact = np.float32 if left.dtype == right.dtype == np.float32 else np.float64
    replay = _core.replayed_product_f32 if exact is np.float32 else _core.replayed_product_f64
    products, running = replay(left.astype(exact).tolist(), right.astype(exact).tolist())
    return Term(name, float(running[-1]), row, left, right, np.array(products, exact), np.array(running, exact))


def _bare(name: str, value: float) -> Term:
    """A term of which the trace holds the value alone."""
    nothing = np.zeros(0, np.float32)
    return Term(name, value, None, nothing, nothing, nothing, nothing)


def _replay_of(cell: Cell, stem: str, left: np.ndarray, right: np.ndarray, row: Optional[int]) -> Term:
    """The products of a term, where they give the value of the trace; a port may have multiplied something else."""
    value = float(cell.trace[cell.name(stem)][cell.sample, cell.head, cell.i, cell.j])
    term = _term(stem, np.asarray(left), np.asarray(right), row)
    fits = abs(term.value - value) <= rounding_of(cell.trace, cell.name(stem)) * float(np.abs(term.products).sum())
    return term if fits else _bare(stem, value)


# How far two ways to compute a sum of products may be apart, as a share of the sum of their sizes, by the coarsest type
# that took part: a few hundred roundings.
_ROUNDING = {"F64": 1e-9, "F32": 1e-4, "F16": 4e-3, "BF16": 3e-2}


def rounding_of(trace: Any, *names: str) -> float:
    """How far two ways to compute these stages may be apart, as a share of what was added."""
    return max(_ROUNDING.get(trace.stored.get(name, "F32"), 1e-4) for name in names)


def p2c_reads_ji(k: np.ndarray, q_r: np.ndarray, p2c: np.ndarray, index: np.ndarray) -> bool:
    """True if p2c[i,j] = k_j . q_r[delta(j,i)], as the paper prints it; every release reads delta(i,j).

    k [Tk,d], q_r [2k,d], p2c and index = delta(i,j) [T,T] of one head.  The numbers decide, so that a trace need not
    say which dialect made it; False where both fit, as where no offset has a sign.
    """
    if index.shape[0] != index.shape[1]:
        return False
    table = np.asarray(k, np.float64) @ np.asarray(q_r, np.float64).T
    keys = np.arange(index.shape[1])
    apart = [np.abs(table[keys, rows] - p2c).max() for rows in (index, index.T)]
    return bool(apart[1] < apart[0])


def _row_without_index(left: np.ndarray, table: np.ndarray, values: np.ndarray, rounding: float) -> Optional[int]:
    """Which row of table [H,2k,d] gives the values [B,H] with left [B,H,d]; None where none or several do."""
    left, table = np.asarray(left, np.float64), np.asarray(table, np.float64)
    allowed = rounding * np.einsum("bhd,hrd->bhr", np.abs(left), np.abs(table))
    apart = np.abs(np.einsum("bhd,hrd->bhr", left, table) - values[..., None])
    fitting = np.flatnonzero((apart <= allowed).all(axis=(0, 1)))
    return int(fitting[0]) if len(fitting) == 1 else None


def _position_term(cell: Cell, stem: str, token: str, rows: str) -> Term:
    """c2p or p2c: the vector of a token times a row of the relative table, the row that gives the value of the trace.

    The row is that of relative.index, which a trace of some layers may lack; then the one that fits in every head.
    """
    trace, b, h, i, j = cell.trace, cell.sample, cell.head, cell.i, cell.j
    held = trace[cell.name(stem)]
    if cell.name(token) not in trace or cell.name(rows) not in trace:
        return _bare(stem, float(held[b, h, i, j]))
    vectors, table, at = trace[cell.name(token)], trace[cell.name(rows)], i if stem == "c2p" else j
    if "relative.index" in trace:
        index = trace["relative.index"]
        turned = stem == "p2c" and p2c_reads_ji(vectors[b, h], table[h], held[b, h], index)
        row: Optional[int] = int(index[j, i] if turned else index[i, j])
    else:
        row = _row_without_index(vectors[:, :, at], table, held[:, :, i, j], rounding_of(trace, cell.name(stem)))
    if row is None:
        return _bare(stem, float(held[b, h, i, j]))
    return _replay_of(cell, stem, vectors[b, h, at], table[h, row], row)


def _terms(cell: Cell) -> List[Term]:
    """The terms of a score, with their products as far as the trace holds the vectors."""
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
        terms.append(_replay_of(cell, "c2c", row_of("q", i), row_of("k", j), None))
    elif held("c2c"):
        terms.append(_bare("c2c", float(trace[cell.name("c2c")][b, h, i, j])))
    if held("c2p"):
        terms.append(_position_term(cell, "c2p", "q", "k_r"))
    if held("p2c"):
        terms.append(_position_term(cell, "p2c", "k", "q_r"))
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
            terms.append(_bare(stem, value))
            continue
        products = _term(stem, np.asarray(trace[cell.name("q")][b, h, i]), other, row)
        terms.append(products._replace(value=value, bias=value - products.value))
    return terms


def divisor_by_rule(terms: Sequence[str], width: int) -> Tuple[float, int]:
    """√(n d) of the family's formula, and n: DeBERTa counts its terms, the other families have √d."""
    count = len(terms) if terms and terms[0] == "c2c" else 1
    return float(np.sqrt(count * max(width, 1))), count


def _divisor(cell: Cell, terms: Sequence[Term]) -> float:
    """What the sum of the terms is divided by to give the scores of this head; NaN where no number does.

    It is read off the trace: n of sqrt(n d) counts the terms of the model, and in Hugging Face's first version the
    names in pos_att_type, which a trace does not hold.
    """
    trace, b, h = cell.trace, cell.sample, cell.head
    if not terms:
        return 1.0
    if terms[0].name == "q . k":
        q, k = (np.asarray(trace[cell.name(stem)][b, h], np.float64) for stem in ("q_rot", "k_rot"))
        total, width, size = q @ k.T, q.shape[-1], np.abs(q) @ np.abs(k).T
    else:
        parts = [np.asarray(trace[cell.name(term.name)][b, h], np.float64) for term in terms]
        total, size = np.sum(parts, axis=0), np.sum(np.abs(parts), axis=0)
        width = trace[cell.name("q")].shape[-1] if cell.name("q") in trace else 0
    scores, seen = np.asarray(trace[cell.name("scores")][b, h], np.float64), trace[cell.name("probs")][b, h] > 0
    seen = seen if seen.any() else np.ones_like(seen)
    scores, total, size = scores[seen], total[seen], size[seen]
    if not scores.any() or not total.any():
        by_rule = divisor_by_rule([term.name for term in terms], width)[0]
        return by_rule if not scores.any() and not total.any() else float("nan")
    factor = float((scores * total).sum() / (total * total).sum())
    if not (np.abs(scores - factor * total) <= 4 * rounding_of(trace, cell.name("scores")) * abs(factor) * size).all():
        return float("nan")
    count = round(1 / (factor * factor * width)) if width else 0
    exact = count > 0 and abs(count * width * factor * factor - 1) < 1e-3
    return float(np.sqrt(count * width)) if exact else 1 / factor


def _softmax(cell: Cell, stem: str) -> Dict[str, Any]:
    """The steps from the scores of the row to the probability of the key.

    Raises UsageError where they do not lead to the probability of the trace.
    """
    trace, name, result = cell.trace, cell.name(stem), cell.name("probs")
    row, probs = (trace[each][cell.sample, cell.head, cell.i] for each in (name, result))
    blind = np.ptp(probs) == 0 and np.ptp(row) > 0
    visible = [int(at) for at in (np.zeros(len(probs), bool) if blind else probs > 0)]
    replay = _core.replayed_softmax_f32 if row.dtype == np.float32 else _core.replayed_softmax_f64
    softmax = dict(replay(row.tolist(), visible, cell.j))
    if blind:  # a query that sees nothing: what the model's convention makes of it
        softmax["probability"] = float(probs[cell.j])
    # A rounding of a score is one of its size, and the exponential makes of it a share of the probability.
    allowed = rounding_of(trace, name, result) * (1 + float(np.abs(row[probs > 0]).max(initial=0.0)))
    if not np.isclose(softmax["probability"], probs[cell.j], rtol=allowed, atol=1e-7):
        also = "" if stem == "scores_mixed" else f"; a model with talking heads needs {cell.name('scores_mixed')}"
        raise UsageError(
            f"the softmax of {name} gives {softmax['probability']:.6g}, expected {float(probs[cell.j]):.6g}"
            f" as {result} holds{also}"
        )
    return softmax


def explain(cell: Cell) -> Explanation:
    """Replays one cell of a trace by scalar arithmetic, from the vectors to the probability.

    cell: trace.cell(layer, head, i, j).  The softmax needs scores and probs, and scores_mixed of a model with talking
    heads.  The terms are those of c2c, c2p, p2c (ac, bd, ef) that the trace holds; their products need the stages q, k,
    q_r, k_r of that layer (q_rot and k_rot of RoFormer).  Which row of the relative table serves the pair is read from
    relative.index, or, in a trace without it, is the row that gives the terms of every head.
    Raises UsageError naming the stage that is missing.
    """
    if not isinstance(cell, Cell):
        raise UsageError(f"cell is {shown(cell)}, expected that of a trace: trace.cell(layer, head, i, j)")
    for what, value in zip(("sample", "layer", "head", "i", "j"), cell[1:6]):
        if not hasattr(value, "__index__"):
            raise UsageError(f"{what} of the cell is {shown(value)}, expected a whole number")
    trace = cell.trace
    for stem in ("scores", "probs"):
        if cell.name(stem) not in trace:
            raise UsageError(f"the trace holds no {cell.name(stem)}, which explains the probability")
    scores, probs = trace[cell.name("scores")], trace[cell.name("probs")]
    at_cell = (cell.sample, cell.head, cell.i, cell.j)
    for what, at, size in zip(("sample", "head", "query", "key"), at_cell, scores.shape):
        if not 0 <= at < size:
            raise UsageError(f"the {what} is {at}, expected 0 to {size - 1}")
    talking = cell.name("scores_mixed") in trace
    mixed = float(trace[cell.name("scores_mixed")][at_cell]) if talking else None
    terms = _terms(cell)
    softmax = _softmax(cell, "scores_mixed" if talking else "scores")
    return Explanation(cell, terms, float(scores[at_cell]), _divisor(cell, terms), softmax, mixed)
