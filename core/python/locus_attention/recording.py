"""Recording a live model of transformers: hooks at the few places that every implementation must call.

What is hooked (the anchors): the embeddings, `attention.output(context, x)`, `intermediate` and `output` of each layer,
and the head.  Fused kernels, torch.compile and coming versions may replace everything between them, so queries, keys and
terms are not taken from there: the model's own projections are applied to the measured x, the terms follow from these in
double, and a closing test says whether these terms give the context that the model measured.
"""

import functools
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type

import numpy as np

from .errors import RecordingError, UsageError, whole_number
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


def choose_encoder(model: Any, at: Optional[str]) -> Encoder:
    """The encoder to record: the only one, or the one at a path.  Raises UsageError that lists what there is."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        raise UsageError("the model is a script of torch.jit, which calls no hooks; record the model it was made from")
    found = find_encoders(model)
    paths = ", ".join(repr(one.path) for one in found)
    if not found:
        raise UsageError(
            f"{type(model).__name__} holds no DebertaModel, DebertaV2Model, RoFormerModel or XLNetModel of transformers"
        )
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
        self.layers = None if layers is None else sorted({whole_number("layers", layer) for layer in layers})
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


def _state_of(module: Any) -> Dict[str, Tuple[int, Any]]:
    """What changes when weights do: how often each was written to, and its type."""
    return {name: (weight._version, weight.dtype) for name, weight in module.named_parameters()}


def _tokenizer_of(model: Any) -> Any:
    """A tokenizer that travels with an outer model, as with sentence-transformers and pipelines."""
    found = getattr(model, "tokenizer", None)
    return found if hasattr(found, "convert_ids_to_tokens") else None


@contextmanager
def recording(
    model: Any,
    *,
    stages: str = "",
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
    stages: globs as of locus.trace;  layers: numbers of layers;  batch: only the first so many samples.
    at: path of the encoder, where the model holds several.
    tokenizer: for pieces instead of numbers in trace.tokens.
    Raises RecordingError where the pass did not give every stage that was asked for, naming what is missing.
    """
    encoder = choose_encoder(model, at)
    trace = Trace(family=encoder.adapter.family, dialect="hf", made_by=type(encoder.module).__name__)
    recorder = Recorder(model, encoder, trace, stages, layers, batch, tokenizer or _tokenizer_of(model))
    try:
        recorder.open()
        yield trace
    finally:
        recorder.close()
    recorder.complete()


class LiveModel:
    """The model behind a recorded trace: its weights as a folder, for comparisons with Locus."""

    def __init__(self, encoder: Encoder, given: Dict[str, Any], not_computed: str) -> None:
        self.encoder, self.given, self.not_computed = encoder, given, not_computed
        self.weights = _state_of(encoder.module)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """A copy has weights of its own, which nobody has written to."""
        self.__dict__.update(state)
        self.weights = _state_of(self.encoder.module)

    def check(self, trace: Trace, **options: Any) -> Any:
        from .checking import check, temporary_folder
        from .passes import trace as trace_of_folder
        from .weights import export_model

        if "tokens" not in self.given:
            raise UsageError("the pass was given inputs_embeds, expected input_ids: Locus begins with token ids")
        if self.not_computed:
            raise UsageError(
                f"the pass was given {self.not_computed}, which Locus does not compute, expected a pass without them; "
                "locus.check compares this trace with another recording"
            )
        for name, state in _state_of(self.encoder.module).items():
            if self.weights.get(name) != state:
                raise UsageError(
                    f"the weights changed after the recording ({name} is the first), expected those that it was made "
                    "with: check before the next step of the training, or record again"
                )
        with temporary_folder() as folder:
            # The mask that was measured says whom a decoder sees; versions of transformers differ in what they make of it.
            has_head = export_model(self.encoder, folder, is_decoder=False)
            of_head = [] if has_head else [name for name in trace if name.split(".")[0] in ("mlm", "lm")]
            asked = without(trace, of_head)
            reference = trace_of_folder(
                folder, inputs=self.given, precision="f64", dialect=trace.dialect, stages=",".join(asked.stages)
            )
            doubted = doubtful_stages(trace)
            judged = in_the_rounding_of_autocast(without(asked, doubted))
            if trace.family != "roformer":
                # transformers computes the divisor (DeBERTa), norms (v1) and sinusoids (XLNet) in float32 at best.
                judged = in_single(judged)
            report = check(reference, judged, model=folder, inputs=self.given, **options)
        if doubted:
            layers = ", ".join(sorted({name.split(".")[1] for name in doubted}, key=int))
            report.notes.append(
                f"layers {layers}: the recomputed terms do not give the measured context, so they were left out"
            )
        if of_head:
            report.notes.append(
                f"{', '.join(of_head)}: the head is not laid out as that of transformers, so they were left out"
            )
        return report


# What closing may be of a right model: a hundred times what rounding left of right ones, a tenth of what mistakes left.
CLOSING_LIMITS = {"F64": 1e-5, "F32": 1e-4, "F16": 1e-2, "BF16": 5e-2}


def closes(trace: Trace, layer: int) -> bool:
    """True if the terms of this layer are those that the model used."""
    names = [name for name in trace if name.startswith(f"layer.{layer}.") and name.endswith(".context")]
    kind = trace.stored[names[0]] if names else "F32"
    value = trace.closing.get(layer)
    return value is None or value <= CLOSING_LIMITS.get(kind, 1e-4)


def doubtful_stages(trace: Trace) -> List[str]:
    """Recomputed stages of layers whose closing test fails: they are not what the model computed."""
    failing = {layer for layer in trace.closing if not closes(trace, layer)}
    return [
        name for name in trace
        if name.startswith("layer.") and int(name.split(".")[1]) in failing and trace.how[name] == "recomputed"
    ]


def in_single(trace: Trace) -> Trace:
    """The same trace with float64 rounded to float32, so that it is judged by the rounding of float32."""
    single = Trace(trace.family, trace.dialect, trace.model, trace.made_by)
    for name in trace:
        array, kind = trace[name], trace.stored[name]
        if array.dtype == np.float64:
            array, kind = array.astype(np.float32), "F32"
        single.hold(name, array, trace.how[name], kind, trace.info[name])
    return single


def in_the_rounding_of_autocast(trace: Trace) -> Trace:
    """The same trace, where everything after the first stage of a narrow type is judged by the rounding of that type.

    Under autocast sums and norms come in float32, but they are made of what was rounded to bfloat16 or float16.
    """
    mixed = Trace(trace.family, trace.dialect, trace.model, trace.made_by)
    narrow = ""
    for name in trace:
        kind = trace.stored[name]
        narrow = narrow or (kind if kind in ("F16", "BF16") else "")
        mixed.hold(name, trace[name], trace.how[name], narrow if narrow and kind == "F32" else kind, trace.info[name])
    return mixed


def without(trace: Trace, names: Sequence[str]) -> Trace:
    """The same trace without some stages."""
    kept = Trace(trace.family, trace.dialect, trace.model, trace.made_by)
    for name in trace:
        if name not in names:
            kept.hold(name, trace[name], trace.how[name], trace.stored[name], trace.info[name])
    return kept
