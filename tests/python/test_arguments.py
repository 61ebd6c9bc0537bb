"""What callers give: what is understood, and one sentence for everything else."""

import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import locus_attention as locus

IDS = np.array([[1, 6, 56, 4, 2], [1, 6, 2, 0, 0]])
SURROGATE = "a \ud83d"
NOT_UTF8 = os.fsdecode(b"/tmp/\xff")


@pytest.fixture(scope="module")
def trace():
    return locus.trace("tiny-v3", text="a new store", stages="layer.0.*")


def refused(call, sentence):
    """The call raises UsageError with this sentence, which is one line and names no option of a program."""
    with pytest.raises(locus.UsageError) as caught:
        call()
    assert sentence in str(caught.value) and "\n" not in str(caught.value) and "--" not in str(caught.value)


PATHS = {
    "trace": lambda path: locus.trace(path, "a"), "load": locus.load, "tokens": lambda path: locus.tokens("a", path),
    "fill": lambda path: locus.fill("a [MASK]", path), "classify": lambda path: locus.classify("a", path),
    "inputs": lambda path: locus.trace("tiny-v3", inputs=path), "check": lambda path: locus.check(path, locus.Trace()),
    "model": lambda path: locus.check({"layer.0.q": [[1.0]]}, {"layer.0.q": [[1.0]]}, model=path),
    "export": locus.kit.export, "kit.check": lambda path: locus.kit.check("kit", path), "stages": locus.stages,
}


@pytest.mark.parametrize("call", PATHS.values(), ids=PATHS)
def test_paths(call):
    refused(lambda: call(NOT_UTF8), r"is '/tmp/\udcff', expected a path that is UTF-8")
    refused(lambda: call(""), "is empty, expected the name of a file or folder")
    refused(lambda: call("a\0b"), r"is 'a\x00b', expected a path without a NUL")
    refused(lambda: call(5), "is 5, expected a")


def test_paths_of_bytes(trace, tmp_path):
    file = os.fsencode(tmp_path / "t.safetensors")
    trace.save(file)
    assert locus.load(file) == trace and locus.check(file, trace).passed
    assert locus.trace(b"tiny-v3", "a new store", stages="layer.0.*") == trace
    for save in (trace.save, lambda path: locus.trace("tiny-v3", "a").html(path)):
        refused(lambda: save(""), "path is empty, expected the name of a file")
        refused(lambda: save(5), "path is 5, expected a path: str, bytes or os.PathLike")


@pytest.mark.parametrize("call", [
    lambda text: locus.trace("tiny-v3", text), lambda text: locus.trace("tiny-v3", ["a", text]), locus.tokens,
    lambda text: locus.tokens("a", second=text), lambda text: locus.classify(text, "tiny-v3"),
    lambda text: locus.fill(f"[MASK] {text}"),
])
def test_text_that_is_no_unicode(call):
    refused(lambda: call(SURROGATE), r"holds the lone surrogate '\ud83d' at character")


def test_texts():
    refused(lambda: locus.trace("tiny-v3", [5]), "text holds 5, expected a str or a list of str")
    refused(lambda: locus.trace("tiny-v3", b"a"), "text holds b'a', expected a str or a list of str")
    refused(lambda: locus.trace("tiny-v3", []), "text is empty, expected at least one text")
    refused(lambda: locus.tokens(5), "text is 5, expected a str")
    refused(lambda: locus.fill(["a [MASK]"]), "text is ['a [MASK]'], expected one str; fill() takes one text at a time")
    refused(lambda: locus.trace("tiny-v3", "a", precision=32), "precision is 32, expected a str")
    refused(lambda: locus.trace("tiny-v3", "a", stages="layer.9.q"), "locus.stages(model) lists them")
    with pytest.raises(locus.UnsupportedError, match="locus.trace takes token ids instead: tokens= or inputs="):
        locus.tokens("a", model="tiny-txl", second="b")


def test_lists_of_globs(trace):
    wanted = ["layer.0.q", "layer.0.c2c", "layer.0.c2p"]
    assert locus.trace("tiny-v3", "a new store", stages=["layer.0.q", "layer.0.c2?"]).stages == wanted
    assert trace.matching(["layer.0.q", "layer.0.c2?"]) == wanted
    refused(lambda: locus.trace("tiny-v3", "a", stages=5), "stages is 5, expected patterns of names: a str, or a list of str")
    refused(lambda: trace.matching([5]), "stages is [5], expected patterns")
    refused(lambda: locus.trace("tiny-v3", "a", stages=SURROGATE), "stages holds the lone surrogate")


