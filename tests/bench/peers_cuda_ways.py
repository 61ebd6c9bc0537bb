"""How each peer is called: peers_cuda.py times what stands here.

Each function takes a problem and gives {name of a way: maker}; a maker prepares what a user of the package would keep
between calls (indices, masks, layouts, rows of the tables) and gives (call, layout of the context, leaves), where
leaves are the tensors that gradients belong to, with their layouts.  Read for flashdeberta 0.0.8, disentangled-flash
1.1.1, transformers 4.57 and 5.
"""
import torch


class Refusal(Exception):
    """Why a peer does not work here, in one sentence."""


def config_of(problem):
    return dict(
        hidden_size=problem.heads * problem.width, num_attention_heads=problem.heads, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, relative_attention=True, share_att_key=False, pos_att_type=["p2c", "c2p"],
        position_buckets=problem.span if problem.max_position else -1,
        max_relative_positions=problem.max_position or problem.span)


class Given(torch.nn.Module):
    """Stands where a projection was and gives what it would have made."""

    def __init__(self, tensor):
        super().__init__()
        self.tensor = tensor

    def forward(self, _):
        return self.tensor


def hugging_face_module(problem):
    """DisentangledSelfAttention of transformers as it is, its five projections given."""
    from transformers import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, build_relative_position

    module = DisentangledSelfAttention(DebertaV2Config(**config_of(problem))).eval()
    leaves = {}
    for name, projection in (("q", "query_proj"), ("k", "key_proj"), ("v", "value_proj")):
        leaves[name] = problem.leaf(problem.dense_by_token(name)), "BTD"
        setattr(module, projection, Given(leaves[name][0]))
    for name, projection in (("k_r", "pos_key_proj"), ("q_r", "pos_query_proj")):
        leaves[name] = problem.leaf(problem.rows_by_width(name)[None]), "RD"
        setattr(module, projection, Given(leaves[name][0]))
    q = leaves["q"][0]
    # Once per forward pass in the encoder, for all of its layers.
    buckets = problem.span if problem.max_position else -1
    relative_pos = build_relative_position(q, q, buckets, problem.max_position or problem.span).to(problem.device)
    mask = problem.visible()[:, None, None, :].long()
    mask = mask * mask.squeeze(-2).unsqueeze(-1)
    rows = leaves["k_r"][0][0]
    return module, lambda forward: forward(q, mask, relative_pos=relative_pos, rel_embeddings=rows)[0], leaves


def hugging_face(problem):
    def eager():
        module, call, leaves = hugging_face_module(problem)
        return (lambda: call(module)), "BTD", leaves

    return {"eager": eager}


def compiled(what, device):
    """Anew for every shape; a rehearsal on the processor traces and does not wait for a C++ compiler."""
    import torch._functorch.config as functorch

    if hasattr(functorch, "donated_buffer"):
        functorch.donated_buffer = False  # the pass forward is kept for many passes back
    torch._dynamo.reset()
    return torch.compile(what, dynamic=False, backend="inductor" if device == "cuda" else "aot_eager")


def hugging_face_compiled(problem):
    def make():
        module, call, leaves = hugging_face_module(problem)
        forward = compiled(module, problem.device)
        return (lambda: call(forward)), "BTD", leaves

    return {"compiled": make}


def need_gpu(device):
    if torch.device(device).type != "cuda":
        raise Refusal("its kernels are for a GPU")


def flashdeberta(problem):
    from flashdeberta.ops.flash_attention import flash_attention_with_disentangled
    from flashdeberta.ops.flash_attention_varlen import flash_attention_with_disentangled_varlen

    need_gpu(problem.device)
    buckets = problem.span if problem.max_position else -1
    farthest = problem.max_position or problem.span
    tables = lambda: {name: (problem.leaf(problem.tensors[name]), "HRd") for name in ("k_r", "q_r")}

    def padded():
        leaves = {name: (problem.leaf(problem.dense(name)), "BHTd") for name in ("q", "k", "v")}
        leaves.update(tables())
        q, k, v, k_r, q_r = (one for one, _ in leaves.values())
        lengths = torch.tensor(problem.lengths, dtype=torch.int32, device=problem.device) if problem.lengths else None
        return (lambda: flash_attention_with_disentangled(
            q, k, v, lengths, k_r, q_r, False, problem.scale, buckets, farthest)), "BHTd", leaves

    def packed():
        leaves = {name: (problem.leaf(problem.tensors[name][0].transpose(0, 1).contiguous()), "THd") for name in ("q", "k", "v")}
        leaves.update(tables())
        q, k, v, k_r, q_r = (one for one, _ in leaves.values())
        starts = starts_of(problem)
        return (lambda: flash_attention_with_disentangled_varlen(
            q, k, v, k_r, q_r, starts, starts, problem.longest, problem.longest, False, problem.scale, buckets,
            farthest)), "THd", leaves

    return {"packed": packed, "padded, lengths": padded} if problem.lengths else {"padded": padded}


