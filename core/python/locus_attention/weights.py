"""The weights of a live model as a Hugging Face folder: also of adapters, quantised and reparametrised modules."""

import copy
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .errors import UnsupportedError
from .files import safetensors_bytes, write_file
from .recording_common import classifier_of, part_of

# The class that names every weight, the head's too, by the class of the encoder.
_WITH_HEAD = {
    "DebertaModel": "DebertaForMaskedLM",
    "DebertaV2Model": "DebertaV2ForMaskedLM",
    "RoFormerModel": "RoFormerForMaskedLM",
    "XLNetModel": "XLNetLMHeadModel",
}
_PREFIX = {"DebertaModel": "deberta", "DebertaV2Model": "deberta", "RoFormerModel": "roformer", "XLNetModel": "transformer"}


def array_of(tensor: Any) -> Tuple[np.ndarray, Any]:
    """Values of a tensor, and "BF16" or "F16" where NumPy holds them as float32."""
    import torch

    kept = tensor.detach().cpu()
    note = {torch.bfloat16: "BF16", torch.float16: "F16"}.get(kept.dtype)
    return (kept.float() if note else kept).contiguous().numpy(), note


def live_linear(module: Any, width: int) -> Dict[str, Any]:
    """Weight and bias of whatever stands for a linear layer, read off what it computes: W = f(I) - f(0)."""
    import torch

    parameters = list(module.parameters())
    kind = next((one.dtype for one in parameters if one.is_floating_point()), torch.float32)
    device = parameters[0].device if parameters else torch.device("cpu")
    with torch.no_grad():
        zero = module(torch.zeros(1, width, dtype=kind, device=device))
        ones = module(torch.eye(width, dtype=kind, device=device))
    return {"weight": (ones - zero).T, "bias": zero[0]}


def _is_linear(module: Any) -> bool:
    """True for torch's own linear layer with parameters of its own, which says its weights itself."""
    import torch

    return type(module) is torch.nn.Linear and "weight" in module._parameters


def _unwrapped(found: Any, named: Any) -> Any:
    """A norm that an adapter keeps inside itself."""
    import torch

    return getattr(found, "base_layer", found) if isinstance(named, torch.nn.LayerNorm) else found


def live_tensors(named: Any, live: Any) -> Iterator[Tuple[str, Any]]:
    """Every tensor by the name that the plain class `named` gives it, from a live model of the same shape."""
    import torch

    for path, module in named.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if not own:
            continue
        found = live
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
        found = _unwrapped(found, module)
        if isinstance(module, torch.nn.Linear) and not _is_linear(found):
            derived = live_linear(found, module.in_features)
        elif isinstance(module, torch.nn.Embedding) and "weight" not in found._parameters:
            with torch.no_grad():
                derived = {"weight": found(torch.arange(module.num_embeddings))}
        else:
            derived = {name: getattr(found, name) for name in own}
        for name in own:
            yield ".".join(filter(None, (path, name))), derived[name]


def _holds(live: Any, named: Any) -> bool:
    """True if everything that has weights in `named` is in the live module too, under its name and of its size."""
    import torch

    for path, module in named.named_modules():
        own, found = list(module.named_parameters(recurse=False)), _unwrapped(part_of(live, path), module)
        if isinstance(module, torch.nn.Linear):
            sizes = (getattr(found, "in_features", None), getattr(found, "out_features", None))
            if sizes != (module.in_features, module.out_features):
                return False
        elif any(getattr(part_of(found, name), "shape", None) != tensor.shape for name, tensor in own):
            return False
    return True


def _is_tied(tensors: Dict[str, Any], prefix: str) -> bool:
    """False if the head has an output matrix or bias of its own, whatever the config says of it."""
    import torch

    same = [("cls.predictions.decoder.bias", "cls.predictions.bias")]
    same += [
        (output, f"{prefix}.{words}.weight")
        for output in ("cls.predictions.decoder.weight", "lm_loss.weight")
        for words in ("embeddings.word_embeddings", "word_embedding")
    ]
    return all(torch.equal(tensors[one], tensors[other]) for one, other in same if one in tensors and other in tensors)


def _is_among(layers: Optional[int], name: str) -> bool:
    """True for a weight of the first `layers` layers or of no layer; None: of all."""
    parts = name.split(".")
    return layers is None or "layer" not in parts or int(parts[parts.index("layer") + 1]) < layers


def export_model(encoder: Any, folder: str, layers: Optional[int] = None, **fields: Any) -> bool:
    """Writes config.json and model.safetensors of a live encoder, with its head and classifier where those are
    transformers' own.

    layers: no more than the first so many, without head and classifier; the config then says how many there are.
    fields: what config.json says instead of the model's own.
    Returns whether it has such a masked-word or language-model head.  Raises UnsupportedError where a weight of the
    encoder has no name.
    """
    import torch
    import transformers

    kind = next(one.__name__ for one in type(encoder.module).__mro__ if one.__name__ in _PREFIX)
    config, prefix = encoder.module.config, _PREFIX[kind]
    owner = encoder.around[0] if encoder.around else None
    training = encoder.module.training
    untied = copy.deepcopy(config)  # tying gives the newer head of DeBERTa a dense layer of the wrong size
    untied.tie_word_embeddings = False
    with torch.device("meta"):
        whole = getattr(transformers, _WITH_HEAD[kind])(untied)
    heads = {name: part for name, part in whole.named_children() if name != prefix}
    has_head = layers is None and all(_holds(part_of(owner, name), part) for name, part in heads.items())
    pairs: List[Tuple[str, Any, Any]] = [(prefix, getattr(whole, prefix), encoder.module)]
    if has_head:
        pairs += [(name, part, getattr(owner, name)) for name, part in heads.items()]
    classifier = classifier_of(owner, encoder.adapter.family, config) if layers is None else None
    for name, layer in classifier.layers.items() if classifier else []:
        with torch.device("meta"):
            pairs.append((name, torch.nn.Linear(layer.in_features, layer.out_features), layer))
    tensors: Dict[str, Any] = {}
    try:
        encoder.module.eval()  # a live adapter with dropout must not draw random numbers here
        for name, part, live in pairs:
            named = ((f"{name}.{weight}", tensor) for weight, tensor in live_tensors(part, live))
            tensors.update((weight, tensor) for weight, tensor in named if _is_among(layers, weight))
    except AttributeError as error:
        raise UnsupportedError(f"the weights of this model cannot be named as those of {kind}: {error}") from error
    finally:
        encoder.module.train(training)
    ready = ((name, *array_of(tensor)) for name, tensor in tensors.items())
    write_file(os.path.join(folder, "model.safetensors"), safetensors_bytes(ready, {"format": "pt"}))
    words = json.loads(config.to_json_string(use_diff=False))
    words["architectures"] = [type(whole).__name__ if has_head else kind]
    if has_head:
        words["tie_word_embeddings"] = _is_tied(tensors, prefix)
    if layers is not None:
        count = "n_layer" if "n_layer" in words else "num_hidden_layers"
        words[count] = min(words[count], layers)
    words.update(fields)
    write_file(os.path.join(folder, "config.json"), [json.dumps(words, indent=1).encode()])
    return has_head
