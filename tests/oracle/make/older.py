"""Records PyTorch's and transformers' older parts: RNN, LSTM, Transformer, sequence to sequence, T5, ALiBi, relative keys.

usage: older.py --out DIR [--seed 1]        (torch 1.13, transformers 4.30, safetensors)

Every case is one file DIR/NAME.safetensors with weights, inputs and results side by side, float64 from random
float32 weights.  What is taken unmodified: torch.nn.RNN, LSTM, LSTMCell, MultiheadAttention, TransformerEncoderLayer,
TransformerDecoderLayer, Bilinear, CrossEntropyLoss; transformers T5Attention, build_alibi_tensor (BLOOM) and
BertSelfAttention with relative_key.  Written here, because PyTorch has no module for it: the sinusoids, the tying of
the word table, and the loop of the sequence-to-sequence decoder.
"""
import argparse, math, pathlib, zlib

import numpy as np
import torch
from torch import nn
from safetensors.numpy import save_file
from transformers import BertConfig, T5Config
from transformers.models.bert.modeling_bert import BertSelfAttention
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

torch.set_num_threads(1)


class Case(dict):
    def __init__(self, out, name, seed):
        self.file = pathlib.Path(out) / f"{name}.safetensors"
        self.g = torch.Generator().manual_seed(seed * 1000003 + zlib.crc32(name.encode()))

    def put(self, name, x):
        assert name not in self, name
        x = x.detach().clone().contiguous()
        self[name] = (x.double() if x.is_floating_point() else x.to(torch.int64)).numpy()

    def randn(self, *shape):
        return torch.randn(*shape, generator=self.g).float().double()

    def ids(self, low, high, *shape):
        return torch.randint(low, high, shape, generator=self.g)

    def fill(self, module, gain=1.3):
        """Random float32 numbers in every parameter: no zero bias, no identity norm that could hide a mistake."""
        with torch.no_grad():
            for name, p in sorted(module.named_parameters()):
                x = torch.randn(p.shape, generator=self.g)
                norm = "norm" in name and name.endswith("weight")
                p.copy_(1 + 0.2 * x if norm else 0.1 * x if p.dim() == 1 else gain * x / math.sqrt(p[0].numel()))
        return module.double()

    def dense(self, name, weight, bias=None):
        self.put(name + ".weight", weight)
        if bias is not None:
            self.put(name + ".bias", bias)

    def save(self):
        save_file(dict(self), self.file)
        print(f"{self.file.name}: {len(self)} tensors, {self.file.stat().st_size / 1024:.0f}K")


def recurrent(out, seed):
    case = Case(out, "recurrent", seed)
    x = case.randn(7, 5)
    case.put("x", x)
    rnn = case.fill(nn.RNN(5, 4))
    lstm = case.fill(nn.LSTM(5, 4, bidirectional=True))
    for name, module, suffix in (("rnn", rnn, ""), ("lstm", lstm, ""), ("lstm_backward", lstm, "_reverse")):
        for ours, theirs in (("input", "ih"), ("recurrent", "hh")):
            case.dense(f"{name}.{ours}", getattr(module, f"weight_{theirs}_l0{suffix}"),
                       getattr(module, f"bias_{theirs}_l0{suffix}"))
    h0, c0 = case.randn(1, 1, 4), case.randn(1, 1, 4)
    case.put("h0", h0[0]), case.put("c0", c0[0])
    case.put("rnn.hidden", rnn(x[:, None], h0)[0][:, 0])
    case.put("lstm.bidirectional", lstm(x[:, None])[0][:, 0])
    cell = nn.LSTMCell(5, 4).double()
    cell.load_state_dict({k: getattr(lstm, k + "_l0") for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})
    h, c, hidden, cells = h0[0], c0[0], [], []
    for t in range(7):
        h, c = cell(x[t][None], (h, c))
        hidden.append(h[0]), cells.append(c[0])
    case.put("lstm.hidden", torch.stack(hidden)), case.put("lstm.cell", torch.stack(cells))
    case.save()


def sinusoids(count, width):
    angles = torch.arange(count).double()[:, None] * 10000 ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack([angles.sin(), angles.cos()], -1).reshape(count, width)


def put_attention(case, name, attention, norm):
    weights, biases = attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3)
    for part, w, b in zip(("query", "key", "value"), weights, biases):
        case.dense(f"{name}.{part}", w, b)
    case.dense(f"{name}.out", attention.out_proj.weight, attention.out_proj.bias)
    case.dense(f"{name}.norm", norm.weight, norm.bias)


def put_feed_forward(case, name, layer, norm):
    case.dense(f"{name}.up", layer.linear1.weight, layer.linear1.bias)
    case.dense(f"{name}.down", layer.linear2.weight, layer.linear2.bias)
    case.dense(f"{name}.norm", norm.weight, norm.bias)