@pytest.mark.parametrize("model", ["tiny-v3", "tiny-txl"])
def test_stages_lists_names(model):
    names = locus.stages(model)
    assert "layer.0.probs" in names and names == locus.trace(model, tokens=[[1, 2]]).stages
    more = locus.stages("tiny-v3", "a [MASK]")
    assert "mlm.logits_at_positions" in more and "mlm.logits_at_positions" not in locus.stages()


def test_tokens(trace):
    whole = locus.trace("tiny-v3", tokens=IDS[0], stages="layer.0.q")
    for same in (IDS[0].tolist(), IDS[:1].astype(np.uint16), IDS[:1].astype(">i4"), [IDS[0]]):
        assert locus.trace("tiny-v3", tokens=same, stages="layer.0.q") == whole
    for wrong, sentence in (
        ([[1, 6, 2], [1, 2]], "tokens holds rows of 2 and 3 numbers, expected rows of one length"),
        (IDS[None], "tokens has shape [1, 2, 5], expected [B, T]"),
        (np.ma.array(IDS, mask=IDS == 0), "tokens: a masked array, expected a plain one"),
        ("1,2", "tokens: an array of <U3, expected numbers"),
        ([[2**63]], "tokens holds 9223372036854775808, expected integers below 2^63"),
        ([], "expected [B, T] with at least one token"),
    ):
        refused(lambda: locus.trace("tiny-v3", tokens=wrong), sentence)


def test_inputs_by_the_names_of_transformers():
    mask = (IDS > 0).astype(int)
    wanted = locus.trace("tiny-v3", inputs={"tokens": IDS, "mask": mask}, stages="layer.0.probs")
    for given in (
        {"input_ids": IDS, "attention_mask": mask}, {"input_ids": IDS, "attention_mask": mask.astype(float)},
        {"tokens": IDS.tolist(), "mask": mask > 0, "labels": None}, {"input_ids": IDS, "mask": mask, "token_type_ids": 0 * IDS},
    ):
        assert locus.trace("tiny-v3", inputs=given, stages="layer.0.probs") == wanted
    assert not wanted["layer.0.probs"][1, :, :3, 3:].any()
    hidden = locus.trace("tiny-xlnet", inputs={"input_ids": IDS, "attention_mask": mask}, stages="layer.0.probs")
    assert not hidden["layer.0.probs"][1, :, :3, 3:].any() and hidden["layer.0.probs"][1, :, :3, :3].all()
    wrong = locus.trace("tiny-v3", inputs={"tokens": IDS, "mask": mask}, stages="layer.0.scores", dialect="paper")
    right = locus.trace("tiny-v3", inputs={"tokens": IDS, "mask": mask}, stages="layer.0.scores")
    given = {"input_ids": IDS, "attention_mask": mask}
    assert locus.check(right, wrong, model="tiny-v3", inputs=given).mistake == 1


@pytest.mark.parametrize("inputs, sentence", [
    ({}, "inputs holds nothing, expected tokens (or input_ids) among them"),
    ({"mask": IDS}, "inputs holds mask, expected tokens (or input_ids) among them"),
    ({"tokens": IDS, "input_ids": IDS}, "inputs holds tokens and input_ids, which are the same"),
    ({"tokens": IDS, "mask": IDS * 0.5}, "inputs: tensor mask has dtype F64, expected whole numbers"),
    ({"tokens": [[1, 2], [1]]}, "inputs: tokens holds rows of 1 and 2 numbers"),
    ({"tokens": IDS[None]}, "inputs: tokens is not [B, T]"),
    ({"tokens": IDS, "mask": "x"}, "inputs: mask: an array of <U1, expected numbers"),
    ({5: IDS}, "a name in inputs is 5, expected a str"),
    ({"tokens": IDS, "\ud800": IDS}, "a name in inputs holds the lone surrogate"),
    ([IDS], "expected a safetensors file, or arrays by name"),
])
def test_inputs_that_are_none(inputs, sentence):
    refused(lambda: locus.trace("tiny-v3", inputs=inputs), sentence)


