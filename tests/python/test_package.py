"""What the package does with NumPy alone: passes of folders, comparisons, kits, refusals."""

import ast
import inspect
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import locus_attention as locus
from locus_attention.files import save_tensors

ROOT = Path(__file__).resolve().parents[2]
CASE = ROOT / "tests/oracle/ms_deberta_v3_emd"


def test_a_pass_of_a_built_in_model():
    trace = locus.trace("tiny-v3", text="a new [MASK] opened", stages="layer.2.*", precision="f64", dialect="official")
    assert trace["layer.2.c2p"].shape == (1, 6, 6, 6) and trace["layer.2.c2p"].dtype == np.float64
    assert trace.tokens == [["[CLS]", "▁a", "▁new", "[MASK]", "▁opened", "[SEP]"]]
    assert trace.layers == [2] and trace.stages[0] == "layer.2.q"
    total = trace["layer.2.c2c"] + trace["layer.2.c2p"] + trace["layer.2.p2c"]
    assert np.allclose(total / np.sqrt(3 * 32), trace["layer.2.scores"])


@pytest.mark.parametrize("model", ["tiny-v3", "tiny-roformer", "tiny-txl", "tiny-xlnet"])
def test_every_built_in_model_travels_with_the_package(model):
    trace = locus.trace(model, text="tom went to the bakery", precision="f32")
    assert len(trace) > 20 and all(np.isfinite(trace[name]).all() for name in trace)


def test_arrays_outlive_their_trace_and_cannot_be_written():
    array = locus.trace("tiny-v3", text="a new store", stages="layer.0.q")["layer.0.q"]
    assert np.isfinite(array).all() and not array.flags.writeable
    assert not array.flags.owndata


def test_the_recorded_tensors_of_other_peoples_code():
    found = locus.trace(CASE / "model", inputs=CASE / "inputs.safetensors", precision="f64", dialect="official")
    report = locus.check(CASE / "trace_exact.safetensors", found, model=CASE / "model", inputs=CASE / "inputs.safetensors")
    assert report.passed and report.first is None and report.diagnoses == [] and bool(report)


def test_a_port_with_a_mistake_is_named(tmp_path):
    wrong = locus.trace(CASE / "model", inputs=CASE / "inputs.safetensors", dialect="paper")
    wrong.save(tmp_path / "port.safetensors")
    report = locus.check(CASE / "trace_exact.safetensors", tmp_path / "port.safetensors", model=CASE / "model")
    assert not report.passed and report.first == "layer.0.p2c" and report.mistake == 1
    assert report.diagnoses[0].lesson and "delta(j,i)" in str(report)


def test_every_mistake_of_a_port_is_listed(tmp_path):
    right = locus.trace(CASE / "model", inputs=CASE / "inputs.safetensors", precision="f64", dialect="official")
    wrong = locus.trace(CASE / "model", inputs=CASE / "inputs.safetensors", precision="f64", dialect="paper")
    # The first layer's terms are saved as the paper has them, and its output in a way that has no name.
    arrays = {name: np.array(right[name]) for name in right.stages}
    for name in ("c2c", "c2p", "p2c"):
        arrays["layer.0." + name] = np.array(wrong["layer.0." + name])
    arrays["layer.0.output"] = arrays["layer.0.output"] * np.linspace(1, 2, arrays["layer.0.output"].shape[-1])
    save_tensors(tmp_path / "port.safetensors", arrays)
    report = locus.check(CASE / "trace_exact.safetensors", tmp_path / "port.safetensors", model=CASE / "model",
                         inputs=CASE / "inputs.safetensors")
    assert report.mistake == 1 and [each.number for each in report.diagnoses] == [1]
    assert report.diagnoses[0].stage == report.first == "layer.0.p2c" and report.diagnoses[0].lesson
    # What is made of both is right, so the port computes them rightly.
    assert list(report.saved) == ["layer.0.p2c", "layer.0.output"] and not report.unexplained
    assert report.right_once_repaired is True and "saves other numbers under its name" in report.saved["layer.0.p2c"]
    # Where nothing made of the output is reported, nobody can tell.
    names = list(right.stages)
    last = names.index("layer.0.output")
    save_tensors(tmp_path / "port.safetensors", {name: arrays[name] for name in names[: last + 1]})
    report = locus.check(CASE / "trace_exact.safetensors", tmp_path / "port.safetensors", model=CASE / "model",
                         inputs=CASE / "inputs.safetensors")
    assert report.unexplained == ["layer.0.output"] and report.right_once_repaired is False


