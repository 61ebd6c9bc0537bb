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
// Numbers are unpacked on other threads, and the browser's clock runs on while the page has nothing to do: so it is kept
// busy, by messages to itself, until what is waited for has come.
const channel = new MessageChannel();
const tick = () => new Promise(r => { channel.port1.onmessage = r; channel.port2.postMessage(0); });
const waited = async promise => {
  let value, done = false;
  promise.then(v => { value = v; done = true; });
  for (let n = 0; n < 3e6 && !done; n++) await tick();
  return value;
};
const ready = () => document.body.dataset.ready
    && [...document.querySelectorAll("#heads div")].every(d => d.style.background);
const settled = async () => { for (let n = 0; n < 3e6 && !ready(); n++) await tick(); };
const press = key => document.onkeydown(new KeyboardEvent("keydown", {key}));
addEventListener("load", async () => {
  const seen = {}, magenta = {};
  await settled();
  STEPS
  for (const c of document.querySelectorAll("canvas")) {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, set = new Set();
    magenta[c.id] = 0;
    for (let n = 0; n < d.length; n += 4) magenta[c.id] += d[n] == 255 && d[n + 1] == 0 && d[n + 2] == 255 && d[n + 3] == 255;
    if (c.layout) magenta[c.id] /= c.layout.c ** 2;  // in cells
    for (let n = 0; n < d.length; n += 4) if (d[n + 3]) set.add(d[n] << 16 | d[n + 1] << 8 | d[n + 2]);
    seen[c.id] = set.size;
  }
  const saved = await waited(bytes().then(blob => blob.arrayBuffer()));
  const out = {canvases: seen, magenta, legends: Object.fromEntries([...document.querySelectorAll("[id^=r-]")].map(
                   r => [r.id, r.textContent])), measure: document.getElementById("measure").textContent,
               boxes: [...document.querySelectorAll("#heads div")].map(d => d.style.background),
               sums: [...document.querySelectorAll("#s-scores")].map(d => d.textContent),
               ticks: (document.getElementById("c-distance") || {}).ticks, note: document.getElementById("note").textContent,
               told: window.told, requests: performance.getEntriesByType("resource").length, title: document.title,
               why: document.getElementById("why").textContent, micro: document.getElementById("micro").innerText,
               failing: document.getElementById("failing").innerText, theme: document.documentElement.dataset.theme,
               heads: new Set([...document.querySelectorAll("#heads div")].map(d => d.style.background)).size,
               products: [...document.querySelectorAll("#micro .products")].map(d => d.innerText.replace("\\n", " ")),
               bars: document.querySelectorAll("#micro rect").length, formula: document.getElementById("formula").innerText,
               tokens: document.getElementById("tokens").innerText, views: document.getElementById("views").innerText,
               header: document.querySelector("header").offsetHeight,
               wide: document.documentElement.scrollWidth <= innerWidth, probs: [...now.pick("probs")],
               saved: [...new Uint8Array(saved)]
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
    """A key, and what it makes the page draw."""
    return f'delete document.body.dataset.ready; press("{key}"); await settled();'


@pytest.fixture(scope="module")
def sentence():
    return locus.trace("tiny-v3", text="a new [MASK] opened beside the new [MASK].")


@pytest.fixture(scope="module")
def random_trace():
    """Sizes of a real model without one: layers x heads, T tokens."""

    def make(layers, heads, length, width=0):
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
            for stem, rows in (("q", length), ("k", length), ("q_r", 512), ("k_r", 512)) if width else ():
                shape = (1,) * (rows == length) + (heads, rows, width)
                trace.add(f"layer.{layer}.{stem}", random.normal(size=shape).astype(np.float32), "live projection")
        if width:
            trace.add("relative.index", np.arange(length)[:, None] - np.arange(length) + 256, "recomputed")
        return trace

    return make


def test_a_page_asks_for_nothing(sentence):
    page = sentence.html()
    assert not re.search(r"""https?://|\ssrc=["']|@import|url\(|fetch\(""", page)


def test_a_trace_that_overflowed_has_a_page_all_the_same(random_trace):
    right = random_trace(1, 2, 6)
    for stem in ("c2c", "scores"):
        made = locus.Trace("deberta", "hf", "a model", "half precision")
        made.tokens = right.tokens
        for name in right:
            array = np.array(right[name])
            if name.endswith(stem):
                array[0, 0, 1] = np.nan
                array[0, 1, 2, 3] = np.inf
            made.add(name, array, "recorded")
        data = re.search(r'"scale":([^,]*),', made.html())
        assert data and 0 < float(data[1]) < 1
        assert "NaN" not in re.search(r'\{"title".*?"report"', made.html(), re.S)[0]
        assert made._repr_html_().startswith("<iframe")
    nothing = locus.Trace("deberta", "hf", "a model", "half precision")
    for name in right:
        nothing.add(name, np.full_like(right[name], np.nan), "recorded")
    assert nothing._repr_html_()


def test_sizes(random_trace):
    small = random_trace(2, 4, 24, 64)
    assert len(small.html().encode()) <= 66_000
    assert len(small.html(channels=True).encode()) <= 300_000
    with_products = random_trace(3, 12, 128, 64).html(channels=True, layers=range(3))
    assert len(with_products.encode()) <= 5_000_000
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
    assert set(seen["canvases"]) == {"c-c2c", "c-c2p", "c-p2c", "c-scores", "c-probs", "c-distance"}
    assert all(count > 20 for count in seen["canvases"].values()), seen["canvases"]
    assert seen["requests"] == 0 and seen["heads"] > 10 and seen["wide"]
    assert "0.925" in seen["why"] and "locked" in seen["why"]
    assert "61.09" in seen["micro"] and "√(3 · 32)" in seen["micro"] and "30" in seen["micro"]
    assert "2 to the right" in seen["micro"] and seen["formula"].endswith("÷ √(3 · 32) = 5.742")
    assert seen["header"] < 60


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
def test_keys_back_and_of_the_cell(sentence, tmp_path):
    page, probs = sentence.html(cell=(2, 3, 3, 5), layers=[0, 1, 2]), sentence["layer.2.probs"][0, 3]
    seen = opened(page, tmp_path, "".join(map(press, ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"))))
    assert numbers_in(seen["why"]) == [pytest.approx(probs[4, 6], abs=5e-3)] and "locked" in seen["why"]
    seen = opened(page, tmp_path, press("ArrowLeft") + press("Escape"))
    assert numbers_in(seen["why"]) == [pytest.approx(probs[3, 4], abs=5e-3)] and "locked" not in seen["why"]
    seen = opened(page, tmp_path, press("[") + press(",") + press("]") + press("]") + press(","))  # past the last: the first
    assert np.abs(np.array(seen["probs"]) - sentence["layer.0.probs"][0, 1].ravel()).max() < 5e-3


@needs_browser
def test_the_sample_key(tmp_path):
    trace = locus.trace("tiny-v3", text=["a new store opened", "the old store opened"])
    seen = opened(trace.html(cell=(0, 0, 1, 1)), tmp_path, press("s"))
    assert np.abs(np.array(seen["probs"]) - trace["layer.0.probs"][1, 0].ravel()).max() < 5e-3
    assert "old" in seen["tokens"]


def mouse(kind, canvas, i, j):
    """The mouse over the cell (i, j) of a picture: what the page draws then."""
    return f"""{{
      delete document.body.dataset.ready;
      const c = document.getElementById("{canvas}"), r = c.getBoundingClientRect(), m = c.layout;
      const at = (from, n, side, whole) => (from + m.c * (n + .5)) * side / whole;
      c.dispatchEvent(new MouseEvent("{kind}", {{bubbles: true, clientX: r.left + at(m.x, {j}, r.width, c.width),
                                                 clientY: r.top + at(m.y, {i}, r.height, c.height)}}));
      for (let n = 0; n < 2000; n++) await tick();  // a cell that is locked is not drawn anew
    }}"""


@needs_browser
def test_the_mouse_shows_a_cell_and_a_click_locks_it(sentence, tmp_path):
    page, probs = sentence.html(cell=(2, 3, 3, 5)), sentence["layer.2.probs"][0, 3]
    away, click, other = mouse("mousemove", "c-c2p", 7, 2), mouse("click", "c-probs", 3, 5), mouse("click", "c-scores", 0, 2)
    for steps, cell, locked in (
        (away, (3, 5), True), (click + away, (7, 2), False), (click + away + other, (0, 2), True), (other + away, (0, 2), True),
    ):
        seen = opened(page, tmp_path, steps)
        assert numbers_in(seen["why"]) == [pytest.approx(probs[cell], abs=5e-3)] and ("locked" in seen["why"]) == locked


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
def test_the_button_saves_what_the_page_holds(sentence, tmp_path):
    steps = """
      let asked;
      HTMLAnchorElement.prototype.click = function() { asked = [this.download, this.href]; };
      document.getElementById("save").click();
      for (let n = 0; n < 3e6 && !asked; n++) await tick();
      const file = await waited(fetch(asked[1]).then(answer => answer.arrayBuffer()));  // as a browser reads it: later
      document.title = asked[0] + " " + file.byteLength;
    """
    seen = opened(sentence.html(layers=[1]), tmp_path, steps)
    assert seen["title"] == f"trace.safetensors {len(seen['saved']) // 2}"


@needs_browser
def test_padding_is_hidden_and_other_families_are_shown(tmp_path):
    padded = locus.trace("tiny-v3", text=["a new store opened", "a new"])
    seen = opened(padded.html(samples=[1], cell=(0, 0, 1, 5)), tmp_path)
    assert "hidden by the mask" in seen["micro"]
    wanted = padded["layer.0.probs"][1, 0].ravel()
    assert np.abs(np.array(seen["probs"]) - wanted).max() < 5e-3
    families = {
        "tiny-roformer": {"c-scores", "c-probs", "c-distance"},
        "tiny-xlnet": {"c-ac", "c-bd", "c-scores", "c-probs", "c-distance"},
    }
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


def numbers_in(words):
    return [float(word.replace("−", "-")) for word in re.findall(r"[-−]?\d+\.\d+(?:e[-+]?\d+)?", words)]


@needs_browser
def test_the_products_of_a_cell(sentence, tmp_path):
    page = sentence.html(layers=[2], cell=sentence.cell(2, 3, 3, 5), channels=True)
    seen = opened(page, tmp_path)
    assert [line.split(",")[0] for line in seen["products"]] == ["q · k", "q · kʳ", "k · qʳ"]
    assert seen["bars"] == 3 * 32
    sums = [numbers_in(line)[-1] for line in seen["products"]]
    wanted = [sentence[f"layer.2.{stem}"][0, 3, 3, 5] for stem in ("c2c", "c2p", "p2c")]
    assert np.abs(np.array(sums) - wanted).max() < 0.1
    plain = opened(sentence.html(layers=[2], cell=(2, 3, 3, 5)), tmp_path)
    assert plain["bars"] == 0 and "channels=True" in plain["micro"]
    rope = locus.trace("tiny-roformer", text="i love studying machine learning")
    seen = opened(rope.html(cell=(1, 1, 2, 1), channels=True), tmp_path)
    wanted = rope["layer.1.scores"][0, 1, 2, 1] * np.sqrt(rope["layer.1.q_rot"].shape[-1])
    assert numbers_in(seen["products"][0])[-1] == pytest.approx(wanted, abs=0.05)


def test_the_page_knows_which_row_p2c_reads():
    for dialect in ("reference", "paper"):
        page = locus.trace("tiny-v3", text="a new [MASK] opened", dialect=dialect).html(channels=True)
        said = re.findall(r'"term": ?"(\w+)"[^{}]*?"turned": ?(true|false)', page)
        assert set(said) == {("c2c", "false"), ("c2p", "false"), ("p2c", "true" if dialect == "paper" else "false")}


@needs_browser
def test_the_products_of_p2c_as_the_paper_prints_it(tmp_path):
    trace = locus.trace("tiny-v3", text="a new [MASK] opened", dialect="paper")
    seen = opened(trace.html(layers=[2], cell=(2, 3, 3, 1), channels=True), tmp_path)
    explained = locus.explain(trace.cell(2, 3, 3, 1))
    for line, term in zip(seen["products"], explained.terms):
        assert numbers_in(line)[-1] == pytest.approx(term.value, abs=0.1)
    assert re.search(rf"of p2c, by j − i\s+{explained.terms[2].row}\b", seen["micro"])


@needs_browser
def test_both_streams_of_xlnet(tmp_path):
    trace = locus.trace("tiny-xlnet", text="the capital of [MASK] is [MASK].")
    page = trace.html(cell=trace.cell(1, 1, 1, 1, stream="g"), channels=True)
    seen = opened(page, tmp_path)
    assert "query stream" in seen["views"]
    assert np.abs(np.array(seen["probs"]) - trace["layer.1.g.probs"][0, 1].ravel()).max() < 5e-3
    # The second target is the sixth token; products and bias give the term that the trace holds.
    assert "4 to the left" in seen["micro"] and len(seen["products"]) == 2
    explained = locus.explain(trace.cell(1, 1, 1, 1, stream="g"))
    for line, term in zip(seen["products"], explained.terms):
        assert numbers_in(line)[-1] == pytest.approx(term.running[-1], abs=0.05)
    seen = opened(page, tmp_path, press("v"))
    assert "content stream" in seen["views"]
    assert np.abs(np.array(seen["probs"]) - trace["layer.1.probs"][0, 1].ravel()).max() < 5e-3
    (tmp_path / "saved.safetensors").write_bytes(bytes.fromhex(seen["saved"]))
    back = locus.load(tmp_path / "saved.safetensors")
    assert back["layer.1.g.probs"].shape == trace["layer.1.g.probs"].shape
    assert np.abs(back["layer.1.g.probs"] - trace["layer.1.g.probs"]).max() < 5e-3


@needs_browser
def test_segments_with_their_memory(tmp_path):
    text = "the capital of france is paris . he went to the store ."
    trace = locus.trace("tiny-txl", text=text, segment=6)
    seen = opened(trace.html(cell=trace.cell(0, 0, 2, 1, segment=1), channels=True), tmp_path)
    assert "segment 2 of 3" in seen["views"] and "7 to the left" in seen["micro"]
    assert np.abs(np.array(seen["probs"]) - trace["segment.1.layer.0.probs"][0, 0].ravel()).max() < 5e-3
    # The memory of the second segment is the first one, whose tokens stand over the keys.
    assert seen["tokens"].split()[:2] == ["<eos>", "the"] and len(seen["tokens"].split()) == 12
    explained = locus.explain(trace.cell(0, 0, 2, 1, segment=1))
    for line, term in zip(seen["products"], explained.terms):
        assert numbers_in(line)[-1] == pytest.approx(term.running[-1], abs=0.05)


@needs_browser
def test_memory_that_ends_and_memory_from_before_the_text(tmp_path):
    # The model remembers 48 tokens: the third segment of 40 does not see the first 32.
    trace = locus.trace("tiny-txl", tokens=[[5 + n % 60 for n in range(120)]], segment=40, stages="segment.2.layer.0.*")
    seen = opened(trace.html(cell=trace.cell(0, 0, 0, 0, segment=2)), tmp_path)
    assert "48 to the left" in seen["micro"]
    assert seen["tokens"].split()[0] == trace.tokens[0][32].lstrip("▁") and len(seen["tokens"].split()) == 88
    unknown = locus.Trace("transfo-xl")  # of a text that this trace does not hold
    unknown.tokens = [["a", "b"]]
    for stem in ("ac", "bd", "scores", "probs"):
        unknown.add(f"layer.0.{stem}", np.ones((1, 1, 2, 5), np.float32) * np.arange(5), "by hand")
    seen = opened(unknown.html(cell=(0, 0, 1, 1)), tmp_path)
    assert "memory 2" in seen["micro"] and seen["tokens"].split() == ["a", "b"]


@needs_browser
def test_the_mask_decoder(sentence, tmp_path):
    seen = opened(sentence.html(), tmp_path, press("v"))
    assert "mask decoder" in seen["views"]
    assert np.abs(np.array(seen["probs"]) - sentence["emd.0.probs"][0, 0].ravel()).max() < 5e-3


@needs_browser
def test_the_keys_are_listed_in_the_page(sentence, tmp_path):
    steps = 'press("?"); document.title = document.getElementById("keys").innerText;'  # a frame without alert() shows it
    assert "query stream" in opened(sentence.html(layers=[0]), tmp_path, steps)["title"]


def test_notebooks_show_the_page_itself(sentence):
    shown = sentence._repr_html_()
    assert "&quot;vectors&quot;:" in shown
    assert shown.startswith("<iframe srcdoc=") and "allow-same-origin" not in shown


def test_notebooks_show_a_line_of_a_trace_without_a_page(random_trace):
    shown = locus.trace("tiny-v3", text="a", stages="layer.0.q")._repr_html_()
    assert shown.startswith("<p>&lt;Trace of deberta: 1 stages") and "holds no layer.*.probs" in shown


@pytest.mark.parametrize("length", [384, 512])
def test_a_layer_that_does_not_fit_is_shown_with_fewer_heads(random_trace, length):
    large = random_trace(2, 12, length)
    assert large._repr_html_().startswith("<iframe srcdoc=")
    page = large.html()
    assert len(page) < 5_000_000
    data = json.loads(re.search(r'application/json">(.*?)</script>', page, re.S)[1])
    said = re.match(r'(\d+) of 12 heads are shown, trace.html\("page.html", limit=(\d+_000_000)\) shows all', data["note"])
    assert said and data["heads"] == int(said[1]) > 1 and len(data["views"][0]["layers"]) == 1
    assert len(data["views"][0]["layers"][0]["data"]["c2c"]["s"]) == data["heads"]
    assert "heads are shown" not in large.html(limit=int(said[2]))  # what it says suffices
    for options in ({"layers": [0]}, {"cell": (0, 11, 0, 0)}):
        with pytest.raises(locus.UsageError, match="one layer of this trace does not fit into a page of 5 MB"):
            large.html(**options)


def test_notebooks_show_a_layer_of_a_text_of_256_tokens(random_trace):
    assert random_trace(1, 12, 256)._repr_html_().startswith("<iframe srcdoc=")


def test_pages_refuse(sentence):
    with pytest.raises(locus.UsageError, match="holds no layer"):
        locus.trace("tiny-v3", text="a", stages="embeddings.*").html()
    with pytest.raises(locus.UsageError, match="layers holds 9"):
        sentence.html(layers=[9])
    with pytest.raises(locus.UsageError, match="the key of cell is 12"):
        sentence.html(cell=(0, 0, 0, 12))
    with pytest.raises(locus.UsageError, match="cell names layer 3"):
        sentence.html(layers=[0], cell=sentence.cell(3, 0, 0, 0))
    with pytest.raises(locus.UsageError, match="channels: the trace lacks"):
        locus.trace("tiny-v3", text="a", stages="layer.*.c2c,layer.*.scores,layer.*.probs").html(channels=True)
    with pytest.raises(locus.UsageError, match='theme is "blue"'):
        sentence.html(theme="blue")
    with pytest.raises(locus.UsageError, match="differ in shape"):
        sentence.html(compare=locus.trace("tiny-v3", text="a new"))


def test_words_of_a_text_cannot_leave_the_data(sentence):
    trace = locus.trace("tiny-v3", text="a new", stages="layer.0.*,relative.index")
    trace.tokens = [["</script><script>alert(1)</script>"] * 4]
    assert "</script><script>alert" not in trace.html()


def test_what_is_no_number_stays_none(random_trace):
    """NaN and infinity are read back from the page as such, and its note says how many there are."""
    import base64
    import zlib

    from locus_attention.page import encoded

    array = np.array([[[[1.0, np.nan, -2.0], [np.inf, 0.5, -np.inf]]]])
    halves = np.frombuffer(zlib.decompress(base64.b64decode(encoded(array, "f16")["d"])), np.uint8).reshape(2, -1)
    assert np.array_equal(np.ascontiguousarray(halves.T).view("<f2").ravel(), array.ravel(), equal_nan=True)
    coarse = encoded(array, "i8")
    steps = np.frombuffer(zlib.decompress(base64.b64decode(coarse["d"])), np.int8)
    assert steps.tolist() == [64, -128, -127, -128, 32, -128] and coarse["s"] == [pytest.approx(2 / 127, rel=1e-5)]
    made, right = locus.Trace("deberta", "hf", "a model", "half precision"), random_trace(1, 2, 6)
    for name in right:
        hole = np.array(right[name])
        hole[0, :, 1] = np.nan
        made.add(name, hole)
    assert "; 36 of them are not finite" in made.html() and "not finite" not in right.html()
    # A row of NaN is no row that the mask hides.
    (view,) = json.loads(re.search(r'"views":(\[.*\]),"encoding"', made.html(), re.S)[1])
    assert view["visible"] is None


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")
@pytest.mark.parametrize("encoding", ["f16", "i8"])
def test_the_page_reads_what_is_no_number(sentence, encoding):
    from locus_attention.page import encoded

    array = np.array([[[[1.0, np.nan, -2.0], [np.inf, 0.5, -np.inf]]]])
    page = sentence.html()
    reader = page[page.index("async function inflate") : page.index("const cache=new Map")]
    tell = f"numbers({json.dumps(encoded(array, encoding))}).then(n => console.log(JSON.stringify([...n].map(String))))"
    done = subprocess.run(["node", "-e", reader + tell], capture_output=True, text=True, check=True)
    found = np.array(json.loads(done.stdout), float)
    wanted = array.ravel() if encoding == "f16" else np.where(np.isfinite(array.ravel()), array.ravel(), np.nan)
    assert np.allclose(found, wanted, atol=0.01, equal_nan=True)


def made_of(family, parts, *, inputs=(), tokens=True, prefix="layer.0."):
    """A trace of one layer from arrays by their stems."""
    trace = locus.Trace(family, "hf", "a model", "made by hand")
    if tokens:
        trace.tokens = [[f"w{n}" for n in range(parts["probs"].shape[2])] for _ in parts["probs"]]
    for stem, array in parts.items():
        trace.add(prefix + stem, np.asarray(array, np.float32), "by hand")
    trace.inputs = [{name: np.array(value) for name, value in given.items()} for given in inputs]
    return trace


def softmax(scores, visible):
    powers = np.where(visible, np.exp(scores - np.where(visible, scores, -np.inf).max(-1, keepdims=True)), 0)
    return powers / powers.sum(-1, keepdims=True)


def mask_in(page, view=0):
    """What the page hatches: bool [B,Tq,Tk], True where a pair is visible; None where all are."""
    import base64
    import zlib

    views = json.loads(re.search(r'"views":(\[.*\]),"encoding"', page, re.S)[1])
    held = views[view]["visible"]
    if held is None:
        return None
    flags = np.frombuffer(zlib.decompress(base64.b64decode(held)), np.uint8)
    return flags.reshape(-1, views[view]["tq"], views[view]["tk"]) == 1


@needs_browser
def test_a_picture_without_any_number_is_magenta_and_no_picture_of_zeros(random_trace, tmp_path):
    right, wrong = random_trace(1, 2, 6), locus.Trace("deberta", "hf", "a model", "half precision")
    wrong.tokens = right.tokens
    for name in right:
        wrong.add(name, np.full_like(right[name], np.nan) if name.endswith(("c2c", "scores", "probs")) else right[name])
    seen = opened(wrong.html(), tmp_path)
    assert seen["magenta"]["c-c2c"] == pytest.approx(36, abs=1) and seen["legends"]["r-c2c"] == "no number"
    assert seen["magenta"]["c-probs"] == pytest.approx(36, abs=1) and seen["legends"]["r-probs"] == "no number"
    assert seen["magenta"]["c-c2p"] == 0 and seen["legends"]["r-c2p"].startswith("±")
    for one, two in ((right, wrong), (wrong, right), (wrong, wrong)):
        seen = opened(one.html(compare=two), tmp_path, press("c") + press("c"))
        assert seen["magenta"]["c-c2c"] == pytest.approx(36, abs=1) and seen["legends"]["r-c2c"] == "no number"
        assert seen["magenta"]["c-p2c"] == 0 and seen["legends"]["r-p2c"] == "all 0"


def test_uniform_and_tiny_probabilities_are_not_hidden_by_a_mask():
    same = np.zeros((1, 2, 6, 6))
    assert mask_in(made_of("deberta", {"c2c": same, "scores": same, "probs": same + 1 / 6}).html()) is None
    scores = np.where(np.eye(6, dtype=bool), 0, -300.0)[None, None] * np.ones((1, 2, 1, 1))
    probs = np.where(np.eye(6, dtype=bool), 1, 0.0)[None, None] * np.ones((1, 2, 1, 1))
    assert mask_in(made_of("roformer", {"scores": scores, "probs": probs}).html()) is None
    assert mask_in(made_of("roformer", {"probs": probs}).html()) is None  # nobody says anything of a mask


def test_a_mask_is_read_from_the_inputs_and_the_family():
    padding, same = [[1, 1, 1, 1, 0, 0]], np.zeros((1, 2, 6, 6))
    keys = np.array(padding, bool)[0]
    uniform = np.where(keys, 0.25, 0) + same
    for family, wanted in (("deberta", keys[:, None] & keys), ("roformer", np.tile(keys, (6, 1)))):
        for probs in (np.where(wanted, uniform, np.where(wanted.any(1)[:, None], 0, 1 / 6)), same + np.nan):
            trace = made_of(family, {"c2c" if family == "deberta" else "scores": same, "scores": same, "probs": probs},
                            inputs=[{"tokens": [[1] * 6], "mask": padding}])
            assert np.array_equal(mask_in(trace.html())[0], wanted)
    pairs = np.tril(np.ones((6, 6), int))
    trace = made_of("roformer", {"scores": same + np.nan, "probs": same + np.nan}, inputs=[{"mask": [pairs]}])
    assert np.array_equal(mask_in(trace.html())[0], pairs == 1)
    broken = np.zeros((1, 2, 3, 5)) + np.nan
    trace = made_of("transfo-xl", {"ac": broken, "bd": broken, "scores": broken, "probs": broken}, tokens=False)
    assert np.array_equal(mask_in(trace.html())[0], np.tri(3, 5, 2) == 1)  # two keys of memory
    order = np.zeros((1, 4, 4), int)
    order[0, :, 1] = 1
    given = {"tokens": [[1] * 4], "perm_mask": order, "input_mask": [[0, 0, 0, 1]], "target_mapping": [[[0, 1, 0, 0]]]}
    parts = {stem: np.zeros((1, 2, 4, 4)) + np.nan for stem in ("ac", "bd", "scores", "probs")}
    trace = made_of("xlnet", parts, inputs=[given])
    for stem in parts:
        trace.add(f"layer.0.g.{stem}", np.zeros((1, 2, 1, 4), np.float32) + np.nan)
    content, query = mask_in(trace.html(), 0)[0], mask_in(trace.html(), 1)[0]
    assert np.array_equal(content, [[1, 0, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 1, 1]])
    assert np.array_equal(query, [[1, 0, 1, 0]])


def test_a_mask_that_nobody_names_is_seen_where_the_scores_prove_it():
    random = np.random.default_rng(3)
    scores, visible = random.normal(size=(1, 2, 5, 5)), np.tri(5) == 1
    trace = made_of("roformer", {"scores": scores, "probs": softmax(scores, visible)})
    assert np.array_equal(mask_in(trace.html())[0], visible)
    blind = softmax(scores, np.ones((5, 5), bool))
    blind[:, :, 2] = 1 / 5  # no softmax of different scores
    trace = made_of("deberta", {"c2c": scores * 4, "scores": scores, "probs": blind})
    assert np.array_equal(mask_in(trace.html())[0].all(-1), [True, True, False, True, True])
    blind[:, :, 2] = 0
    trace = made_of("deberta", {"c2c": scores * 4, "scores": scores, "probs": blind})
    assert not mask_in(trace.html())[0][2].any()


def test_the_footer_counts_what_is_no_number_in_either_trace(random_trace):
    right, wrong = random_trace(1, 2, 6), locus.Trace("deberta", "hf", "a model", "half precision")
    for name in right:
        hole = np.array(right[name])
        hole[0, :, 1] = np.nan
        wrong.add(name, hole)
    for one, two in ((right, wrong), (wrong, right)):
        assert "; 36 of them are not finite" in one.html(compare=two)
    assert "; 72 of them are not finite" in wrong.html(compare=wrong)


@needs_browser
def test_the_heads_are_those_of_the_mode(random_trace, tmp_path):
    right, other = random_trace(1, 3, 6), locus.Trace("deberta", "hf", "a model", "another")
    other.tokens = right.tokens
    parts = {stem: np.array(right[f"layer.0.{stem}"]) for stem in ("c2c", "c2p", "p2c")}
    parts["c2c"][0, 1], parts["c2c"][0, 2] = 0, np.nan
    parts["scores"] = sum(parts.values()) / np.sqrt(192)
    for stem, array in {**parts, "probs": softmax(parts["scores"], np.ones((6, 6), bool))}.items():
        other.add(f"layer.0.{stem}", array)
    settle = "for (let n = 0; n < 20000; n++) await tick();"
    modes = [opened(right.html(compare=other, theme="light"), tmp_path, press("c") * n + settle) for n in range(3)]
    a, b, difference = (seen["boxes"] for seen in modes)
    assert a[0] == b[0] and a[1] != b[1] and b[2] == difference[2] == "rgb(255, 0, 255)" != a[2]
    assert difference[0] == "rgb(255, 255, 255)" and difference[1] == "rgb(8, 48, 107)"
    assert "probability" in modes[1]["measure"] and "difference" in modes[2]["measure"]
    assert modes[2]["measure"].endswith("; magenta: no number") and "magenta" not in modes[0]["measure"]


@needs_browser
def test_a_trace_beside_another_keeps_its_own_scale_and_mask(random_trace, tmp_path):
    right = random_trace(1, 2, 6)
    other = locus.Trace("deberta", "hf", "a model", "another scale")
    other.tokens, visible = right.tokens, np.tri(6) == 1
    for name in right:
        other.add(name, right[name])
    scores = np.array(right["layer.0.scores"]) * np.sqrt(3)
    for stem, array in (("scores", scores), ("probs", softmax(scores, visible))):
        other.discard(f"layer.0.{stem}")
        other.add(f"layer.0.{stem}", array.astype(np.float32))
    seen = opened(right.html(compare=other, cell=(0, 0, 1, 5)), tmp_path, press("c"))
    assert np.abs(np.array(seen["probs"]) - softmax(scores, visible)[0, 0].ravel()).max() < 5e-3
    assert "hidden by the mask" in seen["micro"] and "÷ 8" in seen["micro"]
    seen = opened(right.html(compare=other, cell=(0, 0, 1, 5)), tmp_path)
    assert "hidden by the mask" not in seen["micro"]


@needs_browser
@pytest.mark.parametrize("largest", [4.9, 3.1e21, 1.26e-7, 123456.0, 0.032])
def test_the_lines_of_the_strength_stand_where_their_labels_say(random_trace, tmp_path, largest):
    right, scaled = random_trace(1, 1, 6), locus.Trace("deberta", "hf", "a model", "scaled")
    scaled.tokens = right.tokens
    for name in right:
        factor = largest / np.abs(right["layer.0.c2c"]).max() if name.endswith("c2c") else float(name.endswith("probs"))
        scaled.add(name, np.array(right[name]) * np.float32(factor))
    seen = opened(scaled.html(), tmp_path)
    assert 3 <= len(seen["ticks"]) <= 6
    for value, label, left in seen["ticks"]:
        assert float(label) == pytest.approx(value, rel=1e-9) and left >= 0


# Every text that a picture gets, with its place on the screen; before the page's own script is run.
WATCH = """<script>
window.told = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function(text, x, y) {
  const at = this.getTransform().transformPoint(new DOMPoint(x, y));
  told.push([this.canvas.id, text, at.x, at.y]);
  return write.apply(this, arguments);
};
</script>"""


@needs_browser
@pytest.mark.parametrize("length", [12, 35, 40])
def test_labels_of_rows_and_columns_do_not_overlap(random_trace, tmp_path, length):
    page = random_trace(1, 1, length).html(cell=(0, 0, 17 % length, 6)).replace("<body>", "<body>" + WATCH)
    said = [entry for entry in opened(page, tmp_path)["told"] if entry[0] == "c-probs"]
    rows = sorted(y for _, text, x, y in said if x < 61)
    columns = sorted(x for _, text, x, y in said if x >= 61)
    assert min(np.diff(rows).min(), np.diff(columns).min()) >= 11
    assert f"w{17 % length}" in [text for _, text, x, _ in said if x < 61]
    assert len(rows) >= min(length, 12) - 1 and abs(len(rows) - len(columns)) <= 2


@needs_browser
def test_a_long_text_folds_its_tokens_and_scales_its_probabilities(random_trace, tmp_path):
    trace = random_trace(1, 1, 362)
    box = """const box = document.getElementById("tokens"), all = document.getElementById("all");
             const chosen = () => { const c = box.querySelector(".q");
               return c.offsetTop >= box.scrollTop && c.offsetTop < box.scrollTop + box.clientHeight; };
             window.told = [box.clientHeight, all.textContent, chosen()];
             all.click(); told.push(box.clientHeight, all.textContent, all.getAttribute("aria-expanded"));
             const c = document.getElementById("c-probs"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
             let brightest = 0;
             for (let n = 0; n < d.length; n += 4) brightest += d[n] == 245 && d[n + 1] == 235 && d[n + 2] == 150;
             told.push(brightest);"""
    seen = opened(trace.html(limit=9_000_000, theme="dark", cell=(0, 0, 300, 299)), tmp_path, box)
    low, words, shown, high, fewer, expanded, brightest = seen["told"]
    assert low < 130 < 300 < high and shown and brightest > 0  # the end of the ramp is the largest
    assert words == "show all 362 tokens" and fewer == "show fewer" and expanded == "true"
    largest = float(trace["layer.0.probs"].max())
    assert re.fullmatch(r"0 … [\d.]+, the largest; a point: the largest of 2 × 2", seen["legends"]["r-probs"])
    assert numbers_in(seen["legends"]["r-probs"])[0] == pytest.approx(largest, rel=0.02)
    short = opened(random_trace(1, 1, 12).html(), tmp_path, box.replace("chosen()]", "document.getElementById('more').hidden]"))
    assert short["told"][2] is True


@needs_browser
def test_the_divisor_of_scores_that_are_all_zero(tmp_path):
    same, q = np.zeros((1, 2, 6, 6)), np.zeros((1, 2, 6, 32))
    for terms, said in ((("c2c", "c2p", "p2c"), "÷ √(3 · 32)"), (("c2c", "c2p"), "÷ √(2 · 32)"), (("ac", "bd"), "÷ √32")):
        family = "deberta" if terms[0] == "c2c" else "xlnet"
        parts = {**dict.fromkeys(terms, same), "scores": same, "probs": same + 1 / 6}
        seen = opened(made_of(family, {**parts, "q": q}).html(cell=(0, 0, 1, 1)), tmp_path)
        assert said in seen["micro"] and seen["sums"] == [f"sum {said}"] and seen["formula"].endswith(f"{said} = 0.000")
        assert "÷ 1" not in made_of(family, parts).html()
        trace = made_of(family, {**parts, "q": q, "k": q})
        divisor = locus.explain(trace.cell(0, 0, 1, 1)).divisor
        assert divisor == pytest.approx(np.sqrt(len(terms) * 32 if family == "deberta" else 32))
    seen = opened(made_of("deberta", {"c2c": same, "scores": same, "probs": same + 1 / 6, "q": q}).html(cell=(0, 0, 1, 1)),
                  tmp_path)
    assert "÷ √32" in seen["micro"]


def test_the_scale_is_read_off_a_layer_that_has_numbers(random_trace):
    right, made = random_trace(2, 1, 6), locus.Trace("deberta", "hf", "a model", "the first layer is broken")
    for name in right:
        made.add(name, right[name] * np.float32(np.nan if name.startswith("layer.0.") else 1))
    assert f'"divisor":"÷ {np.sqrt(192):.5g}"' in made.html()
    part = locus.Trace("deberta", "hf", "a model", "a term is missing")
    for name in right:
        if not name.endswith("p2c"):
            part.add(name, right[name])
    assert "the trace has other scores" in part.html()


@needs_browser
def test_tokens_are_words_and_nothing_else(random_trace, tmp_path):
    trace = random_trace(1, 1, 6)
    trace.tokens = [["</script><script>document.title='run'</script>", "<b>bold</b>", "\"'&amp;", "/*DATA*/",
                     "<img src=x onerror=\"document.title='run'\">", "日本語👩‍👩‍👧‍👦"]]
    title = "<b>&\"'</title><script>document.title='run'</script>"
    seen = opened(trace.html(tmp_path / "written.html", title=title, cell=(0, 0, 0, 1)), tmp_path)
    assert seen["title"] == "Locus: " + title and seen["requests"] == 0
    for word in ("</script><script>", "<b>bold</b>", "\"'&amp;", "/*DATA*/", "<img src=x", "日本語👩‍👩‍👧‍👦"):
        assert word in seen["tokens"]
    assert "<b>bold</b>" in seen["micro"]
    trace.tokens[0][5] = "\ud83d"  # half a character
    trace.html(tmp_path / "written.html")
    assert "\\ud83d" in (tmp_path / "written.html").read_text(encoding="utf-8")


@needs_browser
def test_failing_stages_and_brackets_by_the_keyboard(sentence, tmp_path):
    wrong = locus.trace("tiny-v3", tokens=sentence.ids, dialect="paper")
    report = locus.check(sentence, wrong, model="tiny-v3", inputs={"tokens": sentence.ids})
    steps = """const go = [...document.querySelectorAll("#failing button")];
      document.onkeydown(new KeyboardEvent("keydown", {key: "]", ctrlKey: true, altKey: true, modifierAltGraph: true}));
      for (let n = 0; n < 20000; n++) await tick();
      window.told = [go.length, go[0].className, document.getElementById("layer").textContent];"""
    seen = opened(wrong.html(report=report, layers=[0, 1]), tmp_path, steps)
    assert seen["told"][0] > 0 and "chip" in seen["told"][1] and seen["told"][2] == "1"
