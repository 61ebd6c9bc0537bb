"""What callers of live models give: tensors are understood, and what is no model is refused in one sentence."""

import warnings

import numpy as np
import pytest

import locus_attention as locus
from live_models import deberta_v3, padded, tokens, torch, transformers
from test_arguments import refused


def record(model, **options):
    with torch.no_grad(), locus.recording(model, **options) as trace:
        model(**padded())
    return trace


@pytest.mark.parametrize("model, sentence", [
    ("m_deberta", "the model is 'm_deberta', expected a torch.nn.Module .*; locus.trace runs the model of a folder"),
    (None, "the model is None, expected a torch.nn.Module or an object that holds one$"),
    ([torch.nn.Linear(2, 2)], "the model is .Linear.*, expected a torch.nn.Module or an object that holds one$"),
    ({}, "the model is {}, expected a torch.nn.Module"),
    (transformers.DebertaV2Model, "the model is the class DebertaV2Model, expected a model made of it"),
])
def test_what_is_no_live_model(model, sentence, tmp_path):
    for call in (lambda: locus.recording(model), lambda: locus.ablate(model)):
        with pytest.raises(locus.UsageError, match=sentence):
            with call():
                pass
    with pytest.raises(locus.UsageError, match=sentence):
        locus.kit.from_model(model, tmp_path / "kit")


@pytest.mark.parametrize("options, sentence", [
    ({"tokenizer": 5}, "tokenizer is 5, expected a tokenizer of transformers"),
    ({"layers": 0}, "layers is 0, expected a list of whole numbers"), ({"at": 5}, "at is 5, expected the path of one"),
    ({"stages": 5}, "stages is 5, expected patterns of names"), ({"layers": "0"}, "layers is '0', expected a list"),
])
def test_options_of_a_recording(options, sentence):
    refused(lambda: record(deberta_v3(), **options), sentence)


@pytest.mark.parametrize("options, sentence", [
    ({"heads": 0}, "heads is 0, expected a list of whole numbers"), ({"layers": 0}, "layers is 0, expected a list"),
    ({"drop": 5}, "drop is 5, expected the name of a term or a list of names"), ({"drop": [5]}, 'drop is "5", expected a term'),
])
def test_options_of_an_ablation(options, sentence):
    def call():
        with locus.ablate(deberta_v3(), **options):
            pass

    refused(call, sentence)


def test_inside_the_with():
    model = deberta_v3()
    with torch.no_grad(), locus.recording(model) as trace:
        with pytest.raises(KeyError, match="a recording holds its stages when its with has ended"):
            trace["layer.0.c2p"]
        model(**padded())
        refused(trace.check, "the recording has not ended, expected the check after its with")
        refused(lambda: locus.check(trace, {"layer.0.q": trace["layer.0.q"]}), "reference: the recording has not ended")
    assert trace.check().passed
    refused(lambda: trace.check(inputs={"tokens": tokens()}), "inputs: a recorded trace knows what its pass was given")
    assert trace.check(rtol=1e-3, progress=False).passed


def test_stages_of_tensors(tmp_path):
    plain = torch.randn(1, 2, 3, 3, generator=torch.Generator().manual_seed(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns of tensors that it reads itself
        trace = locus.Trace("deberta")
        trace.add("layer.0.c2c", plain.clone().requires_grad_())
        trace.add("layer.0.c2p", plain.bfloat16(), "a port")
        trace.add("layer.0.p2c", plain.half().transpose(2, 3))
        trace.add("layer.0.scores", torch.nn.Parameter(plain.double()))
        trace.add("relative.index", torch.ones(3, 3, dtype=torch.int32))
    assert list(trace.stored.values()) == ["F32", "BF16", "F16", "F64", "I64"]
    assert np.array_equal(trace["layer.0.p2c"], plain.half().float().transpose(2, 3).numpy())
    plain.zero_()
    assert trace["layer.0.c2c"].any()
    trace.save(tmp_path / "t.safetensors")
    assert locus.load(tmp_path / "t.safetensors") == trace
    for wrong in (plain.to("meta"), plain[0, 0].to_sparse(), plain.to(torch.complex64)):
        refused(lambda: trace.add("layer.0.probs", wrong), "layer.0.probs: a tensor of torch.")


def test_tensors_instead_of_traces():
    model = deberta_v3()
    trace = record(model)
    mine = {name: torch.from_numpy(np.array(trace[name])).bfloat16() for name in ("layer.0.q", "layer.0.c2p")}
    assert locus.check(trace, mine).passed  # by the rounding of bfloat16
    assert not locus.check(trace, {name: tensor.float() * 1.002 for name, tensor in mine.items()}).passed


def test_tensors_as_inputs():
    ids, mask = padded()["input_ids"], padded()["attention_mask"]
    wanted = locus.trace("tiny-v3", inputs={"tokens": ids.numpy(), "mask": mask.numpy()}, stages="layer.0.probs")
    batch = transformers.BatchEncoding({"input_ids": ids, "attention_mask": mask.float().requires_grad_()})
    assert locus.trace("tiny-v3", inputs=batch, stages="layer.0.probs") == wanted
    same = [locus.trace("tiny-v3", tokens=given, stages="layer.0.q") for given in (ids.int(), ids.numpy())]
    assert same[0] == same[1]
    refused(lambda: locus.trace("tiny-v3", tokens=ids.bfloat16()), "tokens holds float32 values, expected the ids of tokens")
