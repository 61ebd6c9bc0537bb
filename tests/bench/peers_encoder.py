"""A whole DeBERTa encoder by ONNX Runtime, OpenVINO and transformers, from the same weights and token ids.

Part of peers.py.  A folder holds model.safetensors (float32) and "ids" (raw int64); the request names the shape and,
for a batch of unequal lengths, the length of every sentence: then shorter ones are padded at the end, and masked.
The graph of the two runtimes is that of an export of transformers' DebertaV2Model: scores by three products, the two
position terms by GatherElements, and what depends on the weights alone (position keys and queries) computed before.
"""
import json
import math
import os

import numpy as np


def read_safetensors(path):
    """Name to array, all of them float32."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = np.frombuffer(file.read(), dtype=np.uint8)
    header.pop("__metadata__", None)
    return {name: data[slice(*one["data_offsets"])].view("<f4").reshape(one["shape"]) for name, one in header.items()}


def rows_of_offsets(offsets, config):
    """Row of the relative table for offsets i - j: make_log_bucket_position of transformers, clamped."""
    span = config["position_buckets"]
    farthest = config["max_relative_positions"] if config["max_relative_positions"] > 0 else config["max_position_embeddings"]
    middle = span // 2
    size = np.where(np.abs(offsets) < middle, middle - 1, np.abs(offsets)).astype(np.float32)
    log = np.ceil(np.log(size / middle) / np.log(np.float32((farthest - 1) / middle)) * (middle - 1)) + middle
    bucket = np.where(size <= middle, offsets, log * np.sign(offsets)).astype(np.int64)
    return np.clip(bucket + span, 0, 2 * span - 1)


class Graph:
    """Nodes and constants of an ONNX graph; every method returns the name of what it adds."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], {}, 0

    def constant(self, array):
        import onnx

        self.count += 1
        name = f"c{self.count}"
        self.constants[name] = onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def add(self, operation, *inputs, **attributes):
        import onnx

        self.count += 1
        name = f"t{self.count}"
        self.nodes.append(onnx.helper.make_node(operation, list(inputs), [name], **attributes))
        return name


