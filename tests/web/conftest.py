"""A browser that nobody sees, and the folder that `./locus web` made, served to it from the loopback."""
import functools
import http.server
import os
import threading
import time
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("LOCUS_SITE", ROOT / "build/web/site"))


ASKED = []  # paths, in the order in which the server was asked for them


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        ASKED.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def asked():
    ASKED.clear()
    return ASKED


@pytest.fixture(scope="session")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"])


FRAMES = "new Promise(done => { let left = 5; (function next() { left-- ? requestAnimationFrame(next) : done(); })(); })"


class Visit:
    """One tab, and what must not happen in it: a word on the console, a request to somewhere else."""

    def __init__(self, browser, address, forgetful=False, **options):
        options = {"viewport": {"width": 1280, "height": 800}, "accept_downloads": True, **options}
        self.context = browser.new_context(**options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        if forgetful:  # keeps nothing, as some browsers do: then nothing was opened lately
            self.page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('none'); }})")
        self.address, self.complaints, self.bytes = address, [], {}
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self.note)

    def note(self, request):
        if not request.url.startswith((self.address, "blob:" + self.address, "data:")):
            self.complaints.append("a request to " + request.url)

    def open(self, link="", search=""):
        self.page.goto("about:blank")  # else only what follows "#" would change
        self.page.goto(self.address + search + "#" + link)
        self.settle()
        return self

    def settle(self, page=None):
        where = f"[data-page='{page}']" if page else ""
        self.page.wait_for_selector(f"#canvas{where}[data-settled='true']", timeout=60000)
        self.until("window.locus && locus.services.idle()")
        self.page.evaluate(FRAMES)  # with what came last
        self.page.wait_for_selector("#canvas[data-settled='true']", timeout=60000)

    def until(self, expression, seconds=60):
        """The page's own rules forbid what playwright's wait_for_function does: to evaluate a text in the page."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never: {expression}"
            self.page.wait_for_timeout(50)

    def link(self):
        return self.page.evaluate("locus.program.ccall('locus_link', 'string', [], [])")

    def note_text(self):
        return self.page.evaluate("document.getElementById('note').textContent")

    def close(self):
        self.context.close()


@pytest.fixture
def visit(browser, address):
    made = []

    def make(**options):
        made.append(Visit(browser, address, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
        assert one.complaints == []
