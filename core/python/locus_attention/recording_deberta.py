"""The stages of a live DeBERTa of transformers, versions 1, 2 and 3."""

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _core
from .recording_adapter import Adapter
from .recording_common import (
    Attended, Pieces, arguments_of, blind_rows_are_uniform, closing_of, first_of, given_mask, part_of, softmax_visible,
    split_heads, visible_pairs,
)

_AROUND = ("context", "attention", "ffn_act", "ffn", "output")
_INSIDE = ("q", "k", "v", "q_r", "k_r", "c2c", "c2p", "p2c", "scores", "scores_mixed", "probs", "probs_mixed")


class DebertaV2Adapter(Adapter):
    """Versions 2 and 3: separate projections, log buckets, a norm on the table, a convolution."""

    family = "deberta"

    def __init__(self, encoder: Any, recorder: Any) -> None:
        super().__init__(encoder, recorder)
        self.length = self.count = 0
        self.uniform = True
        self.visible: Optional[Any] = None
        self.given: Dict[str, Any] = {}
        self.index: Optional[Any] = None
        self.input_mask: Optional[Any] = None
        self.conv_in: Optional[Any] = None
        self.head, self.transform = self.find_head()

    # What there is

    def layers(self) -> Sequence[Any]:
        listed: Sequence[Any] = self.core.encoder.layer
        return listed

    @property
    def conv(self) -> Optional[Any]:
        return getattr(self.core.encoder, "conv", None)

    def attention(self, layer: int) -> Any:
        return self.layers()[layer].attention.self

    def find_head(self) -> Tuple[Optional[Any], Optional[Any]]:
        """The module that gives logits and the one that gives mlm.transform, where the model around has them."""
        owner = self.around[0] if self.around else None
        # A model of somebody's own may hold something else under these names.
        older, newer = part_of(owner, "cls.predictions"), part_of(owner, "lm_predictions.lm_head")
        if part_of(older, "transform.LayerNorm") is not None:
            return older, older.transform
        if part_of(newer, "LayerNorm") is not None:
            return newer, newer.LayerNorm
        return None, None

    def terms(self, attention: Any) -> Tuple[bool, bool]:
        """Whether c2p and p2c are active."""
        active = bool(getattr(attention, "relative_attention", False))
        kinds = list(attention.pos_att_type or [])
        return active and "c2p" in kinds, active and "p2c" in kinds

    def relative(self) -> bool:
        return bool(getattr(self.core.encoder, "relative_attention", False))

    def talking(self, attention: Any) -> bool:
        return getattr(attention, "head_logits_proj", None) is not None

    def expected(self) -> List[str]:
        names = ["embeddings.word", "embeddings.output"]
        if self.relative():
            names += ["relative.index", "relative.table"]
        for layer in range(len(self.layers())):
            attention = self.attention(layer)
            c2p, p2c = self.terms(attention)
            absent = {"q_r", "p2c"} if not p2c else set()
            absent |= {"k_r", "c2p"} if not c2p else set()
            absent |= {"scores_mixed", "probs_mixed"} if not self.talking(attention) else set()
            names += [f"layer.{layer}.{stem}" for stem in _INSIDE + _AROUND if stem not in absent]
        if self.conv is not None:
            names += ["layer.0.conv", "layer.0.conv_act", "layer.0.output_before_conv"]
        return names + self.after_encoder()

    def head_stages(self) -> List[str]:
        return [] if self.head is None else ["mlm.transform", "mlm.logits"]

    def extent(self, name: str) -> Tuple[int, int, int]:
        return self.length, self.length, 2 * self.span() if self.relative() else 0

    # Hooks

    def install(self) -> None:
        recorder, core = self.recorder, self.core
        recorder.begins_at(core.embeddings)
        recorder.before(core.embeddings, self.before_embeddings)
        recorder.after(core.embeddings.word_embeddings, lambda m, a, k, out: self.measured("embeddings.word", out))
        recorder.after(core.embeddings, lambda m, a, k, out: self.measured("embeddings.output", out))
        recorder.before(core.encoder, self.before_encoder)
        recorder.before(self.layers()[0], self.before_layers)
        for number, layer in enumerate(self.layers()):
            self.install_layer(number, layer)
        if self.conv is not None:
            recorder.before(self.conv, self.before_conv)
            recorder.after(self.conv.conv, self.after_conv)
            recorder.after(self.conv, lambda m, a, k, out: self.measured("layer.0.output", out))
        if self.head is not None:
            recorder.after(self.transform, lambda m, a, k, out: self.measured("mlm.transform", out))
            recorder.after(self.head, self.after_head)
        self.install_classifier()

    def install_layer(self, number: int, layer: Any) -> None:
        recorder, at = self.recorder, f"layer.{number}."
        if not recorder.wants_any(name for name in self.expected() if name.startswith(at)):
            return
        last = "output_before_conv" if number == 0 and self.conv is not None else "output"

        def joined(stem: str) -> Pieces:
            return Pieces(1, lambda: self.length, lambda count, whole: self.measured(at + stem, whole))

        pieces = {stem: joined(stem) for stem in ("ffn_act", "ffn", last)}
        recorder.before(layer.attention.output, lambda m, a, k: self.attend(number, *self.anchor(m, a, k)))
        recorder.after(layer.attention.output, lambda m, a, k, out: self.measured(at + "attention", first_of(out)))
        recorder.after(layer.intermediate, lambda m, a, k, out: pieces["ffn_act"].add(first_of(out)))
        recorder.after(layer.output.dense, lambda m, a, k, out: pieces["ffn"].add(out))
        recorder.after(layer.output, lambda m, a, k, out: pieces[last].add(first_of(out)))

    @staticmethod
    def anchor(module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Tuple[Any, Any]:
        given = arguments_of(module, args, kwargs)
        return given["hidden_states"].detach().clone(), given["input_tensor"].detach().clone()

    def measured(self, name: str, tensor: Any) -> None:
        self.recorder.put(name, tensor, "measured")

    def before_embeddings(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        given = arguments_of(module, args, kwargs)
        ids, embeds = given.get("input_ids"), given.get("inputs_embeds")
        shape = (ids if ids is not None else given["inputs_embeds"]).shape
        self.count, self.length = int(shape[0]), int(shape[1])
        if ids is not None:
            self.given["tokens"] = self.recorder.first_samples(ids).cpu().long().numpy()
        elif embeds is not None:
            self.measured("embeddings.word", embeds)
        positions = given.get("position_ids")
        if positions is not None and getattr(self.core.config, "position_biased_input", True):
            import torch

            if not bool((positions == torch.arange(self.length, device=positions.device)).all()):
                self.recorder.not_computed = "position_ids other than 0, 1, 2, ..."
        types = given.get("token_type_ids")
        if types is not None and bool(types.any()):
            self.given["token_types"] = self.recorder.first_samples(types).cpu().long().numpy()
        self.announce(self.count)

    def before_encoder(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        given = arguments_of(module, args, kwargs)
        mask = given.get("attention_mask")
        self.visible = visible_pairs(mask, self.count, self.length, outer=True)

    def before_layers(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        """Which row of the table each pair reads: by the offsets that the first layer is given, if it is given any."""
        if not self.relative():
            return
        import torch

        offsets = arguments_of(module, args, kwargs).get("relative_pos")
        live = offsets is not None and offsets.shape[-2:] == (self.length, self.length)
        if live:
            self.index = self.row_of_offset(offsets.detach().reshape(-1, self.length, self.length)[0].long().cpu())
        else:
            self.index = torch.from_numpy(self.relative_index().copy())
        self.recorder.put("relative.index", self.index, "measured" if live else "recomputed", batched=False)
        self.recorder.put("relative.table", self.table(), "live projection", batched=False)

    # Positions

    def span(self) -> int:
        encoder = self.core.encoder
        buckets = getattr(encoder, "position_buckets", -1)
        return int(buckets if buckets > 0 else encoder.max_relative_positions)

    def row_of_offset(self, offsets: Any) -> Any:
        """Rows of the table for the model's own offsets, bucketed or not, as its attention takes them."""
        span = self.span()
        return (offsets + span).clamp(0, 2 * span - 1)

    def relative_index(self) -> Any:
        encoder = self.core.encoder
        buckets = int(getattr(encoder, "position_buckets", -1))
        return _core.relative_index(
            self.length, self.length, self.span(), max(buckets, 0), int(encoder.max_relative_positions), False
        )

    def table(self) -> Any:
        """relative.table [2k,D] as the layers see it, by the live modules and no other hook."""
        encoder = self.core.encoder
        rows = encoder.rel_embeddings.weight.detach()
        norms = getattr(encoder, "norm_rel_ebd", [])
        if "layer_norm" in norms:
            rows = encoder.LayerNorm.forward(rows)
        return rows[: 2 * self.span()]

    # One attention

    def project(self, attention: Any, x: Any) -> Tuple[Any, Any, Any]:
        heads = attention.num_attention_heads
        return tuple(
            split_heads(linear.forward(x), heads)
            for linear in (attention.query_proj, attention.key_proj, attention.value_proj)
        )

    def project_positions(self, attention: Any, table: Any) -> Tuple[Optional[Any], Optional[Any]]:
        """q_r and k_r [H,2k,d]; None where the term is off."""
        c2p, p2c = self.terms(attention)
        shared = attention.share_att_key
        q_r = k_r = None
        if p2c:
            q_r = (attention.query_proj if shared else attention.pos_query_proj).forward(table)
        if c2p:
            k_r = (attention.key_proj if shared else attention.pos_key_proj).forward(table)
        heads = attention.num_attention_heads
        return tuple(None if x is None else split_heads(x, heads) for x in (q_r, k_r))  # type: ignore[return-value]

    def divisor(self, attention: Any, head_width: int) -> float:
        # transformers counts the terms that pos_att_type names, with relative_attention off too.
        kinds = list(attention.pos_att_type or [])
        return math.sqrt((1 + ("c2p" in kinds) + ("p2c" in kinds)) * head_width)

    def attend(self, number: int, context: Any, x: Any) -> None:
        """Everything inside one attention, from its measured input and context."""
        at, attention = f"layer.{number}.", self.attention(number)
        self.measured(at + "context", context)
        if not self.recorder.wants_any(at + stem for stem in _INSIDE):
            return
        x, context = self.recorder.first_samples(x), self.recorder.first_samples(context)
        q, k, v = self.project(attention, x)
        for stem, tensor in zip("qkv", (q, k, v)):
            self.recorder.put(at + stem, tensor, "live projection")
        q_r = k_r = None
        if self.relative():
            q_r, k_r = self.project_positions(attention, self.table())
        for stem, tensor in (("q_r", q_r), ("k_r", k_r)):
            if tensor is not None:
                self.recorder.put(at + stem, tensor, "live projection", batched=False)
        self.recompute(at, attention, q, k, v, q_r, k_r, context)

    def recompute(
        self, at: str, attention: Any, q: Any, k: Any, v: Any, q_r: Optional[Any], k_r: Optional[Any], context: Any
    ) -> None:
        """The terms in double, and whether they give the context that the model measured."""
        like = context
        q, k, v = q.double(), k.double(), v.double()
        heads = q.shape[1]
        context = split_heads(context.double(), heads)
        visible = None if self.visible is None else self.visible[: q.shape[0]]
        terms = self.raw_terms(q, k, q_r, k_r)
        for stem, term in terms.items():
            self.keep(at + stem, term, like)
        scores = sum(terms.values()) / self.divisor(attention, q.shape[-1])
        self.keep(at + "scores", scores, like)
        if self.talking(attention):
            scores = self.mixed(attention.head_logits_proj, scores)
            self.keep(at + "scores_mixed", scores, like)
        uniform = blind_rows_are_uniform(context, visible)
        self.uniform = self.uniform and uniform
        probs = softmax_visible(scores, visible, uniform)
        self.keep(at + "probs", probs, like)
        if self.talking(attention):
            probs = self.mixed(attention.head_weights_proj, probs)
            self.keep(at + "probs_mixed", probs, like)
        self.recorder.trace.closing[int(at.split(".")[1])] = closing_of(probs, v, context, visible)

    def raw_terms(self, q: Any, k: Any, q_r: Optional[Any], k_r: Optional[Any]) -> Dict[str, Any]:
        """The terms that this attention has, [B,H,T,T] each in double, before any scale; q and k come in double."""
        terms = {"c2c": q @ k.transpose(-1, -2)}
        if k_r is not None:
            terms["c2p"] = (q @ k_r.double().transpose(-1, -2)).gather(-1, self.rows_of(q))
        if q_r is not None:
            # k_j . q_r[delta(i,j)]: gathered along the row of each key, so transposed twice
            rows = self.rows_of(k).transpose(-1, -2)
            terms["p2c"] = (k @ q_r.double().transpose(-1, -2)).gather(-1, rows).transpose(-1, -2)
        return terms

    def rows_of(self, like: Any) -> Any:
        assert self.index is not None
        return self.index.to(like.device).expand(like.shape[0], like.shape[1], self.length, self.length)

    @staticmethod
    def mixed(linear: Any, scores: Any) -> Any:
        return (scores.permute(0, 2, 3, 1) @ linear.weight.double().T).permute(0, 3, 1, 2)

    def keep(self, name: str, tensor: Any, like: Any) -> None:
        self.recorder.put(name, tensor, "recomputed", like=like)

    # Terms left out

    def term_names(self) -> List[str]:
        c2p, p2c = self.terms(self.attention(0))
        return ["c2c"] + ["c2p"] * c2p + ["p2c"] * p2c

    def replace_contexts(self, layers: Sequence[int], blend: Callable[[int, Attended], Any]) -> None:
        recorder, core = self.recorder, self.core
        recorder.before(core.embeddings, self.before_embeddings)
        recorder.before(core.encoder, self.before_encoder)
        recorder.before(self.layers()[0], self.before_layers)
        for number in layers:
            output = self.layers()[number].attention.output
            hook = self.replacing(number, blend)
            recorder.stack.callback(output.register_forward_pre_hook(hook, prepend=True, with_kwargs=True).remove)

    def replacing(self, number: int, blend: Callable[[int, Attended], Any]) -> Callable[..., Any]:
        def hook(module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
            import torch

            if self.recorder.trouble is not None:
                raise self.recorder.trouble
            given = arguments_of(module, args, kwargs)
            given.pop("self", None)
            context = given["hidden_states"]
            with torch.no_grad(), self.recorder.same_randomness():
                blended = blend(number, self.attended(self.attention(number), context, given["input_tensor"]))
            given["hidden_states"] = blended.transpose(1, 2).flatten(2).to(context.dtype)
            return (), given

        return hook

    def attended(self, attention: Any, context: Any, x: Any) -> Attended:
        """What one attention consists of, from its input x and its context, both [B,T,D]."""
        q, k, v = (tensor.double() for tensor in self.project(attention, x))
        q_r, k_r = self.project_positions(attention, self.table()) if self.relative() else (None, None)
        context = split_heads(context.double(), q.shape[1])
        uniform = blind_rows_are_uniform(context, self.visible)
        talking = self.talking(attention)

        def attend(total: Any) -> Any:
            scores = total / self.divisor(attention, q.shape[-1])
            scores = self.mixed(attention.head_logits_proj, scores) if talking else scores
            probs = softmax_visible(scores, self.visible, uniform)
            return (self.mixed(attention.head_weights_proj, probs) if talking else probs) @ v

        return Attended(self.raw_terms(q, k, q_r, k_r), context, self.visible, attend, talking)

    # Convolution and head

    def before_conv(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        self.input_mask = arguments_of(module, args, kwargs).get("input_mask")

    def after_conv(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
        out = out.permute(0, 2, 1).detach().clone()
        self.measured("layer.0.conv", out)
        if self.recorder.wants("layer.0.conv_act"):
            from transformers.activations import ACT2FN

            if self.input_mask is not None:
                hidden = ~self.input_mask.bool().reshape(out.shape[0], -1)[:, : out.shape[1], None]
                out = out.masked_fill(hidden, 0)
            active = ACT2FN[self.conv.conv_act].forward(out)  # type: ignore[union-attr]
            self.recorder.put("layer.0.conv_act", active, "recomputed")

    def after_head(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
        self.head_ran = True
        self.measured("mlm.logits", first_of(out))

    # What Locus needs to compute the same

    def inputs(self) -> Dict[str, Any]:
        given = dict(self.given)
        mask = given_mask(self.visible, outer=True)
        if mask is not None:
            given["mask"] = mask if self.recorder.batch is None else mask[: self.recorder.batch]
        return given

    def dialect(self) -> str:
        return "hf" if self.uniform else "official"


class DebertaAdapter(DebertaV2Adapter):
    """Version 1: one projection packed per head, no bias on keys, clamped offsets."""

    def span(self) -> int:
        return int(self.core.encoder.max_relative_positions)

    def row_of_offset(self, offsets: Any) -> Any:
        # Version 1 cuts the table to the length of the text, and clamps to what is left of it.
        span = self.span()
        near = min(self.length, span)
        return (offsets + near).clamp(0, 2 * near - 1) + span - near

    def relative_index(self) -> Any:
        return _core.relative_index(self.length, self.length, self.span(), 0, 0, False)

    def project(self, attention: Any, x: Any) -> Tuple[Any, Any, Any]:
        heads = attention.num_attention_heads
        q, k, v = split_heads(attention.in_proj.forward(x), heads).chunk(3, dim=-1)
        biases = [
            split_heads(bias.detach()[None, None, :], heads) for bias in (attention.q_bias, attention.v_bias)
        ]
        return q + biases[0], k, v + biases[1]

    def project_positions(self, attention: Any, table: Any) -> Tuple[Optional[Any], Optional[Any]]:
        c2p, p2c = self.terms(attention)
        heads = attention.num_attention_heads
        # A copy: the model divides what this projection returns in place.
        q_r = split_heads(attention.pos_q_proj.forward(table).clone(), heads) if p2c else None
        k_r = split_heads(attention.pos_proj.forward(table), heads) if c2p else None
        return q_r, k_r

    def divisor(self, attention: Any, head_width: int) -> float:
        return math.sqrt((1 + len(attention.pos_att_type or [])) * head_width)
