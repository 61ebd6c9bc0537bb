"""Two traces compared stage by stage, and the mistake behind the first that is wrong."""

import json
import numbers
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _core
from .arguments import PathLike, in_words_of_python, is_path, path_text, shown
from .errors import UsageError
from .judging import about_doubtful, as_judged, doubtful_stages, without
from .passes import Inputs, input_file_of, pass_of
from .progress import shown_progress
from .saved import load
from .tracing import DIALECTS, Trace, inputs_as_json

# A trace, a file of one, or arrays and tensors by the names of stages.
TraceLike = Union[Trace, Mapping[str, Any], PathLike]


class Diagnosis:
    """Which mistake of the catalogue explains a wrong stage.

    stage               the first stage that this mistake makes wrong
    number, name, how   the mistake and the way it was made
    residual, allowed   what the hypothesis leaves of the candidate, and what rounding explains of that
    equivalent          numbers of mistakes that make the very same numbers here
    evidence, lesson    where it has happened, and which lesson explains it
    """

    def __init__(self, found: Dict[str, Any]) -> None:
        self.data = found
        self.stage: str = found["stage"]
        self.number: int = found["mistake"]
        self.name: str = found["name"]
        self.how: str = found["how"]
        self.residual: float = found["residual"]
        self.allowed: float = found["allowed"]
        self.equivalent: List[int] = list(found.get("equivalent") or [])
        self.evidence: str = found["evidence"]
        self.lesson: str = found.get("lesson") or ""

    def __repr__(self) -> str:
        return f"mistake {self.number}: {self.name}" + (f" ({self.how})" if self.how and self.how != self.name else "")


class Report:
    """What a comparison found.

    passed       every common stage is inside its tolerance
    first        name of the first stage that is wrong although what it is made of is right; None if all pass
    diagnoses    every mistake that was named, a Diagnosis each, in model order: of the first wrong stage, and of
                 later ones that do not follow from what the candidate itself reports
    mistake      number of the mistake of the first wrong stage, None if it has no name
    unexplained  stages that are wrong by themselves and that no mistake of the catalogue explains
    saved        stages that are computed rightly while other numbers were saved under their name: a sentence each, by
                 name
    doubt        why the reference itself may be the wrong one, one sentence; empty where it is not doubted
    not_judged   wrong stages of which nobody can say what they follow from, and gradients beside a wrong forward pass
    right_once_repaired   True if nothing else is wrong once these are repaired, None if that is not known
    pattern      what the difference looks like, one sentence; empty if all pass
    stages       verdicts by name, in model order
    text, html   the report for people;  data: the JSON that `locus check --json` prints
    """

    def __init__(self, data: Dict[str, Any], text: str, html: str) -> None:
        self.data, self.text, self.html = data, in_words_of_python(text), html
        self.passed: bool = bool(data["pass"])
        self.first: Optional[str] = (data.get("first") or {}).get("stage")
        self.stages: Dict[str, Dict[str, Any]] = {entry["stage"]: entry for entry in data["stages"]}
        self.diagnoses: List[Diagnosis] = []
        self.unexplained: List[str] = []
        self.saved: Dict[str, str] = {}
        for found in data.get("diagnoses") or []:
            if found.get("saved"):
                self.saved[found["stage"]] = found["saved"]
            if found["mistake"] is None:
                if not found.get("saved"):
                    self.unexplained.append(found["stage"])
                continue
            if found["first_at"]:  # the same at a further layer
                continue
            more = data["diagnosis"] if data.get("diagnosis") and found["stage"] == self.first else {}
            self.diagnoses.append(Diagnosis({**found, **more}))
        self.doubt: str = data.get("doubt") or ""
        self.not_judged: List[str] = list(data.get("not_judged") or [])
        self.right_once_repaired: Optional[bool] = {"yes": True, "no": False}.get(data.get("right_once_repaired", ""))
        self.pattern: str = data.get("pattern") or ""
        self.notes: List[str] = []

    @property
    def mistake(self) -> Optional[int]:
        """Number of the mistake behind the first wrong stage, None if it has no name."""
        return None if self.of_first is None else self.of_first.number

    @property
    def of_first(self) -> Optional[Diagnosis]:
        """The diagnosis of the first wrong stage, None if it has no name."""
        return next((each for each in self.diagnoses if each.stage == self.first), None)

    def __bool__(self) -> bool:
        return self.passed

    def __eq__(self, other: object) -> bool:
        """True if both found the same: a copy, or a report that was pickled, is equal to the first."""
        if not isinstance(other, Report):
            return NotImplemented
        return self is other or (str(self) == str(other) and json.dumps(self.data) == json.dumps(other.data))

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text + "".join(note + "\n" for note in self.notes)

    def __repr__(self) -> str:
        if self.passed:
            return f"<Report: passed, {len(self.stages)} stages>"
        return f"<Report: {self.first} is wrong; {self.of_first or self.pattern or 'no mistake of the catalogue explains it'}>"


def _opened(given: TraceLike, name: str) -> Tuple[Trace, str]:
    """A trace, and what a report calls it."""
    if isinstance(given, Trace):
        if given.unfinished:
            raise UsageError(f"{name}: the recording has not ended, expected the comparison after its with")
        return given, f"the {name}"
    if isinstance(given, Mapping):
        made = Trace()
        for stage, array in given.items():
            made.add(stage, array, "given by the caller")
        return made, f"the {name}"
    if not is_path(given):
        raise UsageError(f"{name} is {shown(given)}, expected a trace, a file of one, or arrays by the names of stages")
    file = path_text(name, given)
    return load(file), file


