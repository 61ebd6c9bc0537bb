"""Oracle cases of fine-tuned heads from Hugging Face (transformers 4.57.6): classes of a whole text, and of every token.

  python hf_classifiers.py --seed 1 --out ..

Stages: embeddings, the output of every layer, what the pooler gives (classifier.pooled) and the logits. The pooler's output is
checked to be its dense layer and activation of the token that the class takes; everything else is a module's own output.
"""
import argparse
import os

import numpy as np
import torch
from transformers import (DebertaConfig, DebertaForTokenClassification, DebertaV2Config, DebertaV2ForSequenceClassification,
                          RoFormerConfig, RoFormerForSequenceClassification, XLNetConfig, XLNetForSequenceClassification)
from transformers.activations import ACT2FN

from hf_common import Recorder, TOLERANCE_RULE, case_seed, load_double, random_tokens, randomise, same, save_model, source, write_case

SIZE = dict(T=7, H=3, d=4, L=2, F=20, V=29)
RIGHT = [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]]
LEFT = [[1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]
COMMON = dict(vocab_size=SIZE["V"], num_hidden_layers=SIZE["L"])
BERT = dict(hidden_size=SIZE["H"] * SIZE["d"], num_attention_heads=SIZE["H"], intermediate_size=SIZE["F"], max_position_embeddings=32)
TERMS = dict(relative_attention=True, position_biased_input=False, max_relative_positions=-1)


def three(*names):
    return dict(id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)})


NLI = three("entailment", "neutral", "contradiction")
CASES = {
    "hf_deberta_v2_text_classes": (
        DebertaV2ForSequenceClassification, "deberta_v2", RIGHT, 5e-7,
        lambda: DebertaV2Config(**COMMON, **BERT, **TERMS, **NLI, pos_att_type="p2c|c2p", norm_rel_ebd="layer_norm", share_att_key=True, position_buckets=8),
        "Three classes of a text: the first token through a dense layer and the exact gelu (tanh in BERT), then the classifier."),
    "hf_deberta_v1_token_classes": (
        DebertaForTokenClassification, "deberta_v1", RIGHT, 2e-6,
        lambda: DebertaConfig(**COMMON, **BERT, **TERMS, pos_att_type="c2p|p2c", num_labels=5),
        "Five classes of every token: one dense layer on the last layer's output, padding too."),
    "hf_roformer_text_classes": (
        RoFormerForSequenceClassification, "roformer", RIGHT, 1e-6,
        lambda: RoFormerConfig(**COMMON, **BERT, num_labels=4, hidden_act="gelu"),
        "Four classes of a text: the first token through classifier.dense and hidden_act, then classifier.out_proj."),
    "hf_xlnet_text_classes": (
        XLNetForSequenceClassification, "xlnet", LEFT, 1e-6,
        lambda: XLNetConfig(vocab_size=SIZE["V"], d_model=SIZE["H"] * SIZE["d"], n_layer=SIZE["L"], n_head=SIZE["H"], d_inner=SIZE["F"], ff_activation="gelu", num_labels=3),
        "Three classes of a text: the last token, so that padding stands on the left, through a dense layer and tanh, then logits_proj."),
}


def pooled_by(model, x):
    """dense and activation of one token, as the classes have it."""
    c = model.config
    if c.model_type == "deberta-v2": return ACT2FN[c.pooler_hidden_act](model.pooler.dense(x[:, 0]))
    if c.model_type == "roformer": return ACT2FN[c.hidden_act](model.classifier.dense(x[:, 0]))
    return torch.tanh(model.sequence_summary.summary(x[:, -1]))


def record(model, inputs, family):
    r, base = Recorder(), model.base_model
    given = {"input_ids": torch.from_numpy(inputs["tokens"])}
    if "mask" in inputs: given["attention_mask"] = torch.from_numpy(inputs["mask"])
    if "input_mask" in inputs: given["input_mask"] = torch.from_numpy(inputs["input_mask"]).double()
    if "token_types" in inputs: given["token_type_ids"] = torch.from_numpy(inputs["token_types"])
    if family == "xlnet":
        rows = base.relative_positional_encoding
        base.relative_positional_encoding = lambda *a, **k: rows(*a, **k).to(model.dtype)  # made in float32 there
        r.on_output(base.word_embedding, "embeddings.word", lambda out: out)
        r.on_output(model.sequence_summary, "classifier.pooled")
    else:
        r.on_output(base.embeddings.word_embeddings, "embeddings.word")
        r.on_output(base.embeddings, "embeddings.output")
    if family == "deberta_v2": r.on_output(model.pooler, "classifier.pooled")
    if family == "roformer": r.hooks.append(model.classifier.out_proj.register_forward_pre_hook(lambda m, args: r.put("classifier.pooled", args[0])))
    with torch.no_grad():
        out = model(**given, output_hidden_states=True)
        r.close()
        if family == "xlnet":
            r.put("embeddings.output", out.hidden_states[0])
            r.stages["embeddings.word"] = r.stages["embeddings.word"].transpose(0, 1).contiguous()  # there [T,B,D]
        for number, x in enumerate(out.hidden_states[1:]): r.put(f"layer.{number}.output", x)
        same(r["embeddings.output"], out.hidden_states[0], "hidden state 0")
        if "classifier.pooled" in r.stages:
            same(pooled_by(model, out.hidden_states[-1]), r["classifier.pooled"], "pooled")
            r.put("classifier.logits", out.logits)
        else:
            r.put("classifier.token_logits", out.logits)
    return r.stages


def make_case(name, seed, out):
    cls, family, mask, tolerance, config, why = CASES[name]
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    own = case_seed(seed, name)
    save_model(randomise(cls(config()), own), os.path.join(folder, "model"))
    model = load_double(cls, os.path.join(folder, "model"))
    mask, B = np.array(mask, dtype=np.int64), len(mask)
    inputs = {"tokens": random_tokens(own + 1, B, SIZE["T"], SIZE["V"], mask)}
    inputs |= {"input_mask": 1 - mask} if family == "xlnet" else {"mask": mask}
    if family in ("xlnet", "roformer"): inputs["token_types"] = np.random.default_rng(own + 2).integers(0, 2, size=mask.shape)
    stages = record(model, inputs, family)
    classes = stages[list(stages)[-1]].shape[-1]
    notes = ["The last layer's output and what stands before and behind it are recorded, not the inside of the layers: other cases have that.",
             "No position enters the head but the choice of the token.", "Tolerance rule: " + TOLERANCE_RULE + "."]
    case = {"family": family, "source": source(cls.__name__), "why": why,
            "probes": {k: SIZE[k] for k in ("T", "H", "d", "F", "V")} | {"B": B, "D": SIZE["H"] * SIZE["d"], "layers": SIZE["L"], "classes": classes},
            "tolerance": tolerance, "masked_rows": "uniform" if family.startswith("deberta") else "none", "seed": seed, "profile": "dev",
            "generator": "make/hf_classifiers.py", "notes": notes}
    return write_case(folder, inputs, stages, case)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", required=True, help="folder that receives one folder per case")
    parser.add_argument("--only", help="one case name")
    args = parser.parse_args()
    for name in CASES:
        if args.only in (None, name):
            print(f"{name:32s} trace {make_case(name, args.seed, args.out):8d} bytes", flush=True)


if __name__ == "__main__":
    main()
