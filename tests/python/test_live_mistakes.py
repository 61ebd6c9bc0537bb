"""Mistakes planted in a live model.  Between the anchors the closing test sees them, in its relative positions the stage
that was measured shows them; check() names them."""

import importlib
import math
import types

import pytest

import locus_attention as locus
from live_models import deberta_v3, needs_new_deberta, padded, roformer, tokens, torch


def replace_bias(attention, edit):
    """Runs disentangled_attention_bias with another index for one of its terms."""
    original = attention.disentangled_attention_bias

    def changed(self, query_layer, key_layer, relative_pos, rel_embeddings, scale_factor):
        return edit(original, query_layer, key_layer, relative_pos, rel_embeddings, scale_factor)

    attention.disentangled_attention_bias = types.MethodType(changed, attention)


def only(attention, kinds, original, *arguments):
    """The bias of some of the terms, at the scale of all."""
    kept = attention.pos_att_type
    attention.pos_att_type = kinds
    try:
        return original(*arguments)
    finally:
        attention.pos_att_type = kept


def p2c_reads_the_paper(model):
    """1: p2c reads row delta(j,i), as the paper prints it."""
    for layer in model.deberta.encoder.layer:
        attention = layer.attention.self

        def edit(original, q, k, positions, table, scale, attention=attention):
            flipped = -positions
            return only(attention, ["c2p"], original, q, k, positions, table, scale) + only(
                attention, ["p2c"], original, q, k, flipped, table, scale
            )

        replace_bias(attention, edit)


def c2p_reads_the_other_way(model):
    """4: c2p reads delta(j,i)."""
    for layer in model.deberta.encoder.layer:
        attention = layer.attention.self

        def edit(original, q, k, positions, table, scale, attention=attention):
            return only(attention, ["c2p"], original, q, k, -positions, table, scale) + only(
                attention, ["p2c"], original, q, k, positions, table, scale
            )

        replace_bias(attention, edit)


def both_read_the_other_way(model):
    """5: the index is delta(j,i) for both terms."""
    for layer in model.deberta.encoder.layer:
        replace_bias(
            layer.attention.self,
            lambda original, q, k, positions, table, scale: original(q, k, -positions, table, scale),
        )


def both_centred_off_by_one(model):
    """7: both terms read one row too early, by an index that was right."""
    for layer in model.deberta.encoder.layer:
        attention = layer.attention.self

        def edit(original, q, k, positions, table, scale, attention=attention):
            return only(attention, ["c2p"], original, q, k, positions - 1, table, scale) + only(
                attention, ["p2c"], original, q, k, positions + 1, table, scale
            )

        replace_bias(attention, edit)


def divided_by_sqrt_d(model):
    """26: scores divided by sqrt(d)."""
    for layer in model.deberta.encoder.layer:
        attention = layer.attention.self

        def forward(self, *arguments, original=attention.forward, **options):
            # softmax(a / sqrt(d)) = softmax(sqrt(3) a / sqrt(3 d)): all three terms are bilinear in q and in q_r.
            with scaled(self, math.sqrt(3)):
                return original(*arguments, **options)

        attention.forward = types.MethodType(forward, attention)


class scaled:
    """While the attention runs, its softmax sees scores times a factor."""

    def __init__(self, attention, factor):
        self.factor = factor

    def __enter__(self):
        self.kept = torch.nn.functional.softmax
        torch.nn.functional.softmax = lambda x, *a, **k: self.kept(
            torch.where(x <= torch.finfo(x.dtype).min, x, x * self.factor), *a, **k
        )

    def __exit__(self, *error):
        torch.nn.functional.softmax = self.kept


def softmax_over_queries(model):
    """36: softmax over queries."""
    for layer in model.deberta.encoder.layer:
        attention = layer.attention.self

        def forward(self, *arguments, original=attention.forward, **options):
            kept = torch.nn.functional.softmax
            torch.nn.functional.softmax = lambda x, dim=-1: kept(x, dim=-2)
            try:
                return original(*arguments, **options)
            finally:
                torch.nn.functional.softmax = kept

        attention.forward = types.MethodType(forward, attention)