def transformer(out, seed):
    case = Case(out, "transformer", seed)
    V, D, H, F, L = 23, 12, 3, 20, 2
    kind = dict(d_model=D, nhead=H, dim_feedforward=F, dropout=0.0, batch_first=True)
    encoder = case.fill(nn.ModuleList(nn.TransformerEncoderLayer(**kind) for _ in range(L)), gain=0.8).train()
    decoder = case.fill(nn.ModuleList(nn.TransformerDecoderLayer(**kind) for _ in range(L)), gain=0.8).train()
    with torch.no_grad():                                    # signs mixed, or a tied table repeats the word it was given
        decoder[-1].norm3.weight.copy_(case.randn(D))
    table = case.randn(V, D) * 0.6
    case.put("word_table", table)
    for l in range(L):
        put_attention(case, f"encoder.{l}.self", encoder[l].self_attn, encoder[l].norm1)
        put_feed_forward(case, f"encoder.{l}.feed_forward", encoder[l], encoder[l].norm2)
        put_attention(case, f"decoder.{l}.self", decoder[l].self_attn, decoder[l].norm1)
        put_attention(case, f"decoder.{l}.cross", decoder[l].multihead_attn, decoder[l].norm2)
        put_feed_forward(case, f"decoder.{l}.feed_forward", decoder[l], decoder[l].norm3)
    source, target = case.ids(3, V, 2, 6), case.ids(3, V, 2, 5)
    source_mask, target_mask = torch.ones_like(source), torch.ones_like(target)
    source_mask[1, 4:] = 0
    target_mask[1, 3:] = 0
    labels = case.ids(1, V, 2, 5) * target_mask
    for name, x in (("source", source), ("source_mask", source_mask), ("target", target), ("target_mask", target_mask),
                    ("labels", labels)):
        case.put(name, x)

    seen = {}
    forward = nn.MultiheadAttention.forward
    names = {id(m): f"{side}.{l}.{what}.probs" for side, layers in (("encoder", encoder), ("decoder", decoder))
             for l, layer in enumerate(layers) for what, m in (("self", layer.self_attn),
                                                               ("cross", getattr(layer, "multihead_attn", None)))}

    def listening(self, *args, **kwargs):
        result = forward(self, *args, **{**kwargs, "need_weights": True, "average_attn_weights": False})
        seen[names[id(self)]] = result[1]
        return result

    def run(source, target, source_mask, target_mask, keep=lambda name, x: None):
        embed = lambda ids: table[ids] * math.sqrt(D) + sinusoids(ids.shape[1], D)
        x = embed(source)
        keep("encoder.embeddings", x)
        for l in range(L):
            x = encoder[l](x, src_key_padding_mask=source_mask == 0)
            keep(f"encoder.{l}.output", x)
        y = embed(target)
        later = torch.ones(target.shape[1], target.shape[1]).triu(1).bool()
        for l in range(L):
            y = decoder[l](y, x, tgt_mask=later, tgt_key_padding_mask=target_mask == 0,
                           memory_key_padding_mask=source_mask == 0)
            keep(f"decoder.{l}.output", y)
        return y @ table.T

    nn.MultiheadAttention.forward = listening
    with torch.no_grad():
        logits = run(source, target, source_mask, target_mask, case.put)
        for name, probs in list(seen.items()):
            case.put(name, probs)
        case.put("logits", logits)
        for epsilon in (0.0, 0.1):
            loss = nn.CrossEntropyLoss(label_smoothing=epsilon, ignore_index=0, reduction="none")
            case.put(f"loss.{epsilon}", loss(logits.reshape(-1, V), labels.reshape(-1))[labels.reshape(-1) != 0])
        for b in range(2):                                       # greedy: start 1, end 16, six words at most
            words = [1]
            while len(words) <= 6 and (len(words) == 1 or words[-1] != 16):
                y = torch.tensor([words])
                words.append(int(run(source[b:b + 1], y, source_mask[b:b + 1], torch.ones_like(y))[0, -1].argmax()))
            case.put(f"greedy.{b}", torch.tensor(words[1:]))
    nn.MultiheadAttention.forward = forward
    case.save()


