"""The weights of a live model as a Hugging Face folder: also of adapters, quantised and reparametrised modules."""

import json
import os
from typing import Any, Dict, Iterator, Tuple

import numpy as np

from .errors import UnsupportedError
from .files import safetensors_bytes, write_file

# The class that names every weight, by the class of the encoder; the first with a head that the model has is taken.
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
        found = getattr(found, "base_layer", found) if isinstance(module, torch.nn.LayerNorm) else found
        if isinstance(module, torch.nn.Linear) and not _is_linear(found):
            derived = live_linear(found, module.in_features)
        elif isinstance(module, torch.nn.Embedding) and "weight" not in found._parameters:
            with torch.no_grad():
                derived = {"weight": found(torch.arange(module.num_embeddings))}
        else:
            derived = {name: getattr(found, name) for name in own}
        for name in own:
            yield ".".join(filter(None, (path, name))), derived[name]


def export_model(encoder: Any, folder: str) -> None:
    """Writes config.json and model.safetensors of a live encoder, with its head where it has one."""
    import torch
    import transformers

    kind = next(one.__name__ for one in type(encoder.module).__mro__ if one.__name__ in _PREFIX)
    config, prefix = encoder.module.config, _PREFIX[kind]
    owner = encoder.around[0] if encoder.around else None
    head_class = getattr(transformers, _WITH_HEAD[kind])
    has_head = owner is not None and any(
        base.__name__ == _WITH_HEAD[kind] for base in type(owner).__mro__
    )
    training = encoder.module.training
    with torch.device("meta"):
        named = (head_class if has_head else getattr(transformers, kind))(config)
    tensors: Dict[str, Any] = {}
    try:
        encoder.module.eval()  # a live adapter with dropout must not draw random numbers here
        for name, tensor in live_tensors(named, owner if has_head else encoder.module):
            tensors[name if has_head else f"{prefix}.{name}"] = tensor
    except AttributeError as error:
        raise UnsupportedError(f"the weights of this model cannot be named as those of {kind}: {error}") from error
    finally:
        encoder.module.train(training)
    ready = ((name, *array_of(tensor)) for name, tensor in tensors.items())
    write_file(os.path.join(folder, "model.safetensors"), safetensors_bytes(ready, {"format": "pt"}))
    words = json.loads(config.to_json_string(use_diff=False))
    words["architectures"] = [type(named).__name__]
    write_file(os.path.join(folder, "config.json"), [json.dumps(words, indent=1).encode()])
