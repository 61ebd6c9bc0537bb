"""Hooks that replace the context of a live attention by that of some of its terms."""

from typing import Any, Iterable, List, Optional

from .errors import UsageError, whole_numbers
from .recording import Recorder
from .recording_adapter import Encoder
from .recording_common import Attended, distance_of, worst_of
from .tracing import Trace


def listed(names: List[str]) -> str:
    """a, b or c"""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def chosen_numbers(what: str, numbers: Optional[Iterable[int]], count: int) -> List[int]:
    """The numbers that were asked for, all where none were.  Raises UsageError where one is not there."""
    if numbers is None:
        return list(range(count))
    chosen = sorted(set(whole_numbers(what, numbers)))
    for number in chosen:
        if not 0 <= number < count:
            raise UsageError(f"{what} holds {number}, expected numbers from 0 to {count - 1}")
    return chosen


class AblationHooks:
    """One ablation: the adapter of a recording knows the parts of each attention, what is here puts fewer of them together."""

    def __init__(
        self, model: Any, encoder: Encoder, done: Any, heads: Optional[Iterable[int]], layers: Optional[Iterable[int]]
    ) -> None:
        # A recorder that keeps nothing, and so has nothing to announce.
        self.recorder = Recorder(model, encoder, Trace(encoder.adapter.family), "", None, None, None)
        self.recorder.announced = True
        self.adapter, self.done = self.recorder.adapter, done
        known = self.adapter.term_names()
        if not done.drop:
            raise UsageError(f"drop is empty, expected {listed(known)}")
        for term in done.drop:
            if term not in known:
                raise UsageError(f'drop is "{term}", expected a term of this {self.adapter.family}: {listed(known)}')
        self.layers = done.layers = chosen_numbers("layers", layers, len(self.adapter.layers()))
        self.heads = chosen_numbers("heads", heads, self.adapter.head_count())

    def open(self) -> None:
        self.recorder.run_eagerly()
        self.recorder.started = True
        self.adapter.replace_contexts(self.layers, self.blend)

    def close(self) -> None:
        self.recorder.close()

    def blend(self, number: int, attended: Attended) -> Any:
        """The context [B,H,T,d] of the remaining terms in the chosen heads, the measured one in the others."""
        import torch

        terms, measured, drop = attended.terms, attended.context, self.done.drop
        for term in drop:
            if term not in terms:  # the segments of XLNet, which are part of what a pass is given
                raise UsageError(f'drop is "{term}", but this pass has no such term, expected {listed(list(terms))}')
        whole = sum(terms.values())
        rest = sum((term for name, term in terms.items() if name not in drop), torch.zeros_like(whole))
        # That all terms together give the measured context is what makes the rest mean anything.
        self.note("closing", number, distance_of(attended.attend(whole), measured, attended.visible))
        chosen = torch.zeros(measured.shape[1], dtype=torch.bool, device=measured.device)
        chosen[self.heads] = True
        chosen = chosen[None, :, None, None]
        kept = attended.attend(torch.where(chosen, rest, whole))
        if not attended.mixes_heads:
            kept = torch.where(chosen, kept, measured)
        largest = measured.abs().max().item() or 1.0
        self.note("change", number, (kept - measured).abs().max().item() / largest)
        self.done.calls += 1
        return kept

    def note(self, what: str, number: int, value: float) -> None:
        noted = getattr(self.done, what)
        noted[number] = worst_of(value, noted.get(number, 0.0))
