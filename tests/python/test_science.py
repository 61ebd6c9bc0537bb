"""Long tables, shares of terms, and terms left out of a live model."""

import sys

import numpy as np
import pytest

import locus_attention as locus


@pytest.fixture(scope="module")
def trace():
    return locus.trace("tiny-v3", text=["a new store opened", "a new [MASK]"], precision="f64")


def columns_of(frame):
    """The columns of a table of pandas, of polars, or of a dict of arrays."""
    names = list(frame.columns) if hasattr(frame, "columns") else list(frame)
    return {name: np.asarray(frame[name]) for name in names}


def test_a_long_table_has_one_row_per_number(trace):
    columns = columns_of(trace.frame("layer.[01].probs"))
    shape = trace["layer.0.probs"].shape
    assert len(columns["value"]) == 2 * np.prod(shape)
    at = (columns["layer"] == 1) & (columns["sample"] == 0) & (columns["head"] == 2)
    at &= (columns["query"] == 3) & (columns["key"] == 1)
    assert columns["value"][at] == [trace["layer.1.probs"][0, 2, 3, 1]]
    assert list(columns["query_piece"][at]) == ["▁store"] and list(columns["key_piece"][at]) == ["▁a"]
    index = columns_of(trace.frame("relative.index"))  # of no text, so without tokens
    assert list(index["value"]) == list(trace["relative.index"].ravel())
    assert set(index) == {"stage", "layer", "query", "key", "value"}
    rows = columns_of(trace.frame("layer.1.q_r"))
    assert len(rows["value"]) == trace["layer.1.q_r"].size and rows["row"].max() == trace["layer.1.q_r"].shape[1] - 1
    with pytest.raises(locus.UsageError, match="different axes"):
        trace.frame("layer.0.*")
    with pytest.raises(locus.UsageError, match="matches no stage"):
        trace.frame("nothing.*")


def test_tables_and_shares_of_streams_and_segments():
    masked = locus.trace("tiny-xlnet", text="the capital of [MASK] is paris.")
    columns = columns_of(masked.frame("layer.*.g.probs"))
    assert set(columns["query_piece"]) == {"<mask>"} and set(columns["layer"]) == {0, 1, 2, 3}
    segments = locus.trace("tiny-txl", text="the capital of france is paris . he went to the store .", segment=6)
    columns = columns_of(segments.frame("segment.1.layer.*.probs"))
    assert set(columns["layer"]) == {0, 1, 2, 3}
    at = (columns["query"] == 3) & (columns["key"] == 1)
    assert set(columns["query_piece"][at]) == {"went"} and set(columns["key_piece"][at]) == {"the"}
    found = locus.decompose(segments, layer=0, head=1, segment=1)
    assert sum(found.share.values()) == pytest.approx(1) and max(found.by_distance["bd"]) == 11
    found = locus.decompose(masked, layer=0, head=1, stream="g")
    assert sum(found.share.values()) == pytest.approx(1)
    assert ("<mask>", "▁capital") in found.by_pair["ac"]
    assert len(repr(found)) < 300 and "ac" in repr(found)


def test_shares_of_the_terms_add_up(trace):
    found = locus.decompose(trace, layer=2, head=3)
    assert sum(found.share.values()) == pytest.approx(1)
    assert set(found.share) == {"c2c", "c2p", "p2c"}
    # By hand: the covariance of a term with the scores over visible keys of each row.
    probs, total = trace["layer.2.probs"][:, 3], trace["layer.2.scores"][:, 3]
    top = bottom = 0.0
    for b in range(2):
        for i in range(probs.shape[1]):
            seen = probs[b, i] > 0
            if seen.any():
                score = total[b, i, seen] - total[b, i, seen].mean()
                term = trace["layer.2.c2p"][b, 3, i, seen] / np.sqrt(96)
                top += float(((term - term.mean()) * score).sum())
                bottom += float((score * score).sum())
    assert found.share["c2p"] == pytest.approx(top / bottom)
    assert found.by_distance["c2p"][1] == pytest.approx(
        np.mean([trace["layer.2.c2p"][b, 3, j + 1, j] for b in range(2) for j in range(5) if probs[b, j + 1, j] > 0])
        / np.sqrt(96)
    )
    pair = next(iter(found.by_pair["c2c"]))
    assert abs(found.by_pair["c2c"][pair]) == max(abs(value) for value in found.by_pair["c2c"].values())
    with pytest.raises(locus.UsageError, match="the head is 6"):
        locus.decompose(trace, layer=2, head=6)


