"""Locus kit for PyTorch: what a Hugging Face DeBERTa-v2, RoFormer or XLNet computes, under the contract's stage names.
with capture(model, "layer.0.*,mlm.*") as stages: model(**batch)     # globs, by default all; eager attention, eval mode
dump("dumps/L3/mine.safetensors", stages)                            # or a case of locus_kit
locus_kit.py and locus_torch_stages.py lie beside this file.  Modules are watched by hooks, terms by their torch calls."""
import collections, contextlib, fnmatch, re, torch, locus_kit
from locus_torch_stages import KNOWN, WATCHED, classes

@contextlib.contextmanager
def capture(model, names="*"):
    stages, counts, running, two_streams, hooks = {}, collections.Counter(), [], set(), []
    kind, heads = model.config.model_type, getattr(model.config, "num_attention_heads", 0)
    if kind not in KNOWN:
        raise locus_kit.KitError(f"models of type {kind} have no stages here, expected one of {', '.join(KNOWN)}")
    modules, terms = KNOWN[kind]

    def put(name, value):
        if any(fnmatch.fnmatch(name, glob) for glob in names.split(",")): stages[name] = value.detach().clone()

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out, call = func(*args, **(kwargs or {})), args[0] if func is torch.einsum else func.__name__
            for layer, module, done in running[-1:]:
                done[call] += 1
                terms(lambda stem, x: put(stem[1:] if stem[0] == "/" else layer + stem, x), module, done, call,
                      kwargs if call == "gather" else args, out)
            return out

    def before(layer, module, args):
        module.bi_data = getattr(model.config, "bi_data", False)
        running.append((layer, module, collections.Counter()))

    def after(layer, path, wanted, module, args, out):
        n, counts[path] = counts[path], counts[path] + 1
        stage = wanted.split()[0 if n == 0 else -1]
        if running and module is running[-1][1]: running.pop()
        out, other = (*out, None)[:2] if isinstance(out, tuple) else (out, None)
        if kind == "xlnet" and stage not in ("lm.logits", "classifier"): out = out.transpose(0, 1)
        if kind == "xlnet" and other is not None:
            put(stage.replace(layer, layer + "g."), other.transpose(0, 1)), two_streams.add(layer)
        if ".ff." in path and layer in two_streams and n == 0: stage = stage.replace(layer, layer + "g.")  # it comes first
        if re.search(r"\.[qkv](_r)?$", stage): out = out.unflatten(-1, (heads, -1)).transpose(1, 2)[0 if stage[-2:] == "_r" else ...]
        if path == "encoder.conv" and stage in stages: stages["layer.0.output_before_conv"] = stages[stage]
        if stage == "rotary": put("rotary.sin", out.chunk(2, -1)[0]), put("rotary.cos", out.chunk(2, -1)[1])
        elif stage == "classifier": classes(put, args[0], out)
        elif stage != "-": put(stage, args[0] if stage.endswith(".probs") else out.mT if stage.endswith(".conv") else out)

    for path, module in model.named_modules():
        path = path.removeprefix(model.base_model_prefix + ".")
        number, general = (re.findall(r"\.(\d+)", path) or ["0"])[0], re.sub(r"\.\d+", ".#", path)
        here, wanted = f"layer.{number}.", modules.get(general, "").replace("#", number)
        if wanted: hooks.append(module.register_forward_hook(lambda *x, at=(here, path, wanted): after(*at, *x)))
        if general in WATCHED: hooks.append(module.register_forward_pre_hook(lambda *x, at=here: before(at, *x)))
    with Watch(), contextlib.ExitStack() as end:
        for hook in hooks: end.callback(hook.remove)
        yield stages

def dump(target, stages):
    def plain(t):  # numpy has no bfloat16
        return locus_kit.Tensor("BF16", tuple(t.shape), t.view(torch.int16).numpy().tobytes()) if t.dtype == torch.bfloat16 else t.numpy()
    locus_kit.dump(target, {name: plain(t.cpu().contiguous()) for name, t in stages.items()})
