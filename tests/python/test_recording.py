"""Recording live models: every stage, the same bits, no hook left, and the verdict of Locus on the model's weights."""

import copy
import sys
import threading
import warnings

import numpy as np
import pytest

import locus_attention as locus
from live_models import (
    BLIND, LENGTH, MODELS, TORCH, deberta_v1, deberta_v3, hooks_of, in_dtype, needs_new_deberta, needs_stance, padded,
    randomised, roformer, tokens, torch, transformers, xlnet,
)

# A closing of right models is rounding of the model's type: ten times less than any mistake leaves.
CLOSING = {torch.float64: 1e-6, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}


def logits_of(model, inputs):
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize("dtype", CLOSING, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_every_stage_is_there_closes_and_agrees_with_locus(name, dtype):
    make, inputs_of, count = MODELS[name]
    if dtype == torch.float16 and TORCH < (2, 2):
        pytest.skip("torch 2.2 or newer computes float16 on a processor")
    if name == "xlnet, two streams" and dtype != torch.float32:
        pytest.skip("transformers itself cannot run two streams in this type")
    model, inputs = make().to(dtype), in_dtype(inputs_of(), dtype)
    wanted = logits_of(model, inputs)
    with torch.no_grad(), locus.recording(model) as trace:
        found = model(**inputs).logits
    assert torch.equal(wanted, found)
    assert hooks_of(model) == 0
    assert len(trace) == count
    assert max(trace.closing.values()) < CLOSING[dtype]
    report = trace.check()
    assert report.passed, str(report)
    assert len(report.stages) == count


def recorded(model, inputs=None, **options):
    with torch.no_grad(), locus.recording(model, **options) as trace:
        model(**(inputs or padded()))
    return trace


def test_arrays_say_where_they_come_from():
    trace = recorded(deberta_v3())
    assert trace["layer.0.c2p"].shape == (2, 4, 11, 11)
    assert trace.how["layer.0.c2p"] == "recomputed"
    assert trace.how["layer.0.context"] == "measured"
    assert trace.how["layer.0.q"] == "live projection"
    assert trace.ids.shape == (2, 11) and len(trace.tokens[0]) == 11
    assert trace.info["layer.0.c2p"].axes == ("B", "H", "Tq", "Tk")
    sums, sees = trace["layer.1.probs"].sum(-1), padded()["attention_mask"].bool().numpy()
    assert np.allclose(sums, np.where(sees[:, None], 1, LENGTH * BLIND), atol=1e-5)
    with pytest.raises(ValueError):
        trace["layer.0.c2p"][0] = 0


def test_xlnet_with_reversed_text_wants_an_even_batch():
    config = transformers.XLNetConfig(vocab_size=50, d_model=32, n_layer=2, n_head=4, d_inner=48, bi_data=True)
    model = randomised(transformers.XLNetLMHeadModel(config))
    with pytest.raises(locus.LocusError, match="the batch has 1 samples, expected an even number"):
        recorded(model, {"input_ids": tokens(1)})


def test_only_what_is_asked_for_is_kept():
    trace = recorded(deberta_v3(), stages="layer.*.probs,mlm.logits", layers=[1], batch=1)
    assert trace.stages == ["layer.1.probs", "mlm.logits"]
    assert trace["layer.1.probs"].shape == (1, 4, 11, 11)
    assert trace.check().passed
    assert recorded(deberta_v3(), stages="layer.[!0].c2[cp]").stages == ["layer.1.c2c", "layer.1.c2p"]


def test_what_matches_nothing_is_refused():
    with pytest.raises(locus.UsageError, match="matches no stage"):
        recorded(deberta_v3(), stages="layer.*.r_k")
    with pytest.raises(locus.UsageError, match="layers holds 2"):
        recorded(deberta_v3(), layers=[2])
    for wrong in ({"layers": [1.5]}, {"layers": [-1]}, {"batch": 0}, {"batch": -1}, {"batch": 1.5}):
        with pytest.raises(locus.UsageError, match="expected"):
            recorded(deberta_v3(), **wrong)


def test_hooks_go_also_after_an_exception():
    model = xlnet()
    with pytest.raises(ZeroDivisionError):
        with locus.recording(model):
            assert hooks_of(model) > 0
            raise ZeroDivisionError
    assert hooks_of(model) == 0


def test_a_pass_that_never_came_is_an_error():
    with pytest.raises(locus.RecordingError, match="was not called"):
        with locus.recording(deberta_v3()):
            pass


def test_a_missing_stage_is_named():
    model = deberta_v3()
    layer = model.deberta.encoder.layer[1]
    layer.intermediate.forward_unhooked = layer.intermediate.forward

    class Silent(torch.nn.Module):  # an implementation that never calls intermediate
        def __init__(self, layer):
            super().__init__()
            self.attention, self.intermediate, self.output = layer.attention, layer.intermediate, layer.output

        def forward(self, hidden_states, attention_mask, **options):
            options.pop("output_attentions", None)
            found = self.attention(hidden_states, attention_mask, **options)
            attended = found[0] if isinstance(found, tuple) else found  # before transformers 4.48 a tensor
            output = self.output(self.intermediate.forward(attended), attended)
            return (output, None) if isinstance(found, tuple) else output

    model.deberta.encoder.layer[1] = Silent(layer)
    with pytest.raises(locus.RecordingError, match="layer.1.ffn_act"):
        recorded(model)
    assert hooks_of(model) == 0


def test_dropout_stays_the_same_and_is_seen_by_the_closing_test():
    model = deberta_v3().train()
    torch.manual_seed(3)
    wanted = model(**padded()).logits
    torch.manual_seed(3)
    with locus.recording(model) as trace:
        found = model(**padded()).logits
    assert torch.equal(wanted, found)
    assert max(trace.closing.values()) > 0.05


def test_gradients_flow_through_a_recorded_pass():
    model = deberta_v1()
    with locus.recording(model):
        loss = model(**padded()).logits.square().mean()
    loss.backward()
    gradient = model.deberta.embeddings.word_embeddings.weight.grad
    assert gradient is not None and gradient.abs().max() > 0


def test_of_several_passes_the_first_is_recorded_and_said():
    model = deberta_v3()
    with torch.no_grad(), locus.recording(model) as trace:
        model(**padded())
        model(input_ids=tokens(1, 5))
    assert trace.passes == 2 and trace["layer.0.probs"].shape == (2, 4, 11, 11)
    assert "2 passes" in trace.warnings[0]


def test_weights_that_changed_since_the_recording_are_no_mistake_of_the_model():
    model = deberta_v3()
    with locus.recording(model) as trace:
        model(**padded()).logits.square().mean().backward()
    assert trace.check().passed
    assert copy.deepcopy(trace).check().passed
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    with pytest.raises(locus.UsageError, match="the weights changed after the recording"):
        trace.check()
    trace = recorded(model)
    model.half()
    with pytest.raises(locus.UsageError, match="the weights changed after the recording"):
        trace.check()


@pytest.mark.parametrize("make", [deberta_v3, deberta_v1])
def test_positions_of_the_callers_own_are_no_mistake_of_the_model(make):
    model = make(position_biased_input=True)
    ids = tokens(1, 6)
    usual = recorded(model, {"input_ids": ids, "position_ids": torch.arange(6)[None]})
    assert usual.check().passed
    moved = recorded(model, {"input_ids": ids, "position_ids": torch.arange(3, 9)[None]})
    with pytest.raises(locus.UsageError, match="given position_ids other than 0, 1, 2"):
        moved.check()
    without = recorded(make(), {"input_ids": ids, "position_ids": torch.arange(3, 9)[None]})
    assert without.check().passed  # nothing reads them


def test_a_model_in_training_mode_is_said():
    model = deberta_v3()
    assert recorded(model).warnings == []
    model.train()
    for module in model.modules():
        if "Dropout" in type(module).__name__:
            module.p = module.drop_prob = 0.1
    with locus.recording(model) as trace:
        model(**padded())
    assert len(trace.warnings) == 1 and "training mode" in trace.warnings[0]


@pytest.mark.parametrize("make", [deberta_v3, roformer, xlnet])
def test_a_pass_of_another_thread_is_not_mixed_in(make):
    model = make()
    right = recorded(model)
    other = {"input_ids": tokens(1, 5)}
    inside = []

    def interrupted(module, arguments):
        if not inside:
            inside.append(threading.Thread(target=lambda: model(**other)))
            inside[0].start()
            inside[0].join()

    layers = [m for name, m in model.named_modules() if name.endswith("layer.1")]
    with layers[0].register_forward_pre_hook(interrupted):
        trace = recorded(model)
    assert inside and "2 passes" in trace.warnings[0]
    assert all(np.array_equal(trace[name], right[name]) for name in right)


@pytest.mark.parametrize("make", [deberta_v3, deberta_v1, roformer])
def test_long_texts_reach_the_ends_of_the_table(make):
    trace = recorded(make(), {"input_ids": tokens(1, 40)})
    assert max(trace.closing.values()) < 1e-5
    assert trace.check().passed


def test_masks_of_pairs():
    mask = torch.tril(torch.ones(11, 11, dtype=torch.long)).expand(2, 11, 11).contiguous()
    if int(transformers.__version__.split(".")[0]) >= 5:  # which takes pairs only as numbers that are added
        mask = ((1 - mask[:, None]) * torch.finfo(torch.float32).min).float()
    trace = recorded(roformer(), {"input_ids": tokens(), "attention_mask": mask})
    assert not trace["layer.0.probs"][:, :, 2, 3:].any()
    assert trace.check().passed


@pytest.mark.parametrize("name", MODELS)
def test_the_size_that_is_announced_is_that_of_the_trace(name, monkeypatch):
    announced = []
    recorder = sys.modules["locus_attention.recording"].Recorder
    monkeypatch.setattr(recorder, "announce", lambda self, size: announced.append(size))
    make, inputs_of, _ = MODELS[name]
    for options in ({}, {"batch": 1, "stages": "layer.*.c2c,layer.*.scores,layer.*.bd_raw,*.logits"}, {"layers": [1]}):
        trace = recorded(make(), inputs_of(), **options)
        real = sum(array.nbytes for array in trace.values())
        assert announced.pop() == pytest.approx(real, rel=0.05), options
    trace = recorded(make().double(), in_dtype(inputs_of(), torch.float64)) if name != "xlnet, two streams" else trace
    assert not announced or announced.pop() == pytest.approx(sum(array.nbytes for array in trace.values()), rel=0.05)


def test_a_large_recording_is_announced():
    module = sys.modules["locus_attention.recording"]  # the package's own name for it is the function
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limit, module._ANNOUNCED_BYTES = module._ANNOUNCED_BYTES, 1000
        try:
            recorded(deberta_v3())
        finally:
            module._ANNOUNCED_BYTES = limit
    assert any("stages=, layers= and batch=" in str(one.message) for one in caught)


# Models in other clothes


@pytest.mark.parametrize("name", ["deberta v3", "deberta v2 with a convolution", "roformer", "xlnet"])
def test_autocast(name):  # of DeBERTa v1 transformers itself fails there
    make, inputs_of, count = MODELS[name]
    model, inputs = make(), inputs_of()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wanted = logits_of(model, inputs)
        with torch.no_grad(), locus.recording(model) as trace:
            found = model(**inputs).logits
    assert torch.equal(wanted, found) and len(trace) == count
    assert max(trace.closing.values()) < 3e-2
    # Norms give float32 again, of what was rounded to bfloat16: their tolerance is that of bfloat16.
    assert trace.stored["layer.0.context"] == "BF16" and trace.stored["layer.0.attention"] == "F32"
    assert trace.check().passed, str(trace.report)


@pytest.mark.skipif(TORCH < (2, 1), reason="torch 2.0 compiles nothing on newer Pythons")
def test_a_torch_that_cannot_run_compiled_models_is_named(monkeypatch):
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    with pytest.raises(locus.UsageError, match="expected torch 2.6 or newer, or the model before torch.compile"):
        recorded(torch.compile(deberta_v3(), backend="eager"))


@needs_stance
def test_compiled_models_run_as_they_were_written():
    model = deberta_v3()
    wanted = logits_of(model, padded())
    for compiled in (torch.compile(model, backend="eager"), copy.deepcopy(model)):
        if not hasattr(compiled, "_orig_mod"):
            compiled.compile(backend="eager")
        trace = recorded(compiled)
        assert len(trace) == 36 and trace.check().passed
        with torch.no_grad():
            assert torch.allclose(compiled(**padded()).logits, wanted, atol=1e-5)


@needs_stance
@pytest.mark.parametrize("name", ["deberta v3", "roformer", "xlnet"])
def test_parts_of_a_model_that_are_compiled(name):
    make, inputs_of, count = MODELS[name]
    model = make()
    core = model.base_model
    holder = core if name == "xlnet" else core.encoder
    for number, layer in enumerate(holder.layer):
        holder.layer[number] = torch.compile(layer, backend="eager")
    if name != "xlnet":
        core.encoder = torch.compile(core.encoder, backend="eager")
    before = hooks_of(model)  # what torch.compile puts there itself
    trace = recorded(model, inputs_of())
    assert len(trace) == count and trace.check().passed and hooks_of(model) == before


@pytest.mark.parametrize("name", ["deberta v3", "roformer", "xlnet"])
def test_a_pass_of_embeddings_instead_of_tokens(name):
    make, _, count = MODELS[name]
    model = make()
    with torch.no_grad():
        given = model.get_input_embeddings()(tokens())
    trace = recorded(model, {"inputs_embeds": given})
    assert len(trace) == count and np.array_equal(trace["embeddings.word"], given.numpy())
    with pytest.raises(locus.UsageError, match="was given inputs_embeds, expected input_ids"):
        trace.check()


@pytest.mark.parametrize("make", [deberta_v3, deberta_v1])
def test_the_newer_head(make):
    model = make(legacy=False)
    try:
        logits_of(model, padded())
    except RuntimeError:
        pytest.skip("transformers itself cannot run this head")
    trace = recorded(model)
    assert len(trace) == 36 and trace["mlm.logits"].shape == (2, 11, 50) and trace.check().passed


class Own(torch.nn.Module):
    """An encoder under a name of somebody's own, and a part after it."""

    def __init__(self, encoder, **part):
        super().__init__()
        self.encoder = encoder
        (self.name, module), = part.items()
        setattr(self, self.name, module)

    def forward(self, **inputs):
        return getattr(self, self.name)(self.encoder(**inputs)[0])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("make, part", [(deberta_v3, "cls"), (deberta_v1, "cls"), (roformer, "cls"), (xlnet, "lm_loss")])
def test_the_head_of_transformers_in_a_model_of_somebodys_own(make, part, tied):
    whole = make()
    head = getattr(whole, part)
    if not tied:  # as where nobody ties it: its output layer and the bias of that
        head = randomised(copy.deepcopy(head), seed=1)
    trace = recorded(Own(whole.base_model, **{part: head}), {"input_ids": tokens()})
    logits = "lm.logits" if make is xlnet else "mlm.logits"
    report = trace.check()
    assert report.passed and logits in report.stages and not report.notes, str(report)
    trace._arrays[logits] = 1.01 * trace[logits]
    assert not trace.check().passed


@pytest.mark.parametrize("make", [deberta_v3, deberta_v1, roformer])
def test_an_output_layer_that_is_not_tied(make):
    model = make(tie_word_embeddings=False)
    report = recorded(model).check()
    assert report.passed and "mlm.logits" in report.stages, str(report)


class Predicts(torch.nn.Module):
    """Has the name that the head of transformers has, and nothing else of it."""

    def __init__(self):
        super().__init__()
        self.predictions = self.lm_head = torch.nn.Linear(32, 2)

    def forward(self, x):
        return self.predictions(x)


@pytest.mark.parametrize(
    "make, part, module",
    [
        (deberta_v3, "cls", torch.nn.Linear(32, 2)),
        (deberta_v3, "cls", Predicts()),
        (deberta_v1, "lm_predictions", torch.nn.Linear(32, 50)),
        (deberta_v3, "lm_predictions", Predicts()),
        (roformer, "cls", Predicts()),
        (xlnet, "lm_loss", torch.nn.Linear(32, 2)),
        (xlnet, "lm_loss", torch.nn.Softmax(-1)),
    ],
)
def test_something_else_under_the_name_of_a_head(make, part, module):
    trace = recorded(Own(make().base_model, **{part: module}), {"input_ids": tokens()})
    assert not [name for name in trace if "lm." in name]
    report = trace.check()
    assert report.passed and not report.notes, str(report)


@needs_new_deberta
def test_a_head_that_the_config_does_not_describe_is_left_out():
    whole = deberta_v3(legacy=False, tie_word_embeddings=False)
    trace = recorded(Own(whole.base_model, cls=deberta_v3().cls), {"input_ids": tokens()})
    report = trace.check()
    assert "mlm.logits" in trace and report.passed and "mlm.logits" not in report.stages
    assert report.notes == [
        "mlm.transform, mlm.logits: the head is not laid out as that of transformers, so they were left out"
    ]


@pytest.mark.parametrize("name", ["deberta v3", "roformer", "xlnet"])
def test_a_model_whose_forward_is_called_by_its_name(name):  # as sentence-transformers does
    make, inputs_of, count = MODELS[name]
    model = make().base_model
    with torch.no_grad(), locus.recording(model) as trace:
        model.forward(**inputs_of())
    assert trace.check().passed and trace.passes == 1 and hooks_of(model) == 0
    with torch.no_grad(), locus.recording(model) as same:
        model(**inputs_of())
    assert same.passes == 1 and np.array_equal(same["layer.1.probs"], trace["layer.1.probs"])


def test_checkpointed_training():
    model = deberta_v3().train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        elif hasattr(module, "drop_prob"):
            module.drop_prob = 0.0
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    with locus.recording(model) as trace:
        model(**padded()).logits.sum().backward()
    assert trace.check().passed and max(trace.closing.values()) < 1e-5


def test_a_wrapped_model():
    model = deberta_v3()

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = model

        def forward(self, **inputs):
            return self.module(**inputs)

    assert recorded(Wrapped()).check().passed
    assert recorded(torch.nn.DataParallel(model)).check().passed


class TwoTowers(torch.nn.Module):
    """A bi-encoder: two models in one."""

    def __init__(self):
        super().__init__()
        self.queries, self.texts = deberta_v3().deberta, deberta_v3(num_hidden_layers=1).deberta

    def encode(self, ids):
        return self.queries(input_ids=ids), self.texts(input_ids=ids)


def test_at_chooses_one_of_two_encoders():
    towers = TwoTowers()
    with pytest.raises(locus.UsageError, match="'queries', 'texts'"):
        with locus.recording(towers):
            pass
    with torch.no_grad(), locus.recording(towers, at="texts") as trace:
        towers.encode(tokens())
    assert trace.layers == [0] and trace.check().passed
    with pytest.raises(locus.UsageError, match="expected the path"):
        with locus.recording(towers, at="words"):
            pass


def test_a_model_without_an_encoder_is_refused():
    with pytest.raises(locus.UsageError, match="Linear holds no DebertaModel"):
        with locus.recording(torch.nn.Linear(2, 2)):
            pass


def test_scripts_of_torch_jit_are_refused():
    with pytest.raises(locus.UsageError, match="torch.jit"):
        with locus.recording(torch.jit.script(torch.nn.Linear(2, 2))):
            pass


@pytest.mark.parametrize("dora", [False, True], ids=["lora", "dora"])
def test_adapters_are_recorded_and_judged_with_their_weights(dora):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    config = peft.LoraConfig(r=4, target_modules=["query_proj", "value_proj"], use_dora=dora, lora_dropout=0.1)
    model = peft.get_peft_model(deberta_v3(), config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) / 4)
    assert not torch.equal(logits_of(model, padded()), logits_of(deberta_v3(), padded()))
    trace = recorded(model)
    assert max(trace.closing.values()) < 1e-5
    assert trace.check().passed, str(trace.report)


