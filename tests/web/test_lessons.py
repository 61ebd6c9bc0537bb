"""Lessons beside the viewer: what each prints, and links that lead to a state of the viewer."""
import html
import json
import re
import subprocess
from html.parser import HTMLParser
from urllib.parse import parse_qsl

import pytest

from conftest import ROOT, SITE

SOURCES = sorted((ROOT / "lessons").glob("[0-9]*.cpp"))


class Cells(HTMLParser):
    """Texts and classes of the cells of matrices; all text."""

    def __init__(self):
        super().__init__()
        self.matrix, self.cell, self.cells, self.text = False, None, [], []

    def handle_starttag(self, tag, attributes):
        names = dict(attributes).get("class", "")
        if tag == "table":
            self.matrix = names == "matrix"
        if tag == "td" and self.matrix and names != "gap":
            self.cell = [names, ""]

    def handle_data(self, data):
        self.text.append(data)
        if self.cell:
            self.cell[1] += data

    def handle_endtag(self, tag):
        if tag == "td" and self.cell:
            self.cells.append(tuple(self.cell))
            self.cell = None


def read(number):
    page = (SITE / f"lessons/{number}.html").read_text(encoding="utf-8")
    cells = Cells()
    cells.feed(page)
    return page, cells


def printed(number):
    return json.loads((ROOT / f"tests/lessons/golden/{number}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", [source.name[:2] for source in SOURCES])
def test_a_lesson_is_what_its_program_says(number):
    page, cells = read(number)
    said = " ".join(" ".join(cells.text).split())
    lesson = printed(number)
    for text in [lesson["title"], lesson["question"], lesson["sources"], *(claim["claim"] for claim in lesson["claims"])]:
        assert " ".join(text.split()) in said
    for part in lesson["parts"]:
        if "say" in part:
            assert part["say"].replace("\x1f", " ").split("\n")[0].strip() in said or " ".join(part["say"].split()[:6]) in said
    drawn = [title for part in lesson["parts"] for title in part.get("heatmaps", []) + ([part["matrix"]] if "matrix" in part else [])]
    values = [value for title in drawn for row in lesson["matrices"][title] for value in row]
    assert len(cells.cells) == len(values)
    # A number that is negative is never on the colour of a positive one.
    for (shade, text), value in zip(cells.cells, values):
        if shade and isinstance(value, (int, float)):
            assert shade[0] == ("n" if value < 0 else "p"), (text, value)
    assert "\x1f" not in page


def test_matrices_are_coloured():
    shades = {shade for number in ("05", "08") for shade, _ in read(number)[1].cells}
    assert {"p9", ""} <= shades and any(shade.startswith("n") for shade in shades)
    style = (SITE / "lessons/lessons.css").read_text()
    assert all(f".{shade} {{ background" in style for shade in shades if shade)


def shown_by(source):
    """What the link of a lesson says; nothing where no page of the viewer shows it."""
    return re.search(r"^// Show: (.*)", source.read_text(encoding="utf-8"), re.M)


@pytest.fixture(scope="module")
def fields():
    """Of the state that nothing was said of: a link leaves out what is so anyway."""
    listed = subprocess.run([ROOT / "build/release/bin/locus-view", "--list-fields"], capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)


def page_of(source):
    return re.search(r"^// Before: .*Page: ([a-z-]+)", source.read_text(encoding="utf-8"), re.M).group(1)


def test_show_me_is_the_link_of_its_lesson():
    for source in SOURCES:
        wanted = shown_by(source)
        links = re.findall(r'href="\.\./#([^"]*)">Show me', read(source.name[:2])[0])
        if not wanted:
            assert links == []
            continue
        values = parse_qsl(html.unescape(links[0]))
        assert values[0] == ("page", page_of(source))
        assert values[1:] == parse_qsl(wanted.group(1)), source.name


# One of each page.  That every lesson's state is one which the viewer keeps is tested on the desktop.
@pytest.mark.parametrize("source", {page_of(source): source for source in SOURCES if shown_by(source)}.values(),
                         ids=lambda source: source.name[:2])
def test_show_me_leads_to_a_state(visit, fields, source):
    page = page_of(source)
    tab = visit()
    tab.page.goto(f"{tab.address}lessons/{source.name[:2]}.html")
    tab.page.click("text=Show me >> nth=0")
    tab.settle(page)
    assert tab.note_text() == ""
    found = {**fields, **dict(parse_qsl(tab.link()))}
    sentences = {"rope": "rope.text", "transformer-xl": "memory.text", "permutation": "permutation.text"}
    for name, value in parse_qsl(shown_by(source).group(1)):
        name = sentences.get(page, name) if name == "text" else name
        assert found.get(name) == value, (name, found)


def test_lessons_lead_to_each_other(visit):
    tab = visit()
    tab.page.goto(f"{tab.address}lessons/index.html")
    assert tab.page.locator("ol > li").count() == len(SOURCES)
    tab.page.click("text=Three terms")
    assert tab.page.locator("h1").text_content() == "08 Three terms"
    tab.page.click("text=Next:")
    assert tab.page.locator("h1").text_content().startswith("09 ")
