"""Locus: every term of position-aware attention, of a live model or a checkpoint.

    import locus_attention as locus

    with locus.recording(model) as trace:      # any module that holds DeBERTa, RoFormer or XLNet of transformers
        model(**inputs)
    trace["layer.0.c2p"]                       # NumPy [B, H, T, T]
    trace.check()                              # against Locus on the model's own weights
    trace.html("page.html")                    # one self-contained page

    locus.trace("tiny-v3", text="a new [MASK] opened")      # the same stages of a folder, without torch
    locus.check("reference.safetensors", "port.safetensors")
"""

from . import kit
from .checking import Diagnosis, Report, check
from .errors import LocusError, RecordingError, UnreadableError, UnsupportedError, UsageError
from .explaining import Cell, Explanation, explain
from .passes import Class, Classified, Filled, Guess, Tokens, classify, fill, stages, tokens, trace
from .recording import recording
from .saved import load
from .science import Ablation, Decomposition, ablate, decompose
from .tracing import StageInfo, Trace

__version__ = "0.1.0"

__all__ = [
    "Ablation", "Cell", "Class", "Classified", "Decomposition", "Diagnosis", "Explanation", "Filled", "Guess",
    "LocusError", "RecordingError", "Report", "StageInfo", "Tokens", "Trace", "UnreadableError", "UnsupportedError",
    "UsageError", "ablate", "check", "classify", "decompose", "explain", "fill", "kit", "load", "recording",
    "stages", "tokens", "trace",
]