def starts_of(problem):
    lengths = torch.tensor([0] + problem.lengths, device=problem.device)
    return torch.cumsum(lengths, 0).to(torch.int32)


def disentangled_flash(problem):
    import disentangled_flash as package
    from disentangled_flash._reference import DebertaAttentionConfig

    need_gpu(problem.device)
    config = DebertaAttentionConfig(**config_of(problem))

    class Inference(package.DisentangledFlashAttention):
        """Its own inference path; the projections, which it keeps or makes around the core, are given."""

        def _project_qkv(self, hidden_states):
            return self.given

    class Training(package.TritonTrainingDisentangledSelfAttention):
        def _project_qkv(self, hidden_states):
            return self.given

        def _project_active_positions(self, rel_embeddings, active_slots):
            first, count = self.slots
            return tuple(one.narrow(1, first, count) for one in self.tables)

    def inference(**tuning):
        q, k, v = (problem.by_token(name) for name in ("q", "k", "v"))
        module = Inference(config, assume_unpadded=True, **tuning).eval()
        module._cached_pos_key, module._cached_pos_query = problem.tensors["k_r"], problem.tensors["q_r"]
        module._cached_qkv_weight = problem.tensors["k_r"]  # says that projections are there
        plan = module.prepare_shape(problem.longest, problem.device)
        if not problem.lengths:
            module.given, mask = (q, k, v), problem.visible()
            return (lambda: module.forward_prepared(q, mask, plan)[0]), "BTD", {}
        module.given, starts = tuple(one[0] for one in (q, k, v)), starts_of(problem)
        info = package.validate_cu_seqlens(starts, sum(problem.lengths), problem.longest)
        return (lambda: module.forward_packed(
            module.given[0], starts, problem.longest, packed_info=info)[0]), "TD", {}

    def training(**tuning):
        leaves = {name: (problem.leaf(problem.by_token(name)), "BTD") for name in ("q", "k", "v")}
        leaves.update({name: (problem.leaf(problem.tensors[name]), "HRd") for name in ("k_r", "q_r")})
        module = Training(config, assume_unpadded=True, **tuning).eval()
        module.given = tuple(leaves[name][0] for name in ("q", "k", "v"))
        module.tables = tuple(leaves[name][0] for name in ("k_r", "q_r"))
        slots = module.position_plan_cache.compact(problem.longest, problem.device).active_slots
        module.slots = slots[0].item(), slots.numel()
        mask = problem.visible()
        return (lambda: module(module.given[0], mask, rel_embeddings=module.tables[0])[0]), "BTD", leaves

    make = training if problem.backward else inference
    found = {"its tuning": make}
    if problem.tune:
        found["tuned here"] = lambda: make(tuning=package.KernelTuningOptions(mode="autotune"))
    return found


def sdpa(problem):
    """What position costs: the same without any."""

    def plain():
        leaves = {name: (problem.leaf(problem.dense(name)), "BHTd") for name in ("q", "k", "v")}
        q, k, v = (one for one, _ in leaves.values())
        mask = problem.visible()[:, None, None, :] if problem.lengths else None
        return (lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, scale=problem.scale)), "BHTd", leaves

    return {"padded" if problem.lengths else "plain": plain}


