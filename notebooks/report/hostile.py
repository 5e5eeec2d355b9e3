"""Makes reports from a data file whose names are hostile and opens them in a headless Chromium, without a network.

    hostile.py      needs what `make test-lab` sets up; CHROMIUM names the browser, if it is not on the PATH

No script of a name runs, nothing is fetched or embedded, and the names are shown as they are.
"""
import asyncio
import base64
import csv
import pathlib
import re
import sys
import tempfile

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import sync_playwright

import run

sys.path.insert(0, str(run.ROOT / "kernels" / "jupyter"))
import lab

SKULLS = run.ROOT / "landmarks" / "morpho" / "data" / "gorilla_skulls_8.csv"
HTML = ["<script>alert('name')</script>", '<img src=x onerror="alert(1)">', '<svg onload="alert(2)"></svg>', "<img src=\"SECRET\">", "</script><script>alert(3)</script>",
        '<a href="javascript:alert(4)">click</a>', '[click](javascript:alert(5))', "![](SECRET)", '<iframe src="SECRET"></iframe>', '<style>*{display:none}</style>']
TEX = ["A$x$B", "$\\input{SECRET}$", "$$\\nonsense$$", "`x`{=html}", "x{.c onclick=\"alert(6)\"}", '`#read("SECRET")`{=typst}', '#read("SECRET") "q" \\', "*a* _b_ ~~c~~ | d",
       "日本 🐭 é", "100 % [^1]", "\u202egnp.exe", "-x", "# heading", ":::"]
LETTERS = ["\x1b[31mred\x1b[0m", "a\x01b", "c\ufffed", "e\x7ff", "https://evil.example/", "javascript:alert(7)", "www.evil.example a@evil.example @cite :smile:", "caf\udce9"]
TITLE = "https://evil.example/ javascript:alert(8) <https://evil.example> \x1b"
# What a notebook may do with names.
ALL = '''%%
data := nb.Data(morpho.GorillaSkulls(), morpho.Read)
for _, name := range data.Names() {
	nb.Printf("A name: %s, and *%v*, $x=%d$.", name, errors.New(name), len(name))
	nb.True("name "+nb.Text(name), true)
	nb.Check("name "+nb.Text(name), 1, 2, 0.5)
}
viz.Show(viz.Fig(viz.Outline(data.Specimens[0].Points).Label(strings.Join(data.Names(), " "))).Title(data.Names()[8]))
fmt.Println(data.Names())'''


def write(path, secret):
    """The skulls, with hostile names of specimens and groups, one of them no UTF-8."""
    names = [n.replace("SECRET", str(secret)) for n in HTML + TEX + LETTERS]
    with open(SKULLS, newline="") as source, open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as target:
        rows, out = csv.reader(source), csv.writer(target)
        out.writerow(next(rows))
        specimens = {}
        for specimen, group, *rest in rows:
            k = specimens.setdefault(specimen, len(specimens))
            out.writerow([names[k] if k < len(names) else specimen, names[group == "male"], *rest])
    return names


DETECTOR = """window.hits = [];
for (const f of ["alert", "confirm", "prompt", "open", "fetch"]) window[f] = (...a) => hits.push(f + " " + a);
"""
FOUND = """() => [
  ...hits,
  ...[...document.querySelectorAll("*")].flatMap(e => [...e.attributes].filter(a => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value)).map(a => e.tagName + " " + a.name)),
  ...[...document.querySelectorAll("a[href]")].filter(e => !/^(file|data|blob):/.test(e.href)).map(e => e.outerHTML),
  ...[...document.images].filter(e => !e.naturalWidth).map(e => "no picture: " + e.outerHTML.slice(0, 200)),
  ...[...document.querySelectorAll("img, iframe, object, embed, link, source")].filter(e => !/^data:/.test(e.src || e.href)).map(e => e.outerHTML),
]"""


def inspect(browser, path):
    """What is wrong with a page, and its text."""
    requests = []
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script(DETECTOR)
    page.on("request", lambda r: requests.append(r.url) if not r.url.startswith(("data:", path.as_uri())) else None)
    page.goto(path.as_uri(), wait_until="load")
    page.wait_for_timeout(500)
    found, text = requests + page.evaluate(FOUND), page.inner_text("body")
    context.close()
    return found, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run.REPORTS = folder / "reports"
        secret = folder / "secret.svg"
        secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>what nobody may see</text></svg>')
        embedded = re.compile("nobody may see|" + base64.b64encode(secret.read_bytes()).decode()[:40])
        data = folder / "my 'data' <b>.csv"
        names = write(data, secret)
        small = folder / "names.ipynb"
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Names"), new_code_cell(ALL)]), small)
        paths = [small, run.TEMPLATES / "own_landmarks.ipynb"]
        study = run.Study(data, {}, title=TITLE)
        status = asyncio.run(run.run(run.facts(paths), study, whole=False, check=False, timeout=300, authors=names[:3]))
        assert status in (run.WRITTEN, run.MARKED), status
        pages = sorted(p for p in run.REPORTS.glob("*.html") if run.OWN in p.name)
        assert len(pages) == len(paths), pages
        bait = folder / "bait.html"  # the detector sees what it is there for
        bait.write_text("<!doctype html><meta charset='utf-8'>" + "\n".join(names[:6]))
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=lab.browser(), args=["--no-sandbox"])
            seen, _ = inspect(chromium, bait)
            assert len(seen) >= 5, seen
            for page in pages:
                found, text = inspect(chromium, page)
                assert not found, (page.name, found)
                # A byte that is no UTF-8 may be read as a letter of another encoding.
                missing = [n for n in (names[:-1] if page.name.startswith("names") else names[:2]) if re.sub("[\u202e\x01\x1b\x7f\ufffe]", "\ufffd", n) not in text]
                assert not missing, (page.name, missing)
                assert not embedded.search(page.read_text(encoding="utf-8")), page.name
                print(f"  {page.name}: nothing runs, nothing is fetched; the detector found {len(seen)} things in the bait")
            chromium.close()


if __name__ == "__main__":
    lab.browser()
    main()
