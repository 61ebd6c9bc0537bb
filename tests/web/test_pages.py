"""Every page in a browser looks as it does on the desktop."""
import io
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import ROOT
from likeness import alike, likeness, read, shrunk

no_display = pytest.mark.skipif(not shutil.which("xvfb-run"), reason="xvfb-run is not installed")

PAGES = ["start", "positions", "attention", "decoder", "rope", "transformer-xl", "permutation", "text", "compare",
         "conformance", "training"]
# Where a page prints eight digits of a float32, whose last ones depend on the order of a sum.
NUMBERS = {"rope": [(616, 338, 634, 376)]}


def check(visit, name, factor, page):
    screen = np.asarray(Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB"))
    golden = read(ROOT / "tests/viewer/golden" / name)
    assert screen.shape[:2] == (golden.shape[0] * factor, golden.shape[1] * factor)
    colour, shape = likeness(screen, golden, factor, NUMBERS.get(page, ()) if factor == 2 else ())
    assert alike((colour, shape)), f"{name}: mean colour differs by {colour:.1f}, least likeness {shape:.2f}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_drawn_as_on_the_desktop_in_both_themes(visit, page):
    tab = visit(forgetful=True).open(f"page={page}&theme=dark")
    check(tab, f"{page}_dark_1280.png", 2, page)
    tab.page.keyboard.press("t")
    tab.until("locus.program.ccall('locus_link', 'string', [], []).includes('theme=light')")
    tab.settle(page)
    check(tab, f"{page}_light_1280.png", 2, page)


def test_a_screen_of_twice_the_density_is_drawn_in_its_own_pixels(visit):
    tab = visit(forgetful=True, viewport={"width": 960, "height": 600}, device_scale_factor=2)
    check(tab.open("page=attention&theme=dark"), "attention_dark_1920.png", 3, "attention")


def desktop(tmp_path, *arguments):
    """The same screen, drawn by the desktop's program."""
    subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 2560x1600x24", ROOT / "build/release/bin/locus-view", *arguments,
                    "--screenshot", tmp_path / "desktop.png"], check=True, capture_output=True)
    return read(tmp_path / "desktop.png")


def alike_on_both(tab, drawn, factor):
    screen = np.asarray(Image.open(io.BytesIO(tab.page.screenshot())).convert("RGB"))
    assert screen.shape == drawn.shape
    height, width = (side // factor * factor for side in screen.shape[:2])
    found = likeness(screen[:height, :width], shrunk(drawn[:height, :width], factor), factor)
    assert alike(found), f"mean colour differs by {found[0]:.1f}, least likeness {found[1]:.2f}"


@no_display
def test_high_contrast_is_drawn_as_on_the_desktop(visit, tmp_path):
    tab = visit(forgetful=True).open("page=attention&theme=contrast")
    alike_on_both(tab, desktop(tmp_path, "--page", "attention", "--theme", "contrast", "--size", "1280x800"), 2)


@no_display
def test_a_telephone_in_landscape_shows_the_whole_page(visit, tmp_path):
    tab = visit(forgetful=True, viewport={"width": 844, "height": 390}, device_scale_factor=3, has_touch=True, is_mobile=True)
    tab.open("page=attention&theme=dark")
    alike_on_both(tab, desktop(tmp_path, "--page", "attention", "--theme", "dark", "--size", "2532x1170", "--scale", "3"), 3)


def test_the_comparison_sees_another_page_a_moved_one_and_a_missing_line():
    golden = read(ROOT / "tests/viewer/golden/positions_dark_1280.png")
    screen = golden.repeat(2, axis=0).repeat(2, axis=1)
    assert alike(likeness(screen, golden, 2))
    assert not alike(likeness(screen, read(ROOT / "tests/viewer/golden/rope_dark_1280.png"), 2))
    moved = screen.copy()
    moved[546:562, 292:550] = np.roll(screen[546:562, 292:550], 6, axis=1)  # the legend
    assert not alike(likeness(moved, golden, 2))
    erased = screen.copy()
    erased[548:562, 880:968] = screen[548, 880]  # what the axes mean
    assert not alike(likeness(erased, golden, 2))