def test_dropout_inside_an_adapter_draws_what_it_would_without_a_recording():
    peft = pytest.importorskip("peft", reason="peft is not installed")
    config = peft.LoraConfig(r=4, target_modules=["query_proj"], lora_dropout=0.5, init_lora_weights=False)
    model = peft.get_peft_model(deberta_v3(), config).train()
    torch.manual_seed(3)
    wanted = model(**padded()).logits
    torch.manual_seed(3)
    with locus.recording(model):
        found = model(**padded()).logits
    assert torch.equal(wanted, found)


@pytest.mark.skipif(not hasattr(torch.nn.utils.parametrizations, "weight_norm"), reason="torch 2.1 or newer has it")
def test_weight_norm_and_dynamic_int8():
    model = deberta_v3()
    for layer in model.deberta.encoder.layer:
        torch.nn.utils.parametrizations.weight_norm(layer.attention.self.query_proj)
    assert recorded(model).check().passed
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this torch has no int8 kernels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.ao.quantization.quantize_dynamic(deberta_v3(), {torch.nn.Linear}, torch.qint8)
    # Activations are rounded to 8 bits, so the terms are those of the model and its context is theirs.
    assert max(recorded(quantised).closing.values()) < 1e-4


# Programs around a model


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A tokenizer of whole words, and folders of random models that outer libraries open."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", *"abcdefghijklmnopqrstuvwxyz"])}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        model_input_names=["input_ids", "attention_mask"],
    )

    def saved(name, model):
        folder = tmp_path_factory.mktemp(name)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder)

    return saved


