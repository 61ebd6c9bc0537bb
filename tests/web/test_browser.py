"""What a browser adds: links, settings, files that are dropped and downloaded, sizes, memory."""
import shutil

import pytest

from conftest import ROOT, SITE

LINK = "page=attention&text=the+capital+of+france+is+%5BMASK%5D.&layer=4&head=1&cell=6,3"


def test_a_link_leads_there_and_back(visit):
    tab = visit().open(LINK)
    assert sorted(tab.link().split("&")) == sorted(LINK.removeprefix("page=attention&").split("&"))  # attention is the first page
    tab.page.keyboard.press("Control+Shift+C")
    tab.until("locus.services.copied !== ''")
    copied = tab.page.evaluate("locus.services.copied")
    assert copied == tab.address + "#" + tab.link()
    other = visit()
    other.page.goto(copied)
    other.settle()
    assert other.link() == tab.link()


def test_a_link_with_a_cell_that_is_not_there_says_so_and_opens(visit):
    tab = visit().open("page=attention&cell=99,99")
    assert "--cell is \"99,99\", expected I,J with both from 0 to 11" in tab.note_text()
    assert tab.link() == ""


def test_settings_stay_in_the_browser(visit):
    tab = visit().open()
    tab.page.keyboard.press("t")
    tab.until("(localStorage.getItem('locus.settings') || '').includes('light')")
    tab.open()
    assert "theme=light" in tab.link()


def test_a_dropped_folder_of_a_model_is_opened_and_stays_here(visit, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(ROOT / "assets/models/tiny-v3", folder)
    tab = visit().open()
    requests = []
    tab.page.on("request", lambda request: requests.append(request.url))
    tab.page.set_input_files("#folder", str(folder))
    tab.until("locus.program.ccall('locus_link', 'string', [], []).includes('model=/dropped/1/mine')")
    assert tab.note_text() == "mine stays in this browser: nothing is sent anywhere."
    assert requests == []


def drop(tab, path):
    """As a file manager drops it: the browser itself makes the entries."""
    session = tab.context.new_cdp_session(tab.page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 300, "data": {
            "items": [], "files": [str(path)], "dragOperationsMask": 1}})


def test_a_folder_is_opened_by_a_drop(visit, tmp_path):
    shutil.copytree(ROOT / "assets/models/tiny-v3", tmp_path / "dragged" / "nested.bin", dirs_exist_ok=True)
    tab = visit().open()
    drop(tab, tmp_path / "dragged" / "nested.bin")
    tab.until("locus.program.ccall('locus_link', 'string', [], []).includes('model=/dropped/1/nested.bin')")
    assert tab.note_text() == "nested.bin stays in this browser: nothing is sent anywhere."


def test_what_is_too_large_is_refused_by_its_size_before_it_is_read(visit, tmp_path):
    (tmp_path / "huge").mkdir()
    with open(tmp_path / "huge/model.safetensors", "wb") as file:
        file.truncate(800_000_000)  # a hole: nothing of it is on the disk
    tab = visit().open()
    tab.page.evaluate("window.was_read = 0; const slice = Blob.prototype.slice;"
                      "Blob.prototype.slice = function (...at) { ++was_read; return slice.apply(this, at); }; 0")
    tab.page.set_input_files("#folder", str(tmp_path / "huge"))
    tab.until("document.getElementById('note').textContent.startsWith('huge has 800 MB')", 10)
    assert tab.note_text() == "huge has 800 MB, and a browser has room for 700: ./locus view opens it on a desktop."
    assert tab.page.evaluate("was_read") == 0
    assert tab.link() == ""


def test_escape_stops_what_is_read(visit, tmp_path):
    (tmp_path / "large").mkdir()
    with open(tmp_path / "large/model.safetensors", "wb") as file:
        file.truncate(690_000_000)
    tab = visit().open()
    tab.page.set_input_files("#folder", str(tmp_path / "large"))
    tab.until("document.getElementById('note').textContent.includes('of 690 MB; Esc stops it')", 10)
    tab.page.keyboard.press("Escape")
    tab.until("document.getElementById('note').textContent === 'large is left alone.'", 10)
    assert tab.page.evaluate("locus.program.FS.analyzePath('/dropped/1/large/model.safetensors').exists") is False


def test_a_file_that_is_no_model_is_refused_in_one_sentence(visit, tmp_path):
    (tmp_path / "broken.safetensors").write_bytes(b"\xff" * 40)
    tab = visit().open()
    tab.page.set_input_files("#file", str(tmp_path / "broken.safetensors"))
    tab.page.wait_for_timeout(1000)
    assert tab.link() == ""


def test_an_export_is_downloaded(visit):
    tab = visit().open()
    with tab.page.expect_download() as download:
        tab.page.keyboard.press("F12")
    assert download.value.suggested_filename == "locus-attention.png"
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_the_canvas_follows_the_window(visit):
    tab = visit().open()
    tab.page.set_viewport_size({"width": 1500, "height": 900})
    tab.until("document.getElementById('canvas').width === 1500")
    assert tab.page.evaluate("document.getElementById('canvas').height") == 900


