"""Records Hugging Face Transformer-XL (transformers 4.57.6, TransfoXLLMHeadModel): words in clusters, as transfo-xl-wt103 has them.

usage: hf_txl.py --out DIR [--seed 1] [--only NAME]

transformers 5 no longer holds the class; TRUST_REMOTE_CODE=True allows 4.57.6 to make it.
Shims: that release calls x.type_as(dtype=...), which torch refuses; inside a run it is x.to(dtype).  Tensor.float() gives float64.
"""
import argparse
import os

os.environ["TRUST_REMOTE_CODE"] = "True"

import torch
import transformers
from transformers.models.deprecated.transfo_xl import TransfoXLConfig, TransfoXLLMHeadModel

from official_common import Stages, close, exact_floats, generator, randint, randomise, replaced, save_case, source

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()


def stored(model):
    """What save_pretrained leaves of tied tensors: the input's."""
    kept, seen = {}, set()
    for name, value in sorted(model.state_dict().items(), key=lambda item: item[0].startswith("crit.")):
        if name.endswith("inv_freq") or value.data_ptr() in seen: continue
        seen.add(value.data_ptr())
        kept[name] = value.clone()
    return kept


def run(model, tokens, labels):
    st, memory, crit, body = Stages(), None, model.crit, model.transformer
    size, batch = crit.shortlist_size, tokens[0].shape[0]
    for s, ids in enumerate(tokens):
        put = lambda name, x: st.put(f"segment.{s}.{name}", x)
        hooks = [body.word_emb.register_forward_hook(lambda m, i, o: put("embeddings.output", o.transpose(0, 1)))]
        if body.word_emb.div_val == 1:
            hooks.append(body.word_emb.emb_layers[0].register_forward_hook(lambda m, i, o: put("embeddings.word", o.transpose(0, 1))))
        else:
            hooks.append(body.word_emb.register_forward_hook(lambda m, i, o: put("embeddings.word", o.transpose(0, 1) / m.emb_scale)))
        typed = replaced(torch.Tensor, "type_as", lambda keep: lambda x, other=None, dtype=None: keep(x, other) if dtype is None else x.to(dtype))
        with torch.no_grad(), typed:
            out = model(ids, mems=memory, output_hidden_states=True)
            for h in hooks: h.remove()
            for l, x in enumerate(out.hidden_states[1:]): put(f"layer.{l}.output", x)
            top = out.hidden_states[-1]
            weight, bias = crit.out_layers[0].weight[:size], crit.out_layers[0].bias[:size]
            choice = torch.log_softmax(crit._compute_logit(top, torch.cat([weight, crit.cluster_weight]), torch.cat([bias, crit.cluster_bias]), crit.out_projs[0]), -1)
            put("lm.clusters", choice[..., size:])
            words = out.prediction_scores
            close(words[..., :size], choice[..., :size], "words of cluster 0")
            close(words.exp().sum(-1), torch.ones(words.shape[:-1], dtype=words.dtype), "probabilities")
            ends = crit.cutoff_ends
            for n in range(1, crit.n_clusters + 1):  # the words of a cluster are as likely as the cluster
                close(words[..., ends[n]:ends[n + 1]].logsumexp(-1), choice[..., size + n - 1], "cluster")
            put("lm.logits", words)
            put("lm.loss", -words.gather(-1, labels[s][..., None])[..., 0])
            loss = model(ids, mems=memory, labels=labels[s]).losses  # of the next token, cluster by cluster
            expected = -words[:, :-1].gather(-1, labels[s][:, 1:, None])[..., 0]
            close(loss.flatten().sort().values, expected.flatten().sort().values, "losses")
        memory = out.mems
        for l, mem in enumerate(memory): put(f"memory.{l}", mem.transpose(0, 1))
        assert memory[0].shape[1] == batch
    return st


