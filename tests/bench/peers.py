#!/usr/bin/env python3
"""What others do with the same tensors, timed call by call beside ours.

  python3 tests/bench/peers.py setup FOLDER    makes a venv there with torch and transformers from PyPI
                                               (about 6 GB; nothing else in the project installs anything)
      --for onnxruntime,openvino               and instead what ONNX Runtime and OpenVINO need (about 0.4 GB)
      --cuda                                   and the attention packages of `locus bench cuda --against torch`
      --wheels DIR                             asks nobody: the venv sees this Python's packages and the wheels in DIR
  FOLDER/bin/python tests/bench/peers.py serve answers `locus bench attention --against torch`: one JSON request
                                               per line on stdin, one JSON answer per line on stdout
      --package onnxruntime                    with another package than torch: whole encoders alone

Requests: {"do": "versions"}, {"do": "core", ...}, {"do": "encoder", ...}, {"do": "train", ...}, {"do": "whole", ...}
load tensors and name the peers; {"do": "memory"} tells the peak resident memory;
{"do": "run", "peer": NAME} times one call; {"do": "save", "peer": NAME, "file": F} writes its output as raw float32.
Those of the GPU stand in peers_cuda.py, whole encoders on the processor in peers_encoder.py.
"""
import argparse
import glob
import importlib
import json
import os
import subprocess
import sys
import time
import zipfile

PACKAGES = {"torch": ["torch", "transformers", "numpy"], "onnxruntime": ["onnxruntime", "onnx", "numpy"],
            "openvino": ["openvino", "onnx", "numpy"]}
CUDA_PACKAGES = ["einops", "flashdeberta==0.0.8", "disentangled-flash==1.1.1"]


def setup(folder, names, cuda, wheels):
    import venv

    if wheels:
        return setup_from_wheels(folder, wheels)
    for name in names:
        if name not in PACKAGES:
            sys.exit(f"peers.py: --for names \"{name}\", expected some of {', '.join(PACKAGES)}")
    packages = sorted({one for name in names for one in PACKAGES[name]}) + (CUDA_PACKAGES if cuda else [])
    print(f"making {folder} with {', '.join(packages)} from PyPI", flush=True)
    if not os.path.exists(os.path.join(folder, "bin", "python")):
        venv.create(folder, with_pip=True)
    subprocess.check_call([os.path.join(folder, "bin", "python"), "-m", "pip", "install", *packages])


def setup_from_wheels(folder, wheels):
    """Without a network and without pip: wheels of Python alone are archives of what an installation is."""
    import venv

    files = sorted(glob.glob(os.path.join(wheels, "*.whl")))
    if not files:
        sys.exit(f"peers.py: {wheels} holds no wheels (*.whl)")
    for file in files:
        if not file.endswith("-none-any.whl"):
            sys.exit(f"peers.py: {file} is built for one machine, expected a wheel of Python alone (-none-any.whl)")
    print(f"making {folder} with {', '.join(os.path.basename(file) for file in files)}", flush=True)
    venv.create(folder, with_pip=False)
    site = glob.glob(os.path.join(folder, "lib", "python*", "site-packages"))[0]
    for file in files:
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(site)
    # Everything else, torch foremost, is this Python's; what stands in the folder goes first.
    with open(os.path.join(site, "this_python.pth"), "w") as paths:
        paths.writelines(path + "\n" for path in sys.path if path.endswith(("site-packages", "dist-packages")))


def load_tensor(path, shape):
    import numpy
    import torch

    return torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32)).reshape(shape).clone()