def test_a_term_that_is_constant_along_the_keys_has_no_share():
    made = locus.Trace("deberta")
    c2c = np.random.default_rng(0).normal(size=(1, 1, 4, 4))
    p2c = np.ones((1, 1, 4, 4)) * np.arange(4)[:, None] * 10
    scores = (c2c + p2c) / np.sqrt(8)
    probs = np.exp(scores - scores.max(-1, keepdims=True))
    for stem, array in (("c2c", c2c), ("p2c", p2c), ("scores", scores), ("probs", probs / probs.sum(-1, keepdims=True))):
        made.add(f"layer.0.{stem}", array, "by hand")
    share = locus.decompose(made, 0, 0).share
    assert share["c2c"] == pytest.approx(1) and share["p2c"] == pytest.approx(0, abs=1e-12)


# With torch


def live():
    return pytest.importorskip("live_models", reason="torch or transformers is not installed")


def test_leaving_out_a_term_is_what_the_terms_say():
    models = live()
    torch, model, inputs = models.torch, models.deberta_v3(), models.padded()
    with torch.no_grad():
        whole = model(**inputs).logits
        with locus.ablate(model, drop="c2p", heads=[1, 3], layers=[0]) as done:
            with locus.recording(model) as trace:
                without = model(**inputs).logits
        again = model(**inputs).logits
    assert torch.equal(whole, again) and not torch.allclose(whole, without, atol=1e-3)
    assert models.hooks_of(model) == 0
    assert done.layers == [0] and done.calls == 1 and done.closing[0] < 1e-5 and done.change[0] > 1e-3
    # The context that the ablated pass went on with is that of c2c and p2c in these heads, and of all terms elsewhere.
    visible = inputs["attention_mask"].bool().numpy()
    pairs = visible[:, None, :, None] & visible[:, None, None, :]

    def context_of(*stems):
        scores = sum(trace[f"layer.0.{stem}"].astype(np.float64) for stem in stems) / np.sqrt(3 * 8)
        scores = np.where(pairs, scores, -np.inf)
        blind = ~pairs.any(-1, keepdims=True)
        weights = np.exp(scores - np.where(blind, 0, scores.max(-1, keepdims=True)))
        probs = np.where(blind, models.BLIND, weights / np.where(blind, 1, weights.sum(-1, keepdims=True)))
        return probs @ trace["layer.0.v"]

    wanted = context_of("c2c", "c2p", "p2c")
    wanted[:, [1, 3]] = context_of("c2c", "p2c")[:, [1, 3]]
    found = trace["layer.0.context"].reshape(2, 11, 4, 8).transpose(0, 2, 1, 3)
    assert np.abs(found - wanted).max() < 1e-5
    # and the closing test of the recorded pass sees that its terms were not all used
    assert trace.closing[0] > 0.01 and trace.closing[1] < 1e-5


def with_segments(inputs):
    """The same inputs, where the second half of a text is another segment."""
    import torch

    types = torch.zeros_like(inputs["input_ids"])
    types[:, 5:] = 1
    return {**inputs, "token_type_ids": types}


# family -> model, inputs, terms of a score by name, the divisor, and how a trace gives each
def ablated_models():
    models = live()

    def xlnet_inputs():
        return with_segments(models.padded(models.torch.float))

    def named(trace, at):
        stems = ("c2c", "c2p", "p2c", "ac", "bd", "ef")
        return {stem: trace[at + stem].astype(np.float64) for stem in stems if at + stem in trace}

    def rotary(trace, at):
        q, k = (trace[at + stem].astype(np.float64) for stem in "qk")
        content = q @ k.swapaxes(-1, -2)
        return {"content": content, "rotation": trace[at + "scores"] * np.sqrt(8) - content}

    return {
        "deberta v3": (models.deberta_v3(), models.padded(), named, 3 * 8),
        "deberta v1": (models.deberta_v1(), models.padded(), named, 3 * 8),
        "roformer": (models.roformer(), models.padded(), rotary, 8),
        "roformer, rotated values": (models.roformer(rotary_value=True, embedding_size=16), models.padded(), rotary, 8),
        "xlnet": (models.xlnet(), xlnet_inputs(), named, 8),
        "xlnet, two streams": (models.xlnet(), with_segments(models.two_streams()), named, 8),
    }


