"""The page: its sizes, that it asks for nothing, and that a browser paints every picture from file://."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import locus_attention as locus

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on the PATH")

# What a browser says of every canvas: how many colours it holds; and whether the page asked for anything.
PROBE = """
<script>
addEventListener("load", async () => {
  const seen = {};
  const ready = () => document.body.dataset.ready
      && [...document.querySelectorAll("#heads div")].every(d => d.style.background);
  for (let n = 0; n < 400 && !ready(); n++) await new Promise(r => setTimeout(r, 25));
  STEPS
  for (const c of document.querySelectorAll("canvas")) {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, set = new Set();
    for (let n = 0; n < d.length; n += 4) if (d[n + 3]) set.add(d[n] << 16 | d[n + 1] << 8 | d[n + 2]);
    seen[c.id] = set.size;
  }
  const saved = await bytes();
  const out = {canvases: seen, requests: performance.getEntriesByType("resource").length, title: document.title,
               why: document.getElementById("why").textContent, micro: document.getElementById("micro").innerText,
               failing: document.getElementById("failing").innerText, theme: document.documentElement.dataset.theme,
               heads: new Set([...document.querySelectorAll("#heads div")].map(d => d.style.background)).size,
               wide: document.documentElement.scrollWidth <= innerWidth, probs: [...now.pick("probs")],
               saved: [...new Uint8Array(await saved.arrayBuffer())]
                          .map(b => (b + 256).toString(16).slice(1)).join("")};
  const pre = document.createElement("pre"); pre.id = "probe"; pre.textContent = JSON.stringify(out); document.body.append(pre);
});
</script>
"""


def opened(page, folder, steps=""):
    """What a headless browser finds in a page that it opens from file://, after some steps in its own language."""
    file = folder / "page.html"
    file.write_text(page.replace("</body>", PROBE.replace("STEPS", steps) + "</body>"), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--virtual-time-budget=30000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=180,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-800:]
    return json.loads(html.unescape(found.group(1)))


def press(key):
    return f'document.onkeydown(new KeyboardEvent("keydown", {{key: "{key}"}})); await new Promise(r => setTimeout(r, 200));'


@pytest.fixture(scope="module")
def sentence():
    return locus.trace("tiny-v3", text="a new [MASK] opened beside the new [MASK].")


@pytest.fixture(scope="module")
def random_trace():
    """Sizes of a real model without one: layers x heads, T tokens."""

    def make(layers, heads, length):
        random = np.random.default_rng(1)
        trace = locus.Trace("deberta", "hf", "a model", "random numbers")
        trace.tokens = [[f"w{n}" for n in range(length)]]
        for layer in range(layers):
            total = 0
            for stem in ("c2c", "c2p", "p2c"):
                term = random.normal(size=(1, heads, length, length)).astype(np.float32) * 8
                trace.add(f"layer.{layer}.{stem}", term, "recomputed")
                total = total + term
            scores = total / np.sqrt(192)
            probs = np.exp(scores - scores.max(-1, keepdims=True))
            trace.add(f"layer.{layer}.scores", scores, "recomputed")
            trace.add(f"layer.{layer}.probs", probs / probs.sum(-1, keepdims=True), "recomputed")
        return trace

    return make


def test_a_page_asks_for_nothing(sentence):
    page = sentence.html()
    assert not re.search(r"""https?://|\ssrc=["']|@import|url\(|fetch\(""", page)


def test_sizes(random_trace):
    small = random_trace(2, 4, 24).html()
    assert len(small.encode()) <= 60_000
    large = random_trace(12, 12, 128)
    page = large.html(layers=range(5))
    assert len(page.encode()) <= 5_000_000 and "8 bits" in page
    whole = large.html()  # as many layers as fit
    assert len(whole.encode()) <= 5_000_000
    with pytest.raises(locus.UsageError, match="choose fewer layers"):
        large.html(layers=range(12), limit=1_000_000)


@needs_browser
def test_a_browser_paints_every_picture(sentence, tmp_path):
    seen = opened(sentence.html(cell=(2, 3, 3, 5)), tmp_path)
    assert set(seen["canvases"]) == {"c-c2c", "c-c2p", "c-p2c", "c-scores", "c-probs"}
    assert all(count > 20 for count in seen["canvases"].values()), seen["canvases"]
    assert seen["requests"] == 0 and seen["heads"] > 10 and seen["wide"]
    assert "0.925" in seen["why"] and "locked" in seen["why"]
    assert "61.09" in seen["micro"] and "√(3 · 32)" in seen["micro"] and "30" in seen["micro"]


