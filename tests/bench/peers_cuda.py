"""Attention by others on a GPU, on tensors that `locus bench cuda --against torch` made; peers.py serves this.

A process serves one peer, so that one that crashes takes no other with it.  Requests:
  {"do": "open", "peer": NAME, "folder": F, "device": "cuda", "format": "bf16", "batch", "heads", "tokens", "width",
   "span", "max_position", "scale", "lengths", "backward", "tune", "graphs"}
                          reads q, k, v, k_r, q_r (and d_context) from F, raw float32, and makes ready; answers the
                          fastest of the peer's ways and a checksum of every tensor as it arrived on the device
  {"do": "model", "peer": NAME, "folder": F, "device", "format", "batch", "tokens", "config"}   the same for a whole
                          encoder: weights from F/model.safetensors, token ids from F/ids, raw 64-bit
  {"do": "call"}          one call, timed: between two events of the device, on the processor by the clock
  {"do": "take", "which": n, "file": F}   writes head n's context, or gradients, [B,T,d] (packed: [tokens,d]) and
                          [2k,d], or sample n's hidden rows [T,D], raw float32, to F.NAME
  {"do": "close"}         frees what the last one opened
Every problem that keeps a peer from its work is answered as {"refused": its sentence}.  {"error": its sentence} means
that this process is of no use any more: who asked starts another, which "graphs": false keeps from trying CUDA graphs.
"""
import contextlib
import gc
import importlib.metadata
import json
import os
import time
import zlib

import numpy
import torch

import peers_cuda_ways as ways

FORMATS = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
class Problem:
    """q, k, v [B,H,T,d] (packed: [1,H,tokens,d]), k_r and q_r [H,2k,d], in the number format of the run."""

    def __init__(self, request):
        self.device, self.dtype = request["device"], FORMATS[request["format"]]
        self.batch, self.heads, self.longest = request["batch"], request["heads"], request["tokens"]
        self.width, self.span, self.max_position = request["width"], request["span"], request["max_position"]
        self.scale, self.lengths, self.backward = request["scale"], request["lengths"], request["backward"]
        self.tune = request.get("tune", False)
        self.folder = request["folder"]
        tokens = sum(self.lengths) if self.lengths else self.longest
        of_tokens, of_table = (1 if self.lengths else self.batch, self.heads, tokens, self.width), (self.heads, 2 * self.span, self.width)
        self.tensors = {name: self.load(name, of_tokens) for name in ("q", "k", "v")}
        self.tensors.update({name: self.load(name, of_table) for name in ("k_r", "q_r")})
        if self.backward:
            self.tensors["d_context"] = self.load("d_context", of_tokens)

    def load(self, name, shape):
        numbers = numpy.fromfile(os.path.join(self.folder, name), dtype=numpy.float32)
        return torch.from_numpy(numbers).reshape(shape).to(self.device, self.dtype)

    def checksums(self):
        return {name: checksum(one.float()) for name, one in self.tensors.items()}

    def dense(self, name):
        """[B,H,T,d]; packed samples with zeros up to the longest."""
        packed = self.tensors[name]
        if not self.lengths:
            return packed
        padded = packed.new_zeros(self.batch, self.heads, self.longest, self.width)
        first = 0
        for b, length in enumerate(self.lengths):
            padded[b, :, :length] = packed[0, :, first:first + length]
            first += length
        return padded

    def by_token(self, name):
        """[B,T,H*d], as projections leave it; packed: [1,tokens,H*d]."""
        one = self.tensors[name]
        return one.permute(0, 2, 1, 3).reshape(one.size(0), one.size(2), -1).contiguous()

    def dense_by_token(self, name):
        one = self.dense(name)
        return one.permute(0, 2, 1, 3).reshape(self.batch, self.longest, -1).contiguous()

    def rows_by_width(self, name):
        """A table as [2k,H*d]."""
        return self.tensors[name].permute(1, 0, 2).reshape(2 * self.span, -1).contiguous()

    def visible(self):
        """[B,T], true where a token is."""
        lengths = torch.tensor(self.lengths or [self.longest] * self.batch, device=self.device)
        return torch.arange(self.longest, device=self.device)[None] < lengths[:, None]

    def leaf(self, tensor):
        return tensor.clone().detach().requires_grad_(self.backward)

    def one_head(self, tensor, layout, h):
        """[B,T,d], packed [tokens,d], or [2k,d] of a table, from whichever layout a peer likes."""
        columns = slice(h * self.width, (h + 1) * self.width)
        one = {"BHTd": lambda: tensor[:, h], "BTD": lambda: tensor[..., columns], "TD": lambda: tensor[:, columns],
               "THd": lambda: tensor[:, h], "HRd": lambda: tensor[h], "RD": lambda: tensor[..., columns].squeeze(0)}[layout]()
        if self.lengths and layout in ("BHTd", "BTD"):
            one = one[self.visible()]
        return one

    def in_layout(self, layout):
        """The gradient of the context, as a peer's context lies."""
        return {"BHTd": self.dense, "BTD": self.dense_by_token}[layout]("d_context")


def checksum(tensor):
    return zlib.crc32(tensor.cpu().contiguous().numpy().tobytes())