@pytest.mark.parametrize("array, sentence", [
    ([[1], [1, 2]], "layer.0.q: no array can be made of it, expected rows of one length"),
    (None, "layer.0.q: an array of object, expected numbers"),
    (np.ma.array([1.0, 2.0], mask=[0, 1]), "layer.0.q: a masked array, expected a plain one: fill what is masked"),
    (np.ones(3, np.longdouble), "expected float64, float32 or float16"),
    (np.array([2**64 - 1], np.uint64), "layer.0.q holds 18446744073709551615, expected integers below 2^63"),
])
def test_what_is_no_stage(array, sentence):
    refused(lambda: locus.Trace().add("layer.0.q", array), sentence)


def test_stages_of_ones_own():
    trace = locus.Trace("deberta")
    trace.add("layer.0.q", np.ones((1, 2, 3, 4), ">f4"))
    trace.add("relative.index", np.ones((3, 3), np.uint8))
    assert trace.how["layer.0.q"] == "" and trace["layer.0.q"].dtype == np.dtype("f4")
    assert trace.stored == {"layer.0.q": "F32", "relative.index": "I64"}
    refused(lambda: trace.add("layer.0.q", [1.0]), "layer.0.q is in this trace already, expected a new name")
    refused(lambda: trace.add("layer.0.k", [1.0], dtype="bf16"), "dtype is 'bf16', expected F64, F32, F16, BF16 or I64")
    refused(lambda: trace.add("layer.0.k", [1.0], dtype=np.float16), "dtype is <class 'numpy.float16'>, expected F64")
    refused(lambda: trace.add(5, [1.0]), "name is 5, expected a str")
    refused(lambda: trace.add("", [1.0]), "name is empty, expected that of a stage")
    refused(lambda: trace.add("\ud800", [1.0]), "name holds the lone surrogate")
    refused(lambda: locus.Trace("bert"), "family is 'bert', expected deberta, roformer, transfo-xl, xlnet or nothing")
    with pytest.raises(KeyError, match="in this trace; it is empty"):
        locus.Trace()["layer.0.q"]


def test_arrays_instead_of_traces(trace):
    right = {name: np.array(trace[name]) for name in ("layer.0.q", "layer.0.c2c")}
    assert locus.check(trace, right).passed and locus.check(right, trace).passed
    wrong = {**right, "layer.0.c2c": 2 * right["layer.0.c2c"]}
    assert locus.check(trace, wrong).first == "layer.0.c2c"
    refused(lambda: locus.check(None, trace), "reference is None, expected a trace, a file of one, or arrays by the names")
    refused(lambda: locus.check(trace, {"layer.0.q": "x"}), "layer.0.q: an array of <U1, expected numbers")
    refused(lambda: locus.check(trace, trace, rtol="x"), "rtol is 'x', expected a number")


def test_a_check_of_a_trace_that_does_not_know_its_inputs(trace):
    bare = locus.Trace("deberta", dialect="reference")
    bare.add("layer.0.c2c", trace["layer.0.c2c"])
    refused(bare.check, "this trace does not say which model it comes from, expected model=")
    refused(lambda: bare.check("tiny-v3"), "this trace does not say what its pass was given, expected inputs=")
    assert bare.check("tiny-v3", inputs=trace.inputs[0]).passed


def test_what_a_report_says_of_itself():
    right = locus.trace("tiny-v3", text="a new [MASK] opened", precision="f64")
    wrong = locus.trace("tiny-v3", text="a new [MASK] opened", dialect="paper")
    report = locus.check(right, wrong, model="tiny-v3")
    (found,) = report.diagnoses
    assert found.how == "" and repr(found) == f"mistake 1: {found.name}"
    assert repr(report) == f"<Report: layer.0.p2c is wrong; {found!r}>"
    assert repr(locus.Diagnosis({**found.data, "how": "by half"})) == f"mistake 1: {found.name} (by half)"
    # A stage without a name before one with a name: the first is not given what the other has.
    made = dict(report.data, first={"stage": "layer.0.c2c"}, pattern="every value is twice what it should be")
    other = locus.Report(made, "", "")
    assert repr(other) == "<Report: layer.0.c2c is wrong; every value is twice what it should be>"
    assert other.mistake is None and other.of_first is None
    right.report = other
    assert "first wrong stage: layer.0.c2c\"" in right.html(layers=[0])


