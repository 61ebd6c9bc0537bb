"""A folder with a DeBERTa of the shape of v3-base, or a model of another family of that width, with random weights in F16
and the tokenizer of the built-in one.

random_model.py OUT [LAYERS [WORDS]]: 12 layers and 128100 words are v3-base, 368 MB.
"""
import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np

MODELS = Path(__file__).resolve().parents[2] / "assets/models"
WIDTH, INNER, HEADS, BUCKETS, PLACES = 768, 3072, 12, 256, 512


def dense(name, out, wide):
    return {f"{name}.weight": (out, wide), f"{name}.bias": (out,)}


def norm(name):
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def roformer_shapes(layers, words):
    yield from {"embeddings.word_embeddings.weight": (words, WIDTH), "embeddings.token_type_embeddings.weight": (2, WIDTH),
                **norm("embeddings.LayerNorm")}.items()
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            yield from dense(f"{prefix}attention.self.{part}", WIDTH, WIDTH).items()
        yield from {**dense(f"{prefix}attention.output.dense", WIDTH, WIDTH), **norm(f"{prefix}attention.output.LayerNorm"),
                    **dense(f"{prefix}intermediate.dense", INNER, WIDTH), **dense(f"{prefix}output.dense", WIDTH, INNER),
                    **norm(f"{prefix}output.LayerNorm")}.items()


def deberta_shapes(layers, words):
    yield from {"deberta.embeddings.word_embeddings.weight": (words, WIDTH), **norm("deberta.embeddings.LayerNorm"),
                "deberta.embeddings.position_embeddings.weight": (PLACES, WIDTH), "lm_predictions.lm_head.bias": (words,),
                **dense("lm_predictions.lm_head.dense", WIDTH, WIDTH), **norm("lm_predictions.lm_head.LayerNorm"),
                "deberta.encoder.rel_embeddings.weight": (2 * BUCKETS, WIDTH), **norm("deberta.encoder.LayerNorm")}.items()
    for layer in range(layers):
        prefix = f"deberta.encoder.layer.{layer}."
        for part in ("query_proj", "key_proj", "value_proj"):
            yield from dense(f"{prefix}attention.self.{part}", WIDTH, WIDTH).items()
        yield from {**dense(f"{prefix}attention.output.dense", WIDTH, WIDTH), **norm(f"{prefix}attention.output.LayerNorm"),
                    **dense(f"{prefix}intermediate.dense", INNER, WIDTH), **dense(f"{prefix}output.dense", WIDTH, INNER),
                    **norm(f"{prefix}output.LayerNorm")}.items()


def transformer_xl_shapes(layers, words):
    heads = (HEADS, WIDTH // HEADS)
    yield from {"transformer.word_emb.emb_layers.0.weight": (words, WIDTH), "transformer.r_w_bias": heads,
                "transformer.r_r_bias": heads, "crit.out_layers.0.bias": (words,)}.items()
    for layer in range(layers):
        prefix = f"transformer.layers.{layer}."
        yield from {f"{prefix}dec_attn.qkv_net.weight": (3 * WIDTH, WIDTH), f"{prefix}dec_attn.r_net.weight": (WIDTH, WIDTH),
                    f"{prefix}dec_attn.o_net.weight": (WIDTH, WIDTH), **norm(f"{prefix}dec_attn.layer_norm"),
                    **dense(f"{prefix}pos_ff.CoreNet.0", INNER, WIDTH), **dense(f"{prefix}pos_ff.CoreNet.3", WIDTH, INNER),
                    **norm(f"{prefix}pos_ff.layer_norm")}.items()


def xlnet_shapes(layers, words):
    heads = (HEADS, WIDTH // HEADS)
    yield from {"transformer.word_embedding.weight": (words, WIDTH), "transformer.mask_emb": (1, 1, WIDTH),
                "lm_loss.bias": (words,)}.items()
    for layer in range(layers):
        prefix = f"transformer.layer.{layer}."
        yield from {**{f"{prefix}rel_attn.{name}": (WIDTH, *heads) for name in "qkvro"},
                    **{f"{prefix}rel_attn.{name}_bias": heads for name in ("r_w", "r_r", "r_s")},
                    f"{prefix}rel_attn.seg_embed": (2, *heads), **norm(f"{prefix}rel_attn.layer_norm"),
                    **dense(f"{prefix}ff.layer_1", INNER, WIDTH), **dense(f"{prefix}ff.layer_2", WIDTH, INNER),
                    **norm(f"{prefix}ff.layer_norm")}.items()


def write(folder, layers=12, words=128100, family="deberta"):
    encoder = {"hidden_size": WIDTH, "num_hidden_layers": layers, "num_attention_heads": HEADS, "intermediate_size": INNER,
               "max_position_embeddings": PLACES}
    recurrent = {"d_model": WIDTH, "n_layer": layers, "n_head": HEADS, "d_head": WIDTH // HEADS, "d_inner": INNER}
    like, shapes, own = {
        "deberta": ("tiny-v3", deberta_shapes, {**encoder, "attention_head_size": WIDTH // HEADS, "position_buckets": BUCKETS}),
        "roformer": ("tiny-roformer", roformer_shapes, {**encoder, "embedding_size": WIDTH}),
        "transformer_xl": ("tiny-txl", transformer_xl_shapes, {**recurrent, "d_embed": WIDTH}),
        "xlnet": ("tiny-xlnet", xlnet_shapes, recurrent),
    }[family]
    folder.mkdir(parents=True)
    for file in (MODELS / like).iterdir():
        if file.name not in ("config.json", "pytorch_model.bin"):
            shutil.copy(file, folder)
    config = json.loads((MODELS / like / "config.json").read_text())
    config.update(vocab_size=words, **own)
    (folder / "config.json").write_text(json.dumps(config))
    head, at = {}, 0
    for name, shape in shapes(layers, words):
        size = 2 * int(np.prod(shape))
        head[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    table = json.dumps(head).encode()
    random = np.random.default_rng(1)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(table)) + table)
        for name, shape in shapes(layers, words):
            values = random.standard_normal(shape, np.float32) * 0.05
            if name.lower().endswith(("layernorm.weight", "layer_norm.weight")):
                values += 1
            file.write(values.astype(np.float16).tobytes())


if __name__ == "__main__":
    write(Path(sys.argv[1]), *(int(number) for number in sys.argv[2:]))
