"""Traces that are saved and read back say what they said, and are judged as they were."""

import json
import struct
import subprocess
import sys

import numpy as np
import pytest

import locus_attention as locus
from locus_attention.files import save_tensors


def metadata_of(file):
    """What the header of a safetensors file says beside its tensors."""
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size])["__metadata__"]


@pytest.mark.parametrize("model, family", [
    ("tiny-v3", "deberta"), ("tiny-roformer", "roformer"), ("tiny-txl", "transfo-xl"), ("tiny-xlnet", "xlnet"),
])
def test_a_file_says_of_which_family_and_model_it_is(model, family, tmp_path):
    trace = locus.trace(model, text="tom went to the bakery")
    trace.save(tmp_path / "t.safetensors")
    back = locus.load(tmp_path / "t.safetensors")
    assert (back.family, back.model, back.dialect, back.tokens) == (family, model, "reference", trace.tokens)
    assert back == trace and back.info == trace.info
    assert back.check().passed  # the file says enough of the model and the pass


def test_a_file_of_the_program_says_the_same(tmp_path):
    file = tmp_path / "p.safetensors"
    arguments = ["--model", "tiny-roformer", "--text", "tom went", "--out", str(file)]
    subprocess.run([sys.executable, "-m", "locus_attention", "trace", *arguments], check=True, capture_output=True)
    assert "family" not in metadata_of(file)
    back = locus.load(file)
    assert (back.family, back.model) == ("roformer", "tiny-roformer") and back.check().passed


def test_formulas_of_a_file_are_those_of_its_family(tmp_path):
    trace = locus.trace("tiny-roformer", text="tom went")
    arrays = {name: np.array(trace[name]) for name in ("layer.0.q_rot", "layer.0.scores")}
    save_tensors(tmp_path / "bare.safetensors", arrays)
    save_tensors(tmp_path / "named.safetensors", {"layer.0.scores": arrays["layer.0.scores"]}, {"family": "roformer"})
    save_tensors(tmp_path / "other.safetensors", {"layer.0.scores": arrays["layer.0.scores"]}, {"family": "a port"})
    for file, family in (("bare", "roformer"), ("named", "roformer"), ("other", "")):
        back = locus.load(tmp_path / f"{file}.safetensors")
        assert back.family == family
        formula = "q_rot_i . k_rot_j / sqrt(d)" if family else "(c2c + c2p + p2c) / sqrt(n d)"
        assert back.info["layer.0.scores"].formula == formula


def test_metadata_of_somebody_else_costs_nothing_but_itself(tmp_path):
    trace = locus.trace("tiny-v3", text="a new store", stages="layer.0.q")
    foreign = {"stages": "[5]", "pieces": "[[1]]", "closing": "[]", "tokens": "[1, 2]", "inputs": '[{"tokens":[[1,2]]}]'}
    save_tensors(tmp_path / "t.safetensors", {"layer.0.q": np.array(trace["layer.0.q"])}, foreign)
    back = locus.load(tmp_path / "t.safetensors")
    assert (back.tokens, back.closing, back.ids) == ([], {}, None)
    assert back.inputs[0]["tokens"].tolist() == [[1, 2]] and back.how["layer.0.q"] == "read from a file"


def test_globs_that_match_nothing_save_nothing(tmp_path):
    trace = locus.trace("tiny-v3", text="a new store", stages="layer.0.*")
    trace.save(tmp_path / "t.safetensors", stages=["layer.0.q", "layer.0.c2?"])
    assert locus.load(tmp_path / "t.safetensors").stages == ["layer.0.q", "layer.0.c2c", "layer.0.c2p"]
    with pytest.raises(locus.UsageError, match='stages: "layer.1.q" matches no stage of this trace'):
        trace.save(tmp_path / "none.safetensors", stages="layer.0.q,layer.1.q")
    assert not (tmp_path / "none.safetensors").exists()


def test_numbers_of_a_narrower_type_are_saved_in_it(tmp_path):
    trace = locus.Trace("deberta")
    values = np.linspace(0, 1, 18).reshape(1, 2, 3, 3)
    for name, dtype in (("c2c", "F32"), ("c2p", "F16"), ("p2c", None)):
        trace.add(f"layer.0.{name}", values, dtype=dtype)
    trace.save(tmp_path / "t.safetensors")
    assert locus.load(tmp_path / "t.safetensors").stored == {
        "layer.0.c2c": "F32", "layer.0.c2p": "F16", "layer.0.p2c": "F64"
    }


def test_traces_are_equal_where_their_numbers_are():
    trace = locus.trace("tiny-v3", text="a new store", stages="layer.0.*")
    assert trace == locus.trace("tiny-v3", text="a new store", stages="layer.0.*")
    assert trace != locus.trace("tiny-v3", text="a new shop", stages="layer.0.*")  # of another shape or other numbers
    assert trace != locus.trace("tiny-v3", text="a new store", stages="layer.0.q") and trace != {} and trace in [trace]
    holes = [locus.Trace(), locus.Trace()]
    for one in holes:
        one.add("layer.0.q", [[1.0, np.nan]])
    assert holes[0] == holes[1]
    holes[1].discard("layer.0.q")
    holes[1].add("layer.0.q", [[2.0, np.nan]])
    assert holes[0] != holes[1]