def test_a_report_speaks_of_arguments_and_not_of_options():
    right = {"layer.0.c2c": np.ones((1, 2, 3, 3)), "layer.0.q": np.ones((1, 2, 3, 4))}
    wrong = {**right, "layer.0.c2c": right["layer.0.c2c"] + np.arange(9).reshape(3, 3)}
    text = str(locus.check(right, wrong))
    assert "model=DIR" in text and "inputs=FILE" in text and "--model" not in text and "--input" not in text


def test_pages(trace, tmp_path):
    whole = locus.trace("tiny-v3", text=["a new store", "an old one"], stages="layer.[01].*")
    for options, sentence in (
        ({"layers": 1}, "layers is 1, expected a list of whole numbers"), ({"layers": ["0"]}, "layers is '0', expected a whole"),
        ({"samples": 5}, "samples is 5, expected a list"), ({"samples": [2]}, "samples holds [2], expected numbers from 0 to 1"),
        ({"limit": "x"}, "limit is 'x', expected a whole number"), ({"limit": 10}, "into a page of 10 bytes"),
        ({"limit": 2500}, "into a page of 2.5 kB"), ({"compare": "t"}, "compare is 't', expected a trace: locus.load reads"),
    ):
        refused(lambda: whole.html(**options), sentence)
    assert '"samples":2,' in whole.html(samples=[1, 0], layers=range(1))
    with pytest.raises(TypeError, match="html.*unexpected keyword argument 'layer'"):
        whole.html(layer=3)
    with pytest.raises(TypeError, match="check.*unexpected keyword argument 'rtoll'"):
        whole.check(rtoll=3)


def test_cells(trace):
    refused(lambda: locus.explain((0, 0, 0, 0)), "cell is (0, 0, 0, 0), expected that of a trace")
    refused(lambda: locus.explain(trace.cell(0, 0, 0.5, 0)), "i of the cell is 0.5, expected a whole number")
    refused(lambda: locus.explain(trace.cell("0", 0, 0, 0)), "layer of the cell is '0', expected a whole number")


# The bar


class Bar:
    made = []

    def __init__(self, **options):
        self.n = 0
        Bar.made.append(options["disable"])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, by):
        self.n += by


class NotebookBar(Bar):
    pass


NotebookBar.__module__ = "tqdm.notebook"


@pytest.mark.parametrize("bar, progress, disable", [
    (Bar, None, [None]), (Bar, True, [False]), (Bar, False, []), (NotebookBar, None, [False]), (NotebookBar, False, []),
])
def test_where_a_bar_is_shown(bar, progress, disable, monkeypatch):
    tqdm = types.ModuleType("tqdm")
    tqdm.auto = types.ModuleType("tqdm.auto")
    tqdm.auto.tqdm = bar
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm.auto)
    Bar.made.clear()
    trace = locus.trace("tiny-v3", "a", stages="layer.0.q", progress=progress)
    assert Bar.made == disable
    locus.check(trace, trace, progress=progress)
    assert Bar.made == 2 * disable


# The programs

VERBS = ("check", "kit", "trace", "fill", "classify", "tokens")


def program(*arguments):
    return subprocess.run([sys.executable, "-m", "locus_attention", *arguments], capture_output=True)


@pytest.mark.parametrize("verb", ["trace", "kit"])
def test_arguments_of_programs_that_are_not_utf8(verb):
    done = program(verb, "export", b"\xff")
    assert done.returncode == 2 and done.stdout == b"" and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(b"locus " + verb.encode()) and b"UTF-8" in done.stderr and b"dcff" in done.stderr
    assert program(b"\xff").returncode == 2


def test_the_list_of_programs():
    lines = program().stdout.decode().splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["locus-" + verb for verb in VERBS]
    columns = {re.match(r"\S+\s+", line).end() for line in lines[:-1]}
    assert len(columns) == 1


def test_the_readme_names_what_there_is():
    text = (Path(__file__).resolve().parents[2] / "core/python/README.md").read_text()
    for name in ("locus.stages(", "trace.reference()", "progress="):
        assert name in text
