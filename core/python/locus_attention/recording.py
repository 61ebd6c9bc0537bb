"""Recording a live model of transformers: hooks at the few places that every implementation must call.

What is hooked (the anchors): the embeddings, `attention.output(context, x)`, `intermediate` and `output` of each layer,
and the head.  Fused kernels, torch.compile and coming versions may replace everything between them, so queries, keys and
terms are not taken from there: the model's own projections are applied to the measured x, the terms follow from these in
double, and a closing test says whether these terms give the context that the model measured.
"""

import functools
import os
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type

import numpy as np

from .arguments import Globs, globs_of, shown
from .errors import RecordingError, UsageError, whole_number, whole_numbers
from .judging import rounding_of_live
from .live_model import LiveModel
from .recording_adapter import Adapter, Encoder
from .recording_deberta import DebertaAdapter, DebertaV2Adapter
from .recording_roformer import RoFormerAdapter
from .recording_xlnet import XLNetAdapter
from .tracing import Trace, keeps

# A trace above this size is announced before it is kept.
_ANNOUNCED_BYTES = 1 << 30
_ADAPTERS: Dict[str, Type[Adapter]] = {
    "DebertaModel": DebertaAdapter,
    "DebertaV2Model": DebertaV2Adapter,
    "RoFormerModel": RoFormerAdapter,
    "XLNetModel": XLNetAdapter,
}


def find_encoders(model: Any) -> List[Encoder]:
    """All encoders that can be recorded inside a module or an object that holds one as an attribute."""
    import torch

    roots: List[Tuple[str, Any]] = []
    if isinstance(model, torch.nn.Module):
        roots.append(("", model))
    else:  # CrossEncoder of old versions, pipelines: no module, but one inside
        roots += [(name, part) for name, part in vars(model).items() if isinstance(part, torch.nn.Module)]
    found: List[Encoder] = []
    seen = set()
    for prefix, root in roots:
        by_path = dict(root.named_modules())
        for path, module in by_path.items():
            names = [kind.__name__ for kind in type(module).__mro__]
            adapter = next((_ADAPTERS[name] for name in names if name in _ADAPTERS), None)
            if adapter is None or id(module) in seen:
                continue
            seen.add(id(module))
            around, parent = [], path
            while parent:
                parent = parent.rpartition(".")[0]
                around.append(by_path[parent])
            found.append(Encoder(".".join(filter(None, (prefix, path))), module, around, adapter))
    return found


def _require_model(model: Any) -> None:
    """Raises UsageError for what is no live model and holds none as an attribute."""
    import torch

    if isinstance(model, type):
        raise UsageError(f"the model is the class {model.__name__}, expected a model made of it")
    if not isinstance(model, torch.nn.Module) and not any(
        isinstance(part, torch.nn.Module) for part in getattr(model, "__dict__", {}).values()
    ):
        of_folders = "; locus.trace runs the model of a folder" if isinstance(model, (str, bytes, os.PathLike)) else ""
        raise UsageError(
            f"the model is {shown(model)}, expected a torch.nn.Module or an object that holds one{of_folders}"
        )


def choose_encoder(model: Any, at: Optional[str]) -> Encoder:
    """The encoder to record: the only one, or the one at a path.  Raises UsageError that lists what there is."""
    import torch

    _require_model(model)
    if isinstance(model, torch.jit.ScriptModule):
        raise UsageError("the model is a script of torch.jit, which calls no hooks; record the model it was made from")
    found = find_encoders(model)
    paths = ", ".join(repr(one.path) for one in found)
    if not found:
        raise UsageError(
            f"{type(model).__name__} holds no DebertaModel, DebertaV2Model, RoFormerModel or XLNetModel of transformers"
        )
    if at is not None and not isinstance(at, str):
        raise UsageError(f"at is {shown(at)}, expected the path of one of the encoders of this model: {paths}")
    if at is not None:
        chosen = [one for one in found if one.path == at or one.path.startswith(at + ".")]
        if len(chosen) != 1:
            raise UsageError(f'at is "{at}", expected the path of one of the encoders of this model: {paths}')
        return chosen[0]
    if len(found) > 1:
        raise UsageError(f"the model holds {len(found)} encoders; say at= one of {paths}")
    return found[0]


