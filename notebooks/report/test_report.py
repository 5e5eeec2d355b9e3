"""Tests of the runner and of the reports, on small notebooks in a temporary folder: python -m unittest (in this folder)."""
import asyncio
import base64
import contextlib
import hashlib
import io
import pathlib
import re
import tempfile
import unittest
import unittest.mock

import nbformat
from fontTools import ttLib
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import report
import run

PNG = base64.b64encode(bytes.fromhex(  # one white pixel
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c48900"
    "00000b49444154789c63f80f040009fb03fdfb5e6b2b0000000049454e44ae426082")).decode()
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="3"/></svg>'


ABOUT = {"authors": ["A. Name", "B. Other"], "date": "1 May 2026", "data": "my.csv", "provenance": [("data", "my_*file*.csv | 2"), ("time", "3 s")]}


def picture(**data):
    return new_output("display_data", data={"image/png": PNG, "image/svg+xml": SVG, "text/plain": "a picture", **data})


class Runner(unittest.TestCase):
    def runs(self, notebooks, timeout=60):
        """Runs the notebooks, given by their code cells; returns what the runner printed and how many failed."""
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            paths = []
            for name, cells in notebooks.items():
                paths.append(pathlib.Path(folder, name + ".ipynb"))
                nbformat.write(new_notebook(cells=[new_code_cell(c) for c in cells]), paths[-1])
            failed = asyncio.run(run.run(paths, whole=False, check=True, timeout=timeout))
        return printed.getvalue(), failed

    def test_failures_are_found(self):
        cases = {
            "panic": ("%%\nvar a []int\nfmt.Println(a[3])", "index out of range"),
            "compile": ("%%\nundefined(3)", "undefined"),
            "exit": ("%%\nos.Exit(3)", "exit status 3"),
            "check": ('%%\nnb.Check("one", 2, 1, 0.1)', "✗ one: got 2"),
            "error": ('%%\nnb.Must(os.Open("/no/such/file"))', "/no/such/file"),
            "shell": ('!ls /no/such/file\n%%\nfmt.Println("on")', "a shell line failed"),
            "bash": ("%%bash\nexit 3", "a shell line failed"),
            "magic": ('%nonsense\n%%\nfmt.Println("on")', "unknown or not implemented"),
            "lost": ('%%\nif len(os.Args) > 0 {\n\treturn\n}\nnb.True("seen", true)', "output was lost"),
        }
        printed, failed = self.runs({name: ["var x = 1", source] for name, (source, _) in cases.items()})
        self.assertEqual(failed, len(cases), printed)
        said = dict(re.findall(r"^FAIL (\w+)\.ipynb(.*?)(?=^FAIL|^ok|\Z)", printed, flags=re.M | re.S))
        for name, (source, message) in cases.items():
            with self.subTest(name):
                self.assertIn("cell 2:", said[name])
                self.assertIn(source.splitlines()[-1], said[name])
                self.assertIn(message, said[name])

    def test_timeout(self):
        printed, failed = self.runs({"slow": ["%%\ntime.Sleep(time.Hour)"]}, timeout=3)
        self.assertEqual(failed, 1)
        self.assertIn("not done after 3 s", printed)

    def test_success(self):
        printed, failed = self.runs({
            "kept": ['var kept = nb.Keep("kept", func() (string, error) { return time.Now().String(), nil })\n%%\nfmt.Print(kept)',
                     "%%\nfmt.Print(kept)", "!true", '%%\nnb.Printf("$x^2$")\nnb.Check("one", 1, 1, 0)\nnb.True("yes", true)']})
        self.assertEqual(failed, 0, printed)
        self.assertIn("ok   kept.ipynb", printed)

    def test_own_data(self):
        cells = [new_markdown_cell("# Here", metadata={"tags": ["standard"]}), new_code_cell("%%\npanic(3)", metadata={"tags": ["standard"]}),
                 new_code_cell('%%\nfmt.Println(nb.Data(morpho.CorpusCallosum(), morpho.Read).Scale(nb.Param("scale", 1.0)).Specimens)')]
        with tempfile.TemporaryDirectory() as folder:
            path, good, bad = (pathlib.Path(folder, name) for name in ("x.ipynb", "my shapes.csv", "bad.csv"))
            nbformat.write(new_notebook(cells=cells), path)
            good.write_text("specimen,x,y\na,0,0\na,1,7\n")
            bad.write_text("specimen,x,y\na,0,0\na,1,seven\n")
            self.assertTrue(run.takes(path, good, {"scale": "3"}) and run.takes(path, None, {"scale": "3"}))
            self.assertFalse(run.takes(path, good, {"size": "3"}) or run.takes(path, pathlib.Path("x.PLY"), {}))
            self.assertEqual(len(run.read(path, None).cells), 3)
            made, failing, set_to = run.read(path, good), run.read(path, bad), {"scale": "3"}

            async def both():
                for name in ("1", "2"):
                    pathlib.Path(folder, name).mkdir()
                return await asyncio.gather(run.execute(made, path, 60, pathlib.Path(folder, "1"), good, set_to),
                                            run.execute(failing, path, 60, pathlib.Path(folder, "2"), bad), return_exceptions=True)

            fine, failure = asyncio.run(both())
            self.assertIsNone(fine)
            self.assertIn("[3 21]", run.stream(made.cells[0], "stdout"))
            self.assertRegex(str(failure), r'bad\.csv:3: .*"seven" is not a number')
            facts = dict(run.provenance(made, good, set_to, 3.2, [("device", "cpu:0")]))
            self.assertEqual(facts, {"data": "my shapes.csv, SHA-256 " + hashlib.sha256(good.read_bytes()).hexdigest()[:16] + "…",
                                     "parameters": "scale = 3", "device": "cpu:0", "time": "3 s"})
            self.assertEqual(run.report_name(path, good, {"scale": "3", "of": "a/b"}), "x--my shapes,scale=3,of=a_b")

    def test_provenance(self):
        nb = new_notebook(cells=[new_code_cell("morpho.CorpusCallosum()\nrand.NewPCG(1, 2)\nRun{Seed: 7}\nrand.NewPCG(1, 2)")])
        facts = dict(run.provenance(nb, None, {}, 1, []))
        self.assertRegex(facts["data"], "^those of the project, SHA-256 [0-9a-f]{16}…$")
        self.assertEqual(facts["random numbers"], "PCG(1, 2), Seed: 7")

    def test_reports_about_own_data_stay(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            reports, new = pathlib.Path(folder, "reports"), pathlib.Path(folder, "new")
            stack.enter_context(unittest.mock.patch.object(run, "REPORTS", reports))
            for file in (reports / "02_x--my.html", reports / "03_old.html", new / "01_x.html"):
                file.parent.mkdir(exist_ok=True)
                file.touch()
            run.publish(new, whole=True)
            self.assertEqual(sorted(f.name for f in reports.iterdir()), ["01_x.html", "02_x--my.html"])

    def test_outputs_in_a_file_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            clean, full = pathlib.Path(folder, "clean.ipynb"), pathlib.Path(folder, "full.ipynb")
            nbformat.write(new_notebook(cells=[new_code_cell("%%")]), clean)
            nbformat.write(new_notebook(cells=[new_markdown_cell(""), new_code_cell("%%", outputs=[picture()])]), full)
            self.assertEqual([(p, n) for p, _, n in run.with_outputs([clean, full])], [(full, 2)])


class Report(unittest.TestCase):
    def notebook(self, *cells):
        return new_notebook(cells=[new_markdown_cell("# Shapes in $\\mathcal M$\n\n*A subtitle*\n\nFirst, $x$. Second."), *cells])

    def html(self, nb):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.html")
            report.write_html(nb, "name", ABOUT, path)
            return path.read_text(encoding="utf-8")

    def pdf(self, nb):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.pdf")
            report.write_pdf(nb, "name", ABOUT, 0, path)
            return path.read_bytes()

    def test_everything_is_inside(self):
        nb = self.notebook(
            new_markdown_cell("## 1. Model\n\n\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n\n[there](#1.-Model)"),
            new_code_cell("const x = 1\n\n%%\nviz.Show(f)", outputs=[
                picture(), new_output("stream", name="stdout", text="one\n"), new_output("stream", name="stdout", text="\x1b[31mtwo\x1b[0m\n"),
                new_output("display_data", data={"text/markdown": "✓ $y$"})]),
            new_markdown_cell("**Figure.** A circle."),
            new_code_cell("x", outputs=[picture()]),
            new_markdown_cell("**Figure.** Another."))
        page = self.html(nb)
        for name, ok in {
            "no links out": not re.search(r'(?:src|href)="(?!data:|#|index\.html)', page),
            "the drawing": "data:image/svg+xml" in page and "data:image/png" not in page,
            "no colour codes": "\x1b" not in page,
            "one stream": "one\ntwo" in page,
            "no kernel commands": "%%" not in page,
            "links of Jupyter": 'href="#1-model">there' in page,
            "authors and date": "A. Name, B. Other · 1 May 2026 · computed from my.csv" in page,
            "how it was made": "<td style=\"text-align: left;\">my_*file*.csv | 2</td>" in page and 'id="provenance"' in page,
            "code folds": page.count('<details class="code" open>') == 2,
            "one title": page.count("<h1") == 1 and "<title>Shapes in M</title>" in page,
            "the font of the formulas, and little of it": 10_000 < len(re.search(r"data:font/woff2;base64,([^)]*)", page)[1]) < 60_000,
            "formulas": "<eq" not in page and page.count("<math") == 4,
        }.items():
            with self.subTest(name):
                self.assertTrue(ok)
        # The caption stands between the picture and what was printed after it.
        order = [page.index(s) for s in ("data:image/svg+xml", "Figure 1.", "one\ntwo", "Figure 2.")]
        self.assertEqual(order, sorted(order))
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_pdf_is_reproducible(self):
        nb = self.notebook(new_code_cell("x", outputs=[picture()]))
        self.assertEqual(self.pdf(nb), self.pdf(nb))

    def test_a_large_drawing_gives_way_to_pixels(self):
        large = {"image/svg+xml": "x" * (report.LARGE_SVG["html5"] + 1), "image/png": PNG}
        self.assertEqual(list(report.best(large, "html5")), ["image/png"])
        self.assertEqual(list(report.best(large, "typst")), ["image/svg+xml"])
        self.assertEqual(list(report.best(dict(large, **{"image/png": "x" * 10**6}), "html5")), ["image/svg+xml"])
        self.assertEqual(list(report.best({"image/svg+xml": SVG, "image/png": PNG}, "html5")), ["image/svg+xml"])

    def test_the_font_has_what_no_text_names(self):
        # A root has no letter in the source of a formula; the letters that are there may be drawn as others.
        for source, wanted in ("$\\sqrt{x}$", "√"), ("$\\sqrt[3]{x}$", "√3"), ("$\\left(x\\right)$", "()"), ("$\\hat x\\cdot\\bar y$", "⋅"):
            page = self.html(self.notebook(new_markdown_cell(source)))
            font = ttLib.TTFont(io.BytesIO(base64.b64decode(re.search(r"data:font/woff2;base64,([^)]*)", page)[1])))
            with self.subTest(source):
                self.assertEqual([c for c in wanted if ord(c) not in font.getBestCmap()], [])

    def test_unknown_tex_is_an_error(self):
        for source in ("$\\nonsense{x}$", "\\begin{nonsense}\nx\n\\end{nonsense}"):
            with self.subTest(source), self.assertRaises(report.ReportError):
                self.html(self.notebook(new_markdown_cell(source)))

    def test_index(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "index.html")
            report.write_index([("01_x", self.notebook(new_code_cell("x", outputs=[picture()])))], "made today", path)
            page = path.read_text(encoding="utf-8")
        for part in ('href="01_x.html"', 'href="01_x.pdf"', "First, <math", "<img src", "made today"):
            with self.subTest(part):
                self.assertTrue(part in page)
        self.assertFalse("Second." in page)

    def test_summary_before_a_formula(self):
        nb = new_notebook(cells=[new_markdown_cell("# T\n\nThe mean is\n$$ x. y $$\nand so on: all."), new_code_cell("x", outputs=[picture()])])
        sentence, image = report.summary(nb)
        self.assertEqual(sentence, "<p>The mean is</p>\n")
        self.assertIn('width="176"', image)


if __name__ == "__main__":
    unittest.main()
