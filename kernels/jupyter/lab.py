"""Drives JupyterLab with the kernel in a headless Chromium: run all, pictures, Tab, Shift-Tab, an error, interrupt, restart.

    lab.py [FOLDER]    writes the screenshots there; default .anatomy/screenshots

CHROMIUM names the browser, if it is not on the PATH.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "test"
SLOW = """%%
fmt.Println("running")
M := landmarks.New(39, 2, kernels.Gaussian(4))
nb.Must(engine.Run(func(x *graph.Node) *graph.Node {
	final, _ := autodiff.Scan(1<<40, func(_ *graph.Node, x, _ []*graph.Node) (next, _ []*graph.Node) {
		return []*graph.Node{graph.Sin(x[0])}, nil
	}, []*graph.Node{x}, nil)
	return final[0]
}, float64(M.Manifold.Dim())))"""


def browser():
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = name and shutil.which(name)
        if found:
            return found
    sys.exit("no Chromium: Debian `apt-get install chromium`; another place: CHROMIUM=/path/to/chromium")


@contextlib.contextmanager
def jupyterlab(notebooks, folder):
    """A server on a free port with settings of its own; yields its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, JUPYTER_CONFIG_DIR=f"{folder}/config", JUPYTER_RUNTIME_DIR=f"{folder}/runtime", JUPYTERLAB_SETTINGS_DIR=f"{folder}/settings",
               JUPYTERLAB_WORKSPACES_DIR=f"{folder}/workspaces")
    with open(f"{folder}/server.log", "w") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={TOKEN}", str(notebooks)],
                                  env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api?token={TOKEN}").close()
                break
            if server.poll() is not None:
                sys.exit("JupyterLab ended:\n" + pathlib.Path(folder, "server.log").read_text())
            time.sleep(0.25)
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


def notebook(*cells):
    def cell(source):
        return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source, "id": f"c{abs(hash(source))}"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "cells": [cell(c) for c in cells],
                       "metadata": {"kernelspec": {"name": "anatomy", "display_name": "Anatomy (Go)", "language": "go"}}})