def flex_attention(problem):
    """Both tables of position scores by two products, picked cell by cell in the kernel; pads are masked."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention as flex

    need_gpu(problem.device)

    def tables():
        leaves = {name: (problem.leaf(problem.dense(name)), "BHTd") for name in ("q", "k", "v")}
        leaves.update({name: (problem.leaf(problem.tensors[name]), "HRd") for name in ("k_r", "q_r")})
        q, k, v, k_r, q_r = (one for one, _ in leaves.values())
        line, last = row_line(problem), problem.longest - 1
        lengths = problem.visible().sum(-1)
        visible = create_block_mask(
            lambda b, h, i, j: j < lengths[b], problem.batch, None, problem.longest, problem.longest,
            device=problem.device) if problem.lengths else None

        def attention():
            c2p = torch.matmul(q, (k_r * problem.scale).transpose(-1, -2))
            p2c = torch.matmul(k, (q_r * problem.scale).transpose(-1, -2))

            def with_positions(score, b, h, i, j):
                row = line[i - j + last]
                return score + c2p[b, h, i, row] + p2c[b, h, j, row]

            return flex(q, k, v, score_mod=with_positions, block_mask=visible, scale=problem.scale)

        return compiled(attention, problem.device), "BHTd", leaves

    return {"compiled": tables}


def row_line(problem):
    """Row of every offset i - j, the lowest first."""
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    offsets = torch.arange(1 - problem.longest, problem.longest)
    if problem.max_position:
        offsets = make_log_bucket_position(offsets, problem.span, problem.max_position).long()
    return torch.clamp(offsets + problem.span, 0, 2 * problem.span - 1).to(problem.device)


ATTENTION = {
    "Hugging Face eager": hugging_face,
    "torch.compile": hugging_face_compiled,
    "flashdeberta": flashdeberta,
    "disentangled-flash": disentangled_flash,
    "SDPA, no position": sdpa,
    "FlexAttention": flex_attention,
}


def loaded(model, weights, ids, dtype):
    model.load_state_dict(weights)
    return model.to(ids.device, dtype).eval().requires_grad_(False)


def hugging_face_model(config, weights, ids, dtype):
    from transformers import DebertaV2Config, DebertaV2Model

    return loaded(DebertaV2Model(DebertaV2Config(**config)), weights, ids, dtype)


def model_eager(config, weights, ids, dtype):
    model, mask = hugging_face_model(config, weights, ids, dtype), torch.ones_like(ids)
    return {"eager": lambda: lambda: model(input_ids=ids, attention_mask=mask).last_hidden_state}


def model_compiled(config, weights, ids, dtype):
    model, mask = hugging_face_model(config, weights, ids, dtype), torch.ones_like(ids)
    forward = compiled(model, ids.device.type)
    return {"compiled": lambda: lambda: forward(input_ids=ids, attention_mask=mask).last_hidden_state}


def model_flashdeberta(config, weights, ids, dtype):
    from flashdeberta import FlashDebertaV2Model

    need_gpu(ids.device)
    model = loaded(FlashDebertaV2Model(FlashDebertaV2Model.config_class(**config)), weights, ids, dtype)
    mask = torch.ones_like(ids)
    return {"its model": lambda: lambda: model(input_ids=ids, attention_mask=mask).last_hidden_state}


def model_disentangled_flash(config, weights, ids, dtype):
    from disentangled_flash import DebertaV2OptimizedEncoder, compile_deberta_buckets, optimize_deberta

    model, tokens = hugging_face_model(config, weights, ids, dtype), ids.size(1)
    optimize_deberta(model, backend="triton", sequence_lengths=[tokens], assume_unpadded=True)
    if not isinstance(model.encoder, DebertaV2OptimizedEncoder):
        raise Refusal("it left the model as it was: no Triton on this device")
    mask = torch.ones_like(ids)

    def compiled():
        encoder = compile_deberta_buckets(model.encoder)[tokens]
        return lambda: encoder(model.embeddings(input_ids=ids, mask=mask), mask)

    return {"its encoder": lambda: lambda: model(input_ids=ids, attention_mask=mask).last_hidden_state,
            "its encoder, compiled": compiled}


MODEL = {
    "Hugging Face eager": model_eager,
    "torch.compile": model_compiled,
    "flashdeberta": model_flashdeberta,
    "disentangled-flash": model_disentangled_flash,
}
