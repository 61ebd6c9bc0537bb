"""The readers and the arithmetic of a browser's program under node, where numbers and refusals are looked at without a
picture: the same libraries, 32 bits, one thread."""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOT

PROGRAMS = ROOT / "build/web/viewer/bin"
DESKTOP = ROOT / "build/release/bin"
MODELS = sorted(folder for folder in (ROOT / "assets/models").iterdir() if (folder / "config.json").exists())
TEXT = "a new [MASK] opened beside the school and the bank"

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")


def under_node(program, *arguments):
    # Newer nodes have a fetch that refuses the path of a file, and emscripten 3.1.6 takes it where it is there.
    without_fetch = ["--no-experimental-fetch"] if knows_fetch() else []
    return subprocess.run(["node", *without_fetch, str(PROGRAMS / f"{program}.js"), *map(str, arguments)], capture_output=True,
                          text=True, timeout=120)


def knows_fetch():
    return int(subprocess.run(["node", "--version"], capture_output=True, text=True).stdout[1:].split(".")[0]) >= 18


# What is otherwise here (one thread, no index beyond 2^31, files as node sees them), and what takes seconds.
LEFT_OUT = ["pool: every piece is done once*", "safetensors: empty tensors are fine*", "safetensors: what is no file is refused",
            "tokenizer: a megabyte takes seconds", "merges: one word of a million letters*", "position grammar: shuffled words*"]


def test_the_core_passes_its_own_tests():
    done = under_node("web-tests", "--use-colour", "no", *(f'~"{name}"' for name in LEFT_OUT))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = re.search(r"All tests passed \((\d+) assertions in (\d+) test cases\)", done.stdout)
    assert passed and int(passed[1]) > 500_000 and int(passed[2]) > 500, done.stdout[-300:]


def on_the_desktop(program, *arguments):
    return subprocess.run([str(DESKTOP / program), *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("model", MODELS, ids=lambda folder: folder.name)
def test_a_trace_has_the_numbers_of_the_desktop(model, precision, tmp_path):
    arguments = ["--model", model, "--text", TEXT, "--precision", precision, "--out"]
    assert on_the_desktop("locus-trace", *arguments, tmp_path / "desktop.safetensors").returncode == 0
    done = under_node("locus-trace", *arguments, tmp_path / "node.safetensors")
    assert done.returncode == 0, done.stderr
    report = json.loads(on_the_desktop("locus-check", tmp_path / "desktop.safetensors", tmp_path / "node.safetensors",
                                       "--json").stdout)
    # In float32 by the derived tolerance of every stage.
    assert report["pass"] and not report["missing"], report["first"]
    assert len(report["stages"]) > 20
    if precision == "f64":
        # Relative to the stage: logits of 20 have another last digit than probabilities.
        largest = {stage["stage"]: stage["max_difference"] / max(1, abs(stage["expected"] or 0)) for stage in report["stages"]}
        assert max(largest.values()) <= 1e-12, max(largest, key=largest.get)


def test_tokens_are_those_of_the_desktop():
    for model in MODELS:
        for text in (TEXT, "Ein Maß für Öl, ½ ﬁne e\u0301 한국어 中文 🙂\u200d", "a" * 3000, ""):
            arguments = ["--model", model, "--json", "--", text]
            ours, desktop = under_node("locus-tokens", *arguments), on_the_desktop("locus-tokens", *arguments)
            assert (ours.returncode, ours.stdout) == (desktop.returncode, desktop.stdout), (model.name, text[:20])


@pytest.fixture(scope="session")
def malformed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malformed") / "files"
    subprocess.run([sys.executable, str(ROOT / "tests/fuzz/malformed_files.py"), str(folder)], check=True)
    return json.loads((folder / "cases.json").read_text())


# What 32 bits refuse one step sooner, or refuse where 64 take it: no index reaches beyond 2^31.
SOONER = {
    "pickle/tensor_repeats_one_value": (3, "reaches beyond its storage"),
    "npy/shape_product_wraps": (3, "has the size 4294967296, larger than any file"),
    "npy/shape_of_0_and_many": (3, "has the size 4611686018427387904, larger than any file"),
}


def fault_of(case):
    """What is wrong with how a malformed file ended, or None."""
    done = under_node(case["program"], *case["arguments"])
    if case["name"] in SOONER:
        case["status"], case["says"] = SOONER[case["name"]]
    lines = done.stderr.splitlines()
    if done.returncode != case["status"]:
        return f"{case['name']}: status {done.returncode}, expected {case['status']}: {done.stderr[:300]}"
    if case["status"] >= 2 and (len(lines) != 1 or case["says"] not in lines[0] or len(lines[0]) >= 1000):
        return f"{case['name']}: expected one sentence with \"{case['says']}\": {done.stderr[:300]}"
    if case["status"] != 0 and os.listdir(os.path.dirname(case["folder"])) != ["model"]:
        return f"{case['name']}: leaves {os.listdir(os.path.dirname(case['folder']))}"
    return None


def test_malformed_files_are_refused_with_32_bits(malformed):
    assert len(malformed) > 400
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        assert [fault for fault in threads.map(fault_of, malformed) if fault] == []
