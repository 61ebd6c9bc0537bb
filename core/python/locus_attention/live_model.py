"""The model behind a recorded trace: its weights as a folder, for comparisons with Locus."""

from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import numpy as np

from .errors import UsageError
from .judging import about_doubtful, doubtful_stages, without
from .recording_adapter import Encoder
from .recording_common import classifier_of, part_of
from .tracing import Trace

# What transformers calls the heads that are exported.
_HEADS = ("cls", "lm_predictions", "lm_loss")


_LOOKED_AT = 8  # values of each weight


def _few_values(weight: Any) -> bytes:
    """Values of a weight at equal distances, the first and the last among them: writing through .data is counted
    nowhere, and changes nearly all.  Nothing is copied but these; NaN is the same as NaN."""
    if weight.is_meta or weight.numel() == 0:
        return b""
    last = weight.numel() - 1
    flat = np.array(sorted({last * n // (_LOOKED_AT - 1) for n in range(_LOOKED_AT)}))
    places = np.unravel_index(flat, tuple(weight.shape)) if weight.dim() else ()
    found = weight.detach()[tuple(place.tolist() for place in places)]
    return bytes(found.double().cpu().numpy().tobytes())


def state_of(encoder: Encoder) -> Dict[str, Tuple[int, Any, bytes]]:
    """What changes when weights of the encoder, the head or the classifier do: how often each was written to, its type
    and a few of its values."""
    owner = encoder.around[0] if encoder.around else None
    parts = {"": encoder.module}
    parts.update((name + ".", part_of(owner, name)) for name in _HEADS)
    classifier = classifier_of(owner, encoder.adapter.family, encoder.module.config)
    if classifier is not None:
        parts.update((name + ".", layer) for name, layer in classifier.layers.items())
    return {
        before + name: (weight._version, weight.dtype, _few_values(weight))
        for before, part in parts.items() if hasattr(part, "named_parameters")
        for name, weight in part.named_parameters()
    }


class Exported(NamedTuple):
    """A folder with the weights of a live model, and whether the head of transformers is among them."""

    folder: str
    has_head: bool


class LiveModel:
    """What a recorded trace keeps of its model."""

    def __init__(self, encoder: Encoder, given: Dict[str, Any], not_computed: str) -> None:
        self.encoder, self.given, self.not_computed = encoder, given, not_computed
        self.weights = state_of(encoder)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """A copy has weights of its own, which nobody has written to."""
        self.__dict__.update(state)
        self.weights = state_of(self.encoder)

    def require_same_weights(self) -> None:
        """Raises UsageError where a weight was written to since the recording."""
        for name, state in state_of(self.encoder).items():
            if self.weights.get(name) != state:
                raise UsageError(
                    f"the weights changed after the recording ({name} is the first), expected those that it was made "
                    "with: check before the next step of the training, or record again"
                )

    @contextmanager
    def exported(self) -> Iterator[Exported]:
        """The weights as a folder for the time of the `with`.  Raises UsageError where they changed."""
        from .checking import temporary_folder
        from .weights import export_model

        self.require_same_weights()
        with temporary_folder() as folder:
            # The mask that was measured says whom a decoder sees; versions of transformers differ in what they make of it.
            yield Exported(folder, export_model(self.encoder, folder, is_decoder=False))

    def require_computable(self) -> None:
        """Raises UsageError where the pass was given what Locus does not compute."""
        if "tokens" not in self.given:
            raise UsageError("the pass was given inputs_embeds, expected input_ids: Locus begins with token ids")
        if self.not_computed:
            raise UsageError(
                f"the pass was given {self.not_computed}, which Locus does not compute, expected a pass without them; "
                "locus.check compares this trace with another recording"
            )

    def reference_in(self, exported: Exported, trace: Trace) -> Tuple[Trace, List[str]]:
        """The stages of a trace by Locus in double, and names of those that it cannot compute: of a head that is not
        laid out as that of transformers."""
        from .passes import pass_of

        of_head = [] if exported.has_head else [name for name in trace if name.split(".")[0] in ("mlm", "lm")]
        asked = [name for name in trace if name not in of_head]
        if not asked:
            raise UsageError(
                f"{', '.join(of_head)}: the head is not laid out as that of transformers, expected a stage of the encoder too"
            )
        reference = pass_of(
            exported.folder, inputs=self.given, precision="f64", dialect=trace.dialect, stages=",".join(asked)
        )
        reference.warnings = [said.replace(exported.folder, "the live model") for said in reference.warnings]
        return reference, of_head

    def reference(self, trace: Trace) -> Trace:
        """What check() compares the trace with."""
        self.require_computable()
        with self.exported() as exported:
            reference, _ = self.reference_in(exported, trace)
        reference.model = ""  # the folder is gone
        return reference

    def check(self, trace: Trace, **options: Any) -> Any:
        """The trace against Locus on the model's own weights and what the pass was given."""
        from .checking import check

        self.require_computable()
        with self.exported() as exported:
            reference, of_head = self.reference_in(exported, trace)
            doubted = doubtful_stages(trace, reference)
            judged = without(trace, of_head + doubted)
            if doubted and not len(judged):
                raise UsageError(f"{about_doubtful(doubted)[0]}, and nothing remains to be compared")
            report = check(reference, judged, model=exported.folder, inputs=self.given, **options)
        report.notes += reference.warnings + about_doubtful(doubted)
        if of_head:
            report.notes.append(
                f"{', '.join(of_head)}: the head is not laid out as that of transformers, so they were left out"
            )
        return report
