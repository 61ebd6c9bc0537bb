"""What the recorders of all families do: arguments by name, pieces joined, masks, and the closing test."""

import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import numpy as np


def arguments_of(module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """What a module was called with, by the names of its forward function; of a compiled one, of the module inside."""
    module = getattr(module, "_orig_mod", module)
    return dict(inspect.signature(type(module).forward).bind(module, *args, **kwargs).arguments)


def first_of(output: Any) -> Any:
    """The tensor of an output that may be a tuple."""
    return output[0] if isinstance(output, (tuple, list)) else output


def part_of(module: Any, path: str) -> Any:
    """The module or tensor at a path like "cls.predictions"; None where something on the way is missing."""
    for name in filter(None, path.split(".")):
        module = getattr(module, name, None)
    return module


class Classifier(NamedTuple):
    """The layers that fine-tuning puts on top of an encoder.

    layers  by the names that transformers gives them in files
    output  gives the logits; what it is given is classifier.pooled, where a row is pooled
    pooled  False where every token has classes
    """

    layers: Dict[str, Any]
    output: Any
    pooled: bool

    def stages(self) -> List[str]:
        return ["classifier.pooled", "classifier.logits"] if self.pooled else ["classifier.token_logits"]


# The pooler's layer and the one that gives classes.
_OF_TEXTS = {
    "deberta": ("pooler.dense", "classifier"),
    "roformer": ("classifier.dense", "classifier.out_proj"),
    "xlnet": ("sequence_summary.summary", "logits_proj"),
}


def classifier_of(owner: Any, family: str, config: Any) -> Optional[Classifier]:
    """The classifier of a class of transformers around an encoder; a model of somebody's own may do something else
    with layers of the same names."""
    if not any(
        kind.__module__.startswith("transformers.") and part in kind.__name__
        for kind in type(owner).__mro__
        for part in ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice")
    ):
        return None
    width, (pooler, output) = int(config.hidden_size), _OF_TEXTS[family]
    layers = {pooler: part_of(owner, pooler)} if getattr(config, "summary_use_proj", True) else {}
    pooled = [getattr(layer, "out_features", None) for layer in layers.values()] or [width]
    last = part_of(owner, output)
    if pooled[0] is not None and getattr(last, "in_features", None) == pooled[0]:
        return Classifier({**layers, output: last}, last, True)
    for name in ("classifier", "qa_outputs"):
        last = part_of(owner, name)
        if pooled[0] is None and getattr(last, "in_features", None) == width and last.out_features > 1:
            return Classifier({name: last}, last, False)
    return None


class Pieces:
    """Tensors that come in one or several calls (chunked feed-forward), joined along an axis until they are whole."""

    def __init__(self, axis: int, whole: Callable[[], int], emit: Callable[[int, Any], None]) -> None:
        self.axis, self.whole, self.emit = axis, whole, emit
        self.pieces: List[Any] = []
        self.joined = 0  # how many were emitted

    def add(self, tensor: Any) -> None:
        import torch

        self.pieces.append(tensor.detach().clone())
        if sum(piece.shape[self.axis] for piece in self.pieces) < self.whole():
            return
        joined = self.pieces[0] if len(self.pieces) == 1 else torch.cat(self.pieces, dim=self.axis)
        self.pieces = []
        self.emit(self.joined, joined)
        self.joined += 1


class Attended(NamedTuple):
    """One attention of a pass, for what leaves terms out of it.

    terms        name -> [B,H,Tq,Tk] in double, without any scale; their sum is what `attend` takes
    context      measured, [B,H,Tq,d] in double
    visible      bool [B,1 or H,Tq,Tk]; None where everything is
    attend       the sum of terms -> the context that they give
    mixes_heads  True where the scores of one head reach the context of another
    """

    terms: Dict[str, Any]
    context: Any
    visible: Optional[Any]
    attend: Callable[[Any], Any]
    mixes_heads: bool = False


def split_heads(x: Any, heads: int) -> Any:
    """[B,T,H*d] -> [B,H,T,d]"""
    return x.reshape(*x.shape[:-1], heads, -1).transpose(-3, -2)


def visible_pairs(mask: Any, batch: int, length: int, outer: bool) -> Optional[Any]:
    """Which pairs a mask shows: bool [B,1 or H,T,T]; None where everything is visible.

    mask: [B,T], [B,T,T] or [B,1 or H,1 or T,T]; of 0 and 1, or added to scores: 0 and something very negative.
    outer: a mask [B,T] hides queries too (DeBERTa).
    """
    import torch

    if mask is None:
        return None
    shown = mask.detach()
    if shown.dtype != torch.bool:
        added = shown.is_floating_point() and bool((shown < 0).any())
        shown = (shown > -1) if added or (shown.is_floating_point() and not bool((shown > 0).any())) else shown != 0
    if shown.dim() == 2:
        shown = shown[:, None, None, :] & shown[:, None, :, None] if outer else shown[:, None, None, :]
    elif shown.dim() == 3:
        shown = shown[:, None]
    elif outer and shown.dim() == 4 and shown.shape[-2] == 1 and length > 1:
        shown = shown & shown.transpose(-1, -2)
    shown = shown.expand(batch, shown.shape[1], length, length)
    return None if bool(shown.all()) else shown


def given_mask(visible: Optional[Any], outer: bool) -> Optional[Any]:
    """The mask of an input file: [B,T] where that says it all, else [B,T,T]; None where everything is visible."""
    if visible is None:
        return None
    pairs = visible[:, 0]
    tokens = pairs.any(dim=1)  # a key that any query sees
    as_pairs = tokens[:, None, :] & tokens[:, :, None] if outer else tokens[:, None, :].expand_as(pairs)
    chosen = tokens if bool((as_pairs == pairs).all()) else pairs
    return chosen.to("cpu").long().numpy()


def softmax_visible(scores: Any, visible: Optional[Any], uniform: bool) -> Any:
    """Probabilities in double: hidden keys exactly 0; a query that sees nothing is uniform or zero."""
    import torch

    if visible is None:
        return torch.softmax(scores, -1)
    probs = torch.softmax(scores.masked_fill(~visible, float("-inf")), -1)
    blind = ~visible.any(-1, keepdim=True)
    return torch.where(blind, torch.full_like(probs, 1 / probs.shape[-1] if uniform else 0.0), probs)


def blind_rows_are_uniform(context: Any, visible: Optional[Any]) -> bool:
    """Reads off the context [B,H,T,d] what the model makes of a query that sees nothing."""
    if visible is None:
        return True
    blind = (~visible.any(-1)).expand(context.shape[:3])
    return not bool(blind.any()) or bool(context[blind].any())


def closing_of(probs: Any, v: Any, context: Any, visible: Optional[Any]) -> float:
    """max |probs v - context| / max |context| over rows that see something; all [B,H,T,...] in double."""
    return distance_of(probs @ v, context, visible)


def distance_of(found: Any, context: Any, visible: Optional[Any]) -> float:
    """max |found - context| / max |context| over rows that see something; [B,H,T,d] in double."""
    difference = found - context
    if visible is not None:
        seen = visible.any(-1, keepdim=True).expand_as(difference)
        difference, context = difference[seen], context[seen]
    largest = float(context.abs().max()) if context.numel() else 0.0
    if not difference.numel():
        return 0.0
    worst = float(difference.abs().max())
    return worst / largest if largest > 0 else worst


def worst_of(*values: float) -> float:
    """The largest of several differences; NaN where one of them is, which max() would lose."""
    return float(np.max(values))