def test_cross_encoder(words):
    outer = pytest.importorskip("sentence_transformers", reason="sentence_transformers is not installed")
    inner = deberta_v3()
    scorer = transformers.DebertaV2ForSequenceClassification(inner.config)
    scorer.deberta = inner.deberta
    model = outer.CrossEncoder(words("cross", scorer), device="cpu")
    pairs = [("a b c", "d e"), ("x", "y z")]
    wanted = model.predict(pairs)
    with locus.recording(model) as trace:
        found = model.predict(pairs)
    assert np.array_equal(wanted, found)
    assert trace.tokens[0][0] == "[CLS]" and trace.check().passed


@pytest.mark.parametrize("make", [deberta_v3, deberta_v1, roformer, xlnet])
def test_sentence_transformer(words, make):
    outer = pytest.importorskip("sentence_transformers", reason="sentence_transformers is not installed")
    model = outer.SentenceTransformer(words("sentence", make().base_model), device="cpu")
    wanted = model.encode(["a b c", "d"])
    with locus.recording(model) as trace:
        found = model.encode(["a b c", "d"])
    assert np.array_equal(wanted, found)
    assert not trace["layer.0.probs"][1, :, :3, 3:].any() and trace.check().passed


def test_gliner(words):
    gliner = pytest.importorskip("gliner", reason="gliner is not installed")
    folder = words("gliner", deberta_v3().deberta)
    config = gliner.GLiNERConfig(model_name=folder, hidden_size=32, max_len=30, fine_tune=True, dropout=0.0)
    model = gliner.GLiNER.from_config(config).eval()
    wanted = model.predict_entities("a b c d", ["x", "y"], threshold=0.0)
    with torch.no_grad(), locus.recording(model) as trace:
        found = model.predict_entities("a b c d", ["x", "y"], threshold=0.0)
    assert wanted == found
    assert max(trace.closing.values()) < 1e-5 and trace.check().passed


