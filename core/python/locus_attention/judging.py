"""How a trace is held against Locus: which of its stages count, and by the rounding of which type they are judged."""

from typing import Dict, List, Sequence

import numpy as np

from .tracing import Trace

_INDEX = "relative.index"
# What closing may be of a right model: a hundred times what rounding left of right ones, a tenth of what mistakes left.
CLOSING_LIMITS = {"F64": 1e-5, "F32": 1e-4, "F16": 1e-2, "BF16": 5e-2}


def of_layer(trace: Trace, layer: int) -> List[str]:
    """Names of the stages inside a layer, in the order of the model."""
    return [name for name in trace if name.startswith(f"layer.{layer}.")]


def closes(trace: Trace, layer: int) -> bool:
    """True if the terms of this layer are those that the model used.

    The limit is that of the coarsest type among the stages that the trace holds of the layer: what is recomputed is
    kept in the type of the context.
    """
    value = trace.closing.get(layer)
    kinds = {trace.stored[name] for name in of_layer(trace, layer)}
    limit = max((CLOSING_LIMITS[kind] for kind in kinds if kind in CLOSING_LIMITS), default=CLOSING_LIMITS["F32"])
    return value is None or value <= limit


def doubtful_stages(trace: Trace, reference: Trace) -> List[str]:
    """Recomputed stages of layers whose closing test fails: they are not what the model computed.

    Where no layer closes, a right relative.index too: the terms may have read other rows, and then it says nothing.
    """
    failing = [layer for layer in sorted(trace.closing) if not closes(trace, layer)]
    doubted = [name for layer in failing for name in of_layer(trace, layer) if trace.how[name] == "recomputed"]
    if failing and len(failing) == len(trace.closing) and _INDEX in trace and _INDEX in reference:
        doubted += [_INDEX] * np.array_equal(trace[_INDEX], reference[_INDEX])
    return doubted


def about_doubtful(names: Sequence[str]) -> List[str]:
    """What a report says of doubtful stages that were left out: one sentence, none where there are none."""
    layers = ", ".join(sorted({name.split(".")[1] for name in names if name != _INDEX}, key=int))
    index = f", and {_INDEX} with them" * (_INDEX in names)
    sentence = f"layers {layers}: the recomputed terms do not give the measured context, so they were left out{index}"
    return [sentence] * bool(names)


def rounding_of_live(trace: Trace) -> Dict[str, str]:
    """Stage -> the type by whose rounding it is judged, where that is coarser than the type of its numbers.

    Under autocast sums and norms come in float32, but everything after the first stage of a narrow type is made of what
    was rounded to bfloat16 or float16.  Of a model in float64 transformers computes the divisor (DeBERTa), norms (v1) and
    sinusoids (XLNet) in float32 at best.
    """
    found, narrow = {}, ""
    for name in trace:
        kind = trace.stored[name]
        narrow = narrow or (kind if kind in ("F16", "BF16") else "")
        if kind == "F32" and narrow:
            found[name] = narrow
        elif kind == "F64" and trace.family != "roformer":
            found[name] = "F32"
    return found


def as_judged(trace: Trace) -> Trace:
    """The same stages in the types by whose rounding they are judged."""
    judged = Trace(trace.family, trace.dialect, trace.model, trace.made_by)
    for name in trace:
        array, kind = trace[name], trace.rounding.get(name, trace.stored[name])
        if kind == "F32" and array.dtype == np.float64:
            array = array.astype(np.float32)
        judged.hold(name, array, trace.how[name], kind, trace.info[name])
    return judged


def without(trace: Trace, names: Sequence[str]) -> Trace:
    """The same trace without some stages."""
    kept = Trace(trace.family, trace.dialect, trace.model, trace.made_by)
    kept.inputs, kept.closing = trace.inputs, trace.closing
    for name in trace:
        if name not in names:
            kept.hold(name, trace[name], trace.how[name], trace.stored[name], trace.info[name])
            if name in trace.rounding:
                kept.rounding[name] = trace.rounding[name]
    return kept
