"""Small random models of transformers, and what they are given: one of every family and variant that is recorded."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

LENGTH = 11
VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])
# transformers 4.48 wrote DeBERTa anew: nn.Dropout and softmax instead of StableDropout and XSoftmax, which gave a query
# that sees no key the probabilities 0, not 1/T (mistake 33).
needs_new_deberta = pytest.mark.skipif(VERSION < (4, 48), reason="written for the DeBERTa of transformers 4.48 or newer")
BLIND = 1 / LENGTH if VERSION >= (4, 48) else 0
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])
RUNS_COMPILED = hasattr(getattr(torch, "compiler", None), "set_stance")
needs_stance = pytest.mark.skipif(not RUNS_COMPILED, reason="torch 2.6 or newer runs a compiled model as it was written")
_SIZES = dict(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)


def randomised(model, seed=0):
    """Weights that make every term matter: biases and norms are not what an initialisation leaves them."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.copy_(1 + 0.1 * drawn)
            elif "embed_positions" not in name:
                parameter.copy_(0.1 * drawn if parameter.dim() == 1 else drawn / parameter.shape[-1] ** 0.5)
    return model.eval()


def deberta_v3(**options):
    chosen = dict(
        max_position_embeddings=64, position_buckets=8, relative_attention=True, max_relative_positions=-1,
        pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False,
        type_vocab_size=0, pad_token_id=0, **_SIZES,
    )
    return randomised(transformers.DebertaV2ForMaskedLM(transformers.DebertaV2Config(**{**chosen, **options})))


def deberta_v2_conv():
    return deberta_v3(conv_kernel_size=3, conv_act="gelu")


def deberta_v2_unshared():
    return deberta_v3(share_att_key=False, type_vocab_size=2, position_biased_input=True, norm_rel_ebd="none")


def deberta_v1(**options):
    chosen = dict(
        max_position_embeddings=64, relative_attention=True, max_relative_positions=-1, pos_att_type=["c2p", "p2c"],
        position_biased_input=False, type_vocab_size=0, pad_token_id=0, **_SIZES,
    )
    return randomised(transformers.DebertaForMaskedLM(transformers.DebertaConfig(**{**chosen, **options})))


def roformer(**options):
    chosen = dict(max_position_embeddings=64, embedding_size=32, type_vocab_size=2, pad_token_id=0, **_SIZES)
    return randomised(transformers.RoFormerForMaskedLM(transformers.RoFormerConfig(**{**chosen, **options})))


def roformer_decoder():
    chosen = dict(max_position_embeddings=64, embedding_size=32, type_vocab_size=2, pad_token_id=0, **_SIZES)
    return randomised(transformers.RoFormerForCausalLM(transformers.RoFormerConfig(is_decoder=True, **chosen)))


def xlnet():
    config = transformers.XLNetConfig(vocab_size=50, d_model=32, n_layer=2, n_head=4, d_inner=48)
    return randomised(transformers.XLNetLMHeadModel(config))


def tokens(batch=2, length=LENGTH):
    return torch.randint(1, 50, (batch, length), generator=torch.Generator().manual_seed(5))


def padded(kind=torch.long):
    """Two samples, the second with four tokens of padding."""
    mask = torch.ones(2, LENGTH, dtype=kind)
    mask[1, 7:] = 0
    return {"input_ids": tokens(), "attention_mask": mask}


def two_streams():
    """Token 3 is a target that nobody sees."""
    hidden = (torch.arange(LENGTH) == 3).float().expand(2, LENGTH, LENGTH).contiguous()
    return {
        "input_ids": tokens(), "perm_mask": hidden,
        "target_mapping": torch.nn.functional.one_hot(torch.tensor([[3], [3]]), LENGTH).float(),
    }


# name -> model, inputs, number of stages of a whole pass
MODELS = {
    "deberta v3": (deberta_v3, padded, 36),
    "deberta v2 with a convolution": (deberta_v2_conv, padded, 39),
    "deberta v2, unshared": (deberta_v2_unshared, lambda: {"input_ids": tokens()}, 36),
    "deberta v2, relative attention off": (lambda: deberta_v3(relative_attention=False), padded, 26),
    "deberta v3, more buckets than positions": (lambda: deberta_v3(position_buckets=256), padded, 36),
    "deberta v1": (deberta_v1, padded, 36),
    "deberta v1, talking heads": (lambda: deberta_v1(talking_head=True), padded, 40),
    "roformer": (roformer, padded, 30),
    "roformer, rotated values": (lambda: roformer(rotary_value=True, embedding_size=16), padded, 32),
    "roformer, a decoder": (roformer_decoder, padded, 30),
    "xlnet": (xlnet, lambda: padded(torch.float), 32),
    "xlnet, two streams": (xlnet, two_streams, 54),
}


def in_dtype(inputs, dtype):
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in inputs.items()}


def hooks_of(model):
    """How many hooks and patched methods a model carries."""
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) + len({"rel_attn_core", "forward"} & set(vars(module)))
        for module in model.modules()
    )