def test_pages_change_two_hundred_times_in_the_same_memory(visit):
    tab = visit(viewport={"width": 844, "height": 390}).open()  # the pixels of a telephone: they are drawn by the processor
    keys = "2131243214"  # pages of the built-in DeBERTa
    size = "locus.program.HEAPU8.length"

    def turn(times):
        for n in range(times):
            tab.page.keyboard.press(keys[n % len(keys)])
            tab.page.wait_for_timeout(30)
        tab.settle()

    turn(20)
    before = tab.page.evaluate(size)
    turn(200)
    assert tab.page.evaluate(size) == before


class Fingers:
    """Touches of a screen, as the browser itself gets them."""

    def __init__(self, tab):
        self.session = tab.context.new_cdp_session(tab.page)
        self.page = tab.page

    def send(self, kind, *places):
        points = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(places)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        # What happens between two frames is one to the viewer.
        self.page.evaluate("""new Promise(done => {
            let left = 4;
            (function next() { --left ? requestAnimationFrame(next) : done(); })();
        })""")


def picture(tab):
    tab.page.wait_for_timeout(300)
    return tab.page.screenshot()


MATRIX = 560, 300  # inside a matrix of the Attention page


def test_the_wheel_zooms_upwards_and_back_in_equal_steps(visit):
    tab = visit().open()
    tab.page.mouse.move(*MATRIX)
    before = picture(tab)
    tab.page.mouse.wheel(0, -100)
    closer = picture(tab)
    assert closer != before
    tab.page.mouse.wheel(0, -200)
    tab.page.wait_for_timeout(200)
    tab.page.mouse.wheel(0, 200)
    assert picture(tab) == closer  # upwards is closer, and a step is a step
    tab.page.mouse.wheel(0, 300)
    assert picture(tab) == before


def test_one_finger_hovers_and_a_tap_clicks(visit):
    tab, mouse = visit(has_touch=True).open(), visit().open()
    fingers, x, y = Fingers(tab), *MATRIX
    fingers.send("touchStart", (x, y))
    fingers.send("touchMove", (x + 60, y + 40))
    fingers.send("touchEnd")
    mouse.page.mouse.move(x + 60, y + 40)
    assert picture(tab) == picture(mouse)
    assert "cell=" not in tab.link()
    tab.page.touchscreen.tap(x + 60, y + 40)
    mouse.page.mouse.click(x + 60, y + 40)
    tab.page.wait_for_timeout(300)
    mouse.page.wait_for_timeout(300)
    assert "cell=" in tab.link()
    assert tab.link() == mouse.link()


def test_two_fingers_zoom_and_pan(visit):
    tab = visit(has_touch=True).open()
    fingers, (x, y) = Fingers(tab), MATRIX

    def drag(spread, to_spread, dx=0, dy=0):
        """Two fingers around the same place, which then move; the picture with both of them there once more."""
        fingers.send("touchStart", (x - spread, y), (x + spread, y))
        fingers.send("touchMove", (x - to_spread + dx, y + dy), (x + to_spread + dx, y + dy))
        fingers.send("touchEnd")
        fingers.send("touchStart", (x - 20, y), (x + 20, y))
        fingers.send("touchEnd")
        return picture(tab)

    whole = drag(20, 20)
    closer = drag(20, 40)
    assert closer != whole
    moved = drag(20, 20, 30, 30)
    assert moved != closer
    assert drag(20, 20, -30, -30) == closer
    assert drag(40, 20) == whole


def test_a_text_is_pasted_into_the_sentence(visit):
    tab = visit().open()
    tab.page.evaluate("navigator.clipboard.writeText('the bank of the river')")
    tab.page.keyboard.press("Control+l")
    tab.page.wait_for_timeout(200)
    tab.page.keyboard.press("Control+a")
    tab.page.wait_for_timeout(100)
    tab.page.keyboard.press("Control+v")
    tab.page.wait_for_timeout(200)
    tab.page.keyboard.press("Enter")
    tab.until("locus.program.ccall('locus_link', 'string', [], []).includes('text=the+bank+of+the+river')", 10)