def case(out, seed, name, z, why, binary, **options):
    g = generator(seed, name)
    config = TransfoXLConfig(vocab_size=z["V"], d_model=z["D"], n_head=z["H"], d_head=z["d"], d_inner=z["F"], n_layer=z["N"], mem_len=z["mem"],
                             clamp_len=-1, same_length=False, eos_token_id=0, **options)
    model = TransfoXLLMHeadModel(config).eval()
    randomise(model, g)
    model.tie_weights()
    weights = stored(model)
    text = randint(g, 0, z["V"], (z["B"], z["segments"] * z["T"] + 1))
    cut = lambda first: [text[:, s * z["T"] + first:(s + 1) * z["T"] + first] for s in range(z["segments"])]
    tokens, labels = cut(0), cut(1)
    with exact_floats():                                          # built again, so that the sinusoid's frequencies are float64
        again = TransfoXLLMHeadModel(config).double().eval()
        again.load_state_dict({k: v for k, v in model.state_dict().items() if not k.endswith("inv_freq")}, strict=False)
        again.tie_weights()
        trace = run(again, tokens, labels)
    notes = [f"Words in clusters: cutoffs {config.cutoffs}, div_val {config.div_val}, tie_projs {config.tie_projs}, tie_word_embeddings {config.tie_word_embeddings}. "
             "lm.clusters [B,T,C]: log-probabilities of the clusters 1, 2, ..., in the order of crit.cluster_weight; lm.logits: prediction_scores, log-probabilities of all words.",
             "lm.loss [B,T]: -lm.logits[label]. The class itself shifts the labels by one and gives its losses cluster by cluster, not token by token.",
             "embeddings.word: " + ("rows of the only table" if config.div_val == 1 else "[B,T,D], projected, before sqrt(D)") + ".",
             "Tied tensors are stored once, under the name of the input.",
             "Shims: x.type_as(dtype=...), which torch refuses, is x.to(dtype); Tensor.float() gives float64, for the mask's value is the least number of the model's dtype."]
    inputs = {f"tokens.{s}": x for s, x in enumerate(tokens)} | {f"labels.{s}": x for s, x in enumerate(labels)}
    fields = {k: v for k, v in config.to_dict().items() if k not in ("transformers_version", "dtype")}
    fields = {k: fields[k] for k in ("vocab_size", "cutoffs", "d_model", "d_embed", "n_head", "d_head", "d_inner", "div_val", "pre_lnorm", "n_layer", "mem_len", "clamp_len",
                                     "same_length", "tie_projs", "tie_word_embeddings", "attn_type", "adaptive", "untie_r", "layer_norm_epsilon", "eos_token_id")}
    save_case(out, name, family="transfo-xl", source=source("huggingface transformers", "TransfoXLLMHeadModel", version=transformers.__version__), why=why,
              probes={k: z[k] for k in ("B", "T", "H", "d", "D", "F", "V")} | dict(layers=z["N"], segments=z["segments"], mem_len=z["mem"]), tolerance=1e-12, notes=notes,
              inputs=inputs, trace=trace, config=dict(model_type="transfo-xl", architectures=["TransfoXLLMHeadModel"]) | fields,
              weights=weights, binary=binary)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", required=True); ap.add_argument("--seed", type=int, default=1); ap.add_argument("--only", default="")
    a = ap.parse_args()
    z = dict(B=2, T=5, H=3, d=4, D=10, F=18, V=23, N=2, mem=7, segments=2)
    def do(name, why, **kw):
        if a.only in name: case(a.out, a.seed, name, z, why, **kw)
    do("hf_txl_word_clusters", "As transfo-xl-wt103: clusters with tables of their own, each a quarter as wide as the one before; projections tied but the first; u and v of each layer.",
       binary=True, cutoffs=[7, 13], div_val=4, d_embed=16, untie_r=True)
    do("hf_txl_word_clusters_one_table", "Four clusters in one table that is narrower than the model; nothing tied but one projection.",
       binary=False, cutoffs=[5, 11, 17], div_val=1, d_embed=6, untie_r=False, tie_word_embeddings=False, tie_projs=[False, False, True, False], pre_lnorm=True)


if __name__ == "__main__":
    main()