def test_inputs_may_be_arrays():
    ids = np.array([[1, 6, 56, 4, 2], [1, 6, 2, 0, 0]])
    mask = (np.arange(5) < np.array([[5], [3]])).astype(int)
    trace = locus.trace("tiny-v3", inputs={"tokens": ids, "mask": mask}, stages="layer.0.probs")
    assert not trace["layer.0.probs"][1, :, :3, 3:].any()
    same = locus.trace("tiny-v3", tokens=ids[:1], stages="layer.0.probs")
    assert np.allclose(same["layer.0.probs"], trace["layer.0.probs"][:1], atol=1e-6)


def test_a_misspelt_input_is_said():
    with pytest.warns(UserWarning, match="locus.trace: inputs: not used by this family: maks"):
        locus.trace("tiny-v3", inputs={"tokens": [[1, 5, 6, 2]], "maks": [[1, 1, 1, 0]]}, stages="embeddings.output")


@pytest.mark.parametrize("call, message", [
    (lambda: locus.trace("tiny-v3", tokens=[[1.7, 2.2]]), "tokens holds float64 values"),
    (lambda: locus.trace("tiny-xlnet", "a b", segment=-1), "segment is -1, expected at least 0"),
    (lambda: locus.trace("tiny-xlnet", "a b", segment=2.7), "segment is 2.7, expected a whole number"),
    (lambda: locus.trace("tiny-xlnet", inputs={"tokens": [[1, 2]]}, segment=1), "segment goes with text or tokens"),
    (lambda: locus.fill("a [MASK]", top=2.5), "top is 2.5, expected a whole number"),
    (lambda: locus.check(locus.Trace("deberta"), locus.Trace("deberta"), rtol=-1), "rtol is -1, expected 0 or more"),
    (lambda: locus.check(locus.Trace("deberta"), locus.Trace("deberta"), atol=float("nan")), "atol is nan"),
])
def test_no_number_is_silently_another(call, message):
    with pytest.raises(locus.UsageError, match=re.escape(message)):
        call()


def test_a_trace_keeps_numbers_of_its_own():
    trace = locus.Trace(family="deberta")
    mine = np.ones((1, 2, 3, 3))
    trace.add("layer.0.c2c", mine[:], "a port")
    mine[:] = 2
    assert trace["layer.0.c2c"].max() == 1 and not trace["layer.0.c2c"].flags.writeable
    for no_number in (["a", "b"], [object()], [1j]):
        with pytest.raises(locus.UsageError, match="expected numbers"):
            trace.add("layer.0.c2p", no_number, "a port")


def test_a_trace_says_what_its_pass_was_given(tmp_path):
    padded = locus.trace("tiny-v3", text=["a new [MASK] opened", "a new"])
    (given,) = padded.inputs
    assert given["tokens"].shape == (2, 6) and given["mask"].sum() == 6 + 4
    # A wrong port, with no inputs named: the mask is found in the traces, and without it nothing would fit.
    wrong = locus.trace("tiny-v3", inputs=given, dialect="paper")
    padded.save(tmp_path / "reference.safetensors")
    wrong.save(tmp_path / "port.safetensors")
    report = locus.check(tmp_path / "reference.safetensors", tmp_path / "port.safetensors", model="tiny-v3")
    assert report.first == "layer.0.p2c" and report.mistake == 1 and report.right_once_repaired
    back = locus.load(tmp_path / "port.safetensors")
    assert np.array_equal(back.inputs[0]["mask"], given["mask"]) and back.mask_positions == padded.mask_positions
    assert locus.check(padded, back, model="tiny-v3").mistake == 1
    assert locus.trace("tiny-v3", inputs=back.inputs[0], dialect="paper").check().passed


