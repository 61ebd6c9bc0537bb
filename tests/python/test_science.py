"""Long tables, shares of terms, terms left out of a live model, and kits of live models."""

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
        probs = np.where(blind, 1 / 11, weights / np.where(blind, 1, weights.sum(-1, keepdims=True)))
        return probs @ trace["layer.0.v"]

    wanted = context_of("c2c", "c2p", "p2c")
    wanted[:, [1, 3]] = context_of("c2c", "p2c")[:, [1, 3]]
    found = trace["layer.0.context"].reshape(2, 11, 4, 8).transpose(0, 2, 1, 3)
    assert np.abs(found - wanted).max() < 1e-5
    # and the closing test of the recorded pass sees that its terms were not all used
    assert trace.closing[0] > 0.01 and trace.closing[1] < 1e-5


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
    with pytest.raises(locus.UnsupportedError, match="found roformer"):
        with locus.ablate(models.roformer()):
            pass


@pytest.mark.parametrize("family", ["deberta v3", "deberta v1", "roformer", "xlnet"])
def test_a_kit_of_a_live_model(family, tmp_path):
    models = live()
    make, _, _ = models.MODELS[family]
    options = {} if family == "xlnet" else {"num_hidden_layers": 3}
    model = make(**options)
    done = locus.kit.from_model(model, tmp_path / "kit")
    cases = sorted(path.name for path in (tmp_path / "kit").iterdir() if path.name != "model")
    longer = [] if family == "roformer" else ["t300", "t600"]  # its table of angles ends at 64
    assert done.cases == len(cases) and cases == ["padded", "t17", *longer]
    for case in ("t17", "padded"):
        inputs = locus.load(tmp_path / "kit" / case / "inputs.safetensors")
        given = {"input_ids": models.torch.from_numpy(inputs["tokens"].copy())}
        if "mask" in inputs:
            given["attention_mask"] = models.torch.from_numpy(inputs["mask"].copy())
        if "input_mask" in inputs:
            given["input_mask"] = models.torch.from_numpy(inputs["input_mask"].copy()).float()
        with models.torch.no_grad(), locus.recording(model, layers=[0, 1], stages="layer.*") as trace:
            model(**given)
        report = locus.check(
            tmp_path / "kit" / case / "reference.safetensors", trace, model=tmp_path / "kit/model",
            inputs=tmp_path / "kit" / case / "inputs.safetensors",
        )
        assert report.passed and len(report.stages) >= 24, str(report)
    with pytest.raises(locus.UsageError, match="is there already"):
        locus.kit.from_model(model, tmp_path / "kit")