def encoder_graph(weights, config, batch, tokens, masked):
    """ids [B,T] and, if masked, mask [B,T] of 0 and 1 -> last hidden rows [B,T,D], as a serialized model."""
    import onnx

    heads, width = config["num_attention_heads"], config["hidden_size"]
    head, eps = width // heads, config["layer_norm_eps"]
    graph = Graph()

    def norm(x, name):
        scale, shift = graph.constant(weights[name + ".weight"]), graph.constant(weights[name + ".bias"])
        return graph.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=eps)

    def dense(x, name):
        product = graph.add("MatMul", x, graph.constant(weights[name + ".weight"].T))
        return graph.add("Add", product, graph.constant(weights[name + ".bias"]))

    to_heads, to_model = graph.constant(np.array([batch, tokens, heads, head])), graph.constant(np.array([batch, tokens, width]))

    def split(x, permutation):
        return graph.add("Transpose", graph.add("Reshape", x, to_heads), perm=permutation)

    def position_vectors(name):
        """One row per bucket through a projection of the content (share_att_key) -> [1,H,d,2k]."""
        table = weights["encoder.rel_embeddings.weight"].astype(np.float64)
        table = (table - table.mean(-1, keepdims=True)) / np.sqrt(table.var(-1, keepdims=True) + eps)
        table = table * weights["encoder.LayerNorm.weight"] + weights["encoder.LayerNorm.bias"]
        rows = table @ weights[name + ".weight"].T.astype(np.float64) + weights[name + ".bias"]
        return graph.constant(rows.reshape(-1, heads, head).transpose(1, 2, 0)[None].astype(np.float32))

    place = np.arange(tokens)
    rows = rows_of_offsets(place[:, None] - place[None, :], config).astype(np.int32)
    all_heads = graph.constant(np.array([batch, heads, tokens, tokens]))
    # A gather wants its index as large as its result; the key's index is that of the transposed pair.
    c2p_index, p2c_index = (graph.add("Expand", graph.constant(index[None, None]), all_heads) for index in (rows, rows.T))
    scale = graph.constant(np.float32(1 / math.sqrt(3 * head)))
    x = graph.add("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "ids", axis=0)
    x = norm(x, "embeddings.LayerNorm")
    hidden = None
    if masked:
        visible = graph.add("Cast", "mask", to=onnx.TensorProto.FLOAT)
        by_key = graph.add("Reshape", visible, graph.constant(np.array([batch, 1, 1, tokens])))
        hidden = graph.add("Mul", graph.add("Sub", graph.constant(np.float32(1)), by_key), graph.constant(np.float32(-1e30)))
    for layer in range(config["num_hidden_layers"]):
        names = f"encoder.layer.{layer}."
        own = names + "attention.self."
        q = split(dense(x, own + "query_proj"), [0, 2, 1, 3])
        k, k_t = (split(dense(x, own + "key_proj"), order) for order in ([0, 2, 1, 3], [0, 2, 3, 1]))
        v = split(dense(x, own + "value_proj"), [0, 2, 1, 3])
        c2p = graph.add("MatMul", q, position_vectors(own + "key_proj"))
        c2p = graph.add("GatherElements", c2p, c2p_index, axis=-1)
        p2c = graph.add("MatMul", k, position_vectors(own + "query_proj"))
        p2c = graph.add("Transpose", graph.add("GatherElements", p2c, p2c_index, axis=-1), perm=[0, 1, 3, 2])
        scores = graph.add("Add", graph.add("Add", graph.add("MatMul", q, k_t), c2p), p2c)
        scores = graph.add("Mul", scores, scale)
        if masked:
            scores = graph.add("Add", scores, hidden)
        context = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
        context = graph.add("Reshape", graph.add("Transpose", context, perm=[0, 2, 1, 3]), to_model)
        x = norm(graph.add("Add", dense(context, names + "attention.output.dense"), x), names + "attention.output.LayerNorm")
        inner = dense(x, names + "intermediate.dense")
        erf = graph.add("Erf", graph.add("Div", inner, graph.constant(np.float32(math.sqrt(2)))))
        inner = graph.add("Mul", inner, graph.add("Add", erf, graph.constant(np.float32(1))))
        inner = graph.add("Mul", inner, graph.constant(np.float32(0.5)))
        x = norm(graph.add("Add", dense(inner, names + "output.dense"), x), names + "output.LayerNorm")

    value = onnx.helper.make_tensor_value_info
    inputs = [value("ids", onnx.TensorProto.INT64, [batch, tokens])]
    if masked:
        inputs.append(value("mask", onnx.TensorProto.INT64, [batch, tokens]))
    outputs = [value(x, onnx.TensorProto.FLOAT, [batch, tokens, width])]
    made = onnx.helper.make_graph(graph.nodes, "encoder", inputs, outputs, list(graph.constants.values()))
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=10)
    return model.SerializeToString()


def by_onnxruntime(graph, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)[0]


def by_openvino(graph, threads):
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(graph), "CPU", settings).create_infer_request()
    return lambda feed: request.infer(feed)[0]


def by_torch(weights, config, threads):
    import torch
    from transformers import DebertaV2Config, DebertaV2Model

    torch.set_num_threads(threads)
    model = DebertaV2Model(DebertaV2Config(**config)).eval()
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    model.requires_grad_(False)

    def run(feed):
        with torch.inference_mode():
            ids = torch.from_numpy(feed["ids"])
            mask = torch.from_numpy(feed["mask"]) if "mask" in feed else torch.ones_like(ids)
            return model(input_ids=ids, attention_mask=mask).last_hidden_state.numpy()

    return run


class WholeEncoder:
    """`peers` holds one callable, whose result is a NumPy array [tokens of all sentences, D]."""

    def __init__(self, request):
        folder, config = request["folder"], request["config"]
        weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        ids, lengths = np.fromfile(os.path.join(folder, "ids"), dtype=np.int64), request["lengths"]
        batch, tokens = len(lengths), max(lengths)
        mask = (np.arange(tokens)[None] < np.array(lengths)[:, None])
        padded = np.zeros((batch, tokens), np.int64)
        padded[mask] = ids
        feed, masked = {"ids": padded}, not mask.all()
        if masked:
            feed["mask"] = mask.astype(np.int64)
        package, threads = request["package"], request["threads"]
        if package == "torch":
            run = by_torch(weights, config, threads)
        else:
            graph = encoder_graph(weights, config, batch, tokens, masked)
            run = {"onnxruntime": by_onnxruntime, "openvino": by_openvino}[package](graph, threads)
        self.peers = {package: lambda: run(feed)}
        self.rows = lambda: run(feed)[mask]