def test_composed_text_is_typed_at_the_caret(visit):
    tab = visit().open()
    focus = "document.activeElement.id"
    assert tab.page.evaluate(focus) != "typing"
    tab.page.keyboard.press("Control+l")
    tab.until(focus + " === 'typing'", 10)
    tab.page.keyboard.press("Control+a")
    tab.page.wait_for_timeout(100)
    field = "document.getElementById('typing')"
    browser = tab.context.new_cdp_session(tab.page)
    browser.send("Input.imeSetComposition", {"text": "\u306b", "selectionStart": 1, "selectionEnd": 1})
    tab.until(field + ".className === 'composing'", 10)
    assert tab.page.evaluate(field + ".value") == "\u306b"
    place = tab.page.evaluate(f"{field}.getBoundingClientRect().toJSON()")
    assert 0 < place["x"] < 1280 and 0 < place["y"] < 800 and place["width"] > 10
    assert "text=" not in tab.link()  # nothing is typed before it is chosen
    browser.send("Input.insertText", {"text": "\u65e5\u672c"})
    tab.until(field + ".className === ''", 10)
    tab.page.keyboard.type("!")
    tab.page.wait_for_timeout(200)
    tab.page.keyboard.press("Enter")
    tab.until("locus.program.ccall('locus_link', 'string', [], []).includes('text=%E6%97%A5%E6%9C%AC%21')", 10)
    tab.until(focus + " !== 'typing'", 10)  # keys are commands again


def test_the_palette_finds_a_page_and_undo_goes_back(visit):
    tab = visit().open()
    tab.page.keyboard.press("Control+p")
    tab.page.wait_for_timeout(200)
    tab.page.keyboard.type("rope")
    tab.page.wait_for_timeout(200)
    tab.page.keyboard.press("Enter")
    tab.settle("rope")
    assert "page=rope" in tab.link()
    tab.page.keyboard.press("2")
    tab.settle("attention")
    tab.page.keyboard.press("l")
    tab.page.keyboard.press("t")
    tab.settle()
    changed = tab.link()
    assert changed not in ("", "page=rope")
    for _ in range(4):
        tab.page.keyboard.press("Control+z")
        tab.page.wait_for_timeout(200)
    tab.settle()
    assert tab.link() != changed


@pytest.mark.parametrize("film", ["page=decoder&decoder.film", "page=transformer-xl&memory.film"])
def test_a_film_plays_by_itself_and_stands_where_it_was_stopped(visit, film):
    place = film.split("&")[1]
    at = f"Number(new URLSearchParams(locus.program.ccall('locus_link', 'string', [], [])).get('{place}'))"
    tab = visit()
    tab.page.goto(f"{tab.address}#{film}=0&{place}.playing=yes")
    tab.page.wait_for_selector("#canvas[data-page]", timeout=60000)
    tab.until(f"{at} > 0.2")
    before = tab.page.evaluate(at)
    tab.until(f"{at} > {before}")
    tab.open(f"{film}=1.5&{place}.playing=no")
    picture(tab)
    assert tab.page.evaluate(at) == 1.5


def test_a_damaged_pack_is_said_and_a_click_asks_for_it_again(visit):
    tab = visit()
    whole = next(SITE.glob("tiny-roformer*.pack")).read_bytes()

    def damaged(route):
        route.fulfill(status=200, body=whole[:1000] + bytes(200) + whole[1200:])

    tab.page.route("**/tiny-roformer*.pack", damaged)
    tab.open()
    tab.page.keyboard.press("4")
    tab.until("document.getElementById('word').textContent.includes('is damaged. A click tries again.')", 10)
    tab.page.mouse.click(600, 400)  # still damaged
    tab.page.wait_for_timeout(500)
    tab.until("document.getElementById('word').textContent.includes('is damaged. A click tries again.')", 10)
    tab.page.unroute("**/tiny-roformer*.pack")
    tab.page.mouse.click(600, 400)
    tab.settle("rope")
    assert tab.page.evaluate("document.getElementById('cover').hidden")
    tab.page.keyboard.press("2")
    tab.settle("attention")


def test_embedded_is_the_page_alone(visit):
    tab = visit().open("page=attention", "?embed")
    tab.page.mouse.click(60, 300)  # where the rail would be
    tab.page.wait_for_timeout(300)
    assert "page=" not in tab.link()


def test_little_is_transferred_before_the_first_picture_and_it_is_there_soon(visit, asked):
    times = []
    for _ in range(3):  # the machine may be busy with something else; a browser keeps nothing from one to the next
        asked.clear()
        tab = visit().open()
        times.append(tab.page.evaluate("locus.services.first"))
        if times[-1] <= 3000:
            break
    later = {tab.page.evaluate("locus.manifest.packs")[name]["file"] for name in tab.page.evaluate("locus.manifest.later")}
    names = [path.removeprefix("/") or "index.html" for path in asked]
    first = names[:min(names.index(file) for file in later)]
    size = sum((SITE / name).stat().st_size for name in first)
    everything = sum(file.stat().st_size for file in SITE.rglob("*") if file.is_file())
    print(f"{size / 1e6:.2f} MB before the first picture, {everything / 1e6:.2f} MB in all; "
          f"first picture after {', '.join(f'{time:.0f}' for time in times)} ms")
    assert len(first) >= 8  # page, style, script, manifest, unpacker, program, its script, pack
    assert size <= 9e6
    assert everything <= 25e6
    assert min(times) <= 3000