@contextmanager
def folder_of(model: Any) -> Iterator[str]:
    """The folder of a model for the time of the `with`: of a path or name that of the model itself, of a live model or
    of a recorded trace one with its weights.  Empty for None."""
    if model is None:
        yield ""
    elif is_path(model):
        yield path_text("model", model)
    elif isinstance(model, Trace):
        if model.recorded is not None:
            with model.recorded.exported() as exported:
                yield exported.folder
        elif model.model:
            yield model.model
        else:
            raise UsageError("model is a trace that does not say of which model it is, expected a recorded trace")
    elif "torch" not in sys.modules:  # so it is no live model
        raise UsageError(f"model is {shown(model)}, expected a path, a live model or a recorded trace")
    else:
        from .recording import choose_encoder
        from .weights import export_model

        encoder = choose_encoder(model, None)
        with temporary_folder() as folder:
            export_model(encoder, folder, is_decoder=False)
            yield folder


def _require_tolerance(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, numbers.Real):
        raise UsageError(f"{name} is {shown(value)}, expected a number")
    if not float(value) >= 0:  # nan is refused, too
        raise UsageError(f"{name} is {value}, expected 0 or more")


def check(
    reference: TraceLike,
    candidate: TraceLike,
    model: Any = None,
    inputs: Optional[Inputs] = None,
    *,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    progress: Optional[bool] = None,
) -> Report:
    """Does a candidate hold the same stages as a reference, and if not, which mistake is it?

    reference, candidate: traces, safetensors files of them, or arrays and tensors by the names of stages.  The candidate
    may hold any of the stages.
    model: the folder of the model, the live model itself, or a recorded trace, whose model is taken; with its weights
    more stages can be explained.
    inputs: what the pass was given: a safetensors file or arrays by name (tokens, mask, ...); where it is not named,
    what the traces themselves say.
    rtol, atol: instead of what rounding explains, stage by stage.  That is the rounding of the candidate's own types, or
    of coarser ones where its `rounding` says so.
    progress: True or False for a bar or none; where not given, one in notebooks and on a terminal.
    Ctrl+C ends the search for the mistake.  Raises UsageError where the two have no stage in common.
    """
    _require_tolerance("rtol", rtol)
    _require_tolerance("atol", atol)
    expected, its_name = _opened(reference, "reference")
    found, name = _opened(candidate, "candidate")
    recorded = [] if inputs is not None else [
        text for text in map(inputs_as_json, (expected.inputs, found.inputs)) if text
    ]
    judged = as_judged(found)
    with folder_of(model) as folder, input_file_of(inputs) as input_file, shown_progress(
        "check", "hypotheses", progress
    ) as steps:
        text_json, text, html = _core.check(
            expected.in_memory(), judged.in_memory(), judged.stored, its_name, name, folder, input_file, recorded,
            None if rtol is None else float(rtol), None if atol is None else float(atol), steps,
            expected.dialect if expected.dialect in DIALECTS else "",
        )
    return Report(json.loads(text_json), text, html)


def _source_of(trace: Trace, model: Any, inputs: Optional[Inputs]) -> Tuple[Any, Inputs]:
    """The model and the inputs of a trace that no live model comes with.  Raises UsageError where they are not known."""
    source = model if model is not None else trace.model or None
    if source is None:
        raise UsageError("this trace does not say which model it comes from, expected model=")
    if inputs is not None:
        return source, inputs
    if len(trace.inputs) == 1:
        return source, dict(trace.inputs[0])
    if trace.inputs:  # as an input file names them
        return source, {f"{name}.{n}": array for n, one in enumerate(trace.inputs) for name, array in one.items()}
    if trace.ids is None:
        raise UsageError("this trace does not say what its pass was given, expected inputs=")
    return source, {"tokens": trace.ids}


def _live(trace: Trace, model: Any, inputs: Optional[Inputs]) -> Any:
    """The live model of a recorded trace, where that is what is asked for; None otherwise."""
    if trace.unfinished:
        raise UsageError("the recording has not ended, expected the check after its with")
    if trace.recorded is None or model is not None:
        return None
    if inputs is not None:
        raise UsageError("inputs: a recorded trace knows what its pass was given, expected none")
    return trace.recorded


def reference_of(trace: Trace, model: Any = None, inputs: Optional[Inputs] = None) -> Trace:
    """The pass by Locus, in double, with which check_trace compares a trace: what Trace.reference gives."""
    live = _live(trace, model, inputs)
    if live is not None:
        of_live_model: Trace = live.reference(trace)
        return of_live_model
    source, given = _source_of(trace, model, inputs)
    with folder_of(source) as folder:
        made = pass_of(folder, inputs=given, precision="f64", dialect=trace.dialect or "reference")
    made.model = source if isinstance(source, str) else ""
    return made


def check_trace(trace: Trace, model: Any = None, inputs: Optional[Inputs] = None, **options: Any) -> Report:
    """A trace against Locus on its model: what Trace.check does."""
    live = _live(trace, model, inputs)
    if live is not None:
        of_live_model: Report = live.check(trace, **options)
        return of_live_model
    source, given = _source_of(trace, model, inputs)
    with folder_of(source) as folder:
        reference = pass_of(folder, inputs=given, precision="f64", dialect=trace.dialect or "reference")
        doubted = doubtful_stages(trace, reference)
        judged = without(trace, doubted)
        if doubted and not len(judged):
            raise UsageError(f"{about_doubtful(doubted)[0]}, and nothing remains to be compared")
        report = check(reference, judged, model=folder, inputs=inputs, **options)
    report.notes += about_doubtful(doubted)
    return report


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one comparison."""
    return tempfile.TemporaryDirectory(prefix="locus-")
