"""A trace: the named stages of one forward pass, as NumPy arrays, with what is known of each."""

import difflib
import json
import re
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _core
from .arguments import Globs, PathLike, array_of, globs_of, path_text, shown, text_of
from .errors import UsageError
from .files import safetensors_bytes, write_file

if TYPE_CHECKING:
    from .checking import Report
    from .explaining import Cell


FAMILIES = ("deberta", "roformer", "transfo-xl", "xlnet")
DIALECTS = ("reference", "official", "hf", "paper")
# As what a model may hold the numbers of a stage.
DTYPES = ("F64", "F32", "F16", "BF16", "I64")
_OF_LAYER = re.compile(r"(?:segment\.\d+\.)?layer\.(\d+)\.")


class StageInfo(NamedTuple):
    """What is known of a stage beside its values."""

    axes: Tuple[str, ...] = ()
    formula: str = ""
    source: str = ""
    meaning: str = ""


def keeps(stages: Globs, name: str) -> bool:
    """True if a name matches one of the globs, which are a list or separated by commas; no glob keeps everything.

    The patterns are those of locus.trace and of the programs: *, ? and classes of characters ([02], [0-3], [!0]).
    Raises UsageError where one is empty.
    """
    return _core.keeps_stage(globs_of(stages), name)


def known_stage(name: str, family: str) -> StageInfo:
    """Axes, formula, source and meaning by the table of stages; empty where no stage has that name."""
    found = _core.describe(name, family)
    if found is None:
        return StageInfo()
    axes, formula, source, meaning = found
    return StageInfo(tuple(axes), formula, source, meaning)


def in_model_order(names: Sequence[str]) -> List[str]:
    """Names of stages in the order in which a model computes them."""

    def order(a: str, b: str) -> int:
        return -1 if _core.comes_before(a, b) else int(_core.comes_before(b, a))

    return sorted(names, key=cmp_to_key(order))


def inputs_as_json(inputs: Sequence[Dict[str, np.ndarray]]) -> str:
    """What a pass was given, as the metadata of its trace keeps it: one object per segment.

    Empty where there is nothing, where memories are among it, which are no whole numbers, and above a million numbers.
    """
    arrays = [array for given in inputs for array in given.values()]
    whole = all(array.dtype.kind in "bui" for array in arrays)
    if not arrays or not whole or sum(array.size for array in arrays) > 1_000_000:
        return ""
    lists = [{name: np.asarray(array, np.int64).tolist() for name, array in given.items()} for given in inputs]
    return json.dumps(lists, separators=(",", ":"))


def inputs_from_json(text: str) -> List[Dict[str, np.ndarray]]:
    """The same read back."""
    found = json.loads(text or "[]")
    found = [found] if isinstance(found, dict) else found
    return [{name: np.array(values, np.int64) for name, values in given.items()} for given in found]