class Core:
    """The attention core from q, k, v [B,H,T,d] and position keys and queries [H,2k,d] to the context [B,T,H*d]."""

    def __init__(self, request):
        import torch
        from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

        folder, self.heads, self.tokens = request["folder"], request["heads"], request["tokens"]
        width, span, tokens = request["width"], request["span"], request["tokens"]
        self.span = span
        heads = (self.heads, tokens, width)
        # B = 1, so that [B,H,T,d] is [B*H,T,d], the form the module of transformers works on.
        self.q, self.k, self.v = (load_tensor(os.path.join(folder, name), heads) for name in ("q", "k", "v"))
        self.k_r, self.q_r = (load_tensor(os.path.join(folder, n), (self.heads, 2 * span, width)) for n in ("k_r", "q_r"))
        buckets, farthest = (span, request["max_position"]) if request["log"] else (-1, span)
        # Once per forward pass, as the encoder does.
        self.relative_pos = build_relative_position(self.q, self.k, buckets, farthest)
        self.mask = torch.ones(1, 1, tokens, tokens, dtype=torch.bool)
        # What weights and length alone decide, kept by every hand-written form.
        index = torch.clamp(self.relative_pos + span, 0, 2 * span - 1).squeeze(0)
        self.index = index.expand(self.heads, tokens, tokens)
        self.transposed = index.t().contiguous().expand(self.heads, tokens, tokens)
        scale = (3 * width) ** -0.5
        self.scale = scale
        self.k_r_t = (self.k_r * scale).transpose(1, 2).contiguous()
        self.q_r_t = (self.q_r * scale).transpose(1, 2).contiguous()
        offsets = torch.arange(tokens - 1, -tokens, -1)  # column x serves i - j = tokens - 1 - x
        rows = torch.cat([index[:, 0].flip(0), index[0, 1:]])
        assert rows.shape == offsets.shape
        self.k_r_line = self.k_r_t[:, :, rows].contiguous()
        self.q_r_line = self.q_r_t[:, :, rows.flip(0)].contiguous()  # column x serves i - j = x - (tokens - 1)
        self.peers = {"Hugging Face eager": self.hugging_face, "torch, gather": self.gather,
                      "torch, strided": self.strided, "torch, strided + sdpa": self.strided_sdpa}

    def add_compiled(self):
        import torch

        torch._dynamo.reset()
        self.peers["torch.compile, gather"] = torch.compile(self.gather, dynamic=False)

    def hugging_face(self):
        """DisentangledSelfAttention.forward after its projections, line by line (transformers 5.x, share_att_key)."""
        import torch

        query_layer, key_layer, value_layer, relative_pos = self.q, self.k, self.v, self.relative_pos
        att_span, scale_factor = self.span, 3
        sqrt = lambda layer: torch.sqrt(torch.tensor(layer.size(-1), dtype=torch.float) * scale_factor)
        attention_scores = torch.bmm(query_layer, key_layer.transpose(-1, -2) / sqrt(query_layer))
        relative_pos = relative_pos.unsqueeze(1).to(dtype=torch.long)
        score = 0
        c2p_att = torch.bmm(query_layer, self.k_r.transpose(-1, -2))
        c2p_pos = torch.clamp(relative_pos + att_span, 0, att_span * 2 - 1)
        c2p_att = torch.gather(c2p_att, dim=-1, index=c2p_pos.squeeze(0).expand(
            [query_layer.size(0), query_layer.size(1), relative_pos.size(-1)]))
        score += c2p_att / sqrt(self.k_r)
        p2c_pos = torch.clamp(-relative_pos + att_span, 0, att_span * 2 - 1)
        p2c_att = torch.bmm(key_layer, self.q_r.transpose(-1, -2))
        p2c_att = torch.gather(p2c_att, dim=-1, index=p2c_pos.squeeze(0).expand(
            [query_layer.size(0), key_layer.size(-2), key_layer.size(-2)])).transpose(-1, -2)
        score += p2c_att / sqrt(self.q_r)
        attention_scores = attention_scores + score
        attention_scores = attention_scores.view(-1, self.heads, attention_scores.size(-2), attention_scores.size(-1))
        attention_scores = attention_scores.masked_fill(~self.mask.bool(), torch.finfo(query_layer.dtype).min)
        attention_probs = torch.nn.functional.softmax(attention_scores, dim=-1)
        context_layer = torch.bmm(
            attention_probs.view(-1, attention_probs.size(-2), attention_probs.size(-1)), value_layer)
        context_layer = (context_layer.view(-1, self.heads, context_layer.size(-2), context_layer.size(-1))
                         .permute(0, 2, 1, 3).contiguous())
        return context_layer.view(context_layer.size()[:-2] + (-1,))

    def joined(self, context):
        return context.view(1, self.heads, self.tokens, -1).permute(0, 2, 1, 3).reshape(1, self.tokens, -1)

    def gather(self):
        """Index cached, scales folded into the small operands, no mask."""
        import torch

        scores = torch.bmm(self.q, self.k_r_t).gather(-1, self.index)
        scores += torch.bmm(self.k, self.q_r_t).gather(-1, self.transposed).transpose(-1, -2)
        scores = torch.baddbmm(scores, self.q, self.k.transpose(-1, -2), alpha=self.scale)
        return self.joined(torch.bmm(torch.softmax(scores, -1), self.v))

    def position_terms(self):
        """Tables laid out along the offsets, so that the gather becomes a view whose rows are one shorter."""
        import torch

        heads, tokens, line = self.heads, self.tokens, 2 * self.tokens - 1
        view = lambda table: table.as_strided((heads, tokens, tokens), (tokens * line, line - 1, 1), tokens - 1)
        c2p = view(torch.bmm(self.q, self.k_r_line))
        p2c = view(torch.bmm(self.k, self.q_r_line)).transpose(-1, -2)
        return c2p, p2c

    def strided(self):
        import torch

        c2p, p2c = self.position_terms()
        scores = torch.baddbmm(c2p + p2c, self.q, self.k.transpose(-1, -2), alpha=self.scale)
        return self.joined(torch.bmm(torch.softmax(scores, -1), self.v))

    def strided_sdpa(self):
        import torch

        c2p, p2c = self.position_terms()
        context = torch.nn.functional.scaled_dot_product_attention(
            self.q[None], self.k[None], self.v[None], attn_mask=(c2p + p2c)[None], scale=self.scale)
        return self.joined(context)


