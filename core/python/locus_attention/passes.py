"""Forward passes of models in folders: every stage, the words for [MASK], and token ids."""

import os
import tempfile
import warnings
from contextlib import contextmanager
from typing import Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core
from .errors import UnsupportedError, UsageError, whole_number
from .files import PathLike, save_tensors
from .progress import shown_progress
from .tracing import StageInfo, Trace, inputs_from_json

Texts = Union[str, Sequence[str]]
Inputs = Union[PathLike, Mapping[str, object]]


@contextmanager
def input_file_of(inputs: Optional[Inputs]) -> Iterator[str]:
    """The name of a file with these inputs: the one that was given, or one that lives as long as the context."""
    if inputs is None:
        yield ""
    elif isinstance(inputs, Mapping):
        with tempfile.TemporaryDirectory(prefix="locus-") as folder:
            path = os.path.join(folder, "inputs.safetensors")
            # The inputs of a trace say where its masks are, which is found again in the tokens.
            arrays = {
                name: np.asarray(values) for name, values in inputs.items()
                if values is not None and name != "mask_positions"
            }
            for name, array in arrays.items():
                if array.dtype.kind in "bui":
                    arrays[name] = array.astype(np.int64)
            save_tensors(path, arrays)
            yield path
    else:
        yield os.fspath(inputs)


def trace(
    model: PathLike = "tiny-v3",
    text: Optional[Texts] = None,
    *,
    tokens: Optional[Sequence[Sequence[int]]] = None,
    inputs: Optional[Inputs] = None,
    stages: str = "",
    precision: str = "f32",
    dialect: str = "reference",
    segment: int = 0,
    reference: bool = False,
) -> Trace:
    """Runs a model of a folder and keeps every stage under its name.

    model: a Hugging Face folder, or a built-in model: tiny-v3, tiny-roformer, tiny-txl, tiny-xlnet.
    Exactly one of text (one or several; one [SEP] between words makes two texts of it, with token types), tokens ([B][T] ids) and inputs (a safetensors file, or arrays by the names
    of such a file: tokens, mask, token_types, perm_mask, target_mapping, ...).
    stages: globs of *, ? and classes ("layer.[02].c2?,mlm.*"), separated by commas; empty: all.  What lies after the
    last is not computed.
    precision: f32 or f64.  dialect: reference, official, hf or paper.
    segment: tokens per segment of a text or of tokens, memory handed on (Transformer-XL, XLNet); refused where the
    model's mem_len is 0 or null, so that it hands on nothing (XLNet in the dialect hf hands on everything).
    reference: use the readable formulas even where no stage inside a layer is wanted.
    Where tqdm is installed, work of more than a second shows how far it is.  Ctrl+C ends it within a layer.
    Raises UsageError, UnreadableError, UnsupportedError.
    """
    texts = [] if text is None else [text] if isinstance(text, str) else list(text)
    if (text is not None) + (tokens is not None) + (inputs is not None) != 1:
        raise UsageError("expected exactly one of text, tokens and inputs")
    segment = whole_number("segment", segment)
    if tokens is not None:
        ids = np.atleast_2d(np.asarray(tokens))
        if ids.size > 0 and ids.dtype.kind not in "iu":
            raise UsageError(f"tokens holds {ids.dtype} values, expected the ids of tokens: whole numbers")
        ids = ids.astype(np.int64)
        inputs = {"tokens": ids}
        if segment > 0:  # as an input file names them
            starts = range(0, ids.shape[1], segment)
            inputs = {f"tokens.{n}": ids[:, start : start + segment] for n, start in enumerate(starts)}
    elif inputs is not None and segment > 0:
        raise UsageError("segment goes with text or tokens, expected none beside inputs: they name their segments")
    with input_file_of(inputs) as input_file, shown_progress("trace", "layers") as progress:
        done = _core.run(
            os.fspath(model), texts, input_file, segment, stages, precision, dialect, bool(reference),
            progress,
        )
        made = _trace_of_pass(done, os.fspath(model), dialect)
        if isinstance(inputs, Mapping):  # a name that was misspelt is not passed over in silence
            made.warnings = [said.replace(input_file, "inputs") for said in made.warnings]
            for said in made.warnings:
                warnings.warn(f"locus.trace: {said}", stacklevel=2)
    return made


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
    folder = os.fspath(model)
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
    folder = os.fspath(model)
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

    types says which text a token is of: 0, 1, and 2 for the <cls> of XLNet.
    Raises UnsupportedError without a tokenizer, or where it has no form for two texts.
    """
    return Tokens(*_core.tokens(os.fspath(model), text, second))