def rotated_halves(model):
    """56: RoPE turns halves instead of neighbours."""

    def halves(sinusoidal_pos, query_layer, key_layer, value_layer=None):
        sin, cos = sinusoidal_pos.chunk(2, dim=-1)

        def turned(x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

        return turned(query_layer), turned(key_layer)

    for layer in model.roformer.encoder.layer:
        layer.attention.self.apply_rotary_position_embeddings = halves


def planted(number, make, plant, *marks):
    return pytest.param(number, make, plant, id=plant.__name__, marks=marks)


MISTAKES = [
    planted(1, deberta_v3, p2c_reads_the_paper),
    planted(4, deberta_v3, c2p_reads_the_other_way),
    planted(5, deberta_v3, both_read_the_other_way),
    planted(7, deberta_v3, both_centred_off_by_one),
    planted(26, deberta_v3, divided_by_sqrt_d, needs_new_deberta),
    planted(36, deberta_v3, softmax_over_queries, needs_new_deberta),
    planted(56, roformer, rotated_halves),
]


@pytest.mark.parametrize("number, make, plant", MISTAKES)
def test_a_mistake_in_a_live_model_is_seen_and_named(number, make, plant):
    inputs = {"input_ids": tokens()}
    for dtype, limit in ((torch.float32, 0.05), (torch.bfloat16, 0.05)):
        model = make().to(dtype)
        plant(model)
        with torch.no_grad(), locus.recording(model) as trace:
            model(**inputs)
        assert max(trace.closing.values()) > limit
    model = make()
    plant(model)
    with torch.no_grad(), locus.recording(model) as trace:
        model(**inputs)
    report = trace.check()
    assert not report.passed
    assert report.mistake == number, f"{report!r}\n{report}"
    assert "do not give the measured context" in str(report)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16), locus.recording(model) as trace:
        model(**inputs)
    assert not trace.check().passed


def floored(offsets, buckets, most):
    """16: the log bucket is rounded down."""
    middle = buckets // 2
    size = torch.where(offsets.abs() < middle, torch.tensor(middle - 1).type_as(offsets), offsets.abs())
    far = torch.floor(torch.log(size / middle) / math.log((most - 1) / middle) * (middle - 1)) + middle
    return torch.where(size <= middle, offsets.type_as(far), far * torch.sign(offsets))


@needs_new_deberta
@pytest.mark.parametrize("number, changed", [
    (16, lambda right: floored),
    (84, lambda right: lambda offsets, buckets, most: offsets),
    (7, lambda right: lambda offsets, buckets, most: right(offsets, buckets, most) - 1),
], ids=["floor", "no buckets", "centre"])
@pytest.mark.parametrize("seed", [6, 7])
def test_wrong_offsets_of_a_live_model_are_measured_and_named(monkeypatch, number, changed, seed):
    module = importlib.import_module("transformers.models.deberta_v2.modeling_deberta_v2")
    monkeypatch.setattr(module, "make_log_bucket_position", changed(module.make_log_bucket_position))
    model = deberta_v3()
    ids = torch.randint(5, model.config.vocab_size, (2, 40), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad(), locus.recording(model) as trace:
        model(input_ids=ids)
    assert trace.how["relative.index"] == "measured"
    report = trace.check()
    assert report.first == "relative.index" and report.mistake == number, str(report)


def test_the_same_models_without_the_mistake_close():
    for make in (deberta_v3, roformer):
        with torch.no_grad(), locus.recording(model := make()) as trace:
            model(**padded())
        assert max(trace.closing.values()) < 1e-5 and trace.check().passed


@pytest.mark.parametrize("wrong", [lambda table: torch.cat([table[1:], table[-1:]]), lambda table: table * 0.9],
                         ids=["positions from 1", "other values"])
def test_a_table_of_angles_that_is_no_roformers_is_said(wrong):
    model = roformer()
    table = model.roformer.encoder.embed_positions.weight
    with torch.no_grad():
        table.copy_(wrong(table.clone()))
        with locus.recording(model) as trace:
            model(**padded())
    report = trace.check()
    assert report.passed, str(report)  # it is the model's own table, and the pass is right by it
    assert [note for note in report.notes if "does not hold the sines and cosines of i / 10000^(2t/d)" in note], report.notes
