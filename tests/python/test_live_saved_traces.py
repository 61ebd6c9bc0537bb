"""Recorded traces: judged from their files as they were live, and against the weights that the model has now."""

import copy
import pickle

import numpy as np
import pytest

import locus_attention as locus
import live_models as models
from live_models import torch


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
    wrong = locus.trace(tmp_path, inputs=trace.inputs[0], dialect="paper", stages="layer.0.probs,layer.1.output")
    unknown = locus.check(trace, wrong)
    assert not unknown.passed and unknown.mistake is None
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


def test_weights_that_were_written_through_data_are_seen_too():
    model = models.deberta_v3()
    weight = model.deberta.encoder.layer[0].attention.self.query_proj.weight
    weight.data = weight.data.t().contiguous().t()  # as it may lie in memory
    trace = recorded(model, models.padded())
    assert trace.check().passed
    weight.data.mul_(0.999)  # torch counts no write
    with pytest.raises(locus.UsageError, match=r"the weights changed after the recording \(encoder.layer.0.*query_proj.weight"):
        trace.check()
    weight.data.fill_(float("nan"))
    assert recorded(model, models.padded()).recorded.require_same_weights() is None  # NaN is the same as NaN


def test_copies_of_traces_are_read_only_and_copies_of_reports_equal():
    trace = recorded(models.deberta_v3(), models.padded())
    for other in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert other == trace and not any(array.flags.writeable for array in other.values())
    report = trace.check()
    again = pickle.loads(pickle.dumps(report))
    assert again == report and hash(again) == hash(report) and report != "passed"
    again.notes.append("another")
    assert again != report


def test_names_of_stages_are_offered_and_the_nearest_is_said():
    trace = recorded(models.deberta_v3(), models.padded())
    assert trace._ipython_key_completions_() == trace.stages
    with pytest.raises(KeyError, match='there is no stage "layer.0.prob" in this trace; the nearest is layer.0.probs'):
        trace["layer.0.prob"]
    with pytest.raises(KeyError, match="the name of a stage is 0, expected a str"):
        trace[0]
