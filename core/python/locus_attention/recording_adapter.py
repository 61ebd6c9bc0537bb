"""What the recorder asks of a family: an adapter knows the modules of one encoder, and its hooks write their stages."""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Tuple, Type

from .recording_common import Attended, classifier_of

if TYPE_CHECKING:
    from .recording import Recorder

# Stages with a number for every head and pair of tokens.
_OF_PAIRS = {
    "c2c", "c2p", "p2c", "ac", "bd_raw", "bd", "ef", "scores", "scores_mixed", "probs", "probs_mixed",
}
# Stages with a row for every row of a table of positions, whatever the batch.
_OF_ROWS = {"q_r", "k_r", "r_k", "r_k_backward", "r", "r_backward", "table"}


class Encoder:
    """One encoder inside a model: where it stands, and the models around it, innermost first."""

    def __init__(self, path: str, module: Any, around: List[Any], adapter: Type["Adapter"]) -> None:
        self.path, self.module, self.around, self.adapter = path, module, around, adapter


class Adapter:
    """What one family knows of its modules.  Its hooks write stages through `put`."""

    family = ""

    def __init__(self, encoder: Encoder, recorder: "Recorder") -> None:
        self.core, self.around, self.recorder = encoder.module, encoder.around, recorder
        self.config = encoder.module.config
        self.classifier = classifier_of(self.around[0] if self.around else None, self.family, self.config)
        self.head_ran = self.classified = False

    def layers(self) -> Sequence[Any]:
        """The modules of the layers, first first."""
        raise NotImplementedError

    def install(self) -> None:
        """Puts the hooks in."""
        raise NotImplementedError

    def expected(self) -> List[str]:
        """Every stage that a whole pass gives, the wanted filter aside."""
        raise NotImplementedError

    def finish(self) -> None:
        """After the pass: what follows from the whole of it."""

    def head_stages(self) -> List[str]:
        """What the head gives, where the model has one."""
        return []

    def after_encoder(self) -> List[str]:
        """Stages of heads and classifiers: of those that ran, before the pass of all."""
        begun = self.recorder.started
        names = self.head_stages() if self.head_ran or not begun else []
        return names + (self.classifier.stages() if self.classifier and (self.classified or not begun) else [])

    def install_classifier(self) -> None:
        """Its output is given what was pooled, and gives the logits."""
        if self.classifier is None:
            return
        *pooled, logits = self.classifier.stages()

        def before(module: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
            for name in pooled:
                self.recorder.put(name, args[0], "measured")

        def after(module: Any, args: Sequence[Any], kwargs: Dict[str, Any], out: Any) -> None:
            self.classified = True
            self.recorder.put(logits, out, "measured")

        self.recorder.before(self.classifier.output, before)
        self.recorder.after(self.classifier.output, after)

    def extent(self, name: str) -> Tuple[int, int, int]:
        """Queries and keys of a stage in this pass, and rows of the tables of positions."""
        raise NotImplementedError

    def size_of(self, name: str, count: int) -> int:
        """How many numbers a stage of so many samples holds."""
        stem, config = name.rpartition(".")[2], self.config
        queries, keys, rows = self.extent(name)
        heads, width = self.head_count(), int(config.hidden_size)
        if name.startswith("classifier."):
            return count * (width if stem == "pooled" else queries * int(config.num_labels))
        if stem in _OF_PAIRS:
            return count * heads * queries * (rows if stem == "bd_raw" else keys)
        if stem in _OF_ROWS:
            return rows * width
        if stem == "index":
            return 2 * queries * keys  # of eight bytes each
        if stem in ("sin", "cos"):
            return queries * width // heads // 2
        inner = getattr(config, "d_inner", None) or getattr(config, "intermediate_size", width)
        narrow = getattr(config, "embedding_size", None) or width
        widths = {"logits": config.vocab_size, "ffn_act": inner, "word": narrow, "transform": narrow}
        each = int(widths.get(stem, width))
        return count * (keys if stem in ("k", "v") else queries) * each

    def announce(self, count: int) -> None:
        """Says how large the recording will be, by the stages that are wanted and the sizes of the pass."""
        kept = count if self.recorder.batch is None else min(count, self.recorder.batch)
        last = self.classifier.stages() if self.classifier else []
        # Nobody knows yet whether the head will be called.
        names = dict.fromkeys(self.expected() + self.head_stages() + last)
        double = str(next(iter(self.core.parameters())).dtype) == "torch.float64"
        values = sum(self.size_of(name, kept) for name in names if self.recorder.wants(name))
        self.recorder.announce((8 if double else 4) * values)

    # What ablate() needs

    def head_count(self) -> int:
        return int(self.config.num_attention_heads)

    def term_names(self) -> List[str]:
        """The terms whose sum is a score in this model."""
        raise NotImplementedError

    def replace_contexts(self, layers: Sequence[int], blend: Callable[[int, Attended], Any]) -> None:
        """Puts hooks in that give the model blend(layer, ...) [B,H,T,d] for the context of each attention of these layers.

        They come before everything that looks at a context, so that a recording sees what the model goes on with.
        """
        raise NotImplementedError

    # What Locus needs to compute the same

    def inputs(self) -> Dict[str, Any]:
        """What the pass was given, by the names of input files."""
        raise NotImplementedError

    def dialect(self) -> str:
        return "hf"
