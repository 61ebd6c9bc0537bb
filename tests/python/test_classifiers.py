"""Fine-tuned heads of live models: classes of texts and of tokens, recorded and computed again from the weights."""

import shutil
import types
from pathlib import Path

import numpy as np
import pytest

import locus_attention as locus
from live_models import deberta_v1, deberta_v3, padded, randomised, roformer, tokens, torch, transformers, xlnet

TEXT = ["classifier.pooled", "classifier.logits"]
TOKENS = ["classifier.token_logits"]
CLASSES = [
    (deberta_v3, "DebertaV2ForSequenceClassification", TEXT),
    (deberta_v3, "DebertaV2ForTokenClassification", TOKENS),
    (deberta_v3, "DebertaV2ForQuestionAnswering", TOKENS),
    (deberta_v1, "DebertaForSequenceClassification", TEXT),
    (deberta_v1, "DebertaForTokenClassification", TOKENS),
    (roformer, "RoFormerForSequenceClassification", TEXT),
    (roformer, "RoFormerForTokenClassification", TOKENS),
    (roformer, "RoFormerForQuestionAnswering", TOKENS),
    (xlnet, "XLNetForSequenceClassification", TEXT),
    (xlnet, "XLNetForTokenClassification", TOKENS),
    (xlnet, "XLNetForQuestionAnsweringSimple", TOKENS),
]


def fine_tuned(make, name, **options):
    config = make().config
    for key, value in {"num_labels": 2 if "QuestionAnswering" in name else 3, **options}.items():
        setattr(config, key, value)
    return randomised(getattr(transformers, name)(config))


def recorded(model, **options):
    kind = torch.float if "XLNet" in type(model).__name__ else torch.long
    with locus.recording(model, **options) as trace:
        with torch.no_grad():
            trace.out = model(**padded(kind))
    return trace


def of_classifier(trace):
    return [name for name in trace if name.startswith("classifier.")]


@pytest.mark.parametrize("make, name, stages", CLASSES)
def test_classes_are_recorded_and_are_those_of_the_weights(make, name, stages):
    trace = recorded(fine_tuned(make, name))
    assert of_classifier(trace) == stages
    out = trace.out
    logits = out.logits if hasattr(out, "logits") else torch.stack([out.start_logits, out.end_logits], -1)
    assert np.array_equal(trace[stages[-1]], logits.numpy())
    report = trace.check()
    assert report.passed and not report.notes and set(stages) <= set(report.stages), str(report)


@pytest.mark.parametrize(
    "make, name, options",
    [
        (deberta_v3, "DebertaV2ForSequenceClassification", {"pooler_hidden_act": "tanh"}),
        (deberta_v3, "DebertaV2ForSequenceClassification", {"num_labels": 1}),
        (xlnet, "XLNetForSequenceClassification", {"summary_type": "first"}),
        (xlnet, "XLNetForSequenceClassification", {"summary_type": "mean"}),
        (xlnet, "XLNetForSequenceClassification", {"summary_activation": ""}),
        (xlnet, "XLNetForSequenceClassification", {"summary_use_proj": False}),
    ],
)
def test_the_configuration_says_what_the_pooler_does(make, name, options):
    report = recorded(fine_tuned(make, name, **options)).check()
    assert report.passed and "classifier.logits" in report.stages, str(report)


def test_a_pooler_of_the_mean_is_named():
    model = fine_tuned(deberta_v3, "DebertaV2ForSequenceClassification")

    def mean(self, hidden_states):
        return torch.nn.functional.gelu(self.dense(hidden_states.mean(1)))

    model.pooler.forward = types.MethodType(mean, model.pooler)
    report = recorded(model).check()
    assert (report.passed, report.mistake, report.first) == (False, 114, "classifier.pooled")
    assert "the mean of all tokens" in str(report)


def test_a_bfloat16_classifier_and_one_sample_of_two():
    model = fine_tuned(deberta_v3, "DebertaV2ForSequenceClassification").bfloat16()
    trace = recorded(model, batch=1)
    assert trace["classifier.logits"].shape == (1, 3) and trace.check().passed