def test_traces_of_streams_and_segments_check_themselves(tmp_path):
    two_streams = locus.trace("tiny-xlnet", text="the capital of [MASK] is [MASK].")
    assert two_streams.check().passed and two_streams.layers == [0, 1, 2, 3]
    segments = locus.trace("tiny-txl", text="the capital of france is paris . he went to the store .", segment=6)
    assert len(segments.inputs) == 3 and segments.layers == [0, 1, 2, 3]
    again = locus.trace("tiny-txl", tokens=segments.ids, segment=6)
    assert again.stages == segments.stages
    assert np.array_equal(again["segment.1.layer.3.probs"], segments["segment.1.layer.3.probs"])
    report = segments.check()
    assert report.passed and len(report.stages) == len(segments)
    segments.save(tmp_path / "segments.safetensors")
    assert locus.load(tmp_path / "segments.safetensors").check("tiny-txl").passed


def test_places_of_queries_and_keys():
    segments = locus.trace("tiny-txl", text="the capital of france is paris . he went to the store .", segment=6)
    queries, keys = segments.places("segment.1.layer.0.probs")
    assert queries.tolist() == [[6, 7, 8, 9, 10, 11]] and keys.tolist() == list(range(12))
    masked = locus.trace("tiny-xlnet", text="the capital of [MASK] is [MASK].")
    queries, keys = masked.places("layer.0.g.probs")
    assert [masked.tokens[0][at] for at in queries[0]] == ["<mask>", "<mask>"] and len(keys) == len(masked.tokens[0])


def test_save_and_load(tmp_path):
    trace = locus.trace("tiny-v3", text="a new [MASK] opened", stages="layer.1.*")
    trace.save(tmp_path / "t.safetensors")
    back = locus.load(tmp_path / "t.safetensors")
    assert back.stages == trace.stages and back.tokens == trace.tokens and back.how == trace.how
    assert all(np.array_equal(back[name], trace[name]) for name in trace)


def test_one_language_of_globs(tmp_path):
    chosen = "layer.[02].c2?,layer.[!0-4].q"
    wanted = ["layer.0.c2c", "layer.0.c2p", "layer.2.c2c", "layer.2.c2p", "layer.5.q"]
    trace = locus.trace("tiny-v3", text="a new store", stages=chosen)
    assert trace.stages == wanted
    whole = locus.trace("tiny-v3", text="a new store")
    assert whole.matching(chosen) == wanted
    whole.save(tmp_path / "some.safetensors", stages=chosen)
    assert locus.load(tmp_path / "some.safetensors").stages == wanted
    with pytest.raises(locus.UsageError, match=r'"layer.\[67\].q" matches no stage'):
        whole.matching("layer.0.q,layer.[67].q")
    with pytest.raises(locus.UsageError, match="an empty pattern"):
        whole.matching("layer.0.q,,mlm.*")


def test_bfloat16_files_are_rounded_to_the_nearest(tmp_path):
    from locus_attention.files import safetensors_bytes, write_file

    values = np.array([1.0, 1.00390625, 1.01171875, -3.4e38, np.nan, 2.0**-130], np.float32)
    write_file(tmp_path / "b.safetensors", safetensors_bytes([("layer.0.q", values, "BF16")], {}))
    back = locus.load(tmp_path / "b.safetensors")
    assert back.stored["layer.0.q"] == "BF16"
    # 1 + 2^-8 lies between two numbers of bfloat16 and goes to the even one, as 1 + 3 * 2^-8 does.
    assert np.array_equal(back["layer.0.q"][:3], np.array([1.0, 1.0, 1.015625], np.float32))
    assert np.isinf(back["layer.0.q"][3]) or back["layer.0.q"][3] < -3e38
    assert np.isnan(back["layer.0.q"][4])


def test_a_file_that_is_replaced_keeps_its_mode_and_its_link(tmp_path):
    from locus_attention.files import write_file

    there = tmp_path / "there"
    there.write_bytes(b"old")
    there.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(there)
    write_file(link, [b"ne", b"w"])
    assert link.is_symlink() and there.read_bytes() == b"new" and there.stat().st_mode & 0o777 == 0o640
    ahead = tmp_path / "ahead"
    ahead.symlink_to(tmp_path / "made")  # points to nothing yet
    write_file(ahead, [b"new"])
    assert ahead.is_symlink() and (tmp_path / "made").read_bytes() == b"new"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ahead", "link", "made", "there"]