ABLATED = {
    "deberta v3": ["c2c", "c2p", "p2c"], "deberta v1": ["c2p"], "roformer": ["content", "rotation"],
    "roformer, rotated values": ["rotation"], "xlnet": ["ac", "bd", "ef"], "xlnet, two streams": ["bd", "ef"],
}


@pytest.mark.parametrize("family, drop", [(family, drop) for family, drops in ABLATED.items() for drop in drops])
def test_every_term_of_every_family_can_be_left_out(family, drop):
    model, inputs, terms_of, squared_divisor = ablated_models()[family]
    models = live()

    def recorded():
        with models.torch.no_grad(), locus.recording(model) as trace:
            logits = model(**inputs).logits
        return trace, logits

    whole, logits = recorded()
    with locus.ablate(model, drop=drop, heads=[1, 3], layers=[0]) as done:
        trace, without = recorded()
    with models.torch.no_grad(), locus.recording(model) as around:  # the other way round: the same is seen
        with locus.ablate(model, drop=drop, heads=[1, 3], layers=[0]):
            model(**inputs)
    again, same = recorded()
    assert models.hooks_of(model) == 0 and models.torch.equal(logits, same)
    assert not models.torch.allclose(logits, without, atol=1e-4)
    streams = [""] + ["g."] * ("layer.0.g.probs" in whole)
    assert done.layers == [0] and done.calls == len(streams) and done.closing[0] < 1e-5 and done.change[0] > 1e-3
    assert set(done.change) == {0} and done.drop == (drop,)
    assert repr(done).startswith(f"<Ablation of {drop}: layers [0], {len(streams)} attentions, closing ")
    for stream in streams:
        at = "layer.0." + stream
        terms = terms_of(whole, at)
        rest = sum(term for name, term in terms.items() if name != drop) / np.sqrt(squared_divisor)
        seen = whole[at + "probs"] > 0
        rest = np.where(seen, rest, -np.inf)
        blind = ~(seen & (whole[at + "probs"] != 1 / 11)).any(-1, keepdims=True)  # queries that padding is
        weights = np.exp(rest - rest.max(-1, keepdims=True))
        values = whole["layer.0.v_rot" if "layer.0.v_rot" in whole else "layer.0.v"].astype(np.float64)
        wanted = np.where(blind, 0, weights / weights.sum(-1, keepdims=True)) @ values

        def heads_of(trace, at=at):
            context = trace[at + "context"]
            return context.reshape(*context.shape[:2], 4, -1).transpose(0, 2, 1, 3)

        found, measured = heads_of(trace), heads_of(whole)
        shown = np.broadcast_to(~blind, found.shape)[:, [1, 3]]
        assert np.abs(found - wanted)[:, [1, 3]][shown].max() < 1e-5
        assert np.abs(found - measured)[:, [1, 3]][shown].max() > 1e-3
        assert np.array_equal(found[:, [0, 2]], measured[:, [0, 2]])
        assert np.array_equal(heads_of(around), found)
    # The closing test of the recorded pass sees that its terms were not all used.
    assert trace.closing[0] > 1e-3 and trace.closing[1] < 1e-5
    assert trace.closing == around.closing and again.closing == whole.closing


def test_leaving_out_a_term_of_heads_that_talk():
    models = live()
    model, inputs = models.deberta_v1(talking_head=True), models.padded()
    with models.torch.no_grad(), locus.ablate(model, drop="c2p") as done:
        model(**inputs)
    assert max(done.closing.values()) < 1e-5 and min(done.change.values()) > 1e-3
    # What one head loses reaches the context of all, through the heads that it talks to.
    with models.torch.no_grad(), locus.recording(model) as whole:
        model(**inputs)
    with models.torch.no_grad(), locus.ablate(model, drop="c2p", heads=[0], layers=[0]), locus.recording(model) as trace:
        model(**inputs)
    moved = np.abs(trace["layer.0.context"] - whole["layer.0.context"]).reshape(2, 11, 4, 8).max((0, 1, 3))
    assert (moved > 1e-4).all()