class Recorder:
    """One recording: the hooks of an adapter, the stages they gave, and what they still have to give."""

    def __init__(
        self, model: Any, encoder: Encoder, trace: Trace, stages: str, layers: Optional[Iterable[int]],
        batch: Optional[int], tokenizer: Any,
    ) -> None:
        self.model, self.encoder, self.trace, self.stages, self.tokenizer = model, encoder, trace, stages, tokenizer
        self.batch = None if batch is None else whole_number("batch", batch, 1)
        self.layers = None if layers is None else sorted(set(whole_numbers("layers", layers)))
        self.stack = ExitStack()
        self.started = self.done = self.drops = False
        self.passes = 0
        self.thread: Optional[int] = None  # that of the pass which is recorded; None: any
        self.announced = False
        self.not_computed = ""  # what the pass was given that Locus cannot compute
        self.trouble: Optional[BaseException] = None
        self.adapter = encoder.adapter(encoder, self)
        count = len(self.adapter.layers())
        for layer in self.layers or []:
            if not 0 <= layer < count:
                raise UsageError(f"layers holds {layer}, expected numbers from 0 to {count - 1}")
        wanted = [name for name in self.adapter.expected() if self.wants(name)]
        if not wanted:
            raise UsageError(f'stages: "{stages}" matches no stage of this model')

    # What is wanted

    def wants(self, name: str) -> bool:
        if self.layers is not None and name.startswith("layer.") and int(name.split(".")[1]) not in self.layers:
            return False
        return keeps(self.stages, name)

    def wants_any(self, names: Iterable[str]) -> bool:
        return any(self.wants(name) for name in names)

    @property
    def active(self) -> bool:
        """True while the pass that is recorded runs, in its own thread: others may use the model meanwhile."""
        here = self.thread is None or self.thread == threading.get_ident()
        return here and self.started and not self.done and self.trouble is None

    # What hooks do

    def guarded(self, action: Callable[..., None]) -> Callable[..., None]:
        """A hook that never changes what the model computes: it returns nothing, and what goes wrong is told later."""
        import torch

        def hook(*arguments: Any) -> None:
            if not self.active:
                return
            try:
                with torch.no_grad(), self.same_randomness():
                    action(*arguments)
            except Exception as error:  # told when the recording ends
                self.trouble = error

        return hook

    def same_randomness(self) -> Any:
        """Live projections of a model in training draw random numbers; the model's own must stay the same."""
        import torch

        if not self.encoder.module.training:
            return ExitStack()
        return torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_available() else [])

    def before(self, module: Any, action: Callable[..., None]) -> None:
        """action(module, args, kwargs) before the module runs."""
        self.stack.callback(module.register_forward_pre_hook(self.guarded(action), with_kwargs=True).remove)

    def after(self, module: Any, action: Callable[..., None]) -> None:
        """action(module, args, kwargs, output) after the module ran."""
        self.stack.callback(module.register_forward_hook(self.guarded(action), with_kwargs=True).remove)

    def begins_at(self, module: Any) -> None:
        """A pass begins where this module is called: the first is recorded, the others are counted."""

        self.stack.callback(module.register_forward_pre_hook(lambda *arguments: self.begin()).remove)

    def begin(self) -> None:
        self.passes += 1
        if not self.started:
            self.thread = threading.get_ident()
            self.drops = self.encoder.module.training and _has_dropout(self.encoder.module)
            self.started = True
        elif self.thread is None or self.thread == threading.get_ident():
            self.done = True

    def begins_in(self, module: Any, action: Callable[..., None]) -> None:
        """The same where a module's forward is entered, also by its name and past every hook; then action(module, args,
        kwargs)."""
        own, forward = vars(module).get("forward"), module.forward
        look = self.guarded(action)

        @functools.wraps(forward)
        def entered(*args: Any, **kwargs: Any) -> Any:
            self.begin()
            look(module, args, kwargs)
            return forward(*args, **kwargs)

        def restore() -> None:
            if own is None:
                del module.forward
            else:
                module.forward = own

        module.forward = entered
        self.stack.callback(restore)

    def first_samples(self, tensor: Any) -> Any:
        """The samples that are kept, detached from the graph."""
        tensor = tensor.detach()
        return tensor if self.batch is None else tensor[: self.batch]

    def put(self, name: str, tensor: Any, how: str, like: Any = None, batched: bool = True) -> None:
        """Keeps a stage, once, as a NumPy array; in bfloat16 and float16 as float32 and a note.

        like: a tensor of the type in which the model works, for what was recomputed in double.
        """
        import torch

        if name in self.trace or not self.wants(name):
            return
        tensor = self.first_samples(tensor) if batched else tensor.detach()
        kind = (tensor if like is None else like).dtype
        stored = {torch.float16: "F16", torch.bfloat16: "BF16"}.get(kind)
        if like is not None:
            tensor = tensor.to(kind)
        if tensor.is_floating_point() and tensor.dtype != torch.float64:
            tensor = tensor.float()
        self.trace.hold(name, tensor.cpu().contiguous().clone().numpy(), how, stored)

    def announce(self, bytes_needed: int) -> None:
        """Says beforehand that a recording will be large."""
        if bytes_needed > _ANNOUNCED_BYTES and not self.announced:
            self.announced = True
            warnings.warn(
                f"locus.recording: this pass fills about {bytes_needed / 2**30:.1f} GB; stages=, layers= and batch= "
                "keep less",
                stacklevel=2,
            )

    # The frame

    def open(self) -> None:
        self.run_eagerly()
        self.adapter.install()

    def run_eagerly(self) -> None:
        """A compiled model calls no hooks inside: for the time of the recording it runs as it was written."""
        import torch

        whole = [self.model] if isinstance(self.model, torch.nn.Module) else []
        modules = [part for root in whole + self.encoder.around + [self.encoder.module] for part in root.modules()]
        compiled = [one for one in modules if getattr(one, "_compiled_call_impl", None) is not None]
        wrapped = any(hasattr(one, "_orig_mod") for one in modules)
        for one in {id(one): one for one in compiled}.values():
            kept = one._compiled_call_impl
            one._compiled_call_impl = None
            self.stack.callback(setattr, one, "_compiled_call_impl", kept)
        if wrapped or compiled:
            stance = getattr(getattr(torch, "compiler", None), "set_stance", None)  # torch 2.6 or newer
            if stance is not None:
                self.stack.enter_context(stance("force_eager"))
            elif wrapped:
                raise UsageError(
                    f"the model or a part of it is compiled, and torch {torch.__version__} cannot run it as it was "
                    "written, expected torch 2.6 or newer, or the model before torch.compile"
                )

    def close(self) -> None:
        self.stack.close()

    def complete(self) -> None:
        """After the `with`: what is missing is an error, never a silent part."""
        if self.trouble is not None:
            raise RecordingError(
                f"the recording stopped: {type(self.trouble).__name__}: {self.trouble}"
            ) from self.trouble
        if not self.started:
            raise RecordingError(
                f"the encoder {self.encoder.path or type(self.encoder.module).__name__} was not called inside the with"
            )
        self.adapter.finish()
        if self.trouble is not None:
            raise RecordingError(f"the recording stopped: {self.trouble}") from self.trouble
        missing = [name for name in self.adapter.expected() if self.wants(name) and name not in self.trace]
        if missing:
            shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
            raise RecordingError(f"the pass gave no {shown}; expected every stage of the model")
        self.describe()

    def describe(self) -> None:
        trace, given = self.trace, self.adapter.inputs()
        trace.passes = self.passes
        trace.dialect = self.adapter.dialect()
        ids = given.get("tokens")
        if ids is not None:
            trace.ids = ids
            trace.tokens = [self.pieces(sample) for sample in ids.tolist()]
        if self.drops:
            trace.warnings.append(
                "the model was in training mode, so dropout changed its numbers; call model.eval() before recording"
            )
        if self.passes > 1:
            trace.warnings.append(f"{self.passes} passes ran; the first was recorded")
        trace.inputs = [{name: np.asarray(values) for name, values in given.items()}] if given else []
        trace.rounding = rounding_of_live(trace)
        trace.recorded = LiveModel(self.encoder, given, self.not_computed)

    def pieces(self, ids: List[int]) -> List[str]:
        if self.tokenizer is None:
            return [str(token) for token in ids]
        return [str(piece) for piece in self.tokenizer.convert_ids_to_tokens(ids)]