class Encoder:
    """Attention with its projections, one layer, and the whole model, from a checkpoint folder in transformers' format."""

    def __init__(self, request):
        import torch
        from transformers import DebertaV2Config, DebertaV2Model

        folder, tokens = request["checkpoint"], request["tokens"]
        config = DebertaV2Config(**json.load(open(os.path.join(folder, "config.json"))))
        weights = torch.load(os.path.join(folder, "pytorch_model.bin"), map_location="cpu", weights_only=True)
        self.model = DebertaV2Model(config).eval()
        wanted = self.model.state_dict()
        found = {n.removeprefix("deberta."): w.float() for n, w in weights.items() if n.removeprefix("deberta.") in wanted}
        missing = [name for name in wanted if name not in found]
        if missing:
            raise RuntimeError(f"the checkpoint lacks {missing[0]}")
        self.model.load_state_dict(found)
        self.model.requires_grad_(False)
        self.ids = torch.arange(tokens)[None] * 3911 % 128000
        self.x = load_tensor(os.path.join(request["folder"], "x"), (1, tokens, config.hidden_size))
        encoder = self.model.encoder
        self.layer = encoder.layer[0]
        self.mask = encoder.get_attention_mask(torch.ones(1, tokens))
        self.relative_pos = encoder.get_rel_pos(self.x)
        self.table = encoder.get_rel_embedding()
        self.token_mask = torch.ones(1, tokens, dtype=torch.long)
        self.peers = {"attention": self.attention, "layer": self.whole_layer, "model": self.whole_model}

    def attention(self):
        return self.layer.attention.self(self.x, self.mask, relative_pos=self.relative_pos, rel_embeddings=self.table)[0]

    def whole_layer(self):
        out = self.layer(self.x, self.mask, relative_pos=self.relative_pos, rel_embeddings=self.table)
        return out[0] if isinstance(out, tuple) else out

    def whole_model(self):
        return self.model(input_ids=self.ids, attention_mask=self.token_mask).last_hidden_state