def test_all_terms_left_out_attend_to_everything_alike():
    models = live()
    for model, drop in ((models.roformer(), ["content", "rotation"]), (models.xlnet(), ["ac", "bd"])):
        with models.torch.no_grad(), locus.ablate(model, drop=drop, layers=[0]), locus.recording(model) as trace:
            model(input_ids=models.tokens())
        context = trace["layer.0.context"].reshape(2, 11, 4, 8).transpose(0, 2, 1, 3)
        assert np.abs(context - trace["layer.0.v"].mean(-2, keepdims=True)).max() < 1e-6


@pytest.mark.parametrize("family", ["deberta v3", "roformer", "xlnet"])
def test_ablation_of_other_types_and_of_models_that_are_wrapped(family):
    models = live()
    torch, (make, inputs_of, _) = models.torch, models.MODELS[family]
    drop = {"deberta v3": "c2p", "roformer": "rotation", "xlnet": "bd"}[family]
    changes = {}
    for dtype, limit in ((torch.float32, 1e-5), (torch.bfloat16, 3e-2)):
        model = make().to(dtype)
        inputs = models.in_dtype(inputs_of(), dtype)
        with torch.no_grad(), locus.ablate(torch.nn.DataParallel(model), drop=drop) as done:
            logits = model(**inputs).logits
        assert logits.dtype == dtype and max(done.closing.values()) < limit
        changes[dtype] = done.change[0]
    assert changes[torch.bfloat16] == pytest.approx(changes[torch.float32], rel=0.1)
    if models.RUNS_COMPILED:
        compiled = torch.compile(make(), backend="eager")
        with torch.no_grad(), locus.ablate(compiled, drop=drop) as done:
            compiled(**inputs_of())
        assert done.calls == 2 and done.change[0] == pytest.approx(changes[torch.float32], rel=1e-4)
    with pytest.raises(ZeroDivisionError):
        with locus.ablate(model, drop=drop):
            assert models.hooks_of(model) > 0
            raise ZeroDivisionError
    assert models.hooks_of(model) == 0


def test_an_ablation_announces_no_recording(recwarn, monkeypatch):
    models = live()
    monkeypatch.setattr(sys.modules["locus_attention.recording"], "_ANNOUNCED_BYTES", 1000)
    with models.torch.no_grad(), locus.ablate(model := models.deberta_v3()):
        model(**models.padded())
    assert not [one for one in recwarn if "fills about" in str(one.message)]


def test_a_difference_that_is_no_number_is_kept():
    live()
    from locus_attention.recording_common import worst_of

    assert np.isnan(worst_of(0.1, float("nan"))) and np.isnan(worst_of(float("nan"), 0.1)) and worst_of(0.1, 0.2) == 0.2


TERMS = {"deberta": {"c2c", "c2p", "p2c"}, "roformer": {"content", "rotation"}, "xlnet": {"ac", "bd"}}


@pytest.mark.parametrize("name", [
    "deberta v3", "deberta v2 with a convolution", "deberta v2, unshared", "deberta v1", "deberta v1, talking heads",
    "roformer", "roformer, rotated values", "xlnet", "xlnet, two streams",
])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_shares_of_every_family_that_is_recorded(name, dtype):
    models = live()
    if (name, dtype) == ("xlnet, two streams", "bfloat16"):
        pytest.skip("transformers itself cannot run two streams in this type")
    make, inputs_of, _ = models.MODELS[name]
    kind = getattr(models.torch, dtype)
    inputs, terms = models.in_dtype(inputs_of(), kind), TERMS[name.split(",")[0].split()[0]]
    if name.startswith("xlnet"):
        inputs, terms = with_segments(inputs), terms | {"ef"}
    with models.torch.no_grad(), locus.recording(model := make().to(kind)) as trace:
        model(**inputs)
    for stream in [""] + ["g"] * (name == "xlnet, two streams"):
        at = "layer.1." + (stream and stream + ".")
        found = locus.decompose(trace, layer=1, head=2, stream=stream)
        assert set(found.share) == set(found.by_distance) == set(found.by_pair) == terms
        assert sum(found.share.values()) == pytest.approx(1) and all(abs(share) > 1e-4 for share in found.share.values())
        # The means of the terms at a distance add up to the mean of the scores there, and so do those of pairs.
        scores, seen = trace[at + "scores"][:, 2], trace[at + "probs"][:, 2] > 0
        queries, keys = trace.places(at + "scores")
        apart = (queries[:, :, None] - keys) + np.zeros(scores.shape, int)
        for distance in (-2, 0, 3) if not stream else (1, -2):
            wanted = scores[seen & (apart == distance)].mean()
            total = sum(means[distance] for means in found.by_distance.values())
            rounding = 1e-3 if dtype == "float32" else 0.02
            assert total == pytest.approx(wanted, rel=5 * rounding, abs=rounding)
        assert all(len(means) > 5 for means in found.by_pair.values())


