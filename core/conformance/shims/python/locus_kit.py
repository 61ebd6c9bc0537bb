"""Locus kit in Python, standard library only: read a case, write a dump.  Copy this file into your project.
c = case("kit/cases/L1/p2c")                # c.config; c.inputs["layer.0.k"][b][h][t][d]
dump(c, {"layer.0.p2c": values})            # dumps/L1/p2c.safetensors; a path in place of c works too
frames(sys.stdout.buffer, {...})            # the same as a stream: name\\0dtype\\0shape\\0bytes
Values are nested lists (F64, or I64 if all are whole), array.array, numpy arrays, or Tensor(dtype, shape, bytes)."""
import json, os, pathlib, struct
from collections import namedtuple
CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "f", "I64": "q", "I32": "i"}
NATIVE = {"d8": "F64", "f4": "F32", "e2": "F16", "q8": "I64", "l8": "I64", "i4": "I32"}
Case = namedtuple("Case", "id config inputs dumps")
class KitError(Exception): """One sentence: what could not be read or written."""
class Tensor(namedtuple("Tensor", "dtype shape bytes")):
    def lists(self):
        data, code = self.bytes, CODES[self.dtype]
        if self.dtype == "BF16": data = b"".join(b"\0\0" + data[n:n + 2] for n in range(0, len(data), 2))
        flat = [value for value, in struct.iter_unpack("<" + code, data)]
        for extent in reversed(self.shape[1:]):
            flat = [flat[n:n + extent] for n in range(0, len(flat), extent or 1)]
        return flat if self.shape else flat[0]
def read(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = {name: t for name, t in json.loads(data[8:start]).items() if name != "__metadata__"}
        if start + max((t["data_offsets"][1] for t in header.values()), default=0) > len(data): raise ValueError
        return {name: Tensor(t["dtype"], tuple(t["shape"]), data[start + t["data_offsets"][0]:start + t["data_offsets"][1]])
                for name, t in header.items()}
    except (ValueError, KeyError, TypeError): raise KitError(f"{path}: not a whole safetensors file") from None
def case(folder, dumps="dumps"):
    folder = pathlib.Path(folder).resolve()
    config = json.loads((folder / "case.json").read_bytes()).get("config", {})
    inputs = {name: tensor.lists() for name, tensor in read(folder / "inputs.safetensors").items()}
    return Case(f"{folder.parent.name}/{folder.name}", config, inputs, dumps)
def pack(name, value):
    if isinstance(value, Tensor): return value
    if not isinstance(value, (list, tuple, int, float)):  # array.array, numpy
        view, dtype = memoryview(value), NATIVE.get(f"{memoryview(value).format}{memoryview(value).itemsize}")
        if dtype: return Tensor(dtype, view.shape, view.tobytes())
        raise KitError(f"{name}: values of type '{view.format}'; bytes are given as Tensor(dtype, shape, bytes)")
    shape, flat = [], [value]
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        if any(len(row) != shape[-1] for row in flat): raise KitError(f"{name}: its rows differ in length")
        flat = [cell for row in flat for cell in row]
    dtype = "I64" if all(isinstance(cell, int) for cell in flat) else "F64"
    return Tensor(dtype, tuple(shape), struct.pack(f"<{len(flat)}{CODES[dtype]}", *flat))
def dump(target, stages):
    path = pathlib.Path(f"{target.dumps}/{target.id}.safetensors" if isinstance(target, Case) else target)
    tensors, header, end = {name: pack(name, value) for name, value in stages.items()}, {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end := end + len(data)]}
    text, part = json.dumps(header).encode(), path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data for _, _, data in tensors.values()))
    os.replace(part, path)
def frames(stream, stages):
    for name, tensor in stages.items():
        dtype, shape, data = pack(name, tensor)
        stream.write("\0".join((name, dtype, ",".join(map(str, shape)), "")).encode() + data)
