"""The stages of a live XLNet of transformers: the content stream, and the query stream where there is one."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .errors import UsageError
from .recording_adapter import Adapter
from .recording_common import Attended, Pieces, arguments_of, closing_of, first_of, part_of, softmax_visible, worst_of

_KEYS = ("k", "v", "r_k")
_STREAM = ("q", "ac", "bd_raw", "bd", "ef", "scores", "probs", "context", "attention", "ffn_act", "ffn", "output")


class XLNetAdapter(Adapter):
    """Weights are bare parameters, so the instance's rel_attn_core is wrapped for the time of the recording."""

    family = "xlnet"

    def __init__(self, encoder: Any, recorder: Any) -> None:
        super().__init__(encoder, recorder)
        self.length = self.count = self.remembered = 0
        self.given: Dict[str, Any] = {}
        self.mapping: Optional[Any] = None  # [B,P,T] in double
        self.segments = False
        self.streams: Dict[int, int] = {}  # layer -> how many streams its attention has computed

    def layers(self) -> Sequence[Any]:
        listed: Sequence[Any] = self.core.layer
        return listed

    @property
    def head(self) -> Optional[Any]:
        """The layer that gives a logit for every token; something else may bear its name in a model of somebody's own."""
        layer = part_of(self.around[0], "lm_loss") if self.around else None
        return layer if part_of(layer, "out_features") == self.config.vocab_size else None

    def expected(self) -> List[str]:
        begun = self.recorder.started
        stems = [stem for stem in _STREAM if self.segments or not begun or stem != "ef"]
        names = ["embeddings.word", "embeddings.output", "positions.r"]
        if getattr(self.core, "bi_data", False):
            names.append("positions.r_backward")
        for layer in range(len(self.layers())):
            at = f"layer.{layer}."
            names += [at + stem for stem in (*_KEYS, *stems)]
            if getattr(self.core, "bi_data", False):
                names.append(at + "r_k_backward")
            if self.mapping is not None or not begun:
                names += [at + "g." + stem for stem in stems]
        return names + self.after_encoder()

    def head_stages(self) -> List[str]:
        return [] if self.head is None else ["lm.logits"]

    def extent(self, name: str) -> Tuple[int, int, int]:
        targets = self.length if self.mapping is None else int(self.mapping.shape[1])
        of_targets = ".g." in name or name == "lm.logits"
        keys = self.length + self.remembered
        return targets if of_targets else self.length, keys, self.length + keys

    # Hooks

    def install(self) -> None:
        recorder, core = self.recorder, self.core
        # sentence-transformers calls core.forward, not core.
        recorder.begins_in(core, self.before_core)
        recorder.after(core.word_embedding, self.after_words)
        for number, layer in enumerate(self.layers()):
            if recorder.wants_any(name for name in self.expected() if name.startswith(f"layer.{number}.")):
                self.install_layer(number, layer)
        if self.head is not None:
            recorder.after(self.head, self.after_head)
        self.install_classifier()

    def install_layer(self, number: int, layer: Any) -> None:
        recorder, attention = self.recorder, layer.rel_attn
        at = f"layer.{number}."

        def put(stem: str, query_first: bool) -> Callable[[int, Any], None]:
            """Stages that come once per stream: attention content first, feed-forward query first."""

            def emit(count: int, whole: Any) -> None:
                two = self.mapping is not None
                is_query = two and (count == 0) == query_first
                recorder.put(at + ("g." if is_query else "") + stem, whole.transpose(0, 1), "measured")

            return emit

        attended = Pieces(1, lambda: self.count, put("attention", False))
        parts = {stem: Pieces(1, lambda: self.count, put(stem, True)) for stem in ("ffn_act", "ffn", "output")}
        recorder.before(layer, self.before_layer)
        recorder.after(attention.layer_norm, lambda m, a, k, out: attended.add(out))
        recorder.before(layer.ff.layer_2, lambda m, a, k: parts["ffn_act"].add(a[0]))
        recorder.after(layer.ff.layer_2, lambda m, a, k, out: parts["ffn"].add(out))
        recorder.after(layer.ff, lambda m, a, k, out: parts["output"].add(first_of(out)))
        self.wrap(attention, number)

    def wrap(self, attention: Any, number: int) -> None:
        """Looks at every call of rel_attn_core, which stays what it was."""
        seen = self.recorder.guarded(lambda *parts: self.attend(number, attention, *parts))
        self.recorder.stack.callback(watch(attention, looking=seen))

    def before_core(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        given = arguments_of(module, args, kwargs)
        ids = given.get("input_ids")
        shape = ids.shape if ids is not None else given["inputs_embeds"].shape[:2]
        self.count, self.length = int(shape[0]), int(shape[1])
        if getattr(self.core, "bi_data", False) and self.count % 2:
            raise UsageError(
                f"the batch has {self.count} samples, expected an even number: with bi_data the second half is reversed"
                " text"
            )
        kept = self.recorder.first_samples
        if ids is not None:
            self.given["tokens"] = kept(ids).cpu().long().numpy()
        else:
            self.recorder.put("embeddings.word", given["inputs_embeds"], "measured")
        for name, key in (
            ("token_type_ids", "token_types"), ("perm_mask", "perm_mask"), ("target_mapping", "target_mapping"),
            ("input_mask", "input_mask"),
        ):
            if given.get(name) is not None:
                self.given[key] = kept(given[name]).cpu().long().numpy()
        if given.get("attention_mask") is not None:
            self.given["input_mask"] = 1 - kept(given["attention_mask"]).cpu().long().numpy()
        self.segments = given.get("token_type_ids") is not None
        mapping = given.get("target_mapping")
        self.mapping = None if mapping is None else mapping.detach().double()
        memories = [memory for memory in given.get("mems") or [] if memory is not None]
        self.remembered = int(memories[0].shape[0]) if memories else 0
        self.announce(self.count)
        for number, memory in enumerate(given.get("mems") or []):
            if memory is not None:
                self.given[f"memory.{number}"] = kept(memory.transpose(0, 1)).cpu().double().numpy()

    def after_words(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
        self.recorder.put("embeddings.word", out.transpose(0, 1), "measured")

    def before_layer(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        given = arguments_of(module, args, kwargs)
        self.recorder.put("embeddings.output", given["output_h"].transpose(0, 1), "measured")
        rows = given["r"]
        self.recorder.put("positions.r", rows[:, 0], "measured", batched=False)
        if getattr(self.core, "bi_data", False):
            self.recorder.put("positions.r_backward", rows[:, -1], "measured", batched=False)

    # One attention

    def attend(self, number: int, attention: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
        """One stream of one layer, from the projections that rel_attn_core was given and the context it returned."""
        given = arguments_of_core(attention, args, kwargs)
        is_query = self.streams.get(number, 0) == 1
        if self.streams.get(number, 0) > (1 if self.mapping is not None else 0):
            return  # again, for a checkpointed backward pass
        self.streams[number] = self.streams.get(number, 0) + 1
        at, kept = f"layer.{number}.", self.recorder.first_samples
        q, k, v, r_k = (
            kept(given[name].permute(1, 2, 0, 3)) for name in ("q_head", "k_head_h", "v_head_h", "k_head_r")
        )
        if not is_query:
            self.recorder.put(at + "k", k, "live projection")
            self.recorder.put(at + "v", v, "live projection")
            self.recorder.put(at + "r_k", r_k[0], "live projection", batched=False)
            if getattr(self.core, "bi_data", False):
                self.recorder.put(at + "r_k_backward", given["k_head_r"][:, -1].transpose(0, 1), "live projection",
                                  batched=False)
        self.recompute(at + ("g." if is_query else ""), attention, q, k, v, r_k, given, kept(out.permute(1, 2, 0, 3)))

    def recompute(
        self, at: str, attention: Any, q: Any, k: Any, v: Any, r_k: Any, given: Dict[str, Any], context: Any
    ) -> None:
        like = context
        is_query = at.endswith(".g.")
        q, k, v, r_k, context = (tensor.double() for tensor in (q, k, v, r_k, context))
        visible = visible_to_core(given, q, k)
        terms, raw = raw_terms(attention, q, k, r_k, given)
        stages = {"q": q, "ac": terms["ac"], "bd_raw": raw, **terms}
        if visible is not None:
            stages["bd"] = terms["bd"].masked_fill(~visible, 0)
        # Where the mask hides a pair, the score is that of the terms as they are named here.
        stages["scores"] = sum(stages[name] for name in terms) * attention.scale
        stages["probs"] = softmax_visible(sum(terms.values()) * attention.scale, visible, True)
        closing = closing_of(stages["probs"], v, context, visible)
        layer, trace = int(at.split(".")[1]), self.recorder.trace
        trace.closing[layer] = worst_of(closing, trace.closing.get(layer, 0.0))
        for stem, tensor in stages.items():
            how = "live projection" if stem == "q" else "recomputed"
            self.recorder.put(at + stem, self.picked(tensor) if is_query else tensor, how, like=like)
        joined = (self.picked(context) if is_query else context).transpose(1, 2).flatten(2)
        self.recorder.put(at + "context", joined, "measured", like=like)

    def picked(self, tensor: Any) -> Any:
        """The rows of the targets: [B,H,T,...] -> [B,H,P,...]"""
        import torch

        assert self.mapping is not None
        return torch.einsum("bpt,bht...->bhp...", self.mapping[: tensor.shape[0]], tensor)

    # Terms left out

    def head_count(self) -> int:
        return int(self.config.n_head)

    def term_names(self) -> List[str]:
        return ["ac", "bd", "ef"]

    def replace_contexts(self, layers: Sequence[int], blend: Callable[[int, Attended], Any]) -> None:
        for number in layers:
            attention = self.layers()[number].rel_attn
            self.recorder.stack.callback(watch(attention, replacing=self.replacing(number, attention, blend)))

    def replacing(self, number: int, attention: Any, blend: Callable[[int, Attended], Any]) -> Callable[..., Any]:
        def replaced(args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> Any:
            import torch

            with torch.no_grad():
                given = arguments_of_core(attention, args, kwargs)
                blended = blend(number, self.attended(attention, given, out))
            return blended.permute(2, 0, 1, 3).to(out.dtype)

        return replaced

    @staticmethod
    def attended(attention: Any, given: Dict[str, Any], context: Any) -> Attended:
        """What one stream of one layer consists of, from what rel_attn_core was given and the context [T,B,H,d]."""
        q, k, v, r_k = (
            given[name].permute(1, 2, 0, 3).double() for name in ("q_head", "k_head_h", "v_head_h", "k_head_r")
        )
        visible = visible_to_core(given, q, k)
        terms, _ = raw_terms(attention, q, k, r_k, given)

        def attend(total: Any) -> Any:
            return softmax_visible(total * attention.scale, visible, True) @ v

        return Attended(terms, context.permute(1, 2, 0, 3).double(), visible, attend)

    def after_head(self, module: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
        self.head_ran = True
        self.recorder.put("lm.logits", out, "measured")

    def inputs(self) -> Dict[str, Any]:
        return dict(self.given)


class WatchedCore:
    """Stands in for the rel_attn_core of an instance while something replaces its context or looks at it.

    What replaces comes first, in whatever order the two came, so that a recording sees what the model goes on with.
    """

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original = original
        self.replacing: List[Callable[..., Any]] = []
        self.looking: List[Callable[..., Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self.original(*args, **kwargs)
        context = first_of(out)
        for action in self.replacing:
            context = action(args, kwargs, context)
        for action in self.looking:
            action(args, kwargs, context)
        return (context, *out[1:]) if isinstance(out, (tuple, list)) else context


def watch(
    attention: Any, *, replacing: Optional[Callable[..., Any]] = None, looking: Optional[Callable[..., Any]] = None
) -> Callable[[], None]:
    """Puts actions(args, kwargs, context) at the rel_attn_core of an instance; what it returns takes them away again."""
    own = vars(attention).get("rel_attn_core")
    core = own if isinstance(own, WatchedCore) else WatchedCore(attention.rel_attn_core)
    attention.rel_attn_core = core
    listed, action = (core.looking, looking) if replacing is None else (core.replacing, replacing)
    assert action is not None
    listed.append(action)

    def restore() -> None:
        listed.remove(action)
        if core.replacing or core.looking:
            return
        # A function that the instance had before of its own is put back, a method of its class is found again.
        if getattr(core.original, "__func__", None) is type(attention).rel_attn_core:
            del attention.rel_attn_core
        else:
            attention.rel_attn_core = core.original

    return restore


def arguments_of_core(attention: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """What rel_attn_core was called with, by the names of its class."""
    import inspect

    names = list(inspect.signature(type(attention).rel_attn_core).parameters)[1:]
    return dict(zip(names, args), **kwargs)


def visible_to_core(given: Dict[str, Any], q: Any, k: Any) -> Optional[Any]:
    """Which pairs the mask of a call shows, of the samples of q and k [B,H,T,d]: bool [B,1,Tq,Tk]; None without a mask."""
    hidden = given.get("attn_mask")
    if hidden is None:
        return None
    hidden = hidden.detach().permute(2, 3, 0, 1)[: q.shape[0]] > 0
    return ~hidden.expand(q.shape[0], 1, q.shape[2], k.shape[2])


def raw_terms(
    attention: Any, q: Any, k: Any, r_k: Any, given: Dict[str, Any]
) -> Tuple[Dict[str, Any], Any]:
    """ac, bd and, where the pass has segments, ef: [B,H,Tq,Tk] each in double before any scale; and bd before its shift."""
    import torch

    bias = {
        name: getattr(attention, name).detach().double()[:, None] for name in ("r_w_bias", "r_r_bias", "r_s_bias")
    }
    raw = (q + bias["r_r_bias"]) @ r_k.transpose(-1, -2)
    terms = {"ac": (q + bias["r_w_bias"]) @ k.transpose(-1, -2), "bd": shifted(raw, k.shape[2])}
    segments = given.get("seg_mat")
    if segments is not None:
        each = (q + bias["r_s_bias"]) @ attention.seg_embed.detach().double().permute(1, 2, 0)
        same = segments.detach().double().permute(2, 0, 1, 3)[: q.shape[0]]
        terms["ef"] = torch.einsum("bijs,bhis->bhij", same, each)
    return terms, raw


def shifted(raw: Any, keys: int) -> Any:
    """bd[i,j] = bd_raw[i, T - i + j] for every pair that can be seen: [B,H,T,R] -> [B,H,T,keys]"""
    batch, heads, queries, rows = raw.shape
    flat = raw.reshape(batch, heads, rows, queries)[:, :, 1:]
    return flat.reshape(batch, heads, queries, rows - 1)[..., :keys]
