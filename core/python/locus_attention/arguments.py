"""What callers give: text, paths, globs, arrays.  Each is read as what it must be, or refused in one sentence."""

import os
import re
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from .errors import UsageError

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Globs = Union[str, Sequence[str]]


def shown(value: Any) -> str:
    """A value as a sentence quotes it: its beginning where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def text_of(name: str, value: Any) -> str:
    """The value, a str that UTF-8 can hold.  Raises UsageError for other types and for lone surrogates."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {shown(value)}, expected a str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        at = error.start
        raise UsageError(
            f"{name} holds the lone surrogate {ascii(value[at])} at character {at}, expected text that UTF-8 can hold"
        ) from None
    return str(value)


def is_path(value: Any) -> bool:
    """True for what open() takes as the name of a file."""
    return isinstance(value, (str, bytes, os.PathLike))


def path_text(name: str, value: Any, utf8: bool = True) -> str:
    """A path as a str.  Raises UsageError for what is no path, is empty, or holds a NUL.

    utf8: refuses also a path that is not UTF-8, which the C++ library does not take.
    """
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise UsageError(f"{name} is {shown(value)}, expected a path: str, bytes or os.PathLike") from None
    if not path:
        raise UsageError(f"{name} is empty, expected the name of a file or folder")
    if "\0" in path:
        raise UsageError(f"{name} is {shown(path)}, expected a path without a NUL character")
    if utf8:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{name} is {ascii(path)}, expected a path that is UTF-8") from None
    return path


def texts_of(name: str, value: Any) -> List[str]:
    """One text or several, as a list of str.  Raises UsageError where there is none or one is no str."""
    if isinstance(value, str):
        return [text_of(name, value)]
    try:
        listed = list(value)
    except TypeError:
        listed = [value]
    if isinstance(value, (bytes, bytearray)) or not all(isinstance(one, str) for one in listed):
        wrong = value if isinstance(value, (bytes, bytearray)) else next(x for x in listed if not isinstance(x, str))
        raise UsageError(f"{name} holds {shown(wrong)}, expected a str or a list of str")
    if not listed:
        raise UsageError(f"{name} is empty, expected at least one text")
    return [text_of(name, one) for one in listed]


def globs_of(value: Any, name: str = "stages") -> str:
    """Patterns of names, separated by commas, from a str or a sequence of str.  Raises UsageError for other types."""
    if isinstance(value, str):
        return text_of(name, value)
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(one, str) for one in value):
        return ",".join(text_of(name, one) for one in value)
    raise UsageError(f"{name} is {shown(value)}, expected patterns of names: a str, or a list of str")


def in_words_of_python(sentence: str) -> str:
    """A sentence of the C++ library, which names options of the programs, with the arguments of this package instead."""
    for theirs, ours in (
        ("locus trace --list-stages prints all", "locus.stages(model) lists them"),
        ("locus trace takes token ids instead: --tokens or --input", "locus.trace takes token ids instead: tokens= or inputs="),
        ("--model DIR", "model=DIR"), ("--input FILE", "inputs=FILE"), ("locus check --", "locus-check --"),
    ):
        sentence = sentence.replace(theirs, ours)
    sentence = re.sub(r"--dialect (\w+)", r'dialect="\1"', sentence)
    return re.sub(r"(?<![\w-])--input\b", "inputs", re.sub(r"(?<![\w-])--(text|tokens|segment|mask|labels)\b", r"\1", sentence))


