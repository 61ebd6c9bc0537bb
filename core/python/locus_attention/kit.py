"""The conformance kit: cases for a port in any language, and the judgement of what it computed."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from . import _core
from .arguments import PathLike, path_text, text_of
from .progress import shown_progress


class Exported(NamedTuple):
    """What a kit holds."""

    folder: str
    cases: int
    files: int
    bytes: int


class KitReport:
    """What became of every case.

    passed   no case fails;  counts: passed, failed, waived, not_reported
    cases    one dict per case, as `locus kit check --json` prints it
    first    name of the first wrong stage of the first failing case;  diagnoses: numbers of the mistakes named, by case
    """

    def __init__(self, data: Dict[str, Any], text: str, html: str) -> None:
        self.data, self.text, self.html = data, text, html
        self.passed: bool = bool(data["pass"])
        self.counts: Dict[str, int] = data["counts"]
        self.cases: List[Dict[str, Any]] = data["cases"]
        failing = [case for case in self.cases if case["verdict"] == "fail"]
        self.first: Optional[str] = next(((case.get("first") or {}).get("stage") for case in failing), None)
        self.diagnoses: Dict[str, int] = {
            case["id"]: case["diagnosis"]["mistake"] for case in failing if case.get("diagnosis")
        }

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<KitReport: {self.counts}>"


def _source() -> str:
    """What a kit is made of: recorded cases, schemas, shims; they travel inside the package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "source")


def export(
    folder: PathLike, *, model: Optional[PathLike] = None, dialect: str = "hf", progress: Optional[bool] = None
) -> Exported:
    """Writes the kit, cases and references of all families, into a new or empty folder.

    model: a model folder, or the name of a built-in model: then the cases are those of this checkpoint, its first two
    layers in their real sizes, as `dialect` computes them.  Its weights are not copied.
    progress: True or False for a bar or none; where not given, one in notebooks and on a terminal.
    It appears as a whole or not at all.  Ctrl+C ends it.  Raises UsageError where the folder holds something.
    """
    target, chosen = path_text("folder", folder), "" if model is None else path_text("model", model)
    with shown_progress("kit", "cases", progress) as steps:
        cases, files, size = _core.export_kit(target, _source(), chosen, text_of("dialect", dialect), steps)
    return Exported(target, cases, files, size)


def check(
    kit: PathLike, dumps: PathLike, *, family: str = "", dialect: str = "", progress: Optional[bool] = None
) -> KitReport:
    """Judges the dumps of a port, case by case: what fails first, and which mistake it is.

    kit: what export wrote.  dumps: a folder with <case>.safetensors, <case>/dump.safetensors or <case>/<stage>.npy.
    family: deberta, roformer, transfo-xl or xlnet alone.  dialect: what the port follows: hf, official, ...
    progress: as of export.
    """
    made, judged = path_text("kit", kit), path_text("dumps", dumps)
    with shown_progress("check", "cases", progress) as steps:
        text_json, text, html = _core.check_kit(
            made, judged, text_of("family", family), text_of("dialect", dialect), steps
        )
    return KitReport(json.loads(text_json), text, html)


def catalogue() -> List[Dict[str, Any]]:
    """All mistakes that a check can name: number, name, what one sees, where it has happened."""
    listed: Any = json.loads(_core.catalogue())
    mistakes: List[Dict[str, Any]] = listed["mistakes"] if isinstance(listed, dict) else listed
    return mistakes


def from_model(
    model: Any, folder: PathLike, *, at: Optional[str] = None, progress: Optional[bool] = None
) -> Exported:
    """Makes a kit from a live model, in its real sizes, for check(folder, dumps) and `locus-kit check`.

    The cases are L3/t17, L3/t300 and L3/t600, one text of so many tokens (no longer than the model has positions:
    t64 is the last where it has 64), and L3/padded, two texts of 17 and 11 tokens.  Each asks for the embeddings, the
    relative positions and the first two layers, which Locus computes in double precision from the weights that the model
    has now, as transformers does (dialect hf).  References are float32, below 20 MB in all: where stages do not fit,
    outputs are kept before scores.
    folder/model holds config.json and the weights of the embeddings and of these layers, so the kit may be moved.  Of a
    deberta-v3-base it has 452 MB in float32, of which 394 MB are its table of words; the rest of the kit has 17 MB.
    folder: new or empty; the kit appears in it as a whole or not at all.  Ctrl+C ends it.
    at: path of the encoder, where the model holds several.  progress: as of export.
    Raises UsageError where the folder holds something, UnsupportedError for a model that Locus does not compute,
    UnreadableError where weights are no finite numbers or the folder cannot be written.
    """
    from .kit_of_model import write_kit

    target = path_text("folder", folder)
    return Exported(target, *write_kit(model, target, _source(), at, progress))
