"""The stages of a live RoFormer of transformers."""

import math
from typing import Any, Dict, List, Optional, Sequence

from .recording_common import (
    Attended, arguments_of, blind_rows_are_uniform, closing_of, given_mask, softmax_visible, split_heads, visible_pairs,
)
from .recording_deberta import DebertaV2Adapter


class RoFormerAdapter(DebertaV2Adapter):
    """Queries and keys are rotated by their places; the anchors are those of DeBERTa."""

    family = "roformer"

    def relative(self) -> bool:
        return False

    @property
    def conv(self) -> Optional[Any]:
        return None

    def rotates_values(self) -> bool:
        return bool(getattr(self.config, "rotary_value", False))

    def expected(self) -> List[str]:
        names = ["embeddings.word", "embeddings.output", "rotary.sin", "rotary.cos"]
        stems = ["q", "k", "v", "q_rot", "k_rot"] + ["v_rot"] * self.rotates_values()
        stems += ["scores", "probs", "context", "attention", "ffn_act", "ffn", "output"]
        names += [f"layer.{layer}.{stem}" for layer in range(len(self.layers())) for stem in stems]
        return names + self.after_encoder()

    def install(self) -> None:
        recorder, core = self.recorder, self.core
        recorder.begins_at(core.embeddings)
        recorder.before(core.embeddings, self.before_embeddings)
        recorder.after(core.embeddings.word_embeddings, lambda m, a, k, out: self.measured("embeddings.word", out))
        last = getattr(core, "embeddings_project", core.embeddings)
        recorder.after(last, lambda m, a, k, out: self.measured("embeddings.output", out))
        recorder.before(core.encoder, self.before_encoder)
        for number, layer in enumerate(self.layers()):
            self.install_layer(number, layer)
        if self.head is not None:
            recorder.after(self.transform, lambda m, a, k, out: self.measured("mlm.transform", out))
            recorder.after(self.head, self.after_head)
        self.install_classifier()

    def before_encoder(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        given = arguments_of(module, args, kwargs)
        self.visible = visible_pairs(given.get("attention_mask"), self.count, self.length, outer=False)
        table = module.embed_positions.weight.detach()[: self.length]
        self.sin, self.cos = table.chunk(2, dim=-1)
        self.recorder.put("rotary.sin", self.sin, "measured", batched=False)
        self.recorder.put("rotary.cos", self.cos, "measured", batched=False)

    def rotated(self, x: Any) -> Any:
        """[B,H,T,d] in double: neighbouring channels are turned by the angle of their token."""
        import torch

        even, odd = x.double()[..., ::2], x.double()[..., 1::2]
        sin, cos = self.sin.double(), self.cos.double()
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)

    def attend(self, number: int, context: Any, x: Any) -> None:
        at, attention = f"layer.{number}.", self.attention(number)
        self.measured(at + "context", context)
        inside = ("q", "k", "v", "q_rot", "k_rot", "v_rot", "scores", "probs")
        if not self.recorder.wants_any(at + stem for stem in inside):
            return
        x, context = self.recorder.first_samples(x), self.recorder.first_samples(context)
        heads, like = attention.num_attention_heads, context
        q, k, v = (
            split_heads(linear.forward(x), heads) for linear in (attention.query, attention.key, attention.value)
        )
        for stem, tensor in zip("qkv", (q, k, v)):
            self.recorder.put(at + stem, tensor, "live projection")
        q_rot, k_rot, values = self.rotated(q), self.rotated(k), v.double()
        self.keep(at + "q_rot", q_rot, like)
        self.keep(at + "k_rot", k_rot, like)
        if self.rotates_values():
            values = self.rotated(v)
            self.keep(at + "v_rot", values, like)
        scores = q_rot @ k_rot.transpose(-1, -2) / math.sqrt(q.shape[-1])
        self.keep(at + "scores", scores, like)
        visible = None if self.visible is None else self.visible[: q.shape[0]]
        context = split_heads(context.double(), heads)
        uniform = blind_rows_are_uniform(context, visible)
        self.uniform = self.uniform and uniform
        probs = softmax_visible(scores, visible, uniform)
        self.keep(at + "probs", probs, like)
        self.recorder.trace.closing[number] = closing_of(probs, values, context, visible)

    def term_names(self) -> List[str]:
        return ["content", "rotation"]

    def attended(self, attention: Any, context: Any, x: Any) -> Attended:
        heads = attention.num_attention_heads
        q, k, v = (
            split_heads(linear.forward(x), heads).double() for linear in (attention.query, attention.key, attention.value)
        )
        values = self.rotated(v) if self.rotates_values() else v
        content = q @ k.transpose(-1, -2)
        context = split_heads(context.double(), heads)
        uniform = blind_rows_are_uniform(context, self.visible)

        def attend(total: Any) -> Any:
            return softmax_visible(total / math.sqrt(q.shape[-1]), self.visible, uniform) @ values

        # What a score would be without places, and what turning queries and keys by their places adds to it.
        rotation = self.rotated(q) @ self.rotated(k).transpose(-1, -2) - content
        return Attended({"content": content, "rotation": rotation}, context, self.visible, attend)

    def inputs(self) -> Dict[str, Any]:
        given = dict(self.given)
        mask = given_mask(self.visible, outer=False)
        if mask is not None:
            given["mask"] = mask if self.recorder.batch is None else mask[: self.recorder.batch]
        return given