def seq2seq(out, seed, additive):
    case = Case(out, "seq2seq_additive" if additive else "seq2seq_multiplicative", seed)
    V_s, V_t, E, n, A = 13, 11, 5, 4, 6
    encoder, decoder = case.fill(nn.LSTM(E, n)), case.fill(nn.LSTMCell(E + n if additive else E, n))
    source_words, target_words = case.randn(V_s, E), case.randn(V_t, E)
    combine, output = case.fill(nn.Linear(2 * n, n)), case.fill(nn.Linear(n, V_t))
    case.put("source_words", source_words), case.put("target_words", target_words)
    for name, module, suffix in (("encoder", encoder, "_l0"), ("decoder", decoder, "")):
        for ours, theirs in (("input", "ih"), ("recurrent", "hh")):
            case.dense(f"{name}.{ours}", getattr(module, f"weight_{theirs}{suffix}"),
                       getattr(module, f"bias_{theirs}{suffix}"))
    case.dense("combine", combine.weight, combine.bias), case.dense("output", output.weight, output.bias)
    if additive:
        state, seen = case.fill(nn.Linear(n, A, bias=False)), case.fill(nn.Linear(n, A, bias=False))
        energy = case.fill(nn.Linear(A, 1, bias=False))
        case.put("alignment.state", state.weight), case.put("alignment.encoder", seen.weight)
        case.put("alignment.energy", energy.weight)
        fits = lambda s, h: energy(torch.tanh(state(s) + seen(h)))[:, 0]
    else:
        weight = case.fill(nn.Bilinear(n, n, 1, bias=False))
        case.put("alignment.weight", weight.weight[0])
        fits = lambda s, h: weight(s.expand(len(h), n), h)[:, 0]
    source, target = case.ids(0, V_s, 6), case.ids(0, V_t, 5)
    case.put("source", source), case.put("target", target)
    with torch.no_grad():
        h, (s, c) = encoder(source_words[source][:, None])
        h, s, c = h[:, 0], s[0], c[0]
        case.put("encoder.hidden", h)
        rows = {"scores": [], "probs": [], "context": [], "state": [], "logits": []}
        for word in target:
            x = target_words[word][None]
            if additive:
                scores = fits(s, h)
                x = torch.cat([x, (scores.softmax(0) @ h)[None]], 1)
            s, c = decoder(x, (s, c))
            if not additive:
                scores = fits(s, h)
            context = scores.softmax(0) @ h
            logits = output(torch.tanh(combine(torch.cat([context[None], s], 1))))
            for name, value in zip(rows, (scores, scores.softmax(0), context, s[0], logits[0])):
                rows[name].append(value)
        for name, values in rows.items():
            case.put(name, torch.stack(values))
    case.save()


def t5(out, seed):
    case = Case(out, "t5", seed)
    offsets = torch.arange(-700, 701)
    case.put("offsets", offsets)
    for buckets, distance in ((32, 128), (16, 50), (8, 20), (64, 512)):
        for both in (True, False):
            found = T5Attention._relative_position_bucket(offsets, both, buckets, distance)
            case.put(f"buckets.{buckets}.{distance}.{'bidirectional' if both else 'causal'}", found)
    config = dict(d_model=12, num_heads=3, d_kv=4, dropout_rate=0.0, relative_attention_num_buckets=8,
                  relative_attention_max_distance=10)
    x = case.randn(1, 14, 12)
    for name, decoder in (("encoder", False), ("decoder", True)):
        attention = case.fill(T5Attention(T5Config(**config, is_decoder=decoder), has_relative_attention_bias=True))
        parts = {}
        for part in "qkv":
            getattr(attention, part).register_forward_hook(
                lambda m, i, o, part=part: parts.update({part: o[0].reshape(14, 3, 4).transpose(0, 1)}))
        attention.o.register_forward_hook(lambda m, i, o: parts.update(context=i[0][0].reshape(14, 3, 4).transpose(0, 1)))
        hidden = torch.zeros(1, 1, 14, 14).double()
        if decoder:
            hidden = hidden.masked_fill(torch.ones(14, 14).triu(1).bool(), torch.finfo(torch.float64).min)
        keep, torch.Tensor.float = torch.Tensor.float, torch.Tensor.double   # its softmax runs in float32 otherwise
        with torch.no_grad():
            probs = attention(x, mask=hidden, output_attentions=True)[-1]
        torch.Tensor.float = keep
        case.put(f"{name}.table", attention.relative_attention_bias.weight)
        case.put(f"{name}.bias", attention.compute_bias(14, 14)[0])
        case.put(f"{name}.probs", probs[0])
        for part, values in parts.items():
            case.put(f"{name}.{part}", values)
    case.save()


def alibi(out, seed):
    case = Case(out, "alibi", seed)
    for heads in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 32, 40):
        case.put(f"slopes.{heads}", build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1])
    case.save()


def relative_key(out, seed):
    """BERT's relative_key: Shaw's position scores without a value term, rows by i - j and no clipping."""
    case = Case(out, "relative_key", seed)
    config = BertConfig(hidden_size=8, num_attention_heads=2, max_position_embeddings=7, attention_probs_dropout_prob=0.0,
                        position_embedding_type="relative_key")
    attention = case.fill(BertSelfAttention(config))
    split = lambda o: o[0].reshape(7, 2, 4).transpose(0, 1)
    for part in ("query", "key", "value"):
        getattr(attention, part).register_forward_hook(lambda m, i, o, part=part: case.put(part, split(o)))
    with torch.no_grad():
        context, probs = attention(case.randn(1, 7, 8), output_attentions=True)
    case.put("distance_embedding", attention.distance_embedding.weight)
    case.put("probs", probs[0]), case.put("context", split(context))
    case.save()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pathlib.Path(options.out).mkdir(parents=True, exist_ok=True)
    recurrent(options.out, options.seed)
    transformer(options.out, options.seed)
    for additive in (True, False):
        seq2seq(options.out, options.seed, additive)
    t5(options.out, options.seed)
    alibi(options.out, options.seed)
    relative_key(options.out, options.seed)