@needs_browser
def test_probabilities_of_the_page_are_those_of_the_trace(sentence, tmp_path):
    seen = opened(sentence.html(cell=(2, 3, 3, 5)), tmp_path)
    wanted = sentence["layer.2.probs"][0, 3].ravel()
    assert np.abs(np.array(seen["probs"]) - wanted).max() < 5e-3


@needs_browser
def test_a_term_left_out_in_the_page(sentence, tmp_path):
    seen = opened(sentence.html(cell=(2, 3, 3, 5)), tmp_path, press("2"))
    scores = (sentence["layer.2.c2c"] + sentence["layer.2.p2c"])[0, 3] / np.sqrt(96)
    wanted = np.exp(scores - scores.max(-1, keepdims=True))
    wanted /= wanted.sum(-1, keepdims=True)
    assert np.abs(np.array(seen["probs"]) - wanted.ravel()).max() < 5e-3
    assert "(off)" in seen["micro"]


@needs_browser
def test_keys(sentence, tmp_path):
    seen = opened(sentence.html(cell=(2, 3, 3, 5), theme="dark"), tmp_path, press("]") + press(".") + press("t"))
    assert seen["theme"] == "light"
    assert np.abs(np.array(seen["probs"]) - sentence["layer.3.probs"][0, 4].ravel()).max() < 5e-3


@needs_browser
def test_the_page_saves_its_trace(sentence, tmp_path):
    seen = opened(sentence.html(layers=[1, 2]), tmp_path)
    (tmp_path / "saved.safetensors").write_bytes(bytes.fromhex(seen["saved"]))
    back = locus.load(tmp_path / "saved.safetensors")
    assert back.layers == [1, 2] and back.tokens == sentence.tokens
    for stem in ("c2c", "c2p", "p2c", "scores", "probs"):
        difference = np.abs(back[f"layer.2.{stem}"] - sentence[f"layer.2.{stem}"]).max()
        assert difference < 2e-3 * np.abs(sentence[f"layer.2.{stem}"]).max() + 5e-3


@needs_browser
def test_padding_is_hidden_and_other_families_are_shown(tmp_path):
    padded = locus.trace("tiny-v3", text=["a new store opened", "a new"])
    seen = opened(padded.html(samples=[1], cell=(0, 0, 1, 5)), tmp_path)
    assert "hidden by the mask" in seen["micro"]
    wanted = padded["layer.0.probs"][1, 0].ravel()
    assert np.abs(np.array(seen["probs"]) - wanted).max() < 5e-3
    families = {"tiny-roformer": {"c-scores", "c-probs"}, "tiny-xlnet": {"c-ac", "c-bd", "c-scores", "c-probs"}}
    for model, panels in families.items():
        trace = locus.trace(model, text="i love studying machine learning")
        seen = opened(trace.html(cell=(1, 1, 2, 1)), tmp_path)
        assert set(seen["canvases"]) == panels and min(seen["canvases"].values()) > 5
        assert np.abs(np.array(seen["probs"]) - trace["layer.1.probs"][0, 1].ravel()).max() < 5e-3


@needs_browser
def test_a_wrong_trace_beside_the_right_one(sentence, tmp_path):
    wrong = locus.trace("tiny-v3", tokens=sentence.ids, dialect="paper")
    report = locus.check(sentence, wrong, model="tiny-v3", inputs={"tokens": sentence.ids})
    page = wrong.html(compare=sentence, report=report, layers=[0, 1, 2], cell=(0, 0, 2, 3))
    seen = opened(page, tmp_path, press("c") + press("c"))
    assert seen["failing"].startswith("first wrong stage: layer.0.p2c; mistake 1")
    wanted = sentence["layer.0.probs"][0, 0] - wrong["layer.0.probs"][0, 0]
    assert np.abs(np.array(seen["probs"]) - wanted.ravel()).max() < 5e-3
    assert seen["why"].startswith("Difference")


def test_notebooks_show_the_page_itself(sentence):
    shown = sentence._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "allow-same-origin" not in shown


def test_pages_refuse(sentence):
    with pytest.raises(locus.UsageError, match="holds no layer"):
        locus.trace("tiny-v3", text="a", stages="embeddings.*").html()
    with pytest.raises(locus.UsageError, match="layers holds 9"):
        sentence.html(layers=[9])
    with pytest.raises(locus.UsageError, match="differ in shape"):
        sentence.html(compare=locus.trace("tiny-v3", text="a new"))


def test_words_of_a_text_cannot_leave_the_data(sentence):
    trace = locus.trace("tiny-v3", text="a new", stages="layer.0.*,relative.index")
    trace.tokens = [["</script><script>alert(1)</script>"] * 4]
    assert "</script><script>alert" not in trace.html()
