"""Locus kit for PyTorch: what a Hugging Face DeBERTa-v2, RoFormer or XLNet computes, under the contract's stage names.
with capture(model, "layer.0.*,mlm.*") as stages: model(**batch)     # globs, by default all; eager attention, eval mode
dump("dumps/L3/mine.safetensors", stages)                            # or a case of locus_kit, which lies beside this file
Modules are watched by hooks, terms inside an attention by its torch calls; of XLNet the content stream alone."""
import collections, contextlib, fnmatch, re, torch, locus_kit
L, S = "encoder.layer.#", "encoder.layer.#.attention.self"  # numbers are #; of two stages the second is of the second call
BERT = {"embeddings.word_embeddings": "embeddings.word", "embeddings": "embeddings.output", S: "layer.#.context", L: "layer.#.output",
    S + ".dropout": "layer.#.probs", L + ".attention.output": "layer.#.attention", L + ".intermediate": "layer.#.ffn_act",
    L + ".output.dense": "layer.#.ffn", "cls": "mlm.logits", "cls.predictions.transform": "mlm.transform",
    "lm_predictions": "mlm.logits", "lm_predictions.lm_head.LayerNorm": "mlm.transform", "embeddings_project": "embeddings.output"}
MODULES = {"deberta-v2": BERT | {S + ".query_proj": "layer.#.q layer.#.q_r", S + ".key_proj": "layer.#.k layer.#.k_r", S + ".value_proj":
        "layer.#.v", S + ".pos_query_proj": "layer.#.q_r", S + ".pos_key_proj": "layer.#.k_r", "encoder.LayerNorm": "relative.table",
        "encoder.conv.conv": "layer.0.conv", "encoder.conv": "layer.0.output"},
    "roformer": BERT | {S + ".query": "layer.#.q", S + ".key": "layer.#.k", S + ".value": "layer.#.v"},
    "xlnet": {"word_embedding": "embeddings.word", "layer.#.rel_attn": "layer.#.attention", "layer.#": "layer.#.output", "lm_loss":
        "lm.logits", "layer.#.ff.activation_function": "layer.#.ffn_act", "layer.#.ff.layer_2": "layer.#.ffn"}}
same, joined = lambda x, out: out, lambda x, out: out.flatten(2).transpose(0, 1)  # stages of torch calls, the first, the second
CALLS = {"deberta-v2 masked_fill": [{"scores": lambda x, out: x[0]}], "roformer div": [{"scores": same}], "xlnet ijbs,ibns->bnij": [{"ef": same}],
    "roformer matmul": [{"q_rot": lambda x, out: x[0], "k_rot": lambda x, out: x[1].mT}],
    "xlnet ibnd,jbnd->bnij": [{"ac": same}, {"bd_raw": same}], "xlnet bnij,jbnd->ibnd": [{"probs": lambda x, out: x[1], "context": joined}]}
@contextlib.contextmanager
def capture(model, names="*"):
    stages, calls, now, hooks, kind = {}, collections.Counter(), [], [], model.config.model_type
    def put(name, value):
        if any(fnmatch.fnmatch(name, glob) for glob in names.split(",")): stages[name] = value.detach().clone()
    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out, call = func(*args, **(kwargs or {})), f"{kind} {args[0] if func is torch.einsum else func.__name__}"
            for at, a in now:  # the attention module that runs, if one does
                n, calls[at + call] = calls[at + call], calls[at + call] + 1
                if call == "deberta-v2 gather":  # p2c is gathered [key, row]
                    stem = [term for term in ("c2p", "p2c") if term in a.pos_att_type][n]
                    turned, index = (x if stem == "c2p" else x.mT for x in (out, kwargs["index"]))
                    put("relative.index", index[0]), put(at + stem, turned.unflatten(0, (-1, a.num_attention_heads)))
                for stem in [stem for stem in "qkvr" if call == "xlnet ibh,hnd->ibnd" and args[2] is getattr(a, stem)]:
                    x = out.permute(1, 2, 0, 3) if stem != "r" else out[:, 0].transpose(0, 1)
                    if at + stem not in stages: put(at + stem.replace("r", "r_k"), x)  # a second q is of the query stream
                for stem, pick in dict(enumerate(CALLS.get(call, []))).get(n, {}).items(): put(at + stem, pick(args, out))
            return out
    def after(path, wanted, module, args, out):
        n, calls[path], out = calls[path], calls[path] + 1, out[0] if isinstance(out, tuple) else out
        stage = wanted.split()[n if " " in wanted else 0]
        if re.search(r"\.[qkv](_r)?$", stage): out = out.unflatten(-1, (model.config.num_attention_heads, -1)).transpose(1, 2)
        if any(module is a for at, a in now): now.clear()
        if path == "encoder.conv" and stage in stages: stages["layer.0.output_before_conv"] = stages[stage]
        turned = stage.endswith(".conv") and (1, 2) or kind == "xlnet" and stage != "lm.logits" and (0, 1) or (0, 0)
        put(stage, args[0] if stage.endswith(".probs") else out[0] if stage.endswith("_r") else out.transpose(*turned))
    for path, module in model.named_modules():
        path = path.removeprefix(model.base_model_prefix + ".")
        number, general = re.search(r"\.(\d+)", path), re.sub(r"\.\d+", ".#", path)
        wanted = MODULES[kind].get(general, "").replace("#", number[1] if number else "")
        if wanted: hooks.append(module.register_forward_hook(lambda *x, path=path, wanted=wanted: after(path, wanted, *x)))
        if general in (S, "layer.#.rel_attn"): hooks.append(
            module.register_forward_pre_hook(lambda m, x, at=f"layer.{number[1]}.": now.append((at, m))))
    with Watch(), contextlib.ExitStack() as end:
        for hook in hooks: end.callback(hook.remove)
        yield stages
def dump(target, stages):
    narrow = {name: t.float() if t.dtype == torch.bfloat16 else t for name, t in stages.items()}  # numpy has no bfloat16
    locus_kit.dump(target, {name: t.cpu().numpy() for name, t in narrow.items()})