class Train:
    """One step of masked language modelling, from a checkpoint's shape and our numbers: forward, backward, AdamW."""

    def __init__(self, request):
        import resource

        import numpy
        import torch
        from transformers import DebertaV2Config, DebertaV2ForMaskedLM

        config = DebertaV2Config(**request["config"])
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = request["dropout"]
        self.resource = resource
        with torch.inference_mode(False):
            self.model = DebertaV2ForMaskedLM(config)
            numbers = torch.from_numpy(numpy.fromfile(request["values"], dtype=numpy.float32))
            state, first = self.model.state_dict(), 0
            for name, shape in request["tensors"]:
                count = int(numpy.prod(shape))
                state[self.their_name(name)].copy_(numbers[first:first + count].reshape(shape))
                first += count
            self.model.load_state_dict(state)
            load = lambda key: torch.tensor(request[key]).reshape(request["sentences"], -1)
            self.ids, labels = load("ids"), load("labels")
            self.labels = torch.where(labels > 0, labels, torch.full_like(labels, -100))
            self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-4, eps=1e-6, weight_decay=0.01)
        self.peers = {"step": self.step}

    @staticmethod
    def their_name(name):
        for ours, theirs in (("lm_predictions.lm_head.dense", "cls.predictions.transform.dense"),
                             ("lm_predictions.lm_head.LayerNorm", "cls.predictions.transform.LayerNorm"),
                             ("lm_predictions.lm_head.bias", "cls.predictions.bias")):
            if name.startswith(ours):
                return theirs + name.removeprefix(ours)
        return "deberta." + name

    def step(self):
        import torch

        with torch.inference_mode(False), torch.enable_grad():
            self.model.train()
            self.optimiser.zero_grad()
            self.model(input_ids=self.ids, labels=self.labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()

    def loss(self):
        import torch

        with torch.no_grad():
            self.model.eval()
            return self.model(input_ids=self.ids, labels=self.labels).loss.item()

    def peak_megabytes(self):
        return self.resource.getrusage(self.resource.RUSAGE_SELF).ru_maxrss / 1024


def spent_by(call):
    start, processor = time.perf_counter(), time.process_time()
    call()
    return {"ms": (time.perf_counter() - start) * 1e3, "processor_ms": (time.process_time() - processor) * 1e3}


def answer_whole(request, state):
    """A whole encoder by one package, which need not be torch."""
    do = request["do"]
    if do == "versions":
        return {name: importlib.import_module(name).__version__ for name in PACKAGES[state["package"]][:2]}
    if do == "whole":
        from peers_encoder import WholeEncoder

        state["case"] = WholeEncoder({**request, "package": state["package"]})
        return {"peers": list(state["case"].peers)}
    if do == "run":
        return spent_by(state["case"].peers[request["peer"]])
    if do == "save":
        state["case"].rows().tofile(request["file"])
        return {}
    raise ValueError(f"unknown request {do}")


def answer(request, state):
    if request["do"] == "whole" or hasattr(state.get("case"), "rows") or state["package"] != "torch":
        return answer_whole(request, state)
    import torch

    do = request["do"]
    if do in ("packages", "open", "model", "call", "take", "close"):
        import peers_cuda

        return peers_cuda.answer(request, state)
    if do == "versions":
        import transformers

        return {"torch": torch.__version__, "transformers": transformers.__version__}
    if do in ("core", "encoder", "train"):
        torch.set_num_threads(request["threads"])
        state["case"] = {"core": Core, "encoder": Encoder, "train": Train}[do](request)
        case, refused = state["case"], {}
        if do == "train":  # before any step moves a number
            return {"peers": list(case.peers), "refused": {}, "loss": case.loss()}
        if request.get("compile") and do == "core":
            case.add_compiled()
        for name in list(case.peers):
            try:
                case.peers[name]()
                case.peers[name]()
            except Exception as problem:  # a peer that does not run is named, not fatal
                refused[name] = str(problem).strip().split("\n")[0][:200]
                del case.peers[name]
        return {"peers": list(case.peers), "refused": refused}
    if do == "memory":
        return {"megabytes": state["case"].peak_megabytes()}
    call = state["case"].peers[request["peer"]]
    if do == "run":
        return spent_by(call)
    if do == "save":
        call().contiguous().float().numpy().tofile(request["file"])
        return {}
    raise ValueError(f"unknown request {do}")


def serve(package):
    # Answers alone go to the real stdout; what libraries print must not get between them.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    state = {"package": package}
    try:
        for name in PACKAGES[package]:
            importlib.import_module(name)
    except ImportError as problem:
        print(json.dumps({"missing": str(problem)}), file=answers, flush=True)
        return
    for line in sys.stdin:
        try:
            if package == "torch":
                import torch

                with torch.inference_mode():
                    reply = answer(json.loads(line), state)
            else:
                reply = answer(json.loads(line), state)
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}".split("\n")[0]}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("setup")
    making.add_argument("folder")
    making.add_argument("--for", dest="names", default="torch", type=lambda text: text.split(","))
    making.add_argument("--cuda", action="store_true")
    making.add_argument("--wheels", metavar="DIR")
    serving = verbs.add_parser("serve")
    serving.add_argument("--package", choices=PACKAGES, default="torch")
    given = parser.parse_args()
    if given.verb == "serve":
        serve(given.package)
    else:
        setup(given.folder, given.names, given.cuda, given.wheels)
