"""A small kit from a live model: its real sizes, few layers, several lengths, a padded batch."""

import json
import os
import shutil
from typing import Any, Dict, Optional, Tuple

import numpy as np

from .errors import UnreadableError, UsageError
from .files import safetensors_bytes, save_tensors, write_file

_LENGTHS = (17, 300, 600)
_LAYERS = 2


def _cases(words: Dict[str, Any], limit: int) -> Dict[str, Dict[str, np.ndarray]]:
    """Inputs by case: the lengths that the model can take, and a batch of which one sample is padded."""
    random = np.random.default_rng(1)
    size = int(words["vocab_size"])
    cases: Dict[str, Dict[str, np.ndarray]] = {}
    for length in _LENGTHS:
        if length <= limit:
            cases[f"t{length}"] = {"tokens": random.integers(1, size, (1, length), dtype=np.int64)}
    mask = np.ones((2, 17), np.int64)
    mask[1, 11:] = 0
    hidden = {"input_mask": 1 - mask} if words["model_type"] == "xlnet" else {"mask": mask}
    cases["padded"] = {"tokens": random.integers(1, size, (2, 17), dtype=np.int64) * mask, **hidden}
    return cases


def _shortened(folder: str) -> Dict[str, Any]:
    """Leaves the first layers of an exported model; returns its config."""
    from . import _core

    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        words: Dict[str, Any] = json.load(file)
    key = "n_layer" if words["model_type"] == "xlnet" else "num_hidden_layers"
    words[key] = min(int(words[key]), _LAYERS)
    write_file(path, [json.dumps(words, indent=1).encode()])
    weights = os.path.join(folder, "model.safetensors")
    held, stored, _ = _core.read_trace(weights)
    kept = []
    for name in held.names():
        parts = name.split(".")
        at = parts.index("layer") if "layer" in parts else -1
        if at < 0 or int(parts[at + 1]) < words[key]:
            kept.append((name, held.array(name), stored[name]))
    write_file(weights, safetensors_bytes(kept, {"format": "pt"}))
    return words


def write_kit(model: Any, folder: str, at: Optional[str]) -> Tuple[str, int, int, int]:
    """Writes the kit; returns folder, cases, files and bytes."""
    from .passes import trace
    from .recording import choose_encoder
    from .weights import export_model

    if os.path.isdir(folder) and os.listdir(folder):
        raise UsageError(f"{folder}: is there already, expected a new or an empty folder")
    draft = folder.rstrip("/") + f".partial-{os.getpid()}"
    try:
        os.makedirs(os.path.join(draft, "model"))
        inside = os.path.join(draft, "model")
        export_model(choose_encoder(model, at), inside)
        words = _shortened(inside)
        absolute = words["model_type"] == "roformer" or words.get("position_biased_input", False)
        cases = _cases(words, int(words["max_position_embeddings"]) if absolute else 1 << 30)
        for name, inputs in cases.items():
            os.makedirs(os.path.join(draft, name))
            save_tensors(os.path.join(draft, name, "inputs.safetensors"), inputs)
            trace(inside, inputs=inputs, precision="f64", dialect="hf").save(
                os.path.join(draft, name, "reference.safetensors")
            )
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(draft, folder)
    except OSError as error:
        raise UnreadableError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    files = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return folder, len(cases), len(files), sum(os.path.getsize(file) for file in files)