class Page:
    def __init__(self, page, address, shots):
        self.page, self.address, self.shots, self.number = page, address, shots, 0

    def open(self, name):
        """Opens a notebook alone in the window."""
        start = time.monotonic()
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/lab/tree/{name}?token={TOKEN}&reset")
        self.cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        expect(self.cells.first).to_be_visible(timeout=60_000)
        self.idle()
        print(f"  opened {name} in {time.monotonic() - start:.1f} s")

    def menu(self, *names):
        self.page.locator(".lm-MenuBar-item", has_text=re.compile(f"^{names[0]}$")).click()
        for name in names[1:]:
            self.page.locator(".lm-Menu-item", has=self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{name}$"))).click()

    def idle(self, seconds=300):
        expect(self.page.locator(".jp-StatusBar-Left")).to_contain_text(re.compile(r"Anatomy \(Go\) \| Idle"), timeout=seconds * 1000)

    def wait(self, prompts, seconds=300):
        """Waits until the prompts of the first cells read so; a folded cell shows none."""
        for i, prompt in enumerate(prompts):
            if self.cells.nth(i).locator(".jp-Placeholder-prompt").count() == 0:
                expect(self.cells.nth(i).locator(".jp-InputPrompt")).to_have_text(f"[{prompt}]:", timeout=seconds * 1000)

    def output(self, i):
        """What a cell shows; a line about what takes long is empty in the end."""
        return self.cells.nth(i).locator(".jp-OutputArea-output:not(:empty)")

    def edit(self, i, end=""):
        """Sets the cursor at the end of a cell and types."""
        editor = self.cells.nth(i).locator(".cm-content")
        editor.click()
        self.page.keyboard.press("Control+End")
        self.page.keyboard.type(end)

    def complete(self, text):
        """Presses Tab until the text is offered: JupyterLab waits one second for an answer."""
        offer = self.page.locator(".jp-Completer .jp-Completer-item", has_text=text).first
        for _ in range(20):
            self.page.keyboard.press("Tab")
            with contextlib.suppress(AssertionError):
                return expect(offer).to_be_visible(timeout=1500)
        raise AssertionError(f"{text} is not offered")

    def shot(self, name):
        self.number += 1
        time.sleep(0.5)
        self.page.screenshot(path=self.shots / f"{self.number:02}_{name}.png")


def checks(page):
    print("the first look")
    page.page.goto(f"{page.address}/lab?token={TOKEN}&reset")
    launchers = page.page.locator(".jp-LauncherCard-label")
    expect(launchers.first).to_be_visible(timeout=60_000)
    expect(page.page.locator(".jp-DirListing-itemText", has_text="try.ipynb")).to_be_visible()
    labels = launchers.all_inner_texts()
    assert "Anatomy (Go)" in labels and not any("Python" in label for label in labels), labels
    names = page.page.locator(".jp-DirListing-itemText").all_inner_texts()
    assert "data" in names and not {"nb", "report"} & set(names), names
    time.sleep(5)  # for what pops up late
    page.shot("launcher")
    assert page.page.locator(".jp-Notification-Toast-Icon, .Toastify__toast").count() == 0

    print("the notebook that `make lab` opens, and its report")
    page.open("0_ten_minutes.ipynb")
    page.shot("welcome")
    page.page.locator(".lm-MenuBar-item", has_text=re.compile("^File$")).click()
    page.page.locator(".lm-Menu-itemLabel", has_text="Save and Export Notebook As").hover()
    expect(page.page.locator(".lm-Menu-itemLabel", has_text=re.compile("^HTML$"))).to_be_visible(timeout=20_000)
    assert page.page.locator(".lm-Menu-itemLabel", has_text=re.compile("^(Qt|Web)?pdf$", re.I)).count() == 0
    page.shot("menu")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")
    start = time.monotonic()
    page.menu("File", r"Report of this notebook \(HTML and PDF\)")
    said = page.page.locator(".Toastify__toast")
    expect(said).to_contain_text(re.compile(r"is \S+/0_ten_minutes\S*\.html; the PDF lies beside it|cannot be made"), timeout=300_000)
    print(f"  the report took {time.monotonic() - start:.1f} s")
    page.shot("report")
    made = pathlib.Path(re.search(r"is (\S+\.html); ", said.inner_text())[1])
    assert made.is_file() and made.with_suffix(".pdf").is_file() and "The anatomy authors" in made.read_text(encoding="utf-8")
    for file in made, made.with_suffix(".pdf"):
        file.unlink()
    shutil.rmtree(made.with_suffix(""))

    print("run all of the second notebook")
    page.open("1-2_geodesics.ipynb")
    page.shot("opened")
    start = time.monotonic()
    page.menu("Run", "Run All Cells")
    pictures = page.page.locator(".jp-Notebook img, .jp-Notebook .jp-RenderedSVG")
    expect(pictures.first).to_be_visible(timeout=120_000)
    print(f"  first picture {time.monotonic() - start:.1f} s after Run All")
    count = page.cells.count()
    page.wait(range(1, count + 1))
    page.idle()
    print(f"  all cells {time.monotonic() - start:.1f} s after Run All")
    assert page.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr'], .jp-OutputArea-error").count() == 0
    for i in range(count):
        output = page.output(i)
        if output.count():
            output.last.scroll_into_view_if_needed()
            page.shot(f"cell{i + 1}")

    print("completion, inspection, errors")
    page.open("try.ipynb")
    page.edit(0)
    page.page.keyboard.press("Shift+Enter")
    page.wait([1])
    page.edit(1, "\nviz.Out")
    start = time.monotonic()
    page.complete("Outline")
    print(f"  completion answered {time.monotonic() - start:.1f} s after the first Tab")
    page.page.keyboard.press("Enter")
    page.page.keyboard.type("(callosum).")
    page.complete("Dashed")
    page.shot("tab")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Backspace")
    for _ in range(len("(callosum)")):
        page.page.keyboard.press("ArrowLeft")
    start = time.monotonic()
    page.page.keyboard.press("Shift+Tab")
    tooltip = page.page.locator(".jp-Tooltip")
    expect(tooltip).to_contain_text("Outline", timeout=30_000)
    print(f"  Shift-Tab took {time.monotonic() - start:.1f} s")
    page.shot("shift_tab")
    page.page.keyboard.press("Escape")
    page.edit(2)
    page.page.keyboard.press("Shift+Enter")
    expect(page.cells.nth(2)).to_contain_text("undefined: viz.Vermillion (did you mean viz.Vermilion?)", timeout=30_000)
    page.shot("compile_error")
    page.edit(3)
    page.page.keyboard.press("Shift+Enter")
    expect(page.cells.nth(3)).to_contain_text("index out of range", timeout=30_000)
    page.output(3).last.scroll_into_view_if_needed()
    page.shot("panic")
    page.edit(4)
    page.page.keyboard.press("Shift+Enter")
    expect(page.cells.nth(4)).to_contain_text("landmark 2", timeout=30_000)
    page.output(4).last.scroll_into_view_if_needed()
    page.shot("library_error")
    page.edit(5)
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(5).locator("img, svg").first).to_be_visible(timeout=60_000)
    page.edit(6, "\ncc.")
    page.complete("Shapes")
    page.shot("tab_of_an_earlier_value")
    page.page.keyboard.press("Escape")
    page.edit(6, 'Spacing() * 2')
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(6)).to_contain_text(re.compile(r"^\d+\.\d+$"), timeout=30_000)
    page.shot("values")

    print("a dark theme")
    figure = page.output(5).locator("img").first
    for theme, name in ("Dark", "dark"), ("Light", "light"):
        page.menu("Settings", "Theme", f"JupyterLab {theme}")
        expect(page.page.locator(f"body[data-jp-theme-light={str(theme == 'Light').lower()}]")).to_have_count(1, timeout=20_000)
        figure.scroll_into_view_if_needed()
        page.shot(name)
        turned = figure.evaluate("e => getComputedStyle(e).filter") != "none"
        assert turned == (theme == "Dark"), theme

    print("interrupt, restart")
    page.open("stop.ipynb")
    page.menu("Run", "Run All Cells")
    expect(page.output(0)).to_contain_text("running", timeout=60_000)
    time.sleep(2)
    page.shot("running")
    start = time.monotonic()
    page.menu("Kernel", "Interrupt Kernel")
    expect(page.output(0)).to_contain_text(["running", "interrupted"], timeout=20_000)
    print(f"  interrupted in {time.monotonic() - start:.1f} s")
    page.shot("interrupted")
    expect(page.output(1)).to_have_count(0)
    page.edit(2)
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(2)).to_contain_text("alive", timeout=30_000)
    start = time.monotonic()
    page.menu("Kernel", r"Restart Kernel…")
    page.page.locator(".jp-Dialog .jp-mod-accept").click()
    time.sleep(0.5)
    page.idle(30)
    print(f"  restarted in {time.monotonic() - start:.1f} s")
    page.edit(3)
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(3)).to_contain_text("restarted", timeout=30_000)
    expect(page.cells.nth(3).locator(".jp-InputPrompt")).to_have_text("[1]:")
    page.shot("restarted")