def _has_dropout(module: Any) -> bool:
    """transformers has Dropout and, in older versions, StableDropout, whose probability is called drop_prob."""
    return any(
        "Dropout" in type(part).__name__ and max(getattr(part, "p", 0) or 0, getattr(part, "drop_prob", 0) or 0) > 0
        for part in module.modules()
    )


def _tokenizer_of(model: Any) -> Any:
    """A tokenizer that travels with an outer model, as with sentence-transformers and pipelines."""
    found = getattr(model, "tokenizer", None)
    return found if hasattr(found, "convert_ids_to_tokens") else None


@contextmanager
def recording(
    model: Any,
    *,
    stages: Globs = "",
    layers: Optional[Iterable[int]] = None,
    batch: Optional[int] = None,
    at: Optional[str] = None,
    tokenizer: Any = None,
) -> Iterator[Trace]:
    """Records the first pass of a live model that runs inside the `with`; the trace is filled when it ends.

    model: any module that holds a DeBERTa (v1, v2, v3), RoFormer or XLNet of transformers, as it is: in float16 or
    bfloat16, under autocast, with LoRA, compiled, checkpointed, wrapped, or inside CrossEncoder, SentenceTransformer,
    GLiNER, ...  Call it as always; its results are the same bits, and no hook stays, also after an exception.
    The trace holds NumPy arrays by name: layer.0.q, k, v [B, H, T, d]; c2c, c2p, p2c, scores, probs [B, H, T, T];
    context, attention, ffn, output [B, T, D]; q_r, k_r [H, 2k, d]; mlm.logits [B, T, V]; the terms before any scale.
    stages: globs as of locus.trace, where locus.stages lists names;  layers: numbers of layers;  batch: only the first
    so many samples.
    at: path of the encoder, where the model holds several.
    tokenizer: for pieces instead of numbers in trace.tokens; that of the model where it has one.
    Raises RecordingError where the pass did not give every stage that was asked for, naming what is missing.
    """
    encoder = choose_encoder(model, at)
    wanted = globs_of(stages)
    if tokenizer is not None and not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise UsageError(f"tokenizer is {shown(tokenizer)}, expected a tokenizer of transformers")
    trace = Trace(family=encoder.adapter.family, dialect="hf", made_by=type(encoder.module).__name__)
    recorder = Recorder(
        model, encoder, trace, wanted, layers, batch, _tokenizer_of(model) if tokenizer is None else tokenizer
    )
    trace.unfinished = True
    try:
        recorder.open()
        yield trace
    finally:
        recorder.close()
        trace.unfinished = False
    recorder.complete()