class Trace(Mapping[str, np.ndarray]):
    """Stages of one pass by name: trace["layer.0.c2p"] is a read-only array [B, H, T, T].

    stages     names in the order of the model
    how        where each stage comes from: "measured" (the model's own tensor), "live projection" (the model's own
               modules on a measured input), "recomputed" (by Locus, in double) or "computed by Locus"
    info       axes, formula, source and meaning of each stage
    tokens     [B][T] pieces of the text, or numbers where there is no tokenizer;  ids: the same as an array [B, T]
    closing    of a recorded trace: layer -> max |probs v - context| / max |context| over visible rows
    stored     dtype of the model that each stage comes from ("F32", "F16", "BF16", "F64", "I64")
    rounding   stage -> dtype by whose rounding it is judged, where that is coarser: float32 under autocast, float64 of a
               live model of which parts are computed in float32
    inputs     what the pass was given, per segment: arrays by the names of an input file (tokens, mask, ...)
    warnings   one sentence each
    """

    def __init__(self, family: str = "", dialect: str = "", model: str = "", made_by: str = "") -> None:
        if family and family not in FAMILIES:
            raise UsageError(f"family is {shown(family)}, expected {', '.join(FAMILIES)} or nothing")
        self.family, self.dialect, self.model, self.made_by = family, dialect, model, made_by
        self.how: Dict[str, str] = {}
        self.info: Dict[str, StageInfo] = {}
        self.stored: Dict[str, str] = {}
        self.rounding: Dict[str, str] = {}
        self.tokens: List[List[str]] = []
        self.ids: Optional[np.ndarray] = None
        self.mask_positions: List[Tuple[int, ...]] = []
        self.inputs: List[Dict[str, np.ndarray]] = []
        self.closing: Dict[int, float] = {}
        self.warnings: List[str] = []
        self.passes = 1
        self.unfinished = False  # while a recording runs: its stages are there when its `with` has ended
        self.report: Optional["Report"] = None  # what check() found last
        self.recorded: Any = None  # the live model behind a recorded trace, for check()
        self._arrays: Dict[str, np.ndarray] = {}

    def add(
        self, name: str, array: Any, how: str = "", dtype: Optional[str] = None, info: Optional[StageInfo] = None
    ) -> None:
        """Appends a copy of the numbers as a stage.

        array: a NumPy array, nested lists, or a tensor of torch: of any device, also one that requires gradients, and in
        bfloat16 or float16, which is noted in `stored`.
        how: where the numbers come from, in your own words.
        dtype: F64, F32, F16, BF16 or I64: as what a model held them, where that is not the type of the array.
        Raises UsageError for what is no array of numbers (masked arrays and long double are none here), for another
        dtype, and for a name that the trace holds already.
        """
        if not text_of("name", name):
            raise UsageError("name is empty, expected that of a stage, as layer.0.c2p")
        if name in self._arrays:
            raise UsageError(f"{name} is in this trace already, expected a new name; discard() takes a stage out")
        if dtype is not None and dtype not in DTYPES:
            raise UsageError(f"dtype is {shown(dtype)}, expected F64, F32, F16, BF16 or I64")
        ready, note = array_of(name, array)
        self.hold(name, ready, text_of("how", how), dtype or note, info)

    def hold(
        self, name: str, array: np.ndarray, how: str, dtype: Optional[str] = None, info: Optional[StageInfo] = None
    ) -> None:
        """`add` without a copy, for arrays that nobody else writes to."""
        array.setflags(write=False)
        known = known_stage(name, self.family)
        self._arrays[name] = array
        self.how[name] = how
        self.info[name] = known if info is None else info._replace(meaning=known.meaning)
        own = {"float64": "F64", "float32": "F32", "float16": "F16"}.get(array.dtype.name, "I64")
        self.stored[name] = dtype or own

    def discard(self, name: str) -> None:
        """Takes a stage out of the trace."""
        for held in (self._arrays, self.how, self.info, self.stored, self.rounding):
            held.pop(name, None)

    @property
    def stages(self) -> List[str]:
        """Names of all stages, in the order of the model."""
        return in_model_order(list(self._arrays))

    def matching(self, stages: Globs) -> List[str]:
        """Names that match globs, a list of them or one str with commas between them.

        Raises UsageError where a glob matches none.
        """
        stages = globs_of(stages)
        for glob in stages.split(","):
            if not any(_core.keeps_stage(glob, name) for name in self._arrays):
                raise UsageError(f'stages: "{glob}" matches no stage of this trace')
        return [name for name in self.stages if keeps(stages, name)]

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str):
            raise KeyError(f"the name of a stage is {shown(name)}, expected a str such as layer.0.probs")
        try:
            return self._arrays[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._arrays, 1)
            there = "it holds " + ", ".join(self.stages[:8]) + ", ..." * (len(self) > 8)
            if self.unfinished:
                there = "a recording holds its stages when its with has ended"
            elif near:
                there = f"the nearest is {near[0]}"
            elif not self._arrays:
                there = "it is empty"
            raise KeyError(f'there is no stage "{name}" in this trace; {there}') from None

    def _ipython_key_completions_(self) -> List[str]:
        """What a notebook offers behind trace[" and the tabulator key."""
        return self.stages

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """A copy, or what a pickle held: its arrays are read-only, too."""
        self.__dict__.update(state)
        for array in self._arrays.values():
            array.setflags(write=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self._arrays)

    def __eq__(self, other: object) -> bool:
        """True if both hold the same stages with the same numbers in the same types; NaN equals NaN."""
        if not isinstance(other, Trace):
            return NotImplemented
        return self is other or set(self._arrays) == set(other._arrays) and all(
            array.dtype == other._arrays[name].dtype
            and np.array_equal(array, other._arrays[name], equal_nan=array.dtype.kind == "f")
            for name, array in self._arrays.items()
        )

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    @property
    def layers(self) -> List[int]:
        """Numbers of the layers of which this trace holds anything."""
        return sorted({int(found.group(1)) for found in map(_OF_LAYER.match, self._arrays) if found})

    def places(self, name: str) -> Tuple[Optional[np.ndarray], np.ndarray]:
        """Which tokens the queries [B,Tq] and keys [Tk] of a stage of pairs are, by their places in the text.

        A key below 0 is memory from before the text.  No queries for a query stream of which the trace does not say what
        it predicts.
        """
        count, _, queries, keys = self[name].shape
        parts = name.split(".")
        if "g" in parts[:-1]:
            at = None
            mapping = self.inputs[0].get("target_mapping") if self.inputs else None
            if mapping is not None:
                at = np.asarray(mapping).argmax(-1)[:count]
            else:
                listed = [[token for sample, token in self.mask_positions if sample == b] for b in range(count)]
                if all(len(tokens) == queries for tokens in listed):
                    at = np.array(listed)
            return at, np.arange(keys) + (min(0, len(self.tokens[0]) - keys) if self.tokens else 0)
        first = 0
        for number in range(int(parts[1]) if parts[0] == "segment" else 0):
            same = ".".join([parts[0], str(number), *parts[2:]])
            known = number < len(self.inputs)
            first += np.asarray(self.inputs[number]["tokens"]).shape[1] if known else self[same].shape[2]
        return np.tile(first + np.arange(queries), (count, 1)), first + queries - keys + np.arange(keys)

    def in_memory(self) -> Any:
        """The same as an object of the extension, for comparisons."""
        ready = []
        for name in self.stages:
            array = self._arrays[name]
            kept = (np.float32, np.float64, np.int64)
            if array.dtype not in kept:
                array = array.astype(np.int64 if array.dtype.kind in "bui" else np.float32)
            ready.append((name, np.ascontiguousarray(array)))
        return _core.trace_of(ready)

    def to_bytes(self, stages: Globs = "") -> List[bytes]:
        """The parts of a safetensors file with these stages and, in its metadata, the list of stages."""
        from .saved import metadata_of

        names = self.matching(stages) if stages else self.stages
        tensors = []
        for name in names:
            array, dtype = self._arrays[name], self.stored[name]
            narrower = dtype in ("F16", "BF16") or (dtype == "F32" and array.dtype == np.float64)
            tensors.append((name, array, dtype if narrower else None))
        return safetensors_bytes(tensors, metadata_of(self, names))

    def save(self, path: PathLike, stages: Globs = "") -> None:
        """Writes a safetensors file that `locus check`, the viewer and locus.load read.

        stages: globs of the names that are written; all where there is none.
        A model in bfloat16 or float16 leaves its own type in the file: comparisons follow it.
        Raises UsageError where a glob matches no stage, UnreadableError that names the file where it cannot be written;
        nothing half-written stays.
        """
        write_file(path, self.to_bytes(stages))

    def cell(
        self, layer: int, head: int, i: int, j: int, sample: int = 0, stream: str = "", segment: Optional[int] = None
    ) -> "Cell":
        """The cell of query i and key j, for locus.explain and Trace.html.

        stream: "g" is the query stream of XLNet.  segment: of a text in segments; then j counts the memory too.
        """
        from .explaining import Cell

        return Cell(self, sample, layer, head, i, j, stream, segment)

    def check(
        self, model: Any = None, *, inputs: Any = None, rtol: Optional[float] = None, atol: Optional[float] = None,
        progress: Optional[bool] = None,
    ) -> "Report":
        """Compares this trace with Locus on the same weights and inputs.

        model: a folder or a live model, where that is not the one that the trace comes from.  A recorded trace brings
        its live model along.
        inputs: what the pass was given, where the trace does not say so: a file or arrays by name, as of locus.trace.
        rtol, atol, progress: as of locus.check.  Raises UsageError where the model or the inputs are not known.
        """
        from .checking import check_trace

        report = check_trace(self, model, inputs, rtol=rtol, atol=atol, progress=progress)
        self.report = report
        return report

    def reference(self, model: Any = None, *, inputs: Any = None) -> "Trace":
        """What check() compares this trace with: the pass by Locus, in double, on the same weights and inputs.

        model, inputs: as of check().  Of a recorded trace it holds the same stages, of another one all.
        """
        from .checking import reference_of

        return reference_of(self, model, inputs)

    def html(
        self, path: Optional[PathLike] = None, *, layers: Optional[Iterable[int]] = None,
        samples: Optional[Iterable[int]] = None, compare: Optional["Trace"] = None, report: Optional["Report"] = None,
        title: str = "", theme: str = "", cell: Any = None, channels: bool = False, limit: int = 5_000_000,
    ) -> str:
        """One self-contained page of this trace; returns its text and, with a path, writes it there.

        It shows every layer and head; of XLNet both streams, of a text in segments each with its memory, and the mask
        decoder of DeBERTa where the trace holds them.
        layers, samples: numbers; what fits below `limit` bytes where not given.
        compare: another trace of the same shape, beside this one.
        report: failing stages stand first (check() leaves its own).  theme: "dark" or "light"; the reader's if empty.
        cell: trace.cell(...), or (layer, head, i, j): locked at the start.
        channels: carries the vectors along, so that a cell is shown product by product; the stages q, k, q_r and k_r
        (q_rot and k_rot, r_k) are needed, and the page grows: at T = 24 and 64 channels fourfold, at T = 128 twofold.
        Raises UsageError where what was asked for is not in the trace or does not fit.
        """
        from .page import page_of

        if path is not None:
            path = path_text("path", path, utf8=False)
        text = page_of(
            self, layers=layers, samples=samples, compare=compare, report=report, title=title, theme=theme, cell=cell,
            channels=channels, limit=limit,
        )
        if path is not None:
            write_file(path, [text.encode()])
        return text

    def frame(self, stages: Globs) -> Any:
        """Values as a long table, one row per number: pandas or polars where installed, else a dict of arrays."""
        from .science import long_frame

        return long_frame(self, stages)

    def _repr_html_(self) -> str:
        from .page import notebook_of

        return notebook_of(self)

    def __repr__(self) -> str:
        layers = f", layers {self.layers[0]} to {self.layers[-1]}" if self.layers else ""
        worst = f", closing {np.max(list(self.closing.values())):.1e}" if self.closing else ""
        return f"<Trace of {self.family or 'a model'}: {len(self)} stages{layers}{worst}, by {self.made_by}>"
