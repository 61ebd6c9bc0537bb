"""Kits of live models: what they hold, and how a right and a wrong port are judged by them."""

import json
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import locus_attention as locus
from live_models import BLIND, deberta_v1, deberta_v3, needs_new_deberta, roformer, torch, xlnet
from locus_attention import kit_of_model
from test_arguments import refused


def three_layers(make, **options):
    return lambda: make(num_hidden_layers=3, **options)


FAMILIES = {
    "deberta v3": three_layers(deberta_v3), "deberta v1": three_layers(deberta_v1), "roformer": three_layers(roformer),
    "xlnet": xlnet,
}
NAMES = {"tokens": "input_ids", "mask": "attention_mask", "input_mask": "input_mask"}


def cases_of(kit):
    return [case["id"] for case in json.loads((kit / "kit.json").read_text(encoding="utf-8"))["cases"]]


def write_dumps(model, kit, dumps, only_measured=False):
    """What a port that is this live model writes for every case; only_measured: nothing that Locus recomputes."""
    for case in cases_of(kit):
        inputs = locus.load(kit / "cases" / case / "inputs.safetensors")
        given = {NAMES[name]: torch.from_numpy(np.array(inputs[name])) for name in inputs}
        if "input_mask" in given:
            given["input_mask"] = given["input_mask"].float()
        with torch.no_grad(), locus.recording(model, layers=[0, 1]) as trace:
            model(**given)
        stages = {name: trace[name] for name in trace if not only_measured or trace.how[name] == "measured"}
        (dumps / case).parent.mkdir(parents=True, exist_ok=True)
        locus.files.save_tensors(dumps / f"{case}.safetensors", stages)


def program_says(kit, dumps):
    """Exit status of locus-kit check."""
    done = subprocess.run(
        [sys.executable, "-m", "locus_attention", "kit", "check", str(kit), str(dumps)], capture_output=True, text=True
    )
    assert not done.stderr, done.stderr
    return done.returncode


@pytest.mark.parametrize("family", FAMILIES)
def test_a_right_port_passes_the_kit_of_a_live_model(family, tmp_path):
    model = FAMILIES[family]()
    done = locus.kit.from_model(model, tmp_path / "kit")
    assert not model.training and done.folder == str(tmp_path / "kit")
    (tmp_path / "elsewhere").mkdir()
    kit = (tmp_path / "kit").rename(tmp_path / "elsewhere/moved")
    longer = ["L3/t64"] if family == "roformer" else ["L3/t300", "L3/t600"]  # its table of angles ends at 64
    assert cases_of(kit) == ["L3/t17", "L3/padded", *longer] and done.cases == 2 + len(longer)
    for case in cases_of(kit):
        told = json.loads((kit / "cases" / case / "case.json").read_text(encoding="utf-8"))
        shape = [2, 17] if case == "L3/padded" else [1, int(case[4:])]
        assert told["checkpoint"] == "../../../model" and told["inputs"][0]["shape"] == shape
    write_dumps(model, kit, tmp_path / "dumps")
    report = locus.kit.check(kit, tmp_path / "dumps")
    # Before transformers 4.48 DeBERTa gave queries that see no key zeros; nothing else may be wrong.
    blind = family.startswith("deberta") and BLIND == 0
    assert report.diagnoses == ({"L3/padded": 33} if blind else {}), str(report)
    assert report.counts["passed"] == done.cases - blind and report.counts["failed"] == blind
    for case in cases_of(kit):
        stages = list(locus.load(kit / "cases" / case / "reference.safetensors"))
        assert "layer.1.output" in stages and not any(name.startswith(("layer.2", "mlm", "lm")) for name in stages)
    assert program_says(kit, tmp_path / "dumps") == blind


@needs_new_deberta
def test_a_wrong_port_is_named_by_the_kit_of_a_live_model(tmp_path, monkeypatch):
    """Log buckets that are rounded down differ where texts are longer than half of the buckets, so not at T = 17."""
    model = three_layers(deberta_v3, position_buckets=32)()
    kit, dumps = tmp_path / "kit", tmp_path / "dumps"
    locus.kit.from_model(model, kit)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "ceil", torch.floor)
        write_dumps(model, kit, dumps, only_measured=True)
    report = locus.kit.check(kit, dumps)
    assert not report and report.first == "relative.index"
    assert report.diagnoses == {"L3/t300": 16, "L3/t600": 16} and report.counts["passed"] == 2, str(report)
    assert program_says(kit, dumps) == 1


def test_a_kit_of_a_live_model_holds_what_its_cases_ask_for(tmp_path):
    """Of as many heads as real models have: no more than 20 MB of cases, and of ten layers the weights of two."""
    model = deberta_v3(num_hidden_layers=10, vocab_size=4000, hidden_size=96, num_attention_heads=12).bfloat16()
    (tmp_path / "kit").mkdir()  # an empty folder is as good as none
    done = locus.kit.from_model(model, tmp_path / "kit", progress=False)
    files = [path for path in (tmp_path / "kit").rglob("*") if path.is_file()]
    sizes = {path: path.stat().st_size for path in files}
    assert (done.files, done.bytes) == (len(files), sum(sizes.values()))
    weights = tmp_path / "kit/model/model.safetensors"
    held = locus.load(weights)
    first = {name: tensor for name, tensor in model.deberta.named_parameters() if name.split(".")[2] not in "23456789"}
    assert set(held) == {f"deberta.{name}" for name in first}
    for name in ("embeddings.word_embeddings.weight", "encoder.layer.1.attention.self.query_proj.weight"):
        assert np.array_equal(held[f"deberta.{name}"], first[name].detach().float().numpy())
    assert sizes[weights] < 2 * sum(tensor.numel() for tensor in first.values()) + 10_000  # bfloat16 stays
    config = json.loads((tmp_path / "kit/model/config.json").read_text(encoding="utf-8"))
    assert config["num_hidden_layers"] == 2 and model.config.num_hidden_layers == 10
    assert 1_000_000 < done.bytes - sizes[weights] < 20_000_000


def test_the_encoder_of_a_kit_is_chosen(tmp_path):
    both = torch.nn.ModuleDict({"left": deberta_v3(), "right": xlnet()})
    refused(lambda: locus.kit.from_model(both, tmp_path / "kit"), "the model holds 2 encoders")
    locus.kit.from_model(both, tmp_path / "kit", at="right")
    assert json.loads((tmp_path / "kit/model/config.json").read_text(encoding="utf-8"))["model_type"] == "xlnet"


def test_what_cannot_be_a_kit_of_a_live_model_leaves_nothing(tmp_path, monkeypatch):
    model = deberta_v3()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("here")
    with monkeypatch.context() as patched:
        patched.setattr(locus.weights, "export_model", None)  # refused before any weight is read
        for there in ("full", "full/mine"):
            refused(lambda: locus.kit.from_model(model, tmp_path / there), "is there already, expected a new or an empty")
    with torch.no_grad():
        model.deberta.encoder.layer[1].output.dense.bias[3] = float("nan")
    with pytest.raises(locus.UnreadableError, match="^the live model: .*layer.1.output.dense.bias holds NaN or infinity"):
        locus.kit.from_model(model, tmp_path / "a/kit")

    @contextmanager
    def interrupted(*_):
        def step(done):
            raise KeyboardInterrupt
        yield step

    monkeypatch.setattr(kit_of_model, "shown_progress", interrupted)
    with pytest.raises(KeyboardInterrupt):
        locus.kit.from_model(deberta_v3(), tmp_path / "a/kit")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "mine"]