def test_shares_of_a_roformer_say_what_the_rotation_adds():
    trace = locus.trace("tiny-roformer", text="a new store opened beside it", precision="f64")
    found = locus.decompose(trace, layer=0, head=1)
    q, k = trace["layer.0.q"][0, 1], trace["layer.0.k"][0, 1]
    content = q @ k.T / np.sqrt(q.shape[-1])
    # At distance 0 both are turned alike, so the rotation adds nothing there but the rounding of its table in float32.
    assert found.by_distance["rotation"][0] == pytest.approx(0, abs=1e-7)
    assert found.by_distance["content"][2] == pytest.approx(np.diagonal(content, -2).mean())
    assert sum(found.share.values()) == pytest.approx(1) and abs(found.share["rotation"]) > 1e-3
    with pytest.raises(locus.UsageError, match="expected q and k and scores"):
        locus.decompose(locus.trace("tiny-roformer", text="a new", stages="layer.*.scores"), 0, 0)


def test_shares_need_every_term():
    for model, stages in (("tiny-v3", "layer.*.c2[cp],layer.*.scores"), ("tiny-xlnet", "layer.*.ac,layer.*.scores")):
        with pytest.raises(locus.UsageError, match="do not add up to its scores"):
            locus.decompose(locus.trace(model, text="a new store", stages=stages), 0, 0)


def test_dropping_nothing_of_effect_changes_nothing():
    models = live()
    torch, model = models.torch, models.deberta_v3()
    with torch.no_grad():
        for layer in model.deberta.encoder.layer:
            layer.attention.self.key_proj.weight.zero_()
            layer.attention.self.key_proj.bias.zero_()
        # Keys are zero, so c2c and p2c are, and so are position keys, which share the projection.
        whole = model(**models.padded()).logits
        with locus.ablate(model, drop=["c2c", "p2c", "c2p"]):
            without = model(**models.padded()).logits
    assert torch.allclose(whole, without, atol=1e-5)


def test_ablation_refuses():
    models = live()
    with pytest.raises(locus.UsageError, match='drop is "p2p"'):
        with locus.ablate(models.deberta_v3(), drop="p2p"):
            pass
    with pytest.raises(locus.UsageError, match="heads holds 4"):
        with locus.ablate(models.deberta_v3(), heads=[4]):
            pass
    one_term = models.deberta_v3(pos_att_type=["c2p"])
    for model, drop, sentence in (
        (models.deberta_v3(), "ac", "expected a term of this deberta: c2c, c2p or p2c"),
        (one_term, "p2c", "expected a term of this deberta: c2c or c2p"),
        (models.roformer(), "c2p", "expected a term of this roformer: content or rotation"),
        (models.xlnet(), "c2p", "expected a term of this xlnet: ac, bd or ef"),
    ):
        with pytest.raises(locus.UsageError, match=f'drop is "{drop}", {sentence}$'):
            with locus.ablate(model, drop=drop):
                pass
    with pytest.raises(locus.UsageError, match="drop is empty, expected ac, bd or ef"):
        with locus.ablate(models.xlnet(), drop=[]):
            pass
    model = models.xlnet()
    with pytest.raises(locus.UsageError, match='drop is "ef", but this pass has no such term, expected ac or bd'):
        with locus.ablate(model, drop="ef"):
            model(input_ids=models.tokens())
    assert models.hooks_of(model) == 0
    with pytest.raises(locus.UsageError, match="layers holds 2"):
        with locus.ablate(models.xlnet(), drop="bd", layers=[2]):
            pass
