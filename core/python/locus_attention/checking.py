"""Two traces compared stage by stage, and the mistake behind the first that is wrong."""

import json
import os
import tempfile
from typing import Any, Dict, List, Optional, Union

from . import _core
from .errors import UsageError
from .files import PathLike
from .passes import Inputs, input_file_of, trace as trace_of_folder
from .progress import shown_progress
from .tracing import Trace, inputs_as_json, load

TraceLike = Union[Trace, PathLike]


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
        return f"mistake {self.number}: {self.how or self.name}"


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
    not_judged   wrong stages of which nobody can say what they follow from
    right_once_repaired   True if nothing else is wrong once these are repaired, None if that is not known
    pattern      what the difference looks like, one sentence; empty if all pass
    stages       verdicts by name, in model order
    text, html   the report for people;  data: the JSON that `locus check --json` prints
    """

    def __init__(self, data: Dict[str, Any], text: str, html: str) -> None:
        self.data, self.text, self.html = data, text, html
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
        return next((each.number for each in self.diagnoses if each.stage == self.first), None)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text + "".join(note + "\n" for note in self.notes)

    def __repr__(self) -> str:
        if self.passed:
            return f"<Report: passed, {len(self.stages)} stages>"
        return f"<Report: {self.first} is wrong; {self.diagnoses[0] if self.diagnoses else self.pattern}>"


def _opened(given: TraceLike) -> Trace:
    return given if isinstance(given, Trace) else load(given)


def _name_of(given: TraceLike, otherwise: str) -> str:
    return otherwise if isinstance(given, Trace) else os.fspath(given)


def check(
    reference: TraceLike,
    candidate: TraceLike,
    model: Optional[PathLike] = None,
    inputs: Optional[Inputs] = None,
    *,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
) -> Report:
    """Does a candidate hold the same stages as a reference, and if not, which mistake is it?

    reference, candidate: traces, or safetensors files of them.  The candidate may hold any of the stages.
    model: the folder of the model; with its weights more stages can be explained.
    inputs: what the pass was given: a safetensors file or arrays by name (tokens, mask, ...); where it is not named,
    what the traces themselves say.
    rtol, atol: instead of what rounding explains, stage by stage.
    Ctrl+C ends the search for the mistake.  Raises UsageError where the two have no stage in common.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not value >= 0:  # nan is refused, too
            raise UsageError(f"{name} is {value}, expected 0 or more")
    expected, found = _opened(reference), _opened(candidate)
    recorded = [] if inputs is not None or model is None else [
        text for text in map(inputs_as_json, (expected.inputs, found.inputs)) if text
    ]
    with input_file_of(inputs) as input_file, shown_progress("check", "hypotheses") as progress:
        text_json, text, html = _core.check(
            expected.in_memory(), found.in_memory(), found.stored,
            _name_of(reference, "the reference"), _name_of(candidate, "the candidate"),
            "" if model is None else os.fspath(model), input_file, recorded, rtol, atol,
            progress,
        )
    return Report(json.loads(text_json), text, html)


def check_trace(trace: Trace, model: Optional[PathLike] = None, **options: Any) -> Report:
    """A trace against Locus on its model: what Trace.check does."""
    if trace.recorded is not None and model is None:
        of_live_model: Report = trace.recorded.check(trace, **options)
        return of_live_model
    folder = model or trace.model
    if not folder or trace.ids is None:
        raise UsageError("this trace does not say which model and tokens it comes from, expected model=")
    dialect = trace.dialect or "reference"
    given: Dict[str, Any] = {"tokens": trace.ids}
    if len(trace.inputs) == 1:
        given = dict(trace.inputs[0])
    elif trace.inputs:  # as an input file names them
        given = {f"{name}.{n}": array for n, one in enumerate(trace.inputs) for name, array in one.items()}
    reference = trace_of_folder(folder, inputs=given, precision="f64", dialect=dialect)
    return check(reference, trace, model=folder, **options)


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for one comparison."""
    return tempfile.TemporaryDirectory(prefix="locus-")
