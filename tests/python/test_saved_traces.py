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
    assert metadata_of(file)["family"] == "roformer"
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


def test_a_reference_of_another_dialect_is_completed_in_its_own(tmp_path):
    """A query of padding attends evenly in transformers and to nothing in the reference dialect: mistake 33."""
    given = {"tokens": [[1, 6, 56, 9, 2], [1, 7, 2, 0, 0]], "mask": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]}
    reference = locus.trace("tiny-v3", inputs=given, dialect="hf", stages="layer.0.q", precision="f64")
    whole = locus.trace("tiny-v3", inputs=given, dialect="hf", stages="layer.0.*", precision="f64")
    port = {name: array * 1.5 if name == "layer.0.q" else array for name, array in whole.items()}
    reference.save(tmp_path / "reference.safetensors")
    for one in (reference, tmp_path / "reference.safetensors"):
        report = locus.check(one, port, model="tiny-v3", inputs=given)
        assert report.first == "layer.0.q"
        assert report.stages["layer.0.probs"]["pass"]
        assert 33 not in [found.number for found in report.diagnoses]