def test_layers_of_these_names_in_a_model_of_somebodys_own_are_left_alone():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = deberta_v3().deberta
            self.pooler = torch.nn.Sequential()
            self.pooler.dense = torch.nn.Linear(32, 32)
            self.classifier = torch.nn.Linear(32, 2)

        def forward(self, **inputs):
            return self.classifier(self.encoder(**inputs)[0].amax(1))

    with locus.recording(model := Own()) as trace:
        model(input_ids=tokens())
    assert not of_classifier(trace) and trace.check().passed


def test_multiple_choice_of_roformer_has_no_classes_of_tokens():
    model = fine_tuned(roformer, "RoFormerForMultipleChoice")
    with locus.recording(model) as trace, torch.no_grad():
        model(input_ids=tokens()[None])
    assert not of_classifier(trace) and trace.check().passed


# --- classify: the classes of a folder, without recording ------------------------------------------------------------

TOKENIZERS = Path(__file__).resolve().parents[1] / "oracle" / "tokenizers"
PAIR = ("A man plays the guitar.", "Somebody makes music.")


def saved(make, name, kind, folder, **options):
    """A fine-tuned model and a tokenizer in one folder, as people have them."""
    size = {"spm": 6001, "wordpiece": 800, "xlnet": 5000}[kind]
    model = fine_tuned(make, name, vocab_size=size, **options)
    model.save_pretrained(folder)
    for file in (TOKENIZERS / kind).iterdir():
        if file.name not in ("case.json", "cases.json", "pairs.json", "config.json"):
            shutil.copy(file, folder)
    return model


@pytest.mark.parametrize("second", [None, PAIR[1]])
@pytest.mark.parametrize(
    "make, name, kind",
    [
        (deberta_v3, "DebertaV2ForSequenceClassification", "spm"),
        (roformer, "RoFormerForSequenceClassification", "wordpiece"),
        (xlnet, "XLNetForSequenceClassification", "xlnet"),
        (deberta_v3, "DebertaV2ForTokenClassification", "spm"),
        (deberta_v3, "DebertaV2ForQuestionAnswering", "spm"),
        (xlnet, "XLNetForTokenClassification", "xlnet"),
        (xlnet, "XLNetForQuestionAnsweringSimple", "xlnet"),
    ],
)
def test_classify_says_what_transformers_says(tmp_path, make, name, kind, second):
    names = {} if "Question" in name else {"id2label": {0: "no", 1: "maybe", 2: "yes"}}
    model = saved(make, name, kind, tmp_path, **names)
    read = locus.tokens(PAIR[0], tmp_path, second)
    assert max(read.ids) < model.config.vocab_size
    with torch.no_grad():
        out = model(input_ids=torch.tensor([read.ids]), token_type_ids=torch.tensor([read.types]))
    found = locus.classify(PAIR[0] if second is None else f"{PAIR[0]} [SEP] {second}", tmp_path, top=100)
    if "Question" in name:
        expected = [out.start_logits[0], out.end_logits[0]]
        assert [each.of for each in found] == ["begin", "end"]
    elif "Token" in name:
        expected = list(out.logits[0])
        assert [each.position for each in found] == list(range(len(read.ids)))
    else:
        expected = [out.logits[0]]
    assert len(found) == len(expected)
    for each, logits in zip(found, expected):
        chances = torch.softmax(logits.double(), 0)
        assert [one.id for one in each.classes] == torch.argsort(logits, descending=True).tolist()
        for one in each.classes:
            assert one.logit == pytest.approx(logits[one.id].item(), abs=2e-5)
            assert one.probability == pytest.approx(chances[one.id].item(), abs=1e-5)
            assert not names or one.name == names["id2label"][one.id]


def test_classify_with_several_labels_and_a_regression(tmp_path):
    for kind, problem in (("several", "multi_label_classification"), ("score", None), ("number", "regression")):
        model = saved(deberta_v3, "DebertaV2ForSequenceClassification", "spm", tmp_path / kind,
                      problem_type=problem, **({} if kind == "several" else {"num_labels": 1}))
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([locus.tokens(PAIR[0], tmp_path / kind).ids])).logits[0]
        (found,) = locus.classify(PAIR[0], tmp_path / kind)
        for one in found.classes:
            expected = torch.sigmoid(logits[one.id]).item() if kind != "number" else float("nan")
            assert one.probability == pytest.approx(expected, abs=1e-5, nan_ok=True)
