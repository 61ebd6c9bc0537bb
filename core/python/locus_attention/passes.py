"""Forward passes of models in folders: every stage, the words for [MASK], and token ids."""

import os
import tempfile
import warnings
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from .arguments import (
    Globs, PathLike, globs_of, in_words_of_python, input_arrays, is_path, path_text, shown, text_of, texts_of,
    token_ids,
)
from .errors import LocusError, UnsupportedError, UsageError, whole_number
from .files import save_tensors
from .progress import shown_progress
from .tracing import StageInfo, Trace, inputs_from_json

Texts = Union[str, Sequence[str]]
Inputs = Union[PathLike, Mapping[str, Any]]


def _said_of(error: LocusError, file: str) -> LocusError:
    """The refusal of inputs that were given as arrays, which the caller knows by no file."""
    sentence = str(error).replace(file, "inputs")
    return UsageError(sentence) if sentence.startswith("inputs:") else type(error)(sentence)


@contextmanager
def input_file_of(inputs: Optional[Inputs]) -> Iterator[str]:
    """The name of a file with these inputs: the one that was given, or one that lives as long as the context."""
    if inputs is None:
        yield ""
    elif isinstance(inputs, Mapping):
        # The inputs of a trace say where its masks are, which is found again in the tokens.
        arrays = input_arrays({name: inputs[name] for name in inputs if name != "mask_positions"})
        with tempfile.TemporaryDirectory(prefix="locus-") as folder:
            path = os.path.join(folder, "inputs.safetensors")
            save_tensors(path, arrays)
            try:
                yield path
            except LocusError as error:
                raise _said_of(error, path) from None
    elif is_path(inputs):
        yield path_text("inputs", inputs)
    else:
        raise UsageError(f"inputs is {shown(inputs)}, expected a safetensors file, or arrays by name: {{\"tokens\": ...}}")


def _segments(ids: np.ndarray, segment: int) -> Dict[str, np.ndarray]:
    """Tokens [B,T] as an input file names them: whole, or cut into segments."""
    if segment == 0:
        return {"tokens": ids}
    starts = range(0, max(1, ids.shape[1]), segment)
    return {f"tokens.{n}": ids[:, start : start + segment] for n, start in enumerate(starts)}


def trace(
    model: PathLike = "tiny-v3",
    text: Optional[Texts] = None,
    *,
    tokens: Union[Sequence[Sequence[int]], Sequence[int], np.ndarray, None] = None,
    inputs: Optional[Inputs] = None,
    stages: Globs = "",
    precision: str = "f32",
    dialect: str = "reference",
    segment: int = 0,
    reference: bool = False,
    progress: Optional[bool] = None,
) -> Trace:
    """Runs a model of a folder and keeps every stage under its name.

    model: a Hugging Face folder, or a built-in model: tiny-v3, tiny-roformer, tiny-txl, tiny-xlnet.
    Exactly one of text (one or several; one [SEP] between words makes two texts of it, with token types), tokens ([B][T]
    ids, or [T]; an array or a tensor, too) and inputs (a safetensors file, or arrays and tensors by the names of such a
    file: tokens, mask, token_types, perm_mask, target_mapping, ...; input_ids, attention_mask and token_type_ids of
    transformers are understood).
    stages: globs of *, ? and classes ("layer.[02].c2?,mlm.*"), a list or separated by commas; empty: all.  What lies
    after the last is not computed.
    precision: f32 or f64.  dialect: reference, official, hf or paper.
    segment: tokens per segment of a text or of tokens, memory handed on (Transformer-XL, XLNet); refused where the
    model's mem_len is 0 or null, so that it hands on nothing (XLNet in the dialect hf hands on everything).
    reference: use the readable formulas even where no stage inside a layer is wanted.
    progress: True or False for a bar or none; where not given, work of more than a second shows how far it is in
    notebooks and on a terminal, where tqdm is installed.  Ctrl+C ends it within a layer.
    Raises UsageError, UnreadableError, UnsupportedError.
    """
    made = pass_of(
        model, text, tokens=tokens, inputs=inputs, stages=stages, precision=precision, dialect=dialect, segment=segment,
        reference=reference, progress=progress,
    )
    if tokens is not None or isinstance(inputs, Mapping):  # a name that was misspelt is not passed over in silence
        for said in made.warnings:
            warnings.warn(f"locus.trace: {said}", stacklevel=2)
    return made


def pass_of(
    model: PathLike, text: Optional[Texts] = None, *, tokens: Any = None, inputs: Optional[Inputs] = None,
    stages: Globs = "", precision: str = "f32", dialect: str = "reference", segment: int = 0, reference: bool = False,
    progress: Optional[bool] = None,
) -> Trace:
    """What trace() returns, with its warnings in the trace alone."""
    if (text is not None) + (tokens is not None) + (inputs is not None) != 1:
        raise UsageError("expected exactly one of text, tokens and inputs")
    folder, wanted, segment = path_text("model", model), globs_of(stages), whole_number("segment", segment)
    texts = [] if text is None else texts_of("text", text)
    if tokens is not None:
        inputs = _segments(token_ids(tokens), segment)
    elif inputs is not None and segment > 0:
        raise UsageError("segment goes with text or tokens, expected none beside inputs: they name their segments")
    with input_file_of(inputs) as input_file, shown_progress("trace", "layers", progress) as steps:
        try:
            done = _core.run(
                folder, texts, input_file, segment, wanted, text_of("precision", precision), text_of("dialect", dialect),
                bool(reference), steps,
            )
        except LocusError as error:
            raise type(error)(in_words_of_python(str(error))) from None
    made = _trace_of_pass(done, folder, dialect)
    if isinstance(inputs, Mapping):
        made.warnings = [said.replace(input_file, "inputs") for said in made.warnings]
    return made