def is_tensor(value: Any) -> bool:
    """True for a tensor of torch; torch itself is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _array_of_tensor(name: str, tensor: Any) -> Tuple[np.ndarray, Optional[str]]:
    """The numbers of a tensor, and "BF16" or "F16" where they are given as float32."""
    import torch

    noted = {torch.bfloat16: "BF16", torch.float16: "F16"}
    plain = (torch.float64, torch.float32, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
    readable = tensor.layout == torch.strided and tensor.device.type != "meta"
    if tensor.dtype not in plain and tensor.dtype not in noted or not readable:
        raise UsageError(
            f"{name}: a tensor of {tensor.dtype}, {tensor.layout}, on {tensor.device}, expected a dense one of floats or "
            "integers that holds numbers"
        )
    kept = tensor.detach().cpu()
    note = noted.get(tensor.dtype)
    return (kept.float() if note else kept).contiguous().numpy(), note


def array_of(name: str, value: Any) -> Tuple[np.ndarray, Optional[str]]:
    """A new array of the numbers of an array, a tensor or nested lists, and "BF16" or "F16" for a tensor of that type.

    Integers come as int64, bool as it is, floats in their own type.  Raises UsageError for what is no array of numbers:
    rows of different lengths, masked arrays, long double, complex numbers, text.
    """
    if is_tensor(value):
        array, note = _array_of_tensor(name, value)
        return np.array(array.astype(np.int64) if array.dtype.kind in "iu" else array), note
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(f"{name}: a masked array, expected a plain one: fill what is masked, as by filled(0)")
    try:
        array = np.array(value)
    except (ValueError, TypeError, RuntimeError):
        raise UsageError(f"{name}: no array can be made of it, expected rows of one length that hold numbers") from None
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{name}: an array of {array.dtype}, expected numbers: floats, or integers for an index")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise UsageError(f"{name}: an array of {array.dtype}, expected float64, float32 or float16")
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise UsageError(f"{name} holds {array.max()}, expected integers below 2^63")
        return array.astype(np.int64), None
    return array.astype(array.dtype.newbyteorder("=")), None


def token_ids(value: Any) -> np.ndarray:
    """tokens [B,T] as int64; of one row also [T].  Raises UsageError for other shapes and for what is no whole number."""
    array, _ = _numbers_or_none("tokens", value)
    if array.size and array.dtype.kind not in "iu":
        raise UsageError(f"tokens holds {array.dtype} values, expected the ids of tokens: whole numbers")
    array = np.atleast_2d(array)
    if array.ndim != 2:
        raise UsageError(f"tokens has shape {list(array.shape)}, expected [B, T]")
    return array.astype(np.int64)


def _numbers_or_none(name: str, value: Any) -> Tuple[np.ndarray, Optional[str]]:
    """array_of for what may be rows of tokens: says how long the rows are where they differ."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(row, (list, tuple)) for row in value):
        lengths = {len(row) for row in value}
        if len(lengths) > 1:
            found = " and ".join(map(str, sorted(lengths)[:2]))
            raise UsageError(
                f"{name} holds rows of {found} numbers, expected rows of one length: fill the short ones up, and hide that "
                "by mask in inputs="
            )
    if isinstance(value, (list, tuple)) and not value:
        return np.zeros((0,), np.int64), None
    return array_of(name, value)


# What transformers calls the inputs of an input file.
_OF_TRANSFORMERS = {"input_ids": "tokens", "attention_mask": "mask", "token_type_ids": "token_types"}
# Inputs of 0 and 1, which transformers may hold as floats.
_MARKS = ("mask", "input_mask", "perm_mask", "target_mapping")


def input_arrays(inputs: Mapping[Any, Any]) -> Dict[str, np.ndarray]:
    """Inputs of a pass by the names of an input file: int64 where they are whole numbers.

    input_ids, attention_mask and token_type_ids are read as tokens, mask and token_types.  Raises UsageError for names
    and values that are none.
    """
    arrays: Dict[str, np.ndarray] = {}
    for given, value in inputs.items():
        if value is None:
            continue
        name = _OF_TRANSFORMERS.get(text_of("a name in inputs", given), given)
        if name in arrays:
            raise UsageError(f"inputs holds {name} and {given}, which are the same, expected one of them")
        array, _ = _numbers_or_none(f"inputs: {given}", value)
        if name in _MARKS and array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all():
            array = array.astype(np.int64)
        if array.dtype.kind == "b":
            array = array.astype(np.int64)
        arrays[name] = array
    if not any(name == "tokens" or name.startswith("tokens.") for name in arrays):
        there = ", ".join(map(str, inputs)) or "nothing"
        raise UsageError(f"inputs holds {there}, expected tokens (or input_ids) among them")
    return arrays
