"""Safetensors files: a JSON header, then raw little-endian values.  NumPy alone; bfloat16 is kept as float32 and a note."""

import errno
import json
import os
import stat
import struct
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from .arguments import PathLike, path_text
from .errors import UnreadableError, UsageError

_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}


def bytes_of(array: np.ndarray, dtype: str) -> bytes:
    """The values of an array as `dtype` ("F32", "F16", "BF16", ...) stores them, row-major and little-endian."""
    array = np.ascontiguousarray(array)
    if dtype == "BF16":
        bits = array.astype("<f4").view("<u4")
        # To the nearest, ties to even; NaN stays NaN.
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(array), 0x7FC0, rounded).astype("<u2").tobytes()
    names = {code: name for name, code in _DTYPES.items()}
    if dtype not in names:
        raise UsageError(f"dtype is {dtype}, expected BF16 or one of {', '.join(sorted(names))}")
    return array.astype(np.dtype(names[dtype]).newbyteorder("<")).tobytes()


def safetensors_bytes(
    tensors: Iterable[Tuple[str, np.ndarray, Optional[str]]], metadata: Mapping[str, str]
) -> List[bytes]:
    """The parts of a file: its size and header, then the values of every tensor (name, array, dtype or None)."""
    header: Dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    parts: List[bytes] = []
    offset = 0
    for name, array, dtype in tensors:
        dtype = dtype or _DTYPES.get(array.dtype.name)
        if dtype is None:
            raise UsageError(f"{name}: values are {array.dtype}, expected numbers that safetensors can hold")
        values = bytes_of(array, dtype)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, offset + len(values)]}
        offset += len(values)
        parts.append(values)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text] + parts


def write_file(path: PathLike, parts: Iterable[bytes]) -> None:
    """Writes a file that is there as a whole or not at all.

    A link stays, and what it points to is written; a file that is replaced keeps its mode.  Raises UnreadableError that
    names the path, also for what is there and may not be written or is no file.
    """
    path = Path(path_text("path", path, utf8=False))
    target, temporary = Path(os.path.realpath(path)), ""
    try:
        if target.is_file():
            mode = stat.S_IMODE(target.stat().st_mode)
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif os.path.lexists(target):  # a folder, a device, a circle of links
            raise OSError(errno.EINVAL, "something that is no file stands there")
        else:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        descriptor, temporary = tempfile.mkstemp(prefix=target.name + ".partial-", dir=str(target.parent))
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def save_tensors(
    path: PathLike, tensors: Mapping[str, np.ndarray], metadata: Optional[Mapping[str, str]] = None
) -> None:
    """Writes arrays of any shape under their names into a safetensors file."""
    write_file(path, safetensors_bytes(((name, array, None) for name, array in tensors.items()), metadata or {}))
