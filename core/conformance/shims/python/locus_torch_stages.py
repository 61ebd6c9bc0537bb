"""Which modules and torch calls of Hugging Face's models hold which stages; locus_torch.py listens to them.
Layer numbers are #; of several stages after a module the second is that of its second call, and - is none."""
import torch

L, S = "encoder.layer.#", "encoder.layer.#.attention.self"
BERT = {"embeddings.word_embeddings": "embeddings.word", "embeddings": "embeddings.output", S: "layer.#.context",
        S + ".dropout": "layer.#.probs", L: "layer.#.output", L + ".attention.output": "layer.#.attention",
        L + ".intermediate": "layer.#.ffn_act", L + ".output.dense": "layer.#.ffn",
        "embeddings_project": "embeddings.output", "cls": "mlm.logits", "cls.predictions.transform": "mlm.transform",
        "lm_predictions": "mlm.logits", "lm_predictions.lm_head.LayerNorm": "mlm.transform",
        "classifier": "classifier", "classifier.out_proj": "classifier", "qa_outputs": "classifier"}
DEBERTA = BERT | {S + ".query_proj": "layer.#.q layer.#.q_r", S + ".key_proj": "layer.#.k layer.#.k_r",
                  S + ".value_proj": "layer.#.v", S + ".pos_query_proj": "layer.#.q_r", S + ".pos_key_proj": "layer.#.k_r",
                  "encoder.LayerNorm": "relative.table", "encoder.conv.conv": "layer.0.conv", "encoder.conv": "layer.0.output"}
ROFORMER = BERT | {S + ".query": "layer.#.q", S + ".key": "layer.#.k", S + ".value": "layer.#.v",
                   "encoder.embed_positions": "rotary"}
XLNET = {"word_embedding": "embeddings.word", "dropout": "embeddings.output -", "layer.#.rel_attn": "layer.#.attention",
         "layer.#": "layer.#.output", "layer.#.ff.activation_function": "layer.#.ffn_act",
         "layer.#.ff.layer_2": "layer.#.ffn", "lm_loss": "lm.logits", **dict.fromkeys(["logits_proj", "classifier", "qa_outputs"], "classifier")}
WATCHED = (S, "layer.#.rel_attn", "encoder.conv")  # inside them calls are stages, too

def classes(put, x, logits):  # of rows that were pooled, or of every token; what cuts a row out of all is neither
    if x.dim() == 2: put("classifier.pooled", x), put("classifier.logits", logits)
    elif logits.dim() == 3: put("classifier.token_logits", logits)

# put(stem, value); a: the module; done: how often each call came, and what later calls need; call: its name.
def deberta(put, a, done, call, args, out):
    if call == "masked_fill": put("scores", args[0])
    if call in ("gelu", "tanh", "relu") and hasattr(a, "conv_act"): put("conv_act", out)
    if call == "gather":  # p2c is gathered [key, row]
        term = [term for term in ("c2p", "p2c") if term in a.pos_att_type][done[call] - 1]
        out, index = (x if term == "c2p" else x.mT for x in (out, args["index"]))
        put("/relative.index", index[0]), put(term, out.unflatten(0, (-1, a.num_attention_heads)))

def roformer(put, a, done, call, args, out):
    if call == "div": put("scores", out)
    if call == "matmul" and done[call] == 1: put("q_rot", args[0]), put("k_rot", args[1].mT)
    if call == "matmul" and done[call] == 2 and a.rotary_value: put("v_rot", args[1])

def xlnet(put, a, done, call, args, out):
    if call == "mbnd,mlb->lbnd": done["targets"] = args[2]  # from here on the query stream: every token asks, targets count
    g = "g." if "targets" in done else ""
    def keep(stem, x): put(g + stem, torch.einsum("bnl...,mlb->bnm...", x, done["targets"]) if g else x)
    if call == "ibh,hnd->ibnd" and args[2] is a.r:
        for name, row in {"": 0, "_backward": -1}.items() if a.bi_data else [("", 0)]:
            put("/positions.r" + name, args[1][:, row]), put("r_k" + name, out[:, row].transpose(0, 1))
    for stem in "qkv":  # a second q is that of the query stream
        if call == "ibh,hnd->ibnd" and args[2] is getattr(a, stem) and not done[stem]: done[stem] = put(stem, out.permute(1, 2, 0, 3)) or 1
    if call == "mbnd,mlb->lbnd": keep("q", out.permute(1, 2, 0, 3))
    if call == "ibnd,jbnd->bnij": keep("ac" if done[call] % 2 else "bd_raw", out)
    if call == "ijbs,ibns->bnij": keep("ef", out)
    if call == "index_select": done["bd"] = keep("bd", out) or out
    if call == "mul" and args[1] is a.scale: done["scores"] = keep("scores", out) or out
    if call == "ijbn->bnij" and "scores" in done:  # hidden cells have no bd
        hidden = done["bd"].masked_fill(out <= 0, 0)
        keep("bd", done["bd"] - hidden), keep("scores", done.pop("scores") - hidden * a.scale)
    if call == "bnij,jbnd->ibnd": keep("probs", args[1])
    if call == ("lbnd,mlb->mbnd" if g else "bnij,jbnd->ibnd"): put(g + "context", out.flatten(2).transpose(0, 1))

KNOWN = {"deberta-v2": (DEBERTA, deberta), "roformer": (ROFORMER, roformer), "xlnet": (XLNET, xlnet)}