def main():
    shots = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".anatomy" / "screenshots")
    shutil.rmtree(shots, ignore_errors=True)
    shots.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        # The notebooks lie in a copy: nothing is saved into the originals.
        notebooks = pathlib.Path(folder, "notebooks")
        notebooks.mkdir()
        for name in ("nb", "report", "data"):
            (notebooks / name).mkdir()
        shutil.copy(ROOT / "notebooks" / "1-2_geodesics.ipynb", notebooks)
        shutil.copy(ROOT / "notebooks" / "0_ten_minutes.ipynb", notebooks)
        (notebooks / "try.ipynb").write_text(notebook(
            '%%\nfmt.Println("first")', '%%\ncallosum := morpho.CorpusCallosum().Shape("jhu_atlas")',
            "%%\ncallosum := morpho.CorpusCallosum().Shape(\"jhu_atlas\")\nviz.Show(\n\tviz.Outline(callosum).Color(viz.Vermillion),\n)",
            "func pick(x []float64, i int) float64 { return x[i] }\n\n%%\nfmt.Println(pick([]float64{1, 2}, 3))",
            "%%\nM := landmarks.New(3, 2, kernels.Gaussian(1))\nq := [][]float64{{0, 0}, {1, 0}, {0, math.NaN()}}\nnb.Must(M.Exp(q, q))",
            "var cc = morpho.CorpusCallosum()\nviz.Outline(cc.Shape(\"colin27\"))",
            "// twice the spacing"))
        (notebooks / "stop.ipynb").write_text(notebook(SLOW, '%%\nfmt.Println("after")', '%%\nfmt.Println("alive")', '%%\nfmt.Println("restarted")'))
        with jupyterlab(notebooks, folder) as address:
            chromium = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
            try:
                page = Page(chromium.new_page(viewport={"width": 1200, "height": 900}), address, shots)
                try:
                    checks(page)
                except BaseException:
                    page.shot("failed")
                    raise
            finally:
                chromium.close()
    print(f"passed; screenshots: {shots}")


if __name__ == "__main__":
    browser()
    main()
