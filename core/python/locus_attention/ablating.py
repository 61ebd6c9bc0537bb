"""Hooks that replace the context of a live attention by that of some of its terms."""

from typing import Any, Dict, Iterable, Optional, Sequence, cast

from .errors import UsageError
from .recording import Encoder, Recorder
from .recording_common import arguments_of, blind_rows_are_uniform, closing_of, softmax_visible, split_heads
from .recording_deberta import DebertaV2Adapter
from .tracing import Trace


class AblationHooks:
    """One ablation: works on the anchors of a recording, but writes what `attention.output` is given."""

    def __init__(
        self, model: Any, encoder: Encoder, done: Any, heads: Optional[Iterable[int]], layers: Optional[Iterable[int]]
    ) -> None:
        # A recorder that keeps nothing: its adapter knows projections, masks and positions.
        self.recorder = Recorder(model, encoder, Trace(encoder.adapter.family), "", None, None, None)
        self.adapter, self.done = cast(DebertaV2Adapter, self.recorder.adapter), done
        count = len(self.adapter.layers())
        self.layers = list(range(count)) if layers is None else sorted(set(layers))
        for layer in self.layers:
            if not 0 <= layer < count:
                raise UsageError(f"layers holds {layer}, expected numbers from 0 to {count - 1}")
        total = self.adapter.attention(0).num_attention_heads
        self.heads = list(range(total)) if heads is None else sorted(set(heads))
        for head in self.heads:
            if not 0 <= head < total:
                raise UsageError(f"heads holds {head}, expected numbers from 0 to {total - 1}")
        done.layers = self.layers

    def open(self) -> None:
        recorder, core = self.recorder, self.adapter.core
        recorder.run_eagerly()
        recorder.started = True
        recorder.before(core.embeddings, self.adapter.before_embeddings)
        recorder.before(core.encoder, self.adapter.before_encoder)
        for number in self.layers:
            output = self.adapter.layers()[number].attention.output
            handle = output.register_forward_pre_hook(self.replacing(number), with_kwargs=True)
            recorder.stack.callback(handle.remove)

    def close(self) -> None:
        self.recorder.close()

    def replacing(self, number: int) -> Any:
        def hook(module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
            if self.recorder.trouble is not None:
                raise self.recorder.trouble
            given = arguments_of(module, args, kwargs)
            given.pop("self", None)
            given["hidden_states"] = self.without(number, given["hidden_states"], given["input_tensor"])
            return (), given

        return hook

    def without(self, number: int, context: Any, x: Any) -> Any:
        """The context [B,T,D] of the remaining terms in the chosen heads, the measured one in the others."""
        import torch

        adapter = self.adapter
        attention = adapter.attention(number)
        with torch.no_grad(), self.recorder.same_randomness():
            q, k, v = (tensor.double() for tensor in adapter.project(attention, x))
            q_r, k_r = adapter.project_positions(attention, adapter.table()) if adapter.relative() else (None, None)
            terms = {"c2c": q @ k.transpose(-1, -2)}
            if k_r is not None:
                terms["c2p"] = (q @ k_r.double().transpose(-1, -2)).gather(-1, adapter.rows_of(q))
            if q_r is not None:
                rows = adapter.rows_of(k).transpose(-1, -2)
                terms["p2c"] = (k @ q_r.double().transpose(-1, -2)).gather(-1, rows).transpose(-1, -2)
            measured = split_heads(context.double(), q.shape[1])
            uniform = blind_rows_are_uniform(measured, adapter.visible)

            def probs_of(names: Sequence[str]) -> Any:
                scores = sum(terms[name] for name in names) + torch.zeros_like(terms["c2c"])
                scores = scores / adapter.divisor(attention, q.shape[-1])
                return softmax_visible(scores, adapter.visible, uniform)

            # That all terms together give the measured context is what makes the rest mean anything.
            self.note("closing", number, closing_of(probs_of(list(terms)), v, measured, adapter.visible))
            replaced = probs_of([name for name in terms if name not in self.done.drop]) @ v
            chosen = torch.zeros(q.shape[1], dtype=torch.bool, device=q.device)
            chosen[self.heads] = True
            kept = torch.where(chosen[None, :, None, None], replaced, measured)
            largest = measured.abs().max().item() or 1.0
            self.note("change", number, (kept - measured).abs().max().item() / largest)
            self.done.calls += 1
            return kept.transpose(1, 2).flatten(2).to(context.dtype)

    def note(self, what: str, number: int, value: float) -> None:
        noted = getattr(self.done, what)
        noted[number] = max(value, noted.get(number, 0.0))
