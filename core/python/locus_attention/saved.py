"""What a trace file says of its trace in its metadata, and traces read back from files."""

import json
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

import numpy as np

from . import _core
from .errors import LocusError
from .arguments import PathLike, path_text
from .tracing import FAMILIES, StageInfo, Trace, inputs_as_json, inputs_from_json, known_stage

_Value = TypeVar("_Value")
# What somebody else's metadata may raise where it is read as that of Locus.
_FOREIGN = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


def metadata_of(trace: Trace, names: Sequence[str]) -> Dict[str, str]:
    """The metadata of a file with these stages."""
    listed = [
        {
            "name": name, "axes": list(trace.info[name].axes), "formula": trace.info[name].formula,
            "source": trace.info[name].source, "how": trace.how[name],
            **({"rounding": trace.rounding[name]} if name in trace.rounding else {}),
        }
        for name in names
    ]
    metadata = {
        "stages": json.dumps(listed, ensure_ascii=False), "family": trace.family, "dialect": trace.dialect,
        "model": trace.model,
    }
    if trace.tokens:
        metadata["pieces"] = json.dumps(trace.tokens, ensure_ascii=False)
    if trace.ids is not None:
        metadata["tokens"] = json.dumps(np.asarray(trace.ids).tolist())
    if given := inputs_as_json(trace.inputs):
        metadata["inputs"] = given
    if trace.closing:
        metadata["closing"] = json.dumps(trace.closing)
    return metadata


def _understood(read: Callable[[], _Value], otherwise: _Value) -> _Value:
    """What `read` returns; `otherwise` where the metadata is somebody else's and says something different there."""
    try:
        return read()
    except _FOREIGN:
        return otherwise


def _entries(metadata: Dict[str, str]) -> Dict[str, Dict[str, Any]]:
    """What the file says of its stages, by their names."""
    listed: Any = _understood(lambda: json.loads(metadata.get("stages", "[]")), [])
    listed = listed if isinstance(listed, list) else []
    return {entry["name"]: entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("name"), str)}


def _text(entry: Dict[str, Any], key: str) -> str:
    return entry[key] if isinstance(entry.get(key), str) else ""


def _pieces(text: str) -> List[List[str]]:
    found = json.loads(text)
    if not all(isinstance(piece, str) for sample in found for piece in sample):
        raise ValueError("not [B][T] pieces")
    return [list(sample) for sample in found]


def _ids(text: str) -> Optional[np.ndarray]:
    array = np.array(json.loads(text), dtype=np.int64)
    return array if array.ndim == 2 else None


def _family(metadata: Dict[str, str], names: Sequence[str]) -> str:
    """The family that the file names; else that of its model, where this is at hand, or of stages that no other has."""
    if metadata.get("family") in FAMILIES:
        return metadata["family"]
    if metadata.get("model"):
        try:
            return str(_core.family_of(metadata["model"]))
        except LocusError:
            pass
    stems = {name.rpartition(".")[2] for name in names}
    for family, own in (
        ("deberta", {"c2c", "c2p", "p2c"}), ("roformer", {"q_rot", "k_rot"}), ("xlnet", {"ef", "r_k_backward"}),
        ("transfo-xl", {"clusters"}),
    ):
        if stems & own:
            return family
    return ""


def _info(held: Any, name: str, entry: Dict[str, Any], family: str) -> StageInfo:
    """Axes, formula and source of a stage: as the file says; else as the table of stages has them for the family."""
    axes, _, _ = held.describe(name)
    known = known_stage(name, family)
    formula, source = _text(entry, "formula"), _text(entry, "source")
    if not (formula or source):
        formula, source = known.formula, known.source
    said = entry.get("axes")
    if isinstance(said, list) and len(said) == held.array(name).ndim and all(isinstance(axis, str) for axis in said):
        axes = said
    return StageInfo(tuple(axes), formula, source, known.meaning)


def load(path: PathLike) -> Trace:
    """Reads a trace file: of Locus, or any safetensors file of stages.

    family, dialect, model, tokens and inputs are what the file says of itself; empty where it says nothing.
    Raises UnreadableError that names the file.
    """
    file = path_text("path", path)
    held, stored, metadata = _core.read_trace(file)
    names = held.names()
    trace = Trace(_family(metadata, names), metadata.get("dialect", ""), metadata.get("model", ""), file)
    entries = _entries(metadata)
    trace.tokens = _understood(lambda: _pieces(metadata.get("pieces", "[]")), [])
    trace.closing = _understood(
        lambda: {int(layer): float(value) for layer, value in json.loads(metadata.get("closing", "{}")).items()}, {}
    )
    trace.inputs = _understood(lambda: inputs_from_json(metadata.get("inputs", "[]")), [])
    if trace.inputs:
        nowhere = np.zeros((0, 2), np.int64)
        places: List[Tuple[int, ...]] = [tuple(at) for at in trace.inputs[0].get("mask_positions", nowhere).tolist()]
        trace.mask_positions = places
    if metadata.get("tokens"):
        trace.ids = _understood(lambda: _ids(metadata["tokens"]), None)
    for name in names:
        entry = entries.get(name, {})
        trace.hold(name, held.array(name), _text(entry, "how") or "read from a file", stored.get(name),
                   _info(held, name, entry, trace.family))
        if _text(entry, "rounding") in ("F32", "F16", "BF16"):
            trace.rounding[name] = entry["rounding"]
    if trace.ids is not None and not trace.tokens:
        trace.tokens = [[str(token) for token in sample] for sample in trace.ids]
    return trace