def stages(model: PathLike = "tiny-v3", text: Optional[Texts] = None) -> List[str]:
    """The names of all stages that a model gives, in its own order: what trace() and recording() take as `stages`.

    They are those of a pass of this text; where none is given, of two tokens, which has no stages at [MASK].
    """
    return pass_of(model, text, tokens=[[0, 0]] if text is None else None).stages


def _trace_of_pass(done: "_core.Pass", model: str, dialect: str) -> Trace:
    held = done.trace
    result = Trace(family=done.family, dialect=dialect, model=model, made_by="Locus")
    for name in held.names():
        axes, formula, source = held.describe(name)
        result.hold(name, held.array(name), "computed by Locus", info=StageInfo(tuple(axes), formula, source))
    result.tokens = [list(sample) for sample in done.pieces]
    result.ids = np.array(done.tokens, dtype=np.int64)
    result.mask_positions = [tuple(place) for place in done.mask_positions]
    result.inputs = inputs_from_json(done.inputs)
    result.warnings = list(done.warnings)
    return result


class Guess(NamedTuple):
    """One word for a place: probability is over the whole vocabulary."""

    piece: str
    id: int
    logit: float
    probability: float


class Filled(NamedTuple):
    """The best words for one place of the text."""

    position: int
    guesses: List[Guess]


def fill(text: str, model: PathLike = "tiny-v3", *, top: int = 5, dialect: str = "reference") -> List[Filled]:
    """The likeliest words for every [MASK]; with Transformer-XL, the next word.

    Returns one Filled per [MASK] in the order of the text, each with `top` guesses, best first.
    Raises UsageError where the text holds no [MASK], UnsupportedError for a model without a head.
    """
    top = whole_number("top", top, 1)
    if not isinstance(text, str):
        raise UsageError(f"text is {shown(text)}, expected one str; fill() takes one text at a time")
    text, folder = text_of("text", text), path_text("model", model)
    family = _core.family_of(folder)
    stage = "mlm.logits_at_positions" if family in ("deberta", "roformer") else "lm.logits"
    if family != "transfo-xl" and "[MASK]" not in text:
        raise UsageError("the text has no [MASK], expected at least one")
    done = trace(folder, text, stages=stage, dialect=dialect)
    logits = np.asarray(done[stage], dtype=np.float32).reshape(-1, done[stage].shape[-1])
    places = [place[1] for place in done.mask_positions]
    if family == "transfo-xl":
        logits, places = logits[-1:], [len(done.tokens[0])]
    filled = []
    for place, row in zip(places, logits):
        guesses = _core.best_words(folder, np.ascontiguousarray(row), top)
        filled.append(Filled(place, [Guess(*guess) for guess in guesses]))
    return filled


class Class(NamedTuple):
    """One class: its name by id2label; where an answer begins or ends, a token and its position.

    probability is a softmax, or a sigmoid for several labels at once and for a single score; nan of a regression.
    """

    name: str
    id: int
    logit: float
    probability: float


class Classified(NamedTuple):
    """The likeliest classes of one thing: of "text", "token", or "begin" and "end" of an answer."""

    of: str
    position: Optional[int]  # of a token
    classes: List[Class]


def classify(text: str, model: PathLike, *, top: int = 5, dialect: str = "reference") -> List[Classified]:
    """What a fine-tuned model says of a text, or of two with one [SEP] between them: "premise [SEP] hypothesis".

    Returns one Classified of the text, one per token, or two for the ends of an answer, each with `top` classes, the
    likeliest first.  Raises UnsupportedError for a model without a head of classes.
    """
    top = whole_number("top", top, 1)
    text, folder, dialect = text_of("text", text), path_text("model", model), text_of("dialect", dialect)
    with shown_progress("classify", "layers") as progress:
        try:
            done = _core.run(folder, [text], "", 0, "classifier.*", "f32", dialect, False, progress)
        except UsageError as error:
            if not str(error).startswith("stages:"):
                raise
            raise UnsupportedError(
                f"{folder}: no head of classes, expected classifier.* or qa_outputs.* of a model that was fine-tuned"
            ) from None
    return [
        Classified(of, position if of == "token" else None, [Class(*one) for one in classes])
        for of, position, classes in _core.classes(folder, done, top)
    ]


class Tokens(NamedTuple):
    """What a model reads: ids with the special tokens around the text, their pieces, which are special, and types."""

    ids: List[int]
    pieces: List[str]
    special: List[bool]
    types: List[int]


def tokens(text: str, model: PathLike = "tiny-v3", second: Optional[str] = None) -> Tokens:
    """Token ids and pieces of a text, or of two as one input, by the tokenizer of a model's folder.

    [MASK] and [SEP] stand for the model's own names, and one [SEP] between words makes two texts of one, as in fill,
    trace and classify.  types says which text a token is of: 0, 1, and 2 for the <cls> of XLNet.
    Raises UnsupportedError without a tokenizer, or where it has no form for two texts.
    """
    text, folder = text_of("text", text), path_text("model", model)
    try:
        return Tokens(*_core.tokens(folder, text, None if second is None else text_of("second", second)))
    except UnsupportedError as error:
        raise UnsupportedError(in_words_of_python(str(error))) from None