def test_gliner_of_two_encoders(words):
    gliner = pytest.importorskip("gliner", reason="gliner is not installed")
    folder = words("towers", deberta_v3().deberta)
    config = gliner.GLiNERConfig(
        model_name=folder, labels_encoder=folder, hidden_size=32, max_len=30, fine_tune=True, dropout=0.0
    )
    model = gliner.GLiNER.from_config(config).eval()

    def entities():
        return model.predict_entities("a b c d", ["x", "y", "z"], threshold=0.0)

    named = "holds 2 encoders; say at= one of '.*bert_layer.model', '.*labels_encoder.model'"
    with pytest.raises(locus.UsageError, match=named):
        with locus.recording(model):
            pass
    wanted = entities()
    for at, texts in (("bert_layer.model", 1), ("labels_encoder.model", 3)):
        with torch.no_grad(), locus.recording(model, at="model.token_rep_layer." + at) as trace:
            assert entities() == wanted
        assert trace["layer.0.probs"].shape[0] == texts and trace.check().passed


def test_a_pipeline(words):
    folder = words("pipeline", deberta_v3())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = "m"
    pipeline = transformers.pipeline("fill-mask", model=deberta_v3(), tokenizer=tokenizer, device="cpu")
    wanted = pipeline("a b m c")
    with locus.recording(pipeline) as trace:
        assert pipeline("a b m c") == wanted
    assert trace.tokens == [["[CLS]", "a", "b", "m", "c", "[SEP]"]] and trace.check().passed
