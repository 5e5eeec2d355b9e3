"""Opens reports in a headless Chromium and looks whether they fit: on a phone, 390 pixels wide, and on a screen.

    pages.py        those of notebooks/reports, which `make report` writes, and one with all that can be too wide;
                    needs what `make test-lab` sets up; CHROMIUM names the browser, if it is not on the PATH

Nothing reaches over the edge of a page, unless it scrolls in a box of its own, and on a phone panels stand below each other.
"""
import pathlib
import sys
import tempfile

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from playwright.sync_api import sync_playwright

import report
import run

sys.path.insert(0, str(run.ROOT / "kernels" / "jupyter"))
import lab

WIDE = """() => {
  const edge = document.documentElement.clientWidth + 1, boxed = e => {
    for (let p = e.parentElement; p != document.body; p = p.parentElement)
      if (getComputedStyle(p).overflowX != "visible" && p.getBoundingClientRect().right <= edge) return true;
  };
  document.querySelectorAll("details").forEach(d => d.open = true);
  const over = [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().width && e.getBoundingClientRect().right > edge && !boxed(e));
  return [document.documentElement.scrollWidth, over.map(e => e.tagName + " " + e.className + " " + e.textContent.slice(0, 60))];
}"""
STACKED = "() => [...document.querySelectorAll('.panels')].map(p => p.querySelectorAll('span').length)"


def wide():
    """A notebook with what is wider than a phone."""
    formula = "$" + " + ".join(f"\\frac{{x_{{{i}}}}}{{y_{{{i}}}}}" for i in range(14)) + "$"
    table = "|" + " a long head |" * 12 + "\n|" + "-|" * 12 + "\n|" + " 1.5 |" * 12
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="643px" height="200px"><circle r="5"/></svg>'
    strip = new_output("display_data", {"image/svg+xml": svg, "text/plain": "two panels"},
                       metadata={"image/png": {"width": 643, "height": 200}, "panels": [0, 0, .5, .8, .5, 0, .5, .8], "legend": [.4, .8, .2, .2]})
    return new_notebook(cells=[
        new_markdown_cell(f"# Wide\n\n$${formula[1:-1]}$$\n\n{formula}.\n\n{table}\n\n`{'x' * 200}`"),
        new_code_cell("x := " + "f(x) + " * 50, outputs=[strip, new_output("display_data", {"text/markdown": table}), new_output("stream", name="stdout", text="y" * 300)])])


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        sample = pathlib.Path(folder, "wide.html")
        report.write_html(wide(), "wide", {"authors": [], "date": "today", "data": None, "provenance": [("data", "z" * 200)], "book": [], "pages": [], "names": {}}, sample)
        chromium = playwright.chromium.launch(executable_path=lab.browser(), args=["--no-sandbox"])
        for width in 390, 1280:
            page = chromium.new_page(viewport={"width": width, "height": 800})
            for file in [sample, *sorted(run.REPORTS.glob("*.html"))]:
                page.goto(file.as_uri())
                reach, over = page.evaluate(WIDE)
                assert reach <= width and not over, (file.name, width, reach, over[:5])
                if file == sample:
                    assert page.evaluate(STACKED) == [3 if width < 500 else 0], width
                print(f"  {file.name} fits into {width} pixels")
            page.close()
        chromium.close()


if __name__ == "__main__":
    lab.browser()
    main()