def milliseconds(call, device):
    if device == "cuda":
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def captured(call):
    """The same launches without Python between them, at the same addresses: what `call` holds has to stay."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph):
            out = call()
    finally:
        torch.cuda.set_stream(stream)  # a capture that fails may leave its own

    def replay():
        graph.replay()
        return out

    replay.holds = call
    return replay


def lost(device):
    """Whether the device does nothing more for this process, as after an access outside of its memory."""
    if device != "cuda" or not torch.cuda.is_initialized():
        return False
    for _ in range(2):  # the first may still tell of what failed before
        with contextlib.suppress(Exception):
            torch.cuda.synchronize()
            return False
    return True


def sentence(problem):
    kind = "" if isinstance(problem, ways.Refusal) else f"{type(problem).__name__}: "
    return (kind + str(problem).strip()).split("\n")[0][:200]


def fastest(makers, device, with_graphs):
    """Of the ways that run: [(name, maker)] -> name, way; a way is (call, whatever belongs to it)."""
    found, refusals = [], []
    for name, make in makers:
        try:
            way = make()
            found.append((tried(way[0], device), name, way))
        except Exception as problem:  # a way that does not run is named, not fatal
            if lost(device):
                raise
            refusals.append(sentence(problem))
            continue
        if with_graphs and device == "cuda":
            try:
                graph = (captured(way[0]),) + tuple(way[1:])
                found.append((tried(graph[0], device), name + ", CUDA graph", graph))
            except Exception as problem:  # not every call can be captured; then it was measured without
                if lost(device):
                    raise
                found[-1] = found[-1][0], f"{name}, no CUDA graph: {sentence(problem)}", way
    if not found:
        raise ways.Refusal(refusals[0] if refusals else "it has no way for this problem")
    _, name, way = min(found, key=lambda one: one[0])
    found.clear()
    if device == "cuda":  # the other peers, in processes of their own, need the memory of the ways that lost
        gc.collect()
        torch.cuda.empty_cache()
    return name, way


def tried(call, device):
    for _ in range(3):
        call()
    return sorted(milliseconds(call, device) for _ in range(5))[2]


class Attention:
    """The attention core, forward or backward, by one peer."""

    def __init__(self, request):
        problem = self.problem = Problem(request)
        self.device = problem.device
        make = ways.ATTENTION[request["peer"]]
        self.name, (self.call, self.out_layout, self.leaves) = fastest(
            [(name, lambda one=one: self.directed(one())) for name, one in make(problem).items()],
            problem.device, request.get("graphs", True) and not problem.backward)

    def directed(self, way):
        """Backward alone, from a forward pass that is kept, where that is asked for."""
        forward, layout, leaves = way
        if not self.problem.backward:
            return way
        tensors, d_context = [one for one, _ in leaves.values()], self.problem.in_layout(layout)
        with torch.enable_grad():
            context = forward()
        return (lambda: torch.autograd.grad(context, tensors, d_context, retain_graph=True)), layout, leaves

    def ready(self):
        answer = {"how": self.name, "checksums": self.problem.checksums()}
        if self.problem.backward:
            answer["same_bits"] = all(torch.equal(one, two) for one, two in zip(self.call(), self.call()))
        return answer

    def take(self, head, file):
        found = self.call()
        named = {"context": (found, self.out_layout)}
        if self.problem.backward:
            named = {name: (one, layout) for one, (name, (_, layout)) in zip(found, self.leaves.items())}
        for name, (one, layout) in named.items():
            self.problem.one_head(one, layout, head).contiguous().float().cpu().numpy().tofile(f"{file}.{name}")
        return {"tensors": list(named)}


class Model:
    """Token ids to the last hidden states, by one peer."""

    def __init__(self, request):
        from safetensors.torch import load_file

        self.device, dtype, folder = request["device"], FORMATS[request["format"]], request["folder"]
        weights = {name: one.to(dtype) for name, one in load_file(os.path.join(folder, "model.safetensors")).items()}
        ids = torch.from_numpy(numpy.fromfile(os.path.join(folder, "ids"), dtype=numpy.int64))
        self.checksums = {name: checksum(one.float()) for name, one in weights.items()} | {"ids": checksum(ids)}
        ids = ids.reshape(request["batch"], request["tokens"]).to(self.device)
        self.name, (self.call,) = fastest(
            [(name, lambda one=one: (one(),)) for name, one in
             ways.MODEL[request["peer"]](request["config"], weights, ids, dtype).items()], self.device,
            request.get("graphs", True))

    def ready(self):
        return {"how": self.name, "checksums": self.checksums}

    def take(self, sample, file):
        self.call()[sample].contiguous().float().cpu().numpy().tofile(f"{file}.hidden")
        return {"tensors": ["hidden"]}


def versions(device):
    found = {"torch": torch.__version__}
    for package in ("transformers", "triton", "flashdeberta", "disentangled-flash"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    if device == "cuda":
        found["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "no CUDA device"
    return found


def close(state):
    state.pop("gpu", None)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def answer(request, state):
    do = request["do"]
    with torch.inference_mode(False), torch.no_grad():
        if do == "packages":
            return versions(request["device"])
        if do in ("open", "model"):
            close(state)
            try:
                state["gpu"] = {"open": Attention, "model": Model}[do](request)
                return state["gpu"].ready()
            except Exception as problem:
                if lost(request["device"]):
                    raise
                close(state)
                return {"refused": sentence(problem)}
        if do == "close":
            close(state)
            return {}
        if do == "call":
            return {"ms": milliseconds(state["gpu"].call, state["gpu"].device)}
        return state["gpu"].take(request["which"], request["file"])