def test_a_file_is_not_written_where_something_else_stands_or_the_values_break_off(tmp_path):
    from locus_attention.files import write_file

    (tmp_path / "folder").mkdir()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for place in (tmp_path / "folder", circle):
        with pytest.raises(locus.UnreadableError, match=f"{place}: cannot be written: something that is no file"):
            write_file(place, [b"new"])

    def breaks_off():
        yield b"half"
        raise ValueError("no more")

    whole = tmp_path / "whole"
    whole.write_bytes(b"old")
    with pytest.raises(ValueError, match="no more"):
        write_file(whole, breaks_off())
    assert whole.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["circle", "folder", "whole"]


def test_one_version_everywhere():
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{locus.__version__}"' in project
    assert f"## {locus.__version__}" in (ROOT / "core/python/CHANGELOG.md").read_text()
    assert re.search(r"project\(locus VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1) == locus.__version__


def test_fill_and_tokens():
    (filled,) = locus.fill("the capital of france is [MASK].", top=3)
    assert filled.position == 6 and filled.guesses[0].piece == "paris"
    assert filled.guesses[0].probability == pytest.approx(0.6471, abs=1e-3)
    assert locus.fill("tom went to the", model="tiny-txl")[0].position == 5
    assert len(locus.fill("a [MASK] and a [MASK].", model="tiny-xlnet")) == 2
    assert locus.tokens("a new store opened.").ids == [1, 6, 56, 115, 86, 4, 2]
    pair = locus.tokens("a new store", second="opened.")
    assert pair.ids == [1, 6, 56, 115, 2, 86, 4, 2] and pair.types == [0, 0, 0, 0, 0, 1, 1, 1]
    assert locus.tokens("a", model="tiny-xlnet").types[-2:] == [0, 2]
    masked = locus.tokens("the [MASK] is", model="tiny-xlnet")      # its own name is <mask>
    assert masked.pieces.count("<mask>") == 1 and "[" not in "".join(masked.pieces)
    assert locus.tokens("a new store [SEP] opened.").ids == pair.ids
    with pytest.raises(locus.UnsupportedError, match="no form for two texts"):
        locus.tokens("a", model="tiny-txl", second="b")
    with pytest.raises(locus.UnsupportedError, match="no head of classes"):
        locus.classify("a new store", "tiny-v3")


def test_a_cell_is_replayed_to_the_last_bit():
    trace = locus.trace("tiny-v3", text="a new [MASK] opened beside the new [MASK].", precision="f32")
    for i, j in ((3, 5), (0, 11), (7, 7)):
        found = locus.explain(trace.cell(2, 3, i, j))
        for term in found.terms:
            assert term.value == float(trace[f"layer.2.{term.name}"][0, 3, i, j])
            assert float(term.running[-1]) == term.value
        assert found.probability == pytest.approx(float(trace["layer.2.probs"][0, 3, i, j]), rel=1e-6)
    assert "row 30" in str(locus.explain(trace.cell(2, 3, 3, 5)))
    with pytest.raises(locus.UsageError, match="the key is 12"):
        locus.explain(trace.cell(2, 3, 3, 12))


def test_the_cell_of_the_readme(capsys):
    text = (ROOT / "core/python/README.md").read_text()
    lines = text[text.index('trace = locus.trace("tiny-v3"'):].splitlines()[:2]
    exec("\n".join(lines), {"locus": locus})
    assert "c2p" in capsys.readouterr().out


ORACLE_DEBERTA = sorted(folder.parent.name for folder in (ROOT / "tests/oracle").glob("*deberta*/model"))


@pytest.mark.parametrize("index", [True, False], ids=["with relative.index", "without"])
@pytest.mark.parametrize("dialect", ["reference", "official", "hf", "paper"])
@pytest.mark.parametrize("case", ORACLE_DEBERTA)
def test_cells_of_every_deberta_and_dialect(case, dialect, index):
    """Every term is that of the trace with its products, their sum over the divisor is the score, and so on."""
    folder = ROOT / "tests/oracle" / case
    stages = "layer.*,relative.index" if index else "layer.*"
    trace = locus.trace(folder / "model", inputs=folder / "inputs.safetensors", dialect=dialect, precision="f64",
                        stages=stages)
    shape = trace["layer.0.probs"].shape
    chosen = np.random.default_rng(5)
    for _ in range(6):
        b, h, i, j = (int(chosen.integers(size)) for size in shape)
        cell = trace.cell(int(chosen.choice(trace.layers)), h, i, j, sample=b)
        found = locus.explain(cell)
        assert [term.name for term in found.terms] == [s for s in ("c2c", "c2p", "p2c") if cell.name(s) in trace]
        for term in found.terms:
            assert term.value == pytest.approx(float(trace[cell.name(term.name)][b, h, i, j]), rel=1e-9, abs=1e-12)
            assert term.products.size and float(term.running[-1]) == term.value
        assert found.total / found.divisor == pytest.approx(found.score, rel=1e-6, abs=1e-9)
        assert found.score == float(trace[cell.name("scores")][b, h, i, j])
        assert found.probability == pytest.approx(float(trace[cell.name("probs")][b, h, i, j]), rel=1e-9)


def test_the_row_of_p2c_as_the_paper_prints_it():
    trace = locus.trace("tiny-v3", text="a new [MASK] opened", dialect="paper", precision="f64")
    _, c2p, p2c = locus.explain(trace.cell(2, 3, 3, 1)).terms
    index = trace["relative.index"]
    assert (c2p.row, p2c.row) == (index[3, 1], index[1, 3]) and index[3, 1] != index[1, 3]


def test_what_a_trace_says_of_its_pass():
    """The formula of p2c is that of the dialect; a model that hands on no memory refuses segments."""
    for dialect, pair in (("official", "(i,j)"), ("paper", "(j,i)")):
        trace = locus.trace("tiny-v3", text="a new store", stages="layer.0.p2c", dialect=dialect)
        assert trace.info["layer.0.p2c"].formula == f"k_j . q_r[delta{pair}]"
    model = ROOT / "tests/oracle/hf_xlnet_order_3241/model"
    with pytest.raises(locus.UsageError, match="2 segments, expected one: mem_len of this model is 0 or null"):
        locus.trace(model, tokens=[[1, 2, 3, 4]], segment=2)
    assert "segment.1.layer.0.k" in locus.trace(model, tokens=[[1, 2, 3, 4]], segment=2, dialect="hf")


def test_a_cell_of_a_model_with_talking_heads():
    folder = ROOT / "tests/oracle/hf_deberta_v1_talking_head"
    options = {"inputs": folder / "inputs.safetensors", "dialect": "hf", "precision": "f64"}
    trace = locus.trace(folder / "model", **options)
    found = locus.explain(trace.cell(0, 1, 2, 3))
    assert found.mixed == float(trace["layer.0.scores_mixed"][0, 1, 2, 3]) != found.score
    assert f"mixed    {found.mixed: .6g}" in str(found) and f"exp({found.mixed:.6g} -" in str(found)
    part = locus.trace(folder / "model", **options, stages="layer.0.scores,layer.0.probs")
    with pytest.raises(locus.UsageError, match=r"needs layer\.0\.scores_mixed"):
        locus.explain(part.cell(0, 1, 2, 3))


def test_a_cell_of_which_the_trace_holds_a_part():
    """Values without vectors have no products, and terms that do not make the score have no divisor."""
    text, wanted = "a new [MASK] opened", "layer.2.scores,layer.2.probs,layer.2."
    found = locus.explain(locus.trace("tiny-v3", text=text, stages=wanted + "?2?").cell(2, 3, 3, 1))
    assert [term.products.size for term in found.terms] == [0, 0, 0]
    assert found.total / found.divisor == pytest.approx(found.score, rel=1e-5)
    found = locus.explain(locus.trace("tiny-v3", text=text, stages=wanted + "c2?").cell(2, 3, 3, 1))
    assert np.isnan(found.divisor) and "a term is missing" in str(found)


def test_cells_with_a_bias_of_the_head():
    """What the products leave of ac is u . k_j, the same for every query; of bd v . r_k, the same at every distance."""
    masked = locus.trace("tiny-xlnet", text="the capital of [MASK] is paris.", precision="f64")
    segments = locus.trace("tiny-txl", text="the capital of france is paris . he went to the store .", segment=6,
                           precision="f64")
    cells = {
        "content": [masked.cell(1, 2, i, j) for i in range(9) for j in range(9)],
        "query": [masked.cell(1, 2, 0, j, stream="g") for j in range(9)] + [masked.cell(1, 2, i, 1) for i in range(9)],
        "memory": [segments.cell(2, 1, i, j, segment=1) for i in range(6) for j in range(12)],
    }
    for which, listed in cells.items():
        by_key, by_distance = {}, {}
        for cell in listed:
            explained = locus.explain(cell)
            assert explained.score == pytest.approx(explained.total / explained.divisor)
            ac, bd = explained.terms
            by_key.setdefault(cell.key, []).append(ac.bias)
            if explained.softmax["visible"]:
                by_distance.setdefault(cell.query - cell.key, []).append(bd.bias)
        for biases in (*by_key.values(), *by_distance.values()):
            assert np.ptp(biases) < 1e-9, which
        assert max(map(len, by_distance.values())) > 1 and any(abs(b[0]) > 1e-3 for b in by_distance.values())
    shown = str(locus.explain(segments.cell(0, 0, 2, 1, segment=1)))
    assert 'query token 8 "<unk>", key token 1 "the", i - j = 7' in shown and "row 4 of r_k" in shown
    assert "query stream" in str(locus.explain(masked.cell(1, 2, 0, 3, stream="g")))


def test_kit_of_a_port_that_reports_its_reference(tmp_path):
    done = locus.kit.export(tmp_path / "kit")
    assert done.cases > 100 and (tmp_path / "kit/README.md").is_file()
    with pytest.raises(locus.UsageError, match="is there already"):
        locus.kit.export(tmp_path / "kit")
    own = locus.kit.export(tmp_path / "own", model="tiny-v3", dialect="official")
    assert own.cases == 4 and own.bytes < 20_000_000 and (tmp_path / "own/cases/L3/t600/case.json").exists()
    case = "L1/p2c_t9_k3"
    reference = tmp_path / "kit/cases" / case / "reference.safetensors"
    (tmp_path / "dumps/L1").mkdir(parents=True)
    (tmp_path / "dumps" / f"{case}.safetensors").write_bytes(reference.read_bytes())
    report = locus.kit.check(tmp_path / "kit", tmp_path / "dumps")
    assert report.passed and report.counts["passed"] == 1
    wrong = {name: array + (array == array.max()) for name, array in locus.load(reference).items()}
    from locus_attention.files import save_tensors

    save_tensors(tmp_path / "dumps" / f"{case}.safetensors", wrong)
    assert not locus.kit.check(tmp_path / "kit", tmp_path / "dumps")


def test_refusals_are_exceptions_with_one_sentence(tmp_path):
    with pytest.raises(locus.UnreadableError, match="no such folder, expected a model folder or a built-in model"):
        locus.trace("nowhere", text="x")
    with pytest.raises(OSError):
        locus.load(tmp_path / "absent.safetensors")
    with pytest.raises(locus.UsageError, match='"layer.9.q" matches no stage'):
        locus.trace("tiny-v3", text="a", stages="layer.9.q")
    with pytest.raises(ValueError, match="precision is"):
        locus.trace("tiny-v3", text="a", precision="f16")
    with pytest.raises(locus.UsageError, match="exactly one of"):
        locus.trace("tiny-v3")
    with pytest.raises(locus.UsageError, match="no stage in common"):
        locus.check(*(locus.trace("tiny-v3", text="a", stages=f"layer.{layer}.q") for layer in (0, 1)))
    with pytest.raises(locus.UsageError, match="has no"):
        locus.fill("no mask here")
    with pytest.raises(locus.UnreadableError, match="cannot be written"):
        locus.trace("tiny-v3", text="a", stages="layer.0.q").save(tmp_path / "no/such/file.safetensors")
    with pytest.raises(KeyError, match='no stage "layer.0.z"'):
        locus.trace("tiny-v3", text="a", stages="layer.0.q")["layer.0.z"]


LONG = """
import time
import locus_attention as locus
from locus_attention.files import save_tensors

def whole_pass(length):
    started = time.perf_counter()
    locus.trace("tiny-v3", tokens=[[7] * length], precision="f64", stages="layer.5.output")
    return time.perf_counter() - started

print(whole_pass(1000), flush=True)
try:
    whole_pass(2000)
    print("came to its end", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_pass_within_a_layer():
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    short = float(child.stdout.readline())  # a quarter of the pass that follows, which has six layers
    time.sleep(short / 5)
    child.send_signal(signal.SIGINT)
    sent = time.perf_counter()
    out, _ = child.communicate(timeout=120)
    assert (out, child.returncode) == ("interrupted\n", 0)
    assert time.perf_counter() - sent < 2 * short


SEARCH = """
import time
import numpy as np
import locus_attention as locus

right = locus.trace("tiny-v3", tokens=[list(range(5, 245))], precision="f64", stages="layer.0.*,layer.1.*,emb*,rel*")
wrong = locus.Trace("deberta", "hf")
for name in right:
    array = right[name]
    wrong.add(name, array + 0.01 * np.sin(np.arange(array.size)).reshape(array.shape) if "probs" in name else array, "a port")

def whole_search():
    started = time.perf_counter()
    assert locus.check(right, wrong, model="tiny-v3", inputs=right.inputs[0]).mistake is None
    return time.perf_counter() - started

whole_search()
print(whole_search(), flush=True)
try:
    whole_search()
    print("came to its end", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_the_search_for_a_mistake():
    child = subprocess.Popen([sys.executable, "-c", SEARCH], stdout=subprocess.PIPE, text=True)
    whole = float(child.stdout.readline())
    time.sleep(whole / 5)
    child.send_signal(signal.SIGINT)
    sent = time.perf_counter()
    assert child.stdout.readline() == "interrupted\n"
    # The exception comes at the end of the work in any case: it has to come before the four fifths that were left.
    assert time.perf_counter() - sent < whole / 2
    assert child.wait(timeout=60) == 0


class Shown:
    """What stands in for tqdm's bar: what it was told."""

    bars = []

    def __init__(self, **options):
        self.options, self.n = options, 0
        Shown.bars.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, by):
        self.n += by


def test_long_work_shows_how_far_it_is(monkeypatch, tmp_path):
    import types

    tqdm = types.ModuleType("tqdm")
    tqdm.auto = types.ModuleType("tqdm.auto")
    tqdm.auto.tqdm = Shown
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm.auto)
    Shown.bars.clear()
    right = locus.trace("tiny-v3", text="a new [MASK] opened beside the new [MASK].")
    wrong = locus.trace("tiny-v3", inputs=right.inputs[0], dialect="paper")
    assert locus.check(right, wrong, model="tiny-v3").mistake == 1
    first, _, third = Shown.bars
    assert first.n == 6 and first.options["unit"] == " layers" and first.options["delay"] > 0
    assert third.n > 10 and third.options["unit"] == " hypotheses"