def test_the_reference_of_a_check():
    wrong = locus.trace("tiny-v3", text="a new store", dialect="paper", stages="layer.0.p2c")
    wrong.dialect = "official"
    reference = wrong.reference()
    assert reference["layer.0.p2c"].dtype == np.float64 and reference.model == "tiny-v3"
    assert locus.check(reference, wrong, model="tiny-v3").mistake == wrong.check().mistake == 1


# Of live models

models = pytest.importorskip("live_models")
torch = models.torch


def recorded(model, inputs, **options):
    with torch.no_grad(), locus.recording(model, **options) as trace:
        model(**inputs)
    return trace


def saved(trace, model, folder):
    """The trace read back from a file, which names the folder of the weights."""
    model.save_pretrained(folder / "model")
    trace.save(folder / "t.safetensors")
    back = locus.load(folder / "t.safetensors")
    assert back.rounding == trace.rounding and back.stored == trace.stored
    return back


@pytest.mark.parametrize("name", ["deberta v3", "roformer", "xlnet"])
def test_a_trace_under_autocast_passes_also_from_its_file(name, tmp_path):
    make, inputs_of, count = models.MODELS[name]
    model = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trace = recorded(model, inputs_of())
    assert trace.rounding["layer.0.attention"] == "BF16" and trace.stored["layer.0.attention"] == "F32"
    assert trace.check().passed
    report = saved(trace, model, tmp_path).check(tmp_path / "model")
    assert report.passed and len(report.stages) == count, str(report)
    assert locus.check(trace.reference(), tmp_path / "t.safetensors").passed


@pytest.mark.parametrize("name", ["deberta v1", "xlnet", "roformer"])
def test_a_trace_in_double_passes_also_from_its_file(name, tmp_path):
    make, inputs_of, _ = models.MODELS[name]
    model = make().double()
    trace = recorded(model, models.in_dtype(inputs_of(), torch.float64))
    assert bool(trace.rounding) == (name != "roformer") and trace.check().passed
    back = saved(trace, model, tmp_path)
    assert back["layer.0.q"].dtype == np.float64
    report = back.check(tmp_path / "model")
    assert report.passed, str(report)


def test_doubtful_terms_are_left_out_of_a_saved_trace_too(tmp_path):
    model = models.deberta_v3()
    trace = recorded(model, models.padded())
    trace.closing[0] = 0.5
    report = saved(trace, model, tmp_path).check(tmp_path / "model")
    assert report.passed and "layer.0.c2p" not in report.stages and "layers 0: the recomputed terms" in report.notes[0]
    alone = recorded(model, models.padded(), stages="layer.0.c2p")
    alone.closing[0] = 0.5
    for check in (alone.check, lambda: saved(alone, model, tmp_path).check(tmp_path / "model")):
        with pytest.raises(locus.UsageError, match="were left out, and nothing remains to be compared"):
            check()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_terms_without_their_context_are_judged_by_their_own_type(dtype):
    report = recorded(models.deberta_v3().to(dtype), models.padded(), stages=["layer.*.c2p", "layer.*.p2c"]).check()
    assert report.passed and not report.notes and len(report.stages) == 4


@pytest.mark.parametrize("make, of_head", [
    (models.deberta_v3, lambda m: m.cls.predictions.bias), (models.xlnet, lambda m: m.lm_loss.bias),
    (models.roformer, lambda m: m.cls.predictions.transform.dense.weight),
])
def test_a_head_that_changed_is_no_mistake_of_the_model(make, of_head):
    model = make()
    trace = recorded(model, {"input_ids": models.tokens()})
    with torch.no_grad():
        of_head(model).add_(1)
    with pytest.raises(locus.UsageError, match="the weights changed after the recording .*(cls|lm_loss)"):
        trace.check()


def test_a_classifier_that_changed_is_no_mistake_of_the_model():
    config = models.deberta_v3(num_labels=3).config
    model = models.randomised(models.transformers.DebertaV2ForSequenceClassification(config))
    trace = recorded(model, {"input_ids": models.tokens()})
    assert "classifier.logits" in trace.check().stages
    with torch.no_grad():
        model.classifier.bias.add_(1)
    with pytest.raises(locus.UsageError, match=r"the weights changed after the recording \(classifier.bias"):
        trace.check()


def test_the_live_model_serves_other_comparisons(tmp_path):
    model, inputs = models.deberta_v3(), models.padded()
    trace = recorded(model, inputs)
    reference = trace.reference()
    assert reference.stages == trace.stages and reference["layer.0.c2p"].dtype == np.float64 and reference.model == ""
    model.save_pretrained(tmp_path)
    wrong = locus.trace(tmp_path, inputs=trace.inputs[0], dialect="paper", stages="layer.0.scores,layer.0.context")
    unknown = locus.check(trace, wrong)
    assert not unknown.passed
    for whose in (model, trace, tmp_path):
        assert locus.check(trace, wrong, model=whose).mistake == 1
    trace.save(tmp_path / "t.safetensors")
    assert locus.load(tmp_path / "t.safetensors").check(model).passed
    with pytest.raises(locus.UsageError, match="model is a trace that does not say of which model it is"):
        locus.check(trace, wrong, model=locus.load(tmp_path / "t.safetensors"))


def test_warnings_of_a_live_check_name_no_temporary_file():
    model = models.deberta_v3()
    with torch.no_grad():
        model.deberta.encoder.layer[1].output.dense.bias.fill_(float("nan"))
    report = recorded(model, models.padded()).check()
    said = [note for note in report.notes if "NaN" in note]
    assert said and "the live model" in said[0] and "/locus-" not in str(report)