def test_other_threads_run_meanwhile():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        started = time.perf_counter()
        locus.trace("tiny-v3", tokens=[[7] * 400], precision="f64", stages="layer.2.output")
        took = time.perf_counter() - started
    finally:
        done.set()
        thread.join()
    assert counted > 20 * min(took, 1)


OTHER_PROCESSOR = """
import numpy as np
import locus_attention as locus

print(locus._core.kernels())
print(locus.fill("the capital of france is [MASK].")[0].guesses[0].piece)
right = locus.trace("tiny-v3", tokens=[list(range(5, 90))], stages="layer.0.*,layer.1.*")
wrong = locus.trace("tiny-v3", tokens=right.ids, stages="layer.0.*,layer.1.*", dialect="paper", precision="f64")
print(locus.check(right, wrong, model="tiny-v3").mistake)
np.save("output.npy", locus.trace("tiny-v3", tokens=right.ids, stages="layer.5.output")["layer.5.output"])
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None, reason="there is no qemu-x86_64 on the PATH"
)
@pytest.mark.parametrize("processor, kernels", [("SandyBridge", "portable"), ("Haswell", "avx2")])
def test_processors_without_avx2_and_without_avx512(processor, kernels, tmp_path):
    # Sandy Bridge has AVX, which wheels of NumPy take for granted, but neither AVX2 nor fused products.
    done = subprocess.run(
        ["qemu-x86_64", "-cpu", processor, sys.executable, "-c", OTHER_PROCESSOR], capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0 and done.stdout.split() == [kernels, "paris", "1"], done.stdout + done.stderr[-800:]
    here = locus.trace("tiny-v3", tokens=[list(range(5, 90))], stages="layer.5.output")["layer.5.output"]
    assert np.abs(np.load(tmp_path / "output.npy") - here).max() < 1e-4


# What editors and type checkers see

PACKAGE = Path(locus.__file__).parent


def public_things():
    """Every name that users call, with what it is."""
    for name in locus.__all__:
        thing = getattr(locus, name)
        yield name, thing
        for inner, member in vars(thing).items():
            own = getattr(member, "__module__", None) == getattr(thing, "__name__", None) or inspect.isclass(thing)
            if not inner.startswith("_") and own and (callable(member) or isinstance(member, property)):
                yield f"{name}.{inner}", member


def test_everything_public_is_documented():
    listed = dict(public_things())
    assert {"trace", "Trace.html", "Trace.stages", "kit.export", "explain", "Report"} <= set(listed)
    assert [name for name, thing in listed.items() if not inspect.getdoc(thing)] == []
    for name in ("Trace", "Trace.places", "recording", "trace"):
        assert "[B" in inspect.getdoc(listed[name]), name  # shapes


def test_stubs_name_what_the_module_has():
    from locus_attention import _core

    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    functions = {one.name: [argument.arg for argument in one.args.args] for one in stub.body if isinstance(one, ast.FunctionDef)}
    classes = {one.name for one in stub.body if isinstance(one, ast.ClassDef)}
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert set(functions) | classes == there
    for name, arguments in functions.items():
        signature = getattr(_core, name).__doc__.splitlines()[0]
        assert re.findall(r"(\w+): ", signature.rsplit(" -> ", 1)[0]) == arguments, signature


def test_types_are_right():
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", os.devnull,
         *map(str, sorted((ROOT / "core/python/locus_attention").glob("*.py")))],  # away from packages that mypy has itself
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout


# The console scripts


def script(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "locus_attention", *arguments], capture_output=True, text=True, **options)


def test_programs_are_listed_and_run():
    listed = script().stdout
    for verb in ("check", "kit", "trace", "fill", "classify", "tokens"):
        assert f"locus-{verb}" in listed
    done = script("fill", "the capital of france is [MASK].", "--top", "1", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["masks"][0]["top"][0]["piece"] == "paris"
    table = script("trace", "--model", "tiny-v3", "--text", "a new store", "--stages", "layer.2.c2?")
    assert "layer.2.c2p" in table.stdout
    assert script("locus-tokens", "a new store").stdout == script("tokens", "a new store").stdout != ""


def test_programs_refuse_with_their_status(tmp_path):
    assert script("nothing").returncode == script("locus-nothing").returncode == 2
    assert script("trace", "--model", "nowhere", "--text", "a").returncode == 3
    assert script("check", str(tmp_path / "a"), str(tmp_path / "b")).returncode == 3
    exported = script("kit", "export", str(tmp_path / "kit"))
    assert exported.returncode == 0 and "cases" in exported.stdout
    assert script("kit", "export", str(tmp_path / "kit")).returncode == 2


def test_a_kit_is_made_of_what_lies_inside_the_package(tmp_path, monkeypatch):
    from locus_attention import programs

    asked = []

    def exported(folder, **options):
        asked.append((folder, options))
        return locus.kit.Exported(folder, 1, 1, 1000)

    monkeypatch.setattr(locus.kit, "export", exported)
    monkeypatch.setattr(programs, "run", lambda verb, arguments: asked.append(arguments) or 2)
    assert programs.main(["kit", "export", "a", "--for", "tiny-v3", "--dialect=official"]) == 0
    assert programs.main(["kit", "export", "--for=tiny-v3", "b"]) == 0
    assert programs.main(["kit", "export", "c"]) == 0
    wrong = [["export"], ["export", "a", "b"], ["export", "a", "--for"], ["export", "--help"], ["export", "a", "--dialect", "hf"]]
    assert [programs.main(["kit", *arguments]) for arguments in wrong] == [2] * len(wrong)
    assert asked == [
        ("a", {"model": "tiny-v3", "dialect": "official"}), ("b", {"model": "tiny-v3", "dialect": "hf"}),
        ("c", {"model": None, "dialect": "hf"}), *wrong,
    ]


def test_console_scripts_are_installed():
    folder = Path(sys.executable).parent
    scripts = [folder / f"locus-{verb}" for verb in ("check", "kit", "trace", "fill", "tokens")]
    if not scripts[0].exists():
        pytest.skip("the package is installed elsewhere than this interpreter's scripts")
    assert all(os.access(script, os.X_OK) for script in scripts)
