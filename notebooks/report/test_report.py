"""Tests of the runner and of the reports, on small notebooks in a temporary folder: python -m unittest (in this folder)."""
import asyncio
import base64
import concurrent.futures
import contextlib
import csv
import ctypes
import errno
import functools
import hashlib
import html
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import nbformat
import typst
from fontTools import ttLib
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import evidence
import report
import run

PNG = base64.b64encode(bytes.fromhex(  # one white pixel
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c48900"
    "00000b49444154789c63f80f040009fb03fdfb5e6b2b0000000049454e44ae426082")).decode()
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="3"/></svg>'


ABOUT = {"authors": ["A. Name", "B. Other"], "date": "1 May 2026", "data": "my.csv", "book": [("1-1_a", "1.1 A"), ("name", "1. B"), ("1-2_c", "1.2 C $x$")],
         "pages": ["paper"], "names": {"viz.Show": "func Show(drawings ...Drawing)"}, "provenance": [("data", "my_*file*.csv | 2"), ("time", "3 s")]}

FONT = 75_800  # letters in base64 of the font of test_everything_is_inside: 68,912 and a tenth more


@functools.cache
def asked(words, *_):
    return ASK(*words)


def ask_once(*words, **answers):
    """run.ask, but what it says of the packages and of the back end it is asked once, while project and settings are the same."""
    if answers or words[0] not in ("reference", "backend"):
        return ASK(*words, **answers)
    return asked(words, run.ROOT, os.environ.get("GOWORK"), os.environ.get("GOFLAGS"))


ASK = run.ask


def setUpModule():
    unittest.enterModuleContext(unittest.mock.patch.object(run, "ask", ask_once))


def dots():
    """A picture of some kilobytes, as PNG in base64."""
    source = b"#set page(width: 200pt, height: 200pt, margin: 0pt)\n#for k in range(40) { place(dx: k * 5pt, dy: calc.rem(k * 37, 200) * 1pt, circle(radius: 3pt)) }"
    return base64.b64encode(typst.compile(source, format="png")).decode()


def picture(**data):
    return new_output("display_data", data={"image/png": PNG, "image/svg+xml": SVG, **data})


class Runner(unittest.TestCase):
    def runs(self, notebooks, timeout=60):
        """Runs the notebooks, given by their code cells; returns what the runner printed and its exit status."""
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            paths = []
            for name, cells in notebooks.items():
                paths.append(pathlib.Path(folder, name + ".ipynb"))
                nbformat.write(new_notebook(cells=[new_code_cell(c) for c in cells]), paths[-1])
            status = asyncio.run(run.run(run.facts(paths), run.Study(), whole=False, check=True, timeout=timeout))
        return printed.getvalue(), status

    def test_failures_are_found(self):
        cases = {
            "panic": ("%%\nvar a []int\nfmt.Println(a[3])", "index out of range"),
            "compile": ("%%\nundefined(3)", "undefined"),
            "exit": ("%%\nos.Exit(3)", "exit status 3"),
            "check": ('%%\nnb.Check("one", 2, 1, 0.1)', "✗ one: got 2"),
            "error": ('%%\nnb.Must(os.Open("/no/such/file"))', "/no/such/file"),
            "shell": ('!ls /no/such/file\n%%\nfmt.Println("on")', "a shell line failed"),
            "bash": ("%%bash\nexit 3", "a shell line failed"),
            "magic": ('%nonsense\n%%\nfmt.Println("on")', "no command %nonsense"),
            "picture": ('viz.Fig(viz.Points([][]float64{{0, 0}, {1, 2}}).Color(color.NRGBA{221, 221, 221, 255}).Label("pale"))', 'hard to see: "pale" has a contrast of 1.3'),
            "lost": ('%%\nif len(os.Args) > 0 {\n\treturn\n}\nnb.True("seen", true)', "output was lost"),
        }
        # The cell before the one that fails is empty, and so is not compiled; in one notebook it has code.
        printed, status = self.runs({name: ["var x = 1" if name == "panic" else " ", source] for name, (source, _) in cases.items()})
        self.assertEqual(status, 1, printed)
        self.assertIn(f"0 passed, {len(cases)} failed", printed)
        said = dict(re.findall(r"^FAIL (\w+)\.ipynb(.*?)(?=^FAIL|^ok|\Z)", printed, flags=re.M | re.S))
        for name, (source, message) in cases.items():
            with self.subTest(name):
                self.assertIn("cell 2:", said[name])
                self.assertIn(source.splitlines()[-1], said[name])
                self.assertIn(message, said[name])

    def test_of_a_long_cell_the_lines_that_failed_are_shown(self):
        cell = new_code_cell("\n".join(f"line {i}" for i in range(1, 101)), execution_count=7)
        said = "cell [3], line 1: other\ncell [7], line 50: bad"
        self.assertEqual(run.describe(cell, 9, said + "\n"), f"cell 9:\n{said}" + "".join(f"\n  {i:2} | line {i}" for i in range(47, 54)))
        self.assertIn("\n   1 | line 1\n", run.describe(cell, 9, "cell [7], line 1: bad"))
        self.assertIn("\n 100 | line 100", run.describe(cell, 9, "cell [7], line 100: bad"))
        self.assertEqual(run.describe(cell, 9, "exit status 3").count("\n"), 101)

    def test_timeout(self):
        printed, status = self.runs({"slow": ["%%\ntime.Sleep(time.Hour)"]}, timeout=3)
        self.assertEqual(status, 1)
        self.assertIn("not done after 3 s: --timeout of run.py allows more\n", printed)

    def test_only_checks_have_a_limit_of_time(self):
        async def record(known, study, whole, check, timeout, authors, gallery):
            limits.append(timeout)

        limits = []
        def facts(paths, **question):
            return {path: {"readers": ["morpho.Read"], "params": [], "wrong": []} for path in paths}

        for args in ["--check"], [], ["--data", str(run.ROOT / "landmarks" / "morpho" / "data" / "rat_growth_8.csv")], ["--timeout", "7"]:
            with unittest.mock.patch.object(run, "run", record), unittest.mock.patch.object(run, "facts", facts), unittest.mock.patch.object(sys, "argv", ["run.py", *args, str(run.NOTEBOOKS / "1-2_geodesics.ipynb")]):
                with self.assertRaises(SystemExit):
                    run.main()
        self.assertEqual(limits, [300, None, None, 7])

    def test_success(self):
        printed, status = self.runs({
            "kept": ["kept := time.Now().String()\nfmt.Print(kept)",
                     "fmt.Print(kept)", "!true", '%%\nnb.Printf("$x^2$")\nnb.Check("one", 1, 1, 0)\nnb.True("yes", true)']})
        self.assertEqual(status, 0, printed)
        self.assertIn("ok   kept.ipynb", printed)

    def test_a_program_shows_what_its_cells_show(self):
        """Executed as one program, a notebook has the outputs and checks that its cells have one by one; and a program that fails gives way to them."""
        sources = ['kept := 2.5\nnb.Printf("%g", kept)\nfmt.Println("printed", kept)', "func twice() float64 { return 2 * kept }\ntwice()", " ",
                   'fmt.Print("twice")\nnb.Check("kept", kept, 2.5, 0)\nkept = 7\nnb.True("set", twice() == 14)',
                   "kept := []int{3}\nviz.Show(viz.Points([][]float64{{0, 1}, {1, 2}}))", "viz.Outline([][]float64{{0, 1}, {1, 2}, {0, 2}})", 'fmt.Fprintln(os.Stderr, "said", kept)']

        async def executed(execute, cells, tags=()):
            with run.workplace() as folder, unittest.mock.patch.object(run, "NOTEBOOKS", folder):
                nb = new_notebook(cells=[new_code_cell(source, metadata={"facts": {"shows": 0, "prints": False}, "tags": tags}) for source in cells])
                nbformat.write(nb, folder / "both.ipynb")
                (folder / "own").mkdir()
                await execute(nb, folder / "both.ipynb", 60, folder / "own", run.Study())
            return [(cell.execution_count, cell.metadata.get("checks", []), run.stream(cell, "stdout"), run.stream(cell, "stderr"),
                     [out for out in cell.outputs if out.output_type != "stream"]) for cell in nb.cells]

        whole, cells = (asyncio.run(executed(execute, sources)) for execute in (run.execute_at_once, run.execute_cells))
        self.assertEqual(whole, cells)
        self.assertEqual([len(outputs) for *_, outputs in whole], [1, 1, 0, 2, 1, 1, 0])
        self.assertEqual([len("".join(streams)) for _, _, *streams, _ in whole], [12, 0, 0, 5, 0, 0, 9])
        covers = [report.COVERED in out.get("data", {}) for *_, outputs in asyncio.run(executed(run.execute_at_once, ["1", f"viz.Show({sources[5]})\nviz.Show({sources[5]})"], ["cover-2"])) for out in outputs]
        self.assertEqual(covers, [False, True, False])
        with contextlib.redirect_stdout(io.StringIO()) as said, self.assertRaisesRegex(run.Failure, r"(?s)^cell 2:.*cell \[2\], line 1.*bad"):
            asyncio.run(executed(run.execute, ["1", 'panic("bad")']))
        self.assertIn("both.ipynb is executed cell by cell", said.getvalue())

    def test_own_data(self):
        cells = [new_markdown_cell("# Here", metadata={"tags": ["standard"]}), new_code_cell("%%\npanic(3)", metadata={"tags": ["standard"]}),
                 new_code_cell('%%\nfmt.Println(nb.Data(morpho.CorpusCallosum(), morpho.Read).Scale(nb.Param("scale", 1.0)).Specimens)')]
        with tempfile.TemporaryDirectory() as folder:
            path, good, bad = (pathlib.Path(folder, name) for name in ("x.ipynb", "my shapes.csv", "bad.csv"))
            nbformat.write(new_notebook(cells=cells), path)
            good.write_text("specimen,x,y\na,0,0\na,1,7\n")
            bad.write_text("specimen,x,y\na,0,0\na,1,seven\n")
            fact = run.facts([path])[path]
            for study in run.Study(good, {"scale": "3"}), run.Study(None, {"scale": "3"}):
                self.assertEqual(run.able({path: fact}, study), [path])
            for study in run.Study(good, {"size": "3"}), run.Study(pathlib.Path("x.PLY")):
                self.assertEqual(run.able({path: fact}, study), [])
            self.assertEqual(len(run.read(path, fact, run.Study()).cells), 3)
            studies = run.Study(good, {"scale": "3", "of": "a/b"}), run.Study(bad)
            made, failing = (run.read(path, fact, study) for study in studies)
            self.assertEqual([cell.source for cell in made.cells], ["# my shapes", cells[2].source])
            written = hashlib.sha256(good.read_bytes()).hexdigest()[:16]

            async def both():
                for name, study in zip(("1", "2"), studies):
                    pathlib.Path(folder, name).mkdir()
                    study.take(pathlib.Path(folder, name))
                good.write_text("specimen,x,y\na,0,0\na,9,9\n")  # too late: the report is about what was there at the start
                return await asyncio.gather(run.execute(made, path, 60, pathlib.Path(folder, "1"), studies[0]),
                                            run.execute(failing, path, 60, pathlib.Path(folder, "2"), studies[1]), return_exceptions=True)

            fine, failure = asyncio.run(both())
            self.assertIsNone(fine)
            self.assertIn("[3 21]", run.stream(made.cells[1], "stdout"))
            self.assertRegex(studies[1].named(str(failure)), re.escape(str(bad)) + ':3: .*"seven" is not a number')
            self.assertEqual(dict(run.provenance(fact, studies[0], 3.2, [("device", "cpu:0")])),
                             {"data": f"my shapes.csv, SHA-256 {written}…", "parameters": "scale = 3, of = a/b", "device": "cpu:0", "time": "3 s"})
            self.assertEqual(run.report_name(path, studies[0]), "x--my_shapes")
            private = run.Study(parameters={"file": "/home/me/a b/placed.csv", "mesh": "s=~/scans/s.ply", "of": "a/b"})
            self.assertEqual(dict(run.provenance(fact, private, 1, []))["parameters"], "file = placed.csv, mesh = s=s.ply, of = a/b")

    def test_report_names(self):
        # The title names a report, else the data, else the parameters.
        path, data = pathlib.Path("x.ipynb"), pathlib.Path("/a/my heads.tps")
        for study, want in {"Heads, and tails?": "x--Heads,_and_tails", "../../x": "x--.._.._x", "?": "x--data", "": "x--my_heads"}.items():
            self.assertEqual(run.report_name(path, run.Study(data, {"width": "2"}, study)), want)
        self.assertEqual(run.report_name(path, run.Study(parameters={"model": "size + Sex"})), "x--model=size+Sex")
        self.assertLess(len(run.report_name(path, run.Study(pathlib.Path("é" * 120 + ".csv"))).encode()), 160)

    def test_titles_are_no_links(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.ipynb")
            nbformat.write(new_notebook(cells=[new_code_cell("1")]), path)
            for title in "javascript:alert(1)", "https://evil.org/ www.evil.org", "<https://evil.org>", "a@evil.org @cite [x](https://evil.org) ![](/etc/hostname)", "#read(\"/etc/hostname\") `x`{=typst} $\\input{x}$", ":smile: a\n\n# b \x1b":
                for study in run.Study(title=title), run.Study(data=pathlib.Path(title.replace("/", "⁄") + ".csv")):
                    nb = run.read(path, {"cells": [{}]}, study)
                    with self.subTest(title):
                        shown = " ".join(report.readable(study.title or study.data.stem).split())
                        page = report.convert(nb, "html5", "x", ABOUT, "--gladtex", "--embed-resources")
                        self.assertEqual(html.unescape(re.search(r"<h1>(.*?)</h1>", page)[1]), shown)
                        self.assertNotRegex(page, r"<a [^>]*(evil|javascript)")
                        report.write_pdf(nb, "x", ABOUT, 0, path.with_suffix(".pdf"))
                        self.assertNotIn(b"/URI", path.with_suffix(".pdf").read_bytes())

    def test_titles(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.ipynb")
            for tags, study, want in [
                ([], run.Study(), "Here"),
                ([], run.Study(pathlib.Path("/a/my.csv")), "Here"),
                (["standard"], run.Study(pathlib.Path("/a/my_bones.csv")), "my\\_bones"),  # text, and no Markdown
                (["standard"], run.Study(pathlib.Path("/a/my.csv"), title="Bones & <b>"), "Bones \\& \\<b\\>"),
                ([], run.Study(title="Bones"), "Bones"),
            ]:
                nbformat.write(new_notebook(cells=[new_markdown_cell("# Here\n\nA text.", metadata={"tags": tags}), new_markdown_cell("## There")]), path)
                nb = run.read(path, run.facts([path])[path], study)
                with self.subTest(want):
                    self.assertEqual(report.title(nb, "none"), want)
                    self.assertEqual(sum(line.startswith("# ") for cell in nb.cells for line in cell.source.splitlines()), 1)
                    self.assertEqual("A text." in "".join(cell.source for cell in nb.cells), not tags or not study.data)

    @unittest.skipUnless(sys.platform == "linux", "inotify is Linux's")
    def test_each_file_is_read_once(self):
        # From its copy on a file of one's own is opened once, by the cell that reads it: cells take the data from each other.
        libc, copies, take = ctypes.CDLL(None), {}, run.Study.take
        cells = ["asked := nb.Answers(supplement.Usual())\ndata := nb.Data(morpho.GorillaSkulls(), morpho.Read, asked)\nfmt.Println(data.Column(\"age\"))",
                 "q := nb.Must(asked.Asked())\nd, q2 := data, q\nfmt.Print(d.Names(), q2.Tree)", "fmt.Print(len(data.Specimens), len(q.Tree))"]
        opened, printed = libc.inotify_init1(os.O_NONBLOCK), io.StringIO()

        def taken(study, *args):
            take(study, *args)
            copies.update({libc.inotify_add_watch(opened, str(copy).encode(), 0x20): name for name, (_, copy, _) in study.copies.items()})  # IN_OPEN

        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), unittest.mock.patch.object(run.Study, "take", taken):
            path, data, table, tree = (pathlib.Path(folder, name) for name in ("x.ipynb", "my.csv", "table.csv", "t.nwk"))
            nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
            data.write_text("Skulls\nspecimen,x,y\na,0,0\na,1,7\nb,1,1\nb,1,7\n")
            table.write_text("name,age\nb,4\na,3\n")
            tree.write_text("(a:1,b:2);")
            study = run.Study(data, {"covariates": str(table), "tree": str(tree)})
            self.assertEqual(asyncio.run(run.run(run.facts([path]), study, False, True, 60)), 0, printed.getvalue())
            events = os.read(opened, 1 << 16)
            os.close(opened)
            names = sorted(copies[wd] for wd, mask, *_ in struct.iter_unpack("iIII", events) if mask == 0x20)  # others say that the file was removed
            self.assertEqual(names, ["covariates", "data", "tree"])
            self.assertIn('note: line 1 above the header was passed over: "Skulls"\n', printed.getvalue())
            table.write_text("name,age\na,3\n")
            with self.assertRaisesRegex(run.Failure, f'^{re.escape(str(table))}: .*"?b"?'):
                asyncio.run(run.run(run.facts([path]), run.Study(data, study.parameters), False, True, 60))

    def test_variables_of_make_belong_to_data(self):
        with unittest.mock.patch.object(sys, "argv", ["run.py", "--covariates", "x.csv"]), self.assertRaisesRegex(SystemExit, "^covariates: "):
            run.main()
        with unittest.mock.patch.object(sys, "argv", ["run.py", "--landmarks", "x.fcsv"]), self.assertRaisesRegex(SystemExit, "^templates: "):
            run.main()

    def test_all_inputs_are_copied(self):
        # What parameters name that are files is copied with the data, too: its checksum is that of what cells read, and stands in the report.
        source = 'nb.Data(morpho.GorillaSkulls(), morpho.Read); text := nb.Must(os.ReadFile(strings.TrimPrefix(nb.File("surface"), "a=")))\nfmt.Print(string(text))'
        with tempfile.TemporaryDirectory() as folder:
            path, data, surface, place = (pathlib.Path(folder, name) for name in ("x.ipynb", "my.csv", "my scan.ply", "place"))
            nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
            data.write_text("specimen,x,y\na,0,0\na,1,7\nb,1,1\nb,1,7\n")
            surface.write_text("as it was")
            place.mkdir()
            fact = run.facts([path])[path]
            self.assertEqual(fact["params"], {"surface": {"kind": "file", "values": []}})
            study = run.Study(data, {"surface": f"a={surface}"})
            study.take(place, ["surface", "tree"])
            self.assertEqual(study.passed, {"surface": f"a={place}/surface/my scan.ply"})
            surface.write_text("changed")
            made = run.read(path, fact, study)
            asyncio.run(run.execute(made, path, 60, place, study))
            self.assertEqual(run.stream(made.cells[1], "stdout"), "as it was")
            self.assertEqual(dict(run.provenance(fact, study, 1, []))["surface"], f"my scan.ply, SHA-256 {hashlib.sha256(b'as it was').hexdigest()[:16]}…")
            other = run.Study(data, study.parameters)
            other.take(pathlib.Path(tempfile.mkdtemp(dir=folder)), ["surface"])
            self.assertNotEqual(other.unfinished(path), study.unfinished(path))
            for value in f"a={folder}/none.ply", f"{folder}/none.ply":
                with self.assertRaisesRegex(run.Failure, f"^SET: surface={re.escape(value)}: no such file$"):
                    run.Study(data, {"surface": value}).take(pathlib.Path(tempfile.mkdtemp(dir=folder)), ["surface"])

    def test_the_start_is_quick(self):
        # A wrong file is told in a second or two: no parser of a grammar is built, which JupyterLab brings along.
        done = subprocess.run([sys.executable, "-c", "import run, sys; print('lark' in sys.modules)"], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=str(run.NOTEBOOKS / "report")))
        self.assertEqual(done.stdout, "False\n", done.stderr)

    def test_what_is_refused_is_told_alone(self):
        # The message alone, about the file that the user knows; for parameters nothing is executed.
        with tempfile.TemporaryDirectory() as folder:
            def file(name, text):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
                return str(path)

            table = file("good.csv", "specimen,x,y\na,0,0\na,1,7\nb,0,1\nb,2,7\n")
            wrong = file("wrong.csv", "specimen,x,y\na,0,0\na,1,seven\n")
            for args, said in {
                ("--data", wrong): f'{wrong}:3: specimen "a", landmark 1: y = "seven" is not a number',
                ("--data", table, "--set", "from=c"): 'from="c": there is no such specimen or group; there are a and b',
                ("--set", "width=wide seed=1"): "SET: width=wide: want a number (own_landmarks.ipynb)",
                ("--set", "sums=IV seed=-1"): "SET: seed=-1: want a whole number (own_landmarks.ipynb)\nSET: sums=IV: want I or II or III",
                ("--set", "closed=1"): "SET: closed=1: it is about how data are read, and DATA names none",
                ("--set", "widt=1"): "SET: no notebook has the parameter widt; there are: 1-8_matching_20000.ipynb: landmarks; own_",
                ("--set", "width=1", str(run.NOTEBOOKS / "1-8_matching_20000.ipynb")):
                    "SET: no notebook has the parameter width; there are: 1-8_matching_20000.ipynb: landmarks",
                ("--set", "width=1 detail=1"): "width, detail: not taken by any notebook",
            }.items():
                executes = contextlib.nullcontext() if args[0] == "--data" else unittest.mock.patch.object(run, "make", side_effect=AssertionError("executed"))
                with self.subTest(args), executes, unittest.mock.patch.object(run, "REPORTS", pathlib.Path(folder, "reports")), \
                        unittest.mock.patch.object(sys, "argv", ["run.py", *args]), self.assertRaises(SystemExit) as ended:
                    run.main()
                self.assertTrue(str(ended.exception.code).startswith(said), ended.exception.code)
                if args[0] == "--data":
                    self.assertEqual(ended.exception.code.count("\n"), 0)

    def test_a_folder_of_own_data(self):
        with tempfile.TemporaryDirectory() as folder:
            path, own, place = (pathlib.Path(folder, name) for name in ("x.ipynb", "my bones", "place"))
            cells = [new_code_cell("var study = nb.Data(&study.Study{}, study.Read)")]
            nbformat.write(new_notebook(cells=cells), path)
            (own / "data").mkdir(parents=True)
            (own / "a.ply").write_text("a")
            (own / "data" / "b.ply").write_text("b")
            fact, study = run.facts([path])[path], run.Study(own)
            self.assertEqual(run.able({path: fact}, study), [path])
            self.assertEqual(run.able({path: fact}, run.Study(own / "a.ply")) + run.able({path: dict(fact, readers=["mesh.Read", "morpho.Read"])}, study), [])
            place.mkdir()
            study.take(place)
            self.assertEqual(sorted(str(f.relative_to(study.copy("data"))) for f in pathlib.Path(study.copy("data")).rglob("*") if f.is_file()), ["a.ply", "data/b.ply"])
            self.assertEqual(study.checksum, hashlib.sha256(b"ab").hexdigest()[:16])
            self.assertEqual(study.named(f"{study.copy('data')}/a.ply: bad"), f"{own}/a.ply: bad")
            with unittest.mock.patch.object(run, "MOST_FILES", 2), self.assertRaisesRegex(run.Failure, "no folder of one population"):
                run.Study(own).take(pathlib.Path(tempfile.mkdtemp(dir=folder)))

    def test_a_folder_of_landmark_files(self):
        population, landmarks = {"readers": ["study.Read"], "params": []}, {"readers": ["morpho.Read"], "params": []}
        placing = {"readers": ["study.ReadEach"], "params": ["templates"]}
        with tempfile.TemporaryDirectory() as folder:
            for files, want in {
                ("a.mrk.json", "b.mrk.json", ".DS_Store"): ["landmarks"],
                ("a.FCSV", "b.tps"): ["landmarks"],
                ("a.csv", "b.csv"): ["population"],  # outlines
                ("a.csv", "notes.docx"): ["population"],
                ("a.mrk.json", "a.ply"): ["population"],
                ("a.pts", "a.ply"): ["population"],
                ("a.pts", "photo.jpg"): ["landmarks"],
                ("a.txt", "b/left.ply"): ["population"],
                ("a.json/left.ply", "b/left.ply"): ["population"],
                (): ["population"],  # which says what a folder should hold
            }.items():
                own = pathlib.Path(tempfile.mkdtemp(dir=folder))
                for file in files:
                    (own / file).parent.mkdir(exist_ok=True)
                    (own / file).touch()
                with self.subTest(files):
                    self.assertEqual(run.able({"population": population, "placing": placing, "landmarks": landmarks}, run.Study(own)), want)
                    if files and (all(file.endswith(".csv") for file in files) or "a.pts" in files):
                        self.assertEqual(run.able({"landmarks": landmarks}, run.Study(own)), ["landmarks"])
            self.assertEqual(run.able({"population": population, "placing": placing}, run.Study(own, {"templates": "a.fcsv"})), ["placing"])
            self.assertEqual(run.able({"placing": placing}, run.Study(own)), ["placing"])

    def test_a_folder_of_links(self):
        # As of git-annex or DataLad: what links stand for is taken, and what they do not reach is told.
        with tempfile.TemporaryDirectory() as folder:
            own, there = pathlib.Path(folder, "my bones"), pathlib.Path(folder, "there")
            for place in own / "a", own / "empty", own / ".git", there:
                place.mkdir(parents=True)
            for file in own / "a" / "left.ply", own / ".git" / "object", own / ".hidden.ply", there / "left.ply":
                file.write_text(file.name)
            (own / "linked").symlink_to(there)
            (own / "c.ply").symlink_to(there / "left.ply")
            (own / "unfetched.ply").symlink_to(".git/annex/objects/x")

            def take():
                study = run.Study(own)
                study.take(pathlib.Path(tempfile.mkdtemp(dir=folder)))
                return sorted(str(f.relative_to(study.copy("data"))) for f in pathlib.Path(study.copy("data")).rglob("*"))

            with self.assertRaisesRegex(run.Failure, "my bones/unfetched.ply: a link that leads nowhere"):
                take()
            (own / "unfetched.ply").unlink()
            self.assertEqual(take(), ["a", "a/left.ply", "c.ply", "empty", "linked", "linked/left.ply"])
            os.mkfifo(own / "pipe")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                take()
            self.assertEqual(printed.getvalue(), f"passed over, as neither files nor folders: {own}/pipe\n")
            (own / "pipe").unlink()
            (own / "loop").symlink_to(own)
            with self.assertRaisesRegex(run.Failure, "my bones/loop: a link to a folder that it lies in"):
                take()
            (own / "loop").unlink()
            with unittest.mock.patch.object(run.shutil, "copyfile", side_effect=PermissionError(errno.EACCES, "Permission denied", str(own / "c.ply"))):
                with self.assertRaisesRegex(run.Failure, "(left|c).ply"):
                    take()

    def test_each_file_of_a_folder_is_looked_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(100):
                pathlib.Path(folder, f"subject{i}").mkdir()
                pathlib.Path(folder, f"subject{i}", "left.ply").touch()
            with unittest.mock.patch.object(pathlib.Path, "stat", autospec=True, side_effect=pathlib.Path.stat) as stat:
                self.assertEqual([len(found) for found in run.contents(pathlib.Path(folder))], [100, 100])
            self.assertLess(stat.call_count, 1000)

    def test_a_link_keeps_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(os.path.realpath(folder))
            (folder / "SHA256-s1--ab").write_text("")
            (folder / "brain.ply").symlink_to("SHA256-s1--ab")
            self.assertEqual(run.located(folder / "brain.ply"), folder / "brain.ply")
            for name, want in ("..", folder.parent), (".", folder), ("x/../brain.ply", folder / "brain.ply"):
                self.assertEqual(run.located(folder / name), want)

    def test_a_population_of_ones_own(self):
        path = run.TEMPLATES / "own_population.ipynb"
        with tempfile.TemporaryDirectory() as folder, open(run.ROOT / "landmarks" / "morpho" / "data" / "mouse_vertebra_outlines_60.csv", newline="") as data:
            own, place = pathlib.Path(folder, "my bones"), pathlib.Path(folder, "place")
            place.mkdir()
            for row in csv.DictReader(data):
                if row["specimen"] in ("mouse31", "mouse32", "mouse33"):
                    (own / row["specimen"]).mkdir(parents=True, exist_ok=True)
                    for name, shift in ("the_first", 0), ("second", 300):
                        file = own / row["specimen"] / f"{name}.csv"
                        text = file.read_text() if file.exists() else "specimen,x,y\n"
                        file.write_text(text + f"{name},{float(row['x']) + shift},{row['y']}\n")
            fact, study = run.facts([path])[path], run.Study(own)
            study.take(place)
            made = run.read(path, fact, study)
            asyncio.run(run.execute(made, path, 120, place, study))
        checks = [check for cell in made.cells for check in cell.metadata.get("checks", [])]
        self.assertEqual([check["what"] for check in checks if not check["ok"]], [])
        self.assertEqual([check["what"].rpartition(", ")[2] for check in checks[-2:]], ["second", "the\\_first"])
        said = [o.data.get("text/markdown", "") for cell in made.cells for o in cell.get("outputs", []) if "data" in o]
        self.assertTrue(any("of its squared distance from the subjects remains\\, the\\_first\\: " in text for text in said), said)

    def test_an_interrupted_report_goes_on(self):
        # What cells keep is there after a failure, for the same data, parameters and code, and gone when the report is written.
        source = """%%
nb.Data(morpho.CorpusCallosum(), morpho.Read)
file := filepath.Join(nb.Unfinished(), "search")
_, err := os.Stat(file)
nb.Must(0, os.MkdirAll(nb.Unfinished(), 0o777))
nb.Must(0, os.WriteFile(file, nil, 0o666))
if err != nil {
	os.Exit(9) // as if it were killed
}"""
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            path, data = pathlib.Path(folder, "x.ipynb"), pathlib.Path(folder, "my.csv")
            nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
            data.write_text("specimen,x,y\na,0,0\na,1,7\n")
            studies = [run.Study(data) for _ in range(2)]
            statuses = [asyncio.run(run.run(run.facts([path]), study, False, True, 60)) for study in studies]
            kept = studies[0].unfinished(path)
            others = [run.Study(data, {"a": "b"}, checksum=studies[0].checksum), run.Study(data, checksum="other")]
            self.assertEqual(len({kept, studies[1].unfinished(path), *(other.unfinished(path) for other in others)}), 3)
        self.assertEqual(statuses, [1, 0])
        self.assertIn("note: x.ipynb was interrupted, and goes on from there\n", printed.getvalue())
        self.assertFalse(kept.exists())

    def test_a_false_check_of_own_data_is_marked(self):
        source = '%%\nnb.Data(morpho.CorpusCallosum(), morpho.Read)\nnb.Check("side <b>", 2, 1, 0.5)\nnb.True("on", true)'
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(run, "REPORTS", pathlib.Path(folder, "reports")))
            stack.enter_context(contextlib.redirect_stdout(printed))
            path, data = pathlib.Path(folder, "x.ipynb"), pathlib.Path(folder, "my.csv")
            nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
            data.write_text("specimen,x,y\na,0,0\na,1,7\n")
            statuses = [asyncio.run(run.run(run.facts([path]), study, False, False, 60)) for study in (run.Study(data), run.Study())]
            reports = sorted(f.name for f in run.REPORTS.iterdir() if f.suffix != ".lock")
            page = (run.REPORTS / "x--my.html").read_text()
        self.assertEqual(statuses, [run.MARKED, 1])
        self.assertEqual([r for r in reports if not r.startswith(".")], ["packages.html", "x--my.html", "x--my.pdf"])
        for line in "     ✗ side <b>: got 2, want 1 ± 0.5\n", "1 passed, 0 failed; false, and marked in the report: side <b>\n":
            self.assertIn(line, printed.getvalue())
        self.assertRegex(page, '<p class="false">\\s*✗ side &lt;b&gt;: got 2, want 1\xa0±\xa00.5')

    def test_drawn_names_of_any_letters(self):
        # The font of figures has no Japanese: the report is written, and says what the boxes stand for.
        source = ("%%\ndata := nb.Data(morpho.CorpusCallosum(), morpho.Read)\nfirst := data.Specimens[0]\n"
                  "viz.Show(viz.Fig(viz.Outline(first.Points).Label(first.Name)).Title(first.Group))")
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(run, "REPORTS", pathlib.Path(folder, "reports")))
            printed = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            path, data = pathlib.Path(folder, "x.ipynb"), pathlib.Path(folder, "頭蓋骨.csv")
            nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
            data.write_text("specimen,group,x,y\n日本 🐭,群 <b>,0,0\n日本 🐭,群 <b>,1,7\n", encoding="utf-8")
            status = asyncio.run(run.run(run.facts([path]), run.Study(data), False, False, 60))
            self.assertEqual(status, run.WRITTEN, printed.getvalue())
            page = (run.REPORTS / "x--頭蓋骨.html").read_text(encoding="utf-8")
            self.assertTrue((run.REPORTS / "x--頭蓋骨.pdf").read_bytes().startswith(b"%PDF"))
        [alt] = re.findall(r'alt="([^"]*)"', page)
        self.assertIn("群 <b>: outline \"日本 🐭\", blue.", html.unescape(alt))
        self.assertTrue(alt.endswith("A box □ stands for a letter that the font lacks: 群 日 本 🐭."), alt)

    def test_facts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.ipynb")
            nbformat.write(new_notebook(cells=[new_markdown_cell("# T"), new_code_cell(
                '!ls\nvar data = nb.Data(\n\tmorpho.CorpusCallosum(), // two\n\tmorpho.Read)\n'
                'func show() { viz.Show() }\n%%\nrand.NewPCG(1, 2)\nr := Run{Seed: 7}\nviz.Show(\n\tf,\n)\nif r {\n\tviz.Show(f)\n}\nfmt.Println("viz.Show(f)")'),
                new_code_cell('var s = nb.Param(`s`, 1) // nb.Param("t", 2)\nvar r = rand.NewPCG(1, 2)'), new_code_cell("no Go {"),
                new_code_cell('var a = nb.Param[float64]("a", spacing(q))\n%%\nb := nb.Param("b", -0.5)\nnb.Param("c", false)\nnb.Param("d", "")'),
                new_code_cell('var e = nb.Param("e", data.Groups()[0], append(data.Groups(), "all")...)\n%%\n'
                              'nb.Param("f", "x", data.Names()...)\nnb.Param("g", "x", "y", other)\nnb.Param("h", 1, 2)\nnb.Param("i", "y", "z")'),
                new_code_cell('const n = 3\n\n// f shows.\nfunc f() {\n\tviz.Show(1)\n}\nx := nb.Param("u", n); viz.Show(x,\n\tn)\nf()\nfmt.Print(x)')]), path)
            self.assertEqual(run.facts([path])[path], {
                "readers": ["morpho.Read"], "seeds": ["PCG(1, 2)", "seed 7"], "data": True,
                "params": {name: {"kind": kind, "values": values} for name, kind, values in [
                    ("a", "float64", []), ("b", "float64", []), ("c", "bool", []), ("d", "string", []), ("e", "", []), ("f", "string", []),
                    ("g", "string", []), ("h", "int", []), ("i", "string", ["z", "y"]), ("s", "int", []), ("u", "", [])]},
                "cells": [{"shows": 1, "prints": True}] + 4 * [{"shows": 0, "prints": False}] + [{"shows": 1, "prints": True}], "wrong": []})

    def test_workspaces_and_flags_of_the_user(self):
        """What the user has set for modules of their own is nothing to this one; what fails is told."""
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder, "go.work")
            work.write_text("go 1.26\n")
            with unittest.mock.patch.dict(os.environ, GOWORK=str(work), GOFLAGS="-mod=vendor -modfile=/nothing"):
                self.assertIn("nb.Text", run.ask("reference")["names"])
                self.assertRegex(dict(run.machine())["GoMLX"], r"^\d+\.")
            with unittest.mock.patch.object(run, "ROOT", pathlib.Path(folder)), self.assertRaisesRegex(run.Failure, "^go: go.mod file not found"):
                run.ask("reference")

    def test_the_commit_is_that_of_the_project(self):
        with tempfile.TemporaryDirectory() as folder:
            thesis = pathlib.Path(os.path.realpath(folder))
            git = ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b.c"]
            for args in ["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begun"]:
                subprocess.run([*git, *args], check=True)
            (thesis / "anatomy").mkdir()
            with unittest.mock.patch.object(run, "ROOT", thesis / "anatomy"):
                self.assertEqual(run.committed(), "")
            with unittest.mock.patch.object(run, "ROOT", thesis):
                self.assertRegex(run.committed(), "^commit [0-9a-f]{12}$")
                (thesis / "notes.txt").touch()
                self.assertRegex(run.committed(), "^commit [0-9a-f]{12}$")
                (thesis / "anatomy" / "new.go").touch()
                self.assertRegex(run.committed(), "^commit [0-9a-f]{12}, changed since$")

    def test_a_repository_around_the_project_is_not_asked(self):
        """Neither by Go nor for the commit, also if it says that the project is its own: git would run the program that it names."""
        with tempfile.TemporaryDirectory() as folder:
            around = pathlib.Path(os.path.realpath(folder))
            root, ran, program = around / "anatomy", around / "ran", around / "program"
            root.mkdir()
            (root / "go.mod").write_text("module anatomy\n")
            (root / "main.go").write_text("package main\n\nfunc main() { println() }\n")
            program.write_text(f"#!/bin/sh\ntouch '{ran}'\nexit 1\n")
            program.chmod(0o700)
            git = ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@b.c"]
            for args in (["init", "-q"], ["add", "anatomy"], ["commit", "-q", "-m", "x"], ["config", "core.fsmonitor", str(program)], ["config", "core.worktree", str(root)]):
                subprocess.run([*git, *args], check=True)
            subprocess.run(["git", "status"], cwd=root, capture_output=True)
            self.assertTrue(ran.exists(), "the bait is none")
            ran.unlink()
            with unittest.mock.patch.object(run, "ROOT", root):
                self.assertEqual(run.committed(), "")
                run.go("build", "-o", "/dev/null", ".")
                for flags in "", "-mod=vendor -buildvcs=true":
                    subprocess.run(["make", "-f", "-", "build"], input=f"include {run.NOTEBOOKS.parent}/Makefile\nbuild:\n\tgo build -o /dev/null .\n", cwd=root,
                                   env=dict(os.environ, MAKEFLAGS="", GOFLAGS=flags), capture_output=True, text=True, check=True)
            self.assertFalse(ran.exists())

    def test_provenance_of_standard_data(self):
        with tempfile.TemporaryDirectory() as folder:
            study = run.Study()
            study.take(pathlib.Path(folder))
        fact = {"data": True, "seeds": ["PCG(1, 2)", "seed 7"]}
        facts = dict(run.provenance(fact, study, 1, []))
        self.assertRegex(facts["data"], "^those of the project, SHA-256 [0-9a-f]{16}…$")
        self.assertEqual(facts["random numbers"], "PCG(1, 2), seed 7")

    def test_parameters(self):
        for text, want in {
            "": {}, "sigma=3 closed=true": {"sigma": "3", "closed": "true"}, "from=Homo sapiens  to=Pan t. sigma=2 ": {"from": "Homo sapiens", "to": "Pan t.", "sigma": "2"},
            "from='a to=b' to=": {"from": "a to=b", "to": ""}, 'from="x"': {"from": "x"}, "from=Grey's a=`b`$(c)": {"from": "Grey's", "a": "`b`$(c)"},
        }.items():
            with self.subTest(text):
                self.assertEqual(run.parameters(text), want)
        with self.assertRaisesRegex(SystemExit, "want NAME=VALUE"):
            run.parameters("sigma 3")

    def test_make_passes_values_as_they_are(self):
        values = {"DATA": "-`id` $(shell touch pwned) $$x \"q\" 'p'.csv", "COVARIATES": "$(shell touch pwned).csv", "LANDMARKS": "$$x `id`.mrk.json", "TITLE": "$(shell touch pwned) $$x", "SET": "from=Homo sapiens to=$(shell touch pwned)`touch pwned`", "AUTHORS": 'A "B" $C; D'}
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder, "venv", "python")
            python.parent.mkdir()
            python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import json, os; print(json.dumps(dict(os.environ)))"\n')
            python.chmod(0o700)
            given = [f"{name}={value}" for name, value in values.items()]
            for where, args, env in ("the command line", given, {}), ("the environment", [], values):
                done = subprocess.run(["make", "--no-print-directory", "-f", run.ROOT / "Makefile", "report", "SETUP=@:", f"VENV={python.parent}", *args],
                                      cwd=folder, env=dict(os.environ, MAKEFLAGS="", **env), capture_output=True, text=True)
                with self.subTest(where):
                    self.assertEqual({name: json.loads(done.stdout)[name] for name in values}, values, done.stderr)
                    self.assertFalse(pathlib.Path(folder, "pwned").exists())

    def test_the_home_directory(self):
        # zsh and dash leave DATA=~/my.csv to make as it is.
        with tempfile.TemporaryDirectory() as home:
            for name in "DATA", "NOTEBOOKS":
                with self.subTest(name), unittest.mock.patch.dict(os.environ, {"HOME": home, "NOTEBOOKS": "", "DATA": "", name: "~/nothing"}), \
                        unittest.mock.patch.object(sys, "argv", ["run.py", "--make"]), self.assertRaisesRegex(SystemExit, f"^{home}/nothing: no such file$"):
                    run.main()

    def test_make_without_a_home(self):
        for home, want in (None, f"{run.ROOT}/.anatomy/home"), ("", f"{run.ROOT}/.anatomy/home"), ("/a home", "/a home"):
            env = {name: value for name, value in os.environ.items() if name != "HOME"}
            done = subprocess.run(["make", "--no-print-directory", "-f", "-", "show"], input="include Makefile\nshow:\n\t@echo \"$$HOME\"\n", cwd=run.ROOT,
                                  env=dict(env, MAKEFLAGS="", **({} if home is None else {"HOME": home})), capture_output=True, text=True)
            with self.subTest(home):
                self.assertEqual(done.stdout, f"{want}\n", done.stderr)

    def published(self, reports, files, study=None, whole=False, where=run.NOTEBOOKS):
        with tempfile.TemporaryDirectory() as new, unittest.mock.patch.object(run, "REPORTS", reports):
            for name, content in files.items():
                pathlib.Path(new, name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(new, name).write_text(content)
            sources = {f.stem: (study or run.Study()).source(where / f"{f.stem.partition(run.OWN)[0]}.ipynb") for f in pathlib.Path(new).glob("*.html") if f.stem != "index"}
            return [p.name for p in run.publish(pathlib.Path(new), sources, whole)]

    def test_only_own_files_are_touched(self):
        with tempfile.TemporaryDirectory() as folder:
            reports = pathlib.Path(folder, "reports")
            self.published(reports, {"01_x.html": "1", "01_x.pdf": "1", "02_x.html": "1", "02_x.pdf": "1", "index.html": "1"}, whole=True)
            self.published(reports, {"02_x--my.html": "own"}, run.Study(pathlib.Path("/a/my.csv")))
            (reports / "my_thesis.pdf").write_text("thesis")
            (reports / "notes.html").write_text("notes")
            pages = self.published(reports, {"01_x.html": "2", "01_x.pdf": "2", "index.html": "2"}, whole=True)
            self.assertEqual(pages, ["01_x.html", "index.html"])
            self.assertEqual({f.name: f.read_text() for f in reports.iterdir() if not f.name.startswith(".")}, {
                "01_x.html": "2", "01_x.pdf": "2", "index.html": "2", "02_x--my.html": "own", "my_thesis.pdf": "thesis", "notes.html": "notes"})

    def test_what_a_killed_run_left_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            reports = pathlib.Path(folder)
            (reports / ".1-2_geodesics.new" / "figures").mkdir(parents=True)
            (reports / ".1-2_geodesics.html.new").write_text("half")
            self.published(reports, {"1-2_geodesics.html": "whole", "1-2_geodesics.pdf": "whole", "1-2_geodesics/figures/figure-1.svg": "whole"})
            self.assertEqual({str(f.relative_to(reports)): f.read_text() for f in reports.rglob("*") if f.is_file() and not f.name.startswith(".l") and f.suffix != ".json"},
                             {name: "whole" for name in ("1-2_geodesics.html", "1-2_geodesics.pdf", "1-2_geodesics/figures/figure-1.svg")})
            with run.workplace() as place, tempfile.NamedTemporaryFile() as between:
                self.assertTrue(pathlib.Path(between.name).is_relative_to(place))

    def test_a_kernel_that_dies_at_its_start_says_why(self):
        """In its own words; and what it is told of its connection, with the key, lies in the folder of the run."""
        with tempfile.TemporaryDirectory() as folder, run.workplace() as place, unittest.mock.patch.object(sys, "prefix", folder):
            spec = pathlib.Path(folder, "share", "jupyter", "kernels", "anatomy", "kernel.json")
            spec.parent.mkdir(parents=True)
            for script, want in ("echo 'no Go here' >&2; echo \"$0\" >&2; exit 3", "no Go here\n{}"), ("printf 'F1 main.go] failed\\nmain.run\\n\\t/x/main.go:3\\ngoroutine 1 [running]:\\nmain()\\n' >&2; exit 1", "F1 main.go] failed"):
                spec.write_text(json.dumps({"argv": ["sh", "-c", script, "{connection_file}"], "display_name": "x", "language": "go", "interrupt_mode": "message"}))
                with self.subTest(script), self.assertRaises(run.Failure) as failed:
                    asyncio.run(run.execute_cells(new_notebook(cells=[new_code_cell("1")]), run.NOTEBOOKS / "x.ipynb", 60, place, run.Study()))
                self.assertEqual(str(failed.exception), "the kernel ended: Kernel died before replying to kernel_info\n" + want.format(place / "connection.json"))
                self.assertFalse((place / "connection.json").exists())

    def test_folders_of_figures(self):
        # They are replaced and removed with their report; a folder of others is moved aside; links follow a new name.
        with tempfile.TemporaryDirectory() as folder:
            reports, thesis = pathlib.Path(folder), pathlib.Path("/thesis")
            (reports / "01_x").mkdir()
            (reports / "01_x" / "mine.txt").write_text("foreign")
            page = '<a href="01_x/figures/figure-1.svg">'
            for n in "12":
                self.published(reports, {"01_x.html": page, f"01_x/figures/{n}.svg": n, "02_x.html": "", "02_x/tables/1.csv": n, "index.html": n}, whole=True)
            self.published(reports, {"01_x.html": page, "01_x/figures/figure-1.svg": "thesis"}, where=thesis)
            self.published(reports, {"01_x.html": page, "01_x/figures/3.svg": "3", "index.html": "3"}, whole=True)
            self.assertEqual({str(f.relative_to(reports)): f.read_text() for f in reports.rglob("*") if f.is_file() and not f.name.startswith(".")}, {
                "01_x.html": page, "01_x/figures/3.svg": "3", "index.html": "3", "01_x.1/mine.txt": "foreign",
                "01_x~2.html": page.replace("01_x/", "01_x%7E2/").replace("%7E", "~"), "01_x~2/figures/figure-1.svg": "thesis"})
            self.assertEqual([f.name for f in reports.iterdir() if f.name.endswith(".new")], [])

    def test_no_link_is_dead(self):
        # A report alone has no links to other reports and to the index; made with them, or beside them, it has.
        nb = new_notebook(cells=[new_markdown_cell("# 1.2 Two\n\nSee [the first](1-1_x.ipynb), [this](https://example.org/a.html) and lesson 1.1.")])
        about = dict(ABOUT, book=[("1-1_x", "1.1 One"), ("1-2_x", "1.2 Two"), ("1-3_x", "1.3 Three")])
        own = run.Study(pathlib.Path("/a/my.csv"))
        with tempfile.TemporaryDirectory() as folder:
            reports = pathlib.Path(folder, "reports")
            report.write_html(nb, "1-2_x", about, pathlib.Path(folder, "1-2_x.html"))
            page = pathlib.Path(folder, "1-2_x.html").read_text(encoding="utf-8")

            def links(name, others=(), **options):
                self.published(reports, {name: page, **dict.fromkeys(others, "")}, **options)
                text = (reports / name).read_text(encoding="utf-8")
                self.assertEqual("All reports" in text, "index.html" in others or (reports / "index.html").exists())
                self.assertEqual('<nav class="pages"' in text, ' rel="' in text)
                self.assertRegex(" ".join(re.sub("<[^>]*>", "", text).split()), r"See the first, this and lesson 1\.1\.")
                return {href for href in re.findall(r'<a\b[^>]*href="([^"#]*\.html)', text)} - {"https://example.org/a.html"}

            self.assertEqual(links("1-2_x--my.html", study=own), set())
            self.assertEqual(links("1-2_x.html", ["1-1_x.html"]), {"1-1_x.html"})
            every = {"1-1_x.html", "1-3_x.html", "index.html"}
            self.assertEqual(links("1-2_x.html", every, whole=True), every)
            self.assertEqual(links("1-2_x--my.html", study=own), every)

    def test_notebooks_elsewhere_have_reports_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            reports, thesis, name = pathlib.Path(folder, "reports"), pathlib.Path("/thesis"), "02_x.html"
            self.published(reports, {name: "1", "01_x.html": "1", "index.html": "1"}, whole=True)
            self.assertEqual(self.published(reports, {name: "thesis"}, where=thesis), ["02_x~2.html"])
            self.assertEqual(self.published(reports, {"thesis.html": "thesis"}, where=thesis), ["thesis.html"])
            self.published(reports, {name: "2", "index.html": "2"}, whole=True)
            self.assertEqual({f.name: f.read_text() for f in reports.iterdir() if not f.name.startswith(".")}, {
                name: "2", "02_x~2.html": "thesis", "thesis.html": "thesis", "index.html": "2"})
            other = pathlib.Path(folder, "1-2_geodesics.ipynb")
            nbformat.write(new_notebook(), other)
            with unittest.mock.patch.object(sys, "argv", ["run.py", str(other), str(run.NOTEBOOKS / other.name)]), self.assertRaisesRegex(SystemExit, "^two notebooks of the name 1-2_geodesics: "):
                run.main()

    def test_files_of_others_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            reports = pathlib.Path(folder)
            for name in ("index.html", "01_x.pdf"):
                (reports / name).write_text("foreign")
            for text in ("1", "2"):
                self.published(reports, {"01_x.html": text, "01_x.pdf": text, "index.html": text}, whole=True)
            self.assertEqual({f.name: f.read_text() for f in reports.iterdir() if not f.name.startswith(".")}, {
                "01_x.html": "2", "01_x.pdf": "2", "index.html": "2", "01_x.pdf.1": "foreign", "index.html.1": "foreign"})

    def test_data_of_one_name_have_reports_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            reports, name = pathlib.Path(folder), "02_x--my.html"
            a, b, tps = (run.Study(pathlib.Path(p)) for p in ("/a/my.csv", "/b/my.csv", "/a/my.tps"))
            names = [self.published(reports, {name: text}, study) for text, study in (("1", a), ("2", b), ("3", a), ("4", tps), ("5", b))]
            self.assertEqual(names, [["02_x--my.html"], ["02_x--my~2.html"], ["02_x--my.html"], ["02_x--my~3.html"], ["02_x--my~2.html"]])
            self.assertEqual([(reports / n).read_text() for n in ("02_x--my.html", "02_x--my~2.html", "02_x--my~3.html")], ["3", "5", "4"])

    def test_broken_manifest(self):
        for text in ("", "[]", "null", "3", '{"01_x": ', '{"01_x": ["x"]}', '{"../x": ""}'):
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                reports, outside = pathlib.Path(folder, "reports"), pathlib.Path(folder, "x.html")
                reports.mkdir()
                (reports / run.MANIFEST).write_text(text)
                outside.write_text("thesis")
                with self.assertRaisesRegex(run.Failure, "remove it"):
                    self.published(reports, {"01_x.html": "1"}, whole=True)
                self.assertEqual((outside.read_text(), (reports / run.MANIFEST).read_text()), ("thesis", text))

    def test_reports_on_another_file_system(self):
        other = pathlib.Path("/dev/shm")
        if not other.is_dir() or other.stat().st_dev == pathlib.Path(tempfile.gettempdir()).stat().st_dev:
            self.skipTest("no second file system")
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=other) as there:
            reports = pathlib.Path(folder, "reports")
            reports.symlink_to(pathlib.Path(there, "new", "place"))  # which is made
            self.published(reports, {"01_x.html": "1", "01_x.pdf": "1"})
            self.assertEqual((pathlib.Path(there, "new", "place", "01_x.pdf")).read_text(), "1")

    def test_new_runs_are_not_swept_away(self):
        def starts():
            for _ in range(50):
                with run.workplace() as folder:
                    (folder / "file").write_text("kept")
            return True

        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.object(run, "HOME", pathlib.Path(home)):
            dead = run.HOME / "run-dead"
            dead.mkdir()
            (dead / "lock").touch()
            (run.HOME / "run-cut").mkdir()  # killed before it had a lock
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                self.assertEqual([task.result() for task in [pool.submit(starts) for _ in range(4)]], [True] * 4)
            self.assertEqual([f.name for f in run.HOME.iterdir()], ["runs"])

    def test_a_full_disk_is_told(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        with unittest.mock.patch.object(report, "write_html", side_effect=full):
            printed, status = self.runs({"x": ["%%"]})
        self.assertEqual(status, 1)
        self.assertRegex(printed, r"FAIL x\.ipynb \(\d+ s\), .*No space left on device\n")
        self.assertNotIn("Traceback", printed)
        with unittest.mock.patch.object(run, "facts", side_effect=full), unittest.mock.patch.object(sys, "argv", ["run.py"]):
            with self.assertRaisesRegex(SystemExit, "the reports cannot be written: .*No space left"):
                run.main()

    @contextlib.contextmanager
    def small_disk(self, size):
        """A folder on a file system of so many bytes."""
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode:
                self.skipTest("only root may mount a small file system")
            try:
                yield pathlib.Path(folder)
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_reports_on_a_full_disk(self):
        # What was there stays, what was computed is kept elsewhere, and a sentence says where.
        with self.small_disk(65536) as disk, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.object(run, "HOME", pathlib.Path(folder, "home")))
            stack.enter_context(unittest.mock.patch.object(run, "REPORTS", disk))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            self.published(disk, {"x.html": "old", "x.pdf": "old"})
            path = pathlib.Path(folder, "x.ipynb")
            nbformat.write(new_notebook(cells=[new_code_cell('%%\nfmt.Print("new")')]), path)
            with self.assertRaisesRegex(run.Failure, f"the reports cannot be put into {disk}: .*No space left on device.*; they are in (.*)") as raised:
                asyncio.run(run.run(run.facts([path]), run.Study(), False, False, 60))
            kept = pathlib.Path(str(raised.exception).rsplit(" ", 1)[1])
            self.assertEqual(sorted(f.name for f in kept.iterdir()), ["packages.html", "x.html", "x.pdf"])
            self.assertIn("new", (kept / "x.html").read_text())
            self.assertEqual({f.name: f.read_text() for f in disk.iterdir() if not f.name.startswith(".")}, {"x.html": "old", "x.pdf": "old"})
            self.assertEqual(sorted(f.name for f in disk.iterdir() if f.name.startswith(".")), [".lock", ".reports.json"])
            self.assertEqual([f for f in run.HOME.glob("run-*")], [])

    def test_programs_of_relative_folders(self):
        # Neither a program in the folder where the runner starts is run, nor another pandoc than the pinned one.
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as newer:
            for place, name in (folder, "pandoc"), (folder, "go"), (folder, "git"), (newer, "pandoc"):
                program = pathlib.Path(place, name)
                program.write_text(f"#!/bin/sh\necho ran >> {folder}/ran\necho pandoc 99.0\n")
                program.chmod(0o700)
            script = "import run, report; print(run.go('env', 'GOOS'), run.output('git', '--version'), report.pandoc('*x*', '--to=html5'))"
            for path in f".:{os.environ['PATH']}", f":{os.environ['PATH']}", f"{os.environ['PATH']}:{newer}":
                done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True,
                                      env=dict(os.environ, PYTHONPATH=str(run.NOTEBOOKS / "report"), PATH=path))
                self.assertIn("<em>x</em>", done.stdout, done.stderr)
                self.assertFalse(pathlib.Path(folder, "ran").exists())

    def test_names_that_lead_nowhere(self):
        # Links that loop, names that are too long or hold a zero: a sentence, not a traceback.
        with tempfile.TemporaryDirectory() as folder:
            loop, good = pathlib.Path(folder, "loop"), pathlib.Path(folder, "x.ipynb")
            loop.symlink_to(loop)
            nbformat.write(new_notebook(), good)
            for bad in str(loop), str(loop / "x.csv"), folder + "/" + "a" * 300, folder + "/a\0b", folder, "/dev/zero":
                # A folder may be data, but not of this notebook.
                for args in [bad], ["--data", bad, str(good)]:
                    reason = "not taken by x.ipynb; by: .*" if args[0] == "--data" and bad == folder else "(no such file|not a regular file|File name too long)"
                    with self.subTest(args), unittest.mock.patch.object(sys, "argv", ["run.py", *args]), self.assertRaises(SystemExit) as ended:
                        run.main()
                    self.assertRegex(str(ended.exception.code), re.escape(pathlib.Path(bad).name) + f": {reason}$")
            for name in "REPORTS", "HOME":
                with self.subTest(name), unittest.mock.patch.object(run, name, loop), unittest.mock.patch.object(sys, "argv", ["run.py", str(good)]):
                    with contextlib.redirect_stdout(io.StringIO()), self.assertRaisesRegex(SystemExit, "^the reports cannot be written: .*loop'"):
                        run.main()

    def test_outputs_in_a_file_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            clean, full = pathlib.Path(folder, "clean.ipynb"), pathlib.Path(folder, "full.ipynb")
            nbformat.write(new_notebook(cells=[new_code_cell("%%")]), clean)
            nbformat.write(new_notebook(cells=[new_markdown_cell(""), new_code_cell("%%", outputs=[picture()])]), full)
            self.assertEqual([(p, n) for p, _, n in run.with_outputs([clean, full])], [(full, 2)])

    def test_a_file_whose_name_is_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, os.fsdecode(b"caf\xe9.ipynb"))
            nbformat.write(new_notebook(cells=[new_code_cell("%%", outputs=[picture()])]), path)
            done = subprocess.run([sys.executable, run.NOTEBOOKS / "report" / "run.py", "--strip", path], capture_output=True, text=True, env=dict(os.environ, PYTHONUTF8="1"))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "stripped caf?.ipynb\n", ""))
            data = pathlib.Path(folder, os.fsdecode(b"caf\xe9.csv"))
            data.write_text("specimen,x,y\n")
            study = run.Study(data, {"covariates": str(data)})
            study.take(pathlib.Path(folder), ["covariates"])
            self.assertEqual([study.copy(name).rpartition("/")[2] for name in ("data", "covariates")], ["caf�.csv", "caf�.csv"])

    def test_wide_lines_of_code_are_found(self):
        wide = "\t" + "x" * 87
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.ipynb")
            nbformat.write(new_notebook(cells=[new_markdown_cell("y" * 99), new_code_cell("\t" + "x" * 86 + "\n" + wide)]), path)
            self.assertEqual(list(run.wide_lines([path])), [f"a.ipynb, cell 2: a line of 91 columns, want at most 90: {wide.strip()}"])


class Report(unittest.TestCase):
    def notebook(self, *cells):
        return new_notebook(cells=[new_markdown_cell("# Shapes in $\\mathcal M$\n\n*A subtitle*\n\nFirst, $x$. Second."), *cells])

    def html(self, nb):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.html")
            report.write_html(nb, "name", ABOUT, path)
            return path.read_text(encoding="utf-8")

    def typst(self, nb):
        return report.typeset(report.convert(nb, "typst", "name", ABOUT))

    def pdf(self, nb):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.pdf")
            report.write_pdf(nb, "name", ABOUT, 0, path)
            return path.read_bytes()

    def test_tables_stay_between_the_margins_of_the_paper(self):
        row = "| Gorilla_gorilla_specimen_7 |" + " −0.001234 |" * 13
        wide = row.replace("−0.001234", "component") + "\n|" + "-|" * 14 + "\n" + "\n".join([row] * 3)
        long = "| name | file |\n|-|-|\n| x | " + "a_long_name_" * 20 + " |\n| y | " + "z" * 150 + " |"
        outputs = [new_output("display_data", {"text/markdown": table}) for table in (wide, long, "|" + " 0.123 |" * 30 + "\n|" + "-|" * 30 + "\n|" + " 0.123 |" * 30)]
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "r.typ")
            source.write_text(self.typst(self.notebook(new_code_cell("x", outputs=outputs))), encoding="utf-8")
            pathlib.Path(folder, "settled.json").write_text('{"floats": [], "flushes": []}')
            width, height, rgba = report.pixels(typst.compile(str(source), root=folder, format="png", ppi=72))
        margin, least = 62, []  # 2.3 cm less what hangs
        for y in range(height):
            row = rgba[4 * width * y:4 * width * (y + 1)]
            least.append(min(row[:4 * margin] + row[4 * (width - margin):]))
        self.assertEqual(min(least), 255)
        page = self.html(self.notebook(new_code_cell("x", outputs=outputs[1:2])))
        self.assertIn("z" * 150 + "</td>", page)  # the last row, whose line has no end

    def test_a_failed_cell_says_why_before_its_code(self):
        outputs = [new_output("stream", name="stdout", text="began"),
                   new_output("error", ename="error", evalue="no", traceback=["\x1b[31mcell [2], line 4: no\x1b[0m"])]
        nb = self.notebook(new_code_cell("a()\nb()", metadata={"tags": ["listing"]}),
                           new_code_cell("lines()\n" * 3 + "c()", metadata={"tags": ["raises-exception"]}, outputs=outputs))
        page = re.sub(r"<[^>]*>", "", self.html(nb).partition('<main id="main">')[2].replace('<details class="code"><summary>Code', "FOLDED"))
        self.assertRegex(page, r"(?s)Code\s+a\(\)\s+b\(\).*cell \[2\], line 4: no\s+FOLDED\s+lines\(\).*c\(\)\s+began")
        self.assertEqual(page.count("line 4: no"), 1)
        body = self.typst(nb)
        self.assertLess(body.index("line 4: no"), body.index("began"))
        self.assertEqual(body.count("line 4: no"), 1)

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
            "no links out": not re.search(r'(?:src|href)="(?!data:|#|name/figures/figure-\d\.(?:svg|pdf|png)"|(?:index|1-1_a|1-2_c|packages)\.html)', page),
            "the drawing": "data:image/svg+xml" in page and "data:image/png" not in page,
            "no colour codes": "\x1b" not in page,
            "one stream": "one\ntwo" in page,
            "no kernel commands": "%%" not in page,
            "links of Jupyter": 'href="#1-model">there' in page,
            "authors and date": "A. Name, B. Other · 1 May 2026 · computed from my.csv" in page,
            "how it was made": "<dd>my_*file*.csv | 2</dd>" in page and 'id="provenance"' in page,
            "code folds": page.count('<details class="code" open>') == 2,
            "one title": page.count("<h1") == 1 and "<title>Shapes in M</title>" in page,
            "the font of the formulas, and little of it": 10_000 < len(re.search(r"data:font/woff;base64,([^)]*)", page)[1]) < FONT,
            "formulas": "<eq" not in page and page.count("<math") == 4,
        }.items():
            with self.subTest(name):
                self.assertTrue(ok)
        # The caption stands between the picture and what was printed after it.
        order = [page.index(s) for s in ("data:image/svg+xml", "Figure 1.</strong>", "one\ntwo", "Figure 2.</strong>")]
        self.assertEqual(order, sorted(order))
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_large_pictures_are_inside_as_they_are(self):
        large = dots()
        html = new_output("display_data", {"text/html": f'<img alt="x" src="data:image/png;base64,{large}">'})
        page = self.html(self.notebook(new_code_cell("x", outputs=[new_output("display_data", {"image/png": large, "text/plain": "x"}), html])))
        self.assertEqual(page.count(f'src="data:image/png;base64,{large}"'), 2)

    def test_panels_can_stand_below_each_other(self):
        strip = picture(**{"text/plain": 'two <b> "panels"'})
        strip.metadata = {"image/png": {"width": 200, "height": 100}, "panels": [0, 0, .45, .8, .55, 0, .45, .8], "legend": None}
        nb = self.notebook(new_code_cell("x", outputs=[strip]), new_markdown_cell("**Figure.** A strip."))
        page = self.html(nb)
        self.assertEqual(page.count("data:image/svg+xml"), 1)
        self.assertIn('data-panels="[0, 0, 0.45, 0.8, 0.55, 0, 0.45, 0.8]" data-legend="[]" data-ratio="2.0000" data-least="180"><img ', page)
        self.assertIn('alt="two &lt;b&gt; &quot;panels&quot;" width="236"', page)
        for points, pixels in (7.5, 180), (6.75, 200), (6, 225):  # letters of 6.75 points have 9 pixels at the picture's own size
            self.assertEqual(report.least({"image/png": {"width": 200}, "letters": points}), pixels)
        self.assertLess(page.index("data:image/svg+xml"), page.index("Figure 1.</strong>"))
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_outputs_are_data(self):
        # What a careless cell might print of a name: no HTML, no attribute, no resource, no script comes through.
        with tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder, "secret.svg")
            secret.write_text(SVG)
            hostile = (f'✓ <img src="{secret}"> <script>alert(1)</script> [x]{{.c onclick="f()"}} ![alt]({secret}) ![u](http://127.0.0.1:9/x.png)\n\n'
                       f'<div onclick="f()">block</div>\n\n<script>\nalert(2)\n</script>\n\n`r`{{=html}} [go](javascript:f()) [on](https://x.y/) $y$\n\n'
                       f'::: {{onclick="f()"}}\nfenced\n:::\n\n```{{=html}}\n<b>raw</b>\n```\n\n[^1]: note `#read("{secret}")`{{=typst}}')
            nb = self.notebook(new_code_cell("x", outputs=[new_output("display_data", data={"text/markdown": hostile}),
                                                           new_output("stream", name="stdout", text=f'<img src="{secret}"> `{{=html}} ```\n#read("x")\n')]))
            page = self.html(nb)
            self.pdf(nb)
        for part in "&lt;img src=", "&lt;script&gt;alert(1)", "&lt;script&gt;", "&lt;div onclick=", ">on</a>", "fenced", "&lt;b&gt;raw":
            with self.subTest(part):
                self.assertIn(part, page)
        for part in "<img", "<script>alert", "<script>\nalert", "<div onclick", "javascript:f()\"", "<b>raw", "<span class=\"c\"", base64.b64encode(SVG.encode()).decode()[:40]:
            with self.subTest(part):
                self.assertNotIn(part, page)
        self.assertEqual(page.count("<script"), 1)  # the template's

    def test_numbers_are_written_as_one_writes_them(self):
        said = "✓ a: got -5.1e-05 (want 0 ± 1e-08) of -2.5, x1e-3, 3e+04."
        page = self.html(self.notebook(new_code_cell("x", outputs=[new_output("display_data", {"text/markdown": said})])))
        self.assertIn("got −5.1·10<sup>−5</sup> (want 0\u00a0±\u00a010<sup>−8</sup>) of −2.5, x1e-3, 3·10<sup>4</sup>.", page)

    def test_brackets_of_a_size_are_brackets_on_paper(self):
        self.assertIn("$lr(size: #1.2em, \\() x lr(size: #1.2em, \\))$\n", self.typst(self.notebook(new_markdown_cell("$\\bigl(x\\bigr)$"))))

    def test_only_formulas_are_typeset_as_such(self):
        said, printed = 'group "controls" (of mice) $\\operatorname{Exp}(v)$', '"sin"_(x) and "cos" (x)'
        nb = self.notebook(new_code_cell("x", outputs=[new_output("display_data", {"text/markdown": said}), new_output("stream", name="stdout", text=printed)]))
        source = self.typst(nb)
        self.assertIn('group "controls" (of mice) $op("Exp") \\( v \\)$', source)
        self.assertIn(r'"\"sin\"_(x) and \"cos\" (x)")', source)
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_indices_of_a_dotted_letter(self):
        page = report.mathml('<eq env="math">\\dot v^k</eq>')
        self.assertIn("</mover><msup><mrow></mrow><mi>k</mi></msup></mrow>", page)

    def test_nothing_is_wider_than_its_track(self):
        # A track of 1fr is as wide as its longest word, that of minmax(0, 1fr) breaks it.
        for track in re.findall(r"grid-template-columns:([^;}]*)", (report.HERE / "report.css").read_text()):
            self.assertNotIn("1fr", track.replace("minmax(0, 1fr)", ""))

    def test_resources_come_from_the_notebook(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "p.svg")
            file.write_text(SVG)
            for cell in (new_markdown_cell(f"![a picture]({file})"), new_code_cell("x", outputs=[new_output("display_data", data={"text/html": f'<img src="{file}">'})])):
                for write in self.html, self.pdf:
                    with self.subTest((cell.cell_type, write.__name__)), self.assertRaisesRegex(report.ReportError, re.escape(str(file)) + " is neither attached to the notebook"):
                        write(self.notebook(cell))

    def test_pictures_in_prose(self):
        # What JupyterLab shows: attachments, files in the folder of the notebook, HTML.
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "my fig").mkdir()
            (folder / "my fig" / "é.svg").write_text(SVG)
            (folder / "secret.txt").write_text("secret")
            (folder / "same.png").write_bytes(base64.b64decode(PNG)[:-1])  # not what is attached by this name
            cell = new_markdown_cell('![one](attachment:same.png) ![two](attachment:my%20photo.png)\n\n![three](my%20fig/é.svg "title") ![four](<my fig/é.svg>)\n\n'
                                     '<img src="my fig/é.svg" width="90" alt="five"> and `![](secret.txt)`\n\n<img alt="six" src="attachment:same.png"/>',
                                     attachments={name: {"image/png": PNG} for name in ("same.png", "my photo.png")})
            nb = self.notebook(cell)
            nb.cells[-1].source = cell.source
            report.attach(nb, folder)
            page, paper = self.html(nb), self.typst(nb)
            drawing = base64.b64encode(SVG.encode()).decode()
            for alt, source in {"one": f"image/png;base64,{PNG}", "two": f"image/png;base64,{PNG}", "three": f"image/svg+xml;base64,{drawing}",
                                "four": f"image/svg+xml;base64,{drawing}", "five": f"image/svg+xml;base64,{drawing}", "six": f"image/png;base64,{PNG}"}.items():
                self.assertRegex(page, f'<img [^>]*src="data:{re.escape(source)}"[^>]* alt="{alt}"')
            self.assertEqual((paper.count("image("), len(set(re.findall(r'image\("([^"]*)"', paper)))), (6, 2))
            self.assertTrue(self.pdf(nb).startswith(b"%PDF"))
            for name in "nothing.png", "secret.txt", "https://example.org/a.png":
                bad = self.notebook(new_markdown_cell(f"![a]({name})"))
                report.attach(bad, folder)
                for write in self.html, self.pdf:
                    with self.subTest((name, write.__name__)), self.assertRaisesRegex(report.ReportError, f"\\Athe picture {name} is "):
                        write(bad)

    def test_only_scripts_of_outputs_run(self):
        # The page names its scripts by their checksums; what comes in by another way does not run, and nothing is fetched.
        figure = '<figure><canvas></canvas><script>\nconst a = 1 < 2 && "é";\n</script></figure>'
        page = self.html(self.notebook(new_code_cell("x", outputs=[new_output("display_data", data={"text/html": figure})])))
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)[1]
        scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
        self.assertEqual(len(scripts), 2)
        for script in scripts:
            self.assertIn("'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe-inline' 'sha", policy)

    def test_names_of_any_letters(self):
        # In names, authors and files: each report is written, and shows them.
        odd = ['日本 🐭', 'A "B" \\ #read("/etc/passwd") $x$ <b>', "é_*x*`", "${x}$ [a](b)"]
        for name in odd:
            about = dict(ABOUT, authors=[name], data=name, provenance=[("data", name)])
            nb = self.notebook(new_code_cell("x", outputs=[new_output("display_data", data={"text/markdown": "✓ " + re.sub(r"([!-/:-@[-`{-~])", r"\\\1", name)})]))
            with self.subTest(name), tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(ABOUT, about):
                page = self.html(nb)
                self.assertEqual(html.unescape(page).count(name), 4)
                self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_letters_that_no_xml_has(self):
        """Of names that no XML, and so no drawing and no PDF, may hold: pages, drawings and PDFs have � in their place."""
        odd = "\x1b[31m \x01 \ufffe \x0c \ud800 \udce9 \x00 é 🐭"
        want = "�[31m � � � � � � é 🐭"
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>{odd}</title><text>{odd}</text></svg>'
        nb = self.notebook(new_markdown_cell(f"## {odd}"), new_code_cell(odd, outputs=[new_output("stream", name="stdout", text=odd), new_output("display_data", data={"text/html": svg, "image/svg+xml": svg, "text/plain": odd}),
                           new_output("display_data", data={"image/svg+xml": svg, "text/plain": odd}), new_output("display_data", data={"image/svg+xml": svg}, metadata={"image/png": {"width": 9, "height": 9}, "panels": [0, 0, 1, 1]}), new_output("display_data", data={"text/markdown": odd})]))
        about = dict(ABOUT, authors=[odd], data=odd, provenance=[("data", odd)])
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(ABOUT, about):
            page, folder = self.html(nb), pathlib.Path(folder)
            self.assertIn(want, page)
            self.assertNotRegex(page, report.UNREADABLE.pattern)
            self.assertIn(b"%%EOF", self.pdf(nb))
            report.write_files(nb, page, folder)
            self.assertIn(f"<title>{want}</title>", (folder / "figures" / "picture-2.svg").read_text(encoding="utf-8"))
            report.write_checks([("a", nb)], ABOUT, folder / "checks.html")
            report.write_index([("a", nb)], ABOUT, folder / "index.html")
            self.assertIn("�", (folder / "index.html").read_text(encoding="utf-8"))

    def test_a_drawing_of_many_marks_is_there(self):
        """Of more than 3,000 marks viz draws the points as pixels inside the drawing: these are in the page, whatever encodes the drawing."""
        pixels = dots()
        self.assertGreater(len(pixels), 1000)
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="200"><text>a "quote" \\</text><image width="200" height="200" xlink:href="data:image/png;base64,{pixels}"/></svg>'
        size = {"image/png": {"width": 9, "height": 9}}
        outputs = [new_output("display_data", data={"image/svg+xml": svg}, metadata=metadata) for metadata in ({}, dict(size, panels=[0, 0, 1, 1]))]
        listed = new_output("display_data", data={"image/svg+xml": svg.splitlines(keepends=True), "image/png": pixels})
        page = self.html(self.notebook(new_code_cell("x", outputs=[*outputs, listed, new_output("display_data", data={"image/png": pixels})])))
        drawings = [base64.b64decode(data).decode() for data in re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page)]
        self.assertEqual([drawing.count(pixels) for drawing in drawings], [1, 1, 1])
        self.assertIn(f'src="data:image/png;base64,{pixels}"', page)

    def test_a_broken_picture_ends_the_report(self):
        def uri(data, mime="image/png"):
            return f"data:{mime};base64,{base64.b64encode(data).decode()}"

        png, svg = base64.b64decode(PNG), SVG.encode()
        gif = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")
        sound = [uri(png), uri(svg, "image/svg+xml"), uri(gif, "image/gif"), uri(b"\xff\xd8x\xff\xd9", "image/jpeg"), uri(f'<svg><image href="{uri(png)}"/></svg>'.encode(), "image/svg+xml")]
        for picture in sound + [SVG, "<svg>&nbsp;</svg>", f"<svg><image xlink:href='{uri(png)}'/></svg>"]:
            page = picture if picture.startswith("<svg") else f'<img src="{picture}">'
            self.assertEqual(report.sound(page), page)
        changed = png[:45] + bytes([png[45] ^ 1]) + png[46:]
        for data, want in ((uri(png[:-20]), "cut"), (uri(b""), "cut"), (uri(changed), "checksum"), (uri(gif[:-1], "image/gif"), "no whole image/gif"), (uri(b"<svg>&x", "image/svg+xml"), "token"), ("data:image/png;base64,1ebb9085", "cut"),
                           ("data:image/png;base64,1ebb908", "no base64"), ("data:image/png;base64,%%", "no base64"), (uri(b"\x1b", "image/svg+xml"), "token"), (uri(f'<svg><image href="{uri(changed)}"/></svg>'.encode(), "image/svg+xml"), "checksum")):
            with self.subTest(data[:60]), self.assertRaisesRegex(report.ReportError, f"^picture 2 of the page cannot be shown: .*{want}"):
                report.sound(f'<img src="{sound[0]}"><img src="{data}">')
        with self.assertRaisesRegex(report.ReportError, "^picture 1 .* cannot be shown: mismatched tag"):
            self.html(self.notebook(new_code_cell("x", outputs=[new_output("display_data", data={"image/svg+xml": "<svg><g></svg>"})])))

    def test_nobody_is_the_author(self):
        with unittest.mock.patch.dict(ABOUT, authors=[]):
            self.assertIn('<p class="made">1 May 2026 ·', self.html(self.notebook(new_markdown_cell("x"))))

    def test_a_book(self):
        page = self.html(self.notebook(
            new_markdown_cell("See lesson 1.2, lessons 1.1 and 1.2 (not 1.3 or 7), or [its end](../1-2_c.ipynb); 1.2 shapes. At ($y$). `viz.Show` and `viz.None`"),
            new_code_cell("%%\nviz.Show(f)\nx.Show(f)", outputs=[picture(), picture()]), new_markdown_cell("**Figure.** A *circle* of $\\mathbb R^2$."),
            new_markdown_cell("## Last"), new_code_cell("y", metadata={"tags": ["listing"]}, outputs=[picture(), picture(**{
                "text/plain": "Two <b> circles.", "image/svg+xml": SVG.replace("<circle", "<style>@media (prefers-color-scheme: dark) {}</style><circle")})])))
        for name, part in {
            "previous": '<a rel="prev" href="1-1_a.html">← 1.1 A</a>', "next": '<a rel="next" href="1-2_c.html">1.2 C $x$ →</a>',
            "a number": 'See lesson <span><a href="1-2_c.html" title="1.2 C $x$">1.2</a>,</span> lessons <a href="1-1_a.html" title="1.1 A">1.1</a> and <a',
            "no number": "1.3 or 7), or <a href", "a file": '">its end</a>; 1.2 shapes.',
            "a full stop": '<span class="nobr">(<math><mi>y</mi></math>).</span>',
            "a name": 'href="packages.html#viz.Show" title="func Show(drawings ...Drawing)"><code>viz.Show</code></a> and <code>viz.None</code>',
            "a name in code": 'title="func Show(drawings ...Drawing)">viz<span class="op">.</span>Show</a>', "an alternative text": 'alt="Figure 1. A circle of R^2."',
            "one of another picture": 'alt="Picture: Shapes in M"', "one without a caption": 'alt="Picture: Last"', "one of its own": 'alt="Two &lt;b&gt; circles."',
            "folded": '<details class="code"><summary>', "shown": '<details class="code" open><summary>',
        }.items():
            with self.subTest(name):
                self.assertIn(part, page)
        self.assertEqual(page.count("packages.html#"), 2)
        self.assertEqual(page.count('class="on-white"'), 3)  # the fourth picture looks after itself in the dark

    def test_cells_without_ids(self):
        """Notebooks of nbformat 4.4 and before have none: each picture has its own words all the same."""
        nb = self.notebook(*[new_code_cell("x", outputs=[picture(**{"text/plain": words})]) for words in ("One circle.", "Two circles.")])
        for cell in nb.cells:
            del cell["id"]
        nb.nbformat_minor = 4
        self.assertEqual(re.findall(r'alt="([^"]*)"', self.html(nb)), ["One circle.", "Two circles."])

    def test_checks_and_packages(self):
        checks = [{"what": "side $x$", "got": "1.5", "want": "1", "tol": "0.5", "ok": True}, {"what": "a\\_b", "ok": False}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "checks.html")
            report.write_checks([("1-2_c", self.notebook(new_code_cell("x", metadata={"checks": checks})))], ABOUT, path)
            page = path.read_text()
            path.with_name("recipes.html").write_text('<h3 id="how">How?</h3><pre><span>viz</span>.Show(x)</pre><h2>other</h2>viz.Other')
            report.write_packages('<h2 id="viz">viz</h2>\n<h3 id="viz.Show">x</h3>\ny', ABOUT["names"], path)
            for part in '<p><a href="recipes.html#how">How?</a></p>\ny', '<li><a href="#viz">viz</a>', '<td>pictures</td><td><a href="#viz">viz</a></td>', 'id="search"', "packages.html#viz.Show":
                self.assertIn(part, path.read_text())
        for part in '<a href="1-2_c.html" title="1.2 C $x$">Shapes in', "✓ side <math><mi>x</mi></math>: got 1.5 (want 1\u00a0±\u00a00.5; 100 % of the tolerance)", 'id="filter"', '<p class="false">✗ a_b</p>', "2 claims":
            with self.subTest(part):
                self.assertIn(part, re.sub(r"</?span[^>]*>|\n", "", page))
        self.assertNotIn("<details", page)

    def test_reports_are_shown_when_they_are_made(self):
        """Where no reports lie, each is there with an index as soon as it is made, and the index has no link to what is not."""
        with tempfile.TemporaryDirectory() as name:
            reports, folder, made = pathlib.Path(name, "reports"), pathlib.Path(name, "run"), []
            folder.mkdir()
            (folder / "packages.html").write_text("packages")
            with unittest.mock.patch.object(run, "REPORTS", reports):
                for n in "01_a", "02_b":
                    (folder / f"{n}.html").write_text(f'<main><h2 id="x">Of {n}</h2></main>')
                    (folder / f"{n}.pdf").write_text(n)
                    (folder / "03_unfinished.html").write_text("half")
                    made.append(run.Made(n, self.notebook(new_markdown_cell(f"# {n}"))))
                    run.show(made, dict(ABOUT, pages=[]), folder)
                    index = (reports / "index.html").read_text()
                    self.assertEqual([f'href="{m}.html"' in index for m in ("01_a", "02_b", "checks", "packages")], [True, n == "02_b", False, True])
                    self.assertEqual((reports / f"{n}.pdf").read_text(), n)
                self.assertFalse((reports / "03_unfinished.html").exists())

    def test_page_of_tests(self):
        """The page of tests has each test with what its comment claims, and without a comment with the words of its name."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder, "project")
            (root / "geom" / "testdata").mkdir(parents=True)
            (root / "geom" / "x_test.go").write_text("package x\n\n// TestLog ends at y < 1,\n// from both sides.\n//\n// More.\nfunc TestLog(t *testing.T) {\n}\n\n"
                                                    "func FuzzReadCSV(f *testing.F) {\n}\n\nfunc TestMain(m *testing.M) {\n}\n")
            (root / "geom" / "testdata" / "y_test.go").write_text("package y\n\nfunc TestHidden(t *testing.T) {\n}\n")
            (root / "test_z.py").write_text("def test_a_page():\n    pass\n\ndef test_b():\n    'Says so.'\n")
            self.assertEqual(evidence.tests(root), [("Ends at y < 1, from both sides.", "geom", "TestLog", True), ("Read CSV", "geom", "FuzzReadCSV", False),
                                                    ("A page", ".", "test_a_page", False), ("Says so.", ".", "test_b", True)])
            path = pathlib.Path(folder, "tests.html")
            evidence.write(path)
            page = path.read_text(encoding="utf-8")
        for part in "<code>TestLinks</code>", "<code>notebooks</code>", "script-src 'sha256-", 'id="filter"':
            self.assertIn(part, page)

    def test_reference(self):
        documentation = run.ask("reference")
        self.assertEqual(documentation["names"]["nb.Text"], "func Text(data string) string")
        found = run.ask("find", "Mean", "frechet").splitlines()
        self.assertTrue(found[0].startswith("- `stats.FrechetMean` FrechetMean returns the Fréchet mean"), found[:2])
        for place in "nb", "nb.Text", "morpho.Dataset.Names":
            self.assertIn(f'id="{place}"', documentation["page"])
        places = set(re.findall(r'id="([^"]*)"', documentation["page"]))
        self.assertEqual(set(documentation["names"]) - places, set())
        for hidden in "geom/geomtest/kept", "notebooks/lab/recovery", "notebooks":
            self.assertNotIn(f'id="{hidden}"', documentation["page"])

    def test_code_on_paper_stays_within_the_border(self):
        # The template refuses a line of more than 90 columns: whatever is written, it is wrapped or cut.
        words = "f(" + "argument, " * 30 + ")"
        sources = [words, "\t\t// " + "word " * 60, f'x := "{"y" * 300}"', f'x := g("{"a b " * 20}", "{"c d " * 40}%d\\n")', "x" * 500, "\t" * 30 + words,
                   "日本" * 60, f"x := `{'raw ' * 50}\n{'raw' * 50}`"]
        cells = [cell for source in sources for cell in (new_markdown_cell(f"```\n{source}\n```"), new_code_cell(source, outputs=[new_output("stream", name="stdout", text=source)]))]
        self.assertTrue(self.pdf(self.notebook(*cells)).startswith(b"%PDF"))

    def test_code_that_is_no_listing_stands_in_an_appendix(self):
        short, long = "short()", "\n".join(["long()"] * 31)
        for tags, shown in ([], short), (["listing"], long):  # a notebook without listings shows what is short
            cells = [new_code_cell(short), new_code_cell(long, metadata={"tags": tags}), new_markdown_cell("The end.")]
            with unittest.mock.patch.dict(ABOUT, data=None):
                paper = self.typst(self.notebook(*cells))
            body, appendix = paper[paper.index("First,"):].split("= Code\n")
            (seen,), (hidden,) = set(re.findall("short|long", body)), set(re.findall("short|long", appendix))
            self.assertEqual((seen, hidden), ("short", "long") if shown == short else ("long", "short"))
            self.assertIn("The end.", body)
            self.assertIn("#aside(1)", body)
            self.assertTrue(self.pdf(self.notebook(*cells)).startswith(b"%PDF"))

    def test_checks_that_passed_fold(self):
        def said(text):
            return new_output("display_data", {"text/markdown": text})

        nb = self.notebook(new_code_cell("x", outputs=[said("✓ one"), said("✓ two"), said("A number."), said("✓ alone"), said("✗ false"), said("✓ three"), said("✓ four"), said("✓ five")]))
        page = self.html(nb)
        self.assertEqual(re.findall(r"<summary>✓ (\d+) checks passed</summary>", page), ["2", "3"])
        self.assertRegex(page, r"(?s)3 checks passed</summary>(?:(?!</details>).)*three(?:(?!</details>).)*five(?:(?!</details>).)*</details>")
        self.assertRegex(page, r"(?s)two(?:(?!<details).)*</details>(?:(?!<details).)*A number.*alone.*false")
        paper = self.typst(nb)
        self.assertIn("✓ 3 checks passed; the page lists them.", paper)
        self.assertIn("alone", paper)
        self.assertNotIn("five", paper)

    def test_the_paper_of_own_data_has_no_code(self):
        nb = self.notebook(new_code_cell("short()"), new_code_cell("\n".join(["long()"] * 31)), new_markdown_cell("The end."))
        with unittest.mock.patch.dict(ABOUT, data="my.csv"):
            paper = self.typst(nb)
            self.assertIn(">short<", self.html(nb))
        for code in "short()", "long()", "= Code", "#aside":
            self.assertNotIn(code, paper[paper.index("First,"):])
        self.assertIn("The end.", paper)

    def placed(self, heights, between=""):
        """Where a PDF has its texts and the captions of figures of heights, each behind a paragraph: {name: (page, y)}, and what floats."""
        cells = []
        for n, height in enumerate(heights):
            drawing = SVG.replace('width="9" height="9"', f'width="400" height="{height}"')
            self.assertNotEqual(drawing, SVG)
            cells += [new_markdown_cell(f"{between}Paragraph {n}. " + "Words. " * 30), new_code_cell("", outputs=[picture(**{"image/svg+xml": drawing})]),
                      new_markdown_cell(f"**Figure.** Number {n}.")]
        with unittest.mock.patch.object(report, "settle", wraps=report.settle) as settled:
            self.pdf(self.notebook(*cells))
        _, floats, flushes = settled.call_args.args
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "r.typ")
            body = report.typeset(report.convert(self.notebook(*cells), "typst", "name", ABOUT, f"--extract-media={folder}/media").replace(folder + "/", ""))
            body += '#context [#metadata(query(<mark>).map(m => (m.value, m.location().page(), m.location().position().y / 1pt)))<marks>]'
            for n in range(len(heights)):
                body = body.replace(f"Paragraph {n}.", f'#metadata("text {n}")<mark>Paragraph {n}.').replace(f"Number {n}.", f'#metadata("figure {n}")<mark>Number {n}.')
            source.write_text(body)
            pathlib.Path(folder, "settled.json").write_text(json.dumps({"floats": floats, "flushes": flushes}))
            marks = json.loads(typst.query(str(source), "<marks>", field="value", root=folder))[0]
        return {name: (page, y) for name, page, y in marks}, floats

    def test_figures_follow_their_text_and_leave_no_holes(self):
        at, floats = self.placed([270] * 6)  # two fifths of a page each: two and a half fit on a page
        self.assertTrue(floats)
        for n in range(6):
            self.assertLess(at[f"text {n}"], at[f"figure {n}"])
            self.assertLessEqual(at[f"figure {n}"][0], at[f"text {n}"][0] + 1)
        for n in range(5):  # the text behind a figure that goes on fills the page, or little of it is left
            if at[f"figure {n}"][0] > at[f"text {n}"][0] and at[f"text {n}"][1] < 620:
                self.assertEqual(at[f"text {n + 1}"][0], at[f"text {n}"][0])

    def test_figures_keep_their_order(self):
        # A flat one would fit where the one before it did not.
        at, floats = self.placed([270, 450, 20, 270, 450, 20])
        self.assertTrue(floats)
        self.assertEqual([at[f"figure {n}"] for n in range(6)], sorted(at[f"figure {n}"] for n in range(6)))

    def test_figures_at_the_end_of_a_section(self):
        at, floats = self.placed([270, 230, 230], "# Section\n\n")
        for n in range(2):
            self.assertLess(at[f"figure {n}"], at[f"text {n + 1}"])

    def test_no_page_is_a_fifth_empty(self):
        # Behind a figure whose end is anywhere on the page the next section has another that has no room there. Text is 706 points high, from 68.
        for height in range(180, 320, 20):
            at, _ = self.placed([height, 230, 40], "# Section\n\n")
            last = max(page for page, _ in at.values())
            for page in range(1, last):
                ends = [y + (12 if name.startswith("figure") else 50) for name, (on, y) in at.items() if on == page]  # of a caption, a paragraph
                self.assertGreater(max(ends), 68 + 0.8 * 706, (height, page))

    def test_what_floats_on_paper(self):
        say = lambda markdown: new_output("display_data", {"text/markdown": markdown})
        table = lambda rows: say("**Table.** Numbers.\n\n| a |\n|---|\n" + "| 1 |\n" * rows)
        nb = new_notebook(cells=[new_markdown_cell("# T"), new_code_cell("x", outputs=[
            say("## Headed"), picture(), say("**Figure.** One."), say("Text."), table(3), table(10), say("## Long"), say("Text."), table(30)])])
        with unittest.mock.patch.dict(ABOUT, template=True):
            body = self.typst(nb)
        self.assertEqual(re.findall(r"^(=+ [HL].*|#(?:floating|block|barrier|output).*|#tabled)", body[body.index("= Headed"):], flags=re.M), [
            "= Headed", "#block(width: 100%, breakable: false)[", "#output[", "#block(width: 100%, breakable: false)[", "#tabled",
            "#floating(2, last: true)[", "#tabled", "#barrier(3)", "= Long", "#output[", "#output[", "#tabled"])

    def test_names_in_tables_break_between_their_parts(self):
        page = self.html(self.notebook(new_markdown_cell("`stats.FrechetMean`\n\n| a |\n|---|\n| `stats.FrechetMean`, `TestLogClosesOnCallosa`, `geom/try` |")))
        self.assertIn("<code>stats.FrechetMean</code>", page)
        self.assertIn("<code>stats.<wbr>FrechetMean</code>, <code>Test<wbr>Log<wbr>Closes<wbr>On<wbr>Callosa</code>, <code>geom/<wbr>try</code>", page)

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
            font = ttLib.TTFont(io.BytesIO(base64.b64decode(re.search(r"data:font/woff;base64,([^)]*)", page)[1])))
            with self.subTest(source):
                self.assertEqual([c for c in wanted if ord(c) not in font.getBestCmap()], [])

    def test_a_cell_says_headings_and_captions(self):
        say = lambda markdown: new_output("display_data", {"text/markdown": markdown})
        nb = new_notebook(cells=[new_markdown_cell("# T"), new_code_cell("x", outputs=[
            say("## Groups"), say("They differ."), picture(), say("**Figure.** One."), picture(), picture()]), new_markdown_cell("**Figure.** Two.")])
        with unittest.mock.patch.dict(ABOUT, template=True):
            page = self.html(nb)
        self.assertEqual(re.findall(r"<strong>(Figure \d)\.</strong> (\w+)", page), [("Figure 1", "One"), ("Figure 2", "Two")])
        self.assertEqual(re.findall(r'<h2 [^>]*id="([^"]*)"[^>]*>Groups</h2>', page), re.findall(r'<li><a href="#([^"]*)"[^>]*>Groups</a>', page))
        self.assertEqual(list(report.figures(nb).values()), ["figure-1", "picture-1", "figure-2"])
        self.assertIn('<details class="code"><summary>', page)  # a template, whose code folds away

    def test_solutions_fold_with_their_outputs(self):
        said = new_output("display_data", {"text/markdown": "✓ seen"})
        page = self.html(new_notebook(cells=[new_markdown_cell("# T"), new_code_cell("x", metadata={"tags": ["solution"]}, outputs=[said]), new_markdown_cell("The end.")]))
        self.assertRegex(page, r'(?s)<details class="code"><summary>Solutions</summary>(?:(?!</details>).)*✓ seen(?:(?!<details).)*</details>(?:(?!<details).)*The end')

    def test_details_of_prose(self):
        fold = "<details>\n<summary>The listing <em>Log</em></summary>\n\n```python\nLog = minimize(loss, v0)\n```\n\nOf $q$, see [errata](paper.md#errata).\n\n</details>"
        nb = new_notebook(cells=[new_markdown_cell(f"# T\n\nBefore, [other](other.md).\n\n{fold}\n\nAfter.")])
        page = self.html(nb)
        self.assertRegex(page, r'(?s)<details class="code"><summary>The listing <em>Log</em></summary>(?:(?!<details|</details>).)*minimize(?:(?!<details|</details>).)*</details>\s*<p>After')
        self.assertIn('<a href="paper.html#errata">errata</a>', page)
        self.assertIn("<p>Before, other.</p>", page)  # a page that is not there
        body = self.typst(nb)
        self.assertIn('#unfolded(1, "The listing Log")', body)
        self.assertLess(body.index("After"), body.index("minimize"))  # in the appendix
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))
        self.assertEqual(report.linked_pages(nb), {"paper", "other"})

    def test_unknown_tex_is_an_error(self):
        for source in ("$\\nonsense{x}$", "\\begin{nonsense}\nx\n\\end{nonsense}"):
            with self.subTest(source), self.assertRaises(report.ReportError):
                self.html(self.notebook(new_markdown_cell(source)))
        with self.assertRaisesRegex(report.ReportError, r"\ATeX outside of a formula, .*: \\foo\Z"):  # its own words, and no stack of Lua
            self.html(self.notebook(new_markdown_cell("a \\foo b")))

    def test_index(self):
        books = ["2-1_y", "1-8_z", "1-1_x"]
        solid = {"2-1_y": {"text/html": "<p>drag to turn</p>"}}  # stays on paper in the dark
        entries = [(name, self.notebook(new_markdown_cell(f"## Section of {name}\n\nA needle \\<b>."), new_code_cell("x", outputs=[picture(**solid.get(name, {}))]))) for name in books]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "index.html")
            for name, notebook in entries:
                report.write_html(notebook, name, ABOUT, path.with_name(f"{name}.html"))
            report.write_index(entries, ABOUT, path)
            page = path.read_text(encoding="utf-8")
        for part in ('href="1-1_x.html"', 'href="1-1_x.pdf"', "First, <span class=\"nobr\"><math>", "<img src", 'class="on-white"', "1 May 2026 · data my_*file*.csv", "Start here"):
            with self.subTest(part):
                self.assertTrue(part in page)
        self.assertFalse("Second." in page.split("<script")[0])
        self.assertEqual([page.count(f'class="on-{ground}" width') for ground in ("white", "paper")], [2, 1])
        order = [page.index(part) for part in ("<h2>The paper", 'picture" href="1-1_x.html', 'picture" href="1-8_z.html', "<h2>Other geometries", 'picture" href="2-1_y.html')]
        self.assertEqual(order, sorted(order))
        self.assertNotIn("Statistics in practice", page)
        places = json.loads(re.search(r'<script type="application/json" id="places">(.*?)</script>', page)[1])
        self.assertIn(["Section of 1-8_z", "Shapes in  M", "A needle <b>.", "1-8_z.html#section-of-1-8_z"], places)
        self.assertIn(["viz.Show", "func Show(drawings ...Drawing)", "", "packages.html#viz.Show"], places)

    def test_covers(self):
        # A panel of the cell with the tag, no larger than the repository wants.
        tall = SVG.replace('width="9" height="9"', 'width="100" height="50" viewBox="0 0 100 50"').replace("<circle", '<rect x="50" width="50" height="50" fill="#ff0000"/><circle')
        panels = new_output("display_data", {"image/svg+xml": tall}, metadata={"image/png": {"width": 100, "height": 50}, "panels": [0, 0, .5, 1, .5, 0, .5, 1]})
        first = new_code_cell("x", outputs=[picture()])
        for tag, red in ("cover", False), ("cover-2", True):
            data = report.cover(self.notebook(first, new_code_cell("y", metadata={"tags": [tag]}, outputs=[panels])))
            width, height, rgba = report.pixels(data)
            self.assertEqual((width, height), (640, 640))
            middle = 4 * (320 * width + 320)
            self.assertEqual(rgba[middle:middle + 3] == b"\xff\0\0", red)
            small = report.coarser(data)
            self.assertLess(len(small), len(data) + 1000)
        panels.data[report.COVERED] = tall  # what viz draws for it is shown as it is
        self.assertEqual(report.pixels(report.cover(self.notebook(new_code_cell("y", metadata={"tags": ["cover-2"]}, outputs=[panels]))))[:2], (640, 320))
        several = new_code_cell("y", metadata={"tags": ["cover-2"]}, outputs=[picture(), picture(), panels])  # a document shows many
        self.assertEqual(report.pixels(report.cover(self.notebook(first, several)))[:2], (640, 320))
        self.assertEqual(report.cover(self.notebook()), b"")
        for file in sorted((run.NOTEBOOKS / "gallery").glob("*.png")):
            self.assertLessEqual(file.stat().st_size, report.COVER, file.name)
        self.assertLessEqual(sum(f.stat().st_size for f in (run.NOTEBOOKS / "gallery").iterdir()), 1_500_000)

    def test_figures_and_tables_as_files(self):
        table = "| name | value |\n|:--|--:|\n| a, \"b\" | 5e-07 |\n"
        nb = self.notebook(new_code_cell("x", outputs=[picture(), picture(), new_output("display_data", {"text/markdown": "Seen:\n\n" + table})]),
                           new_markdown_cell("**Figure.** Two."), new_code_cell("y", outputs=[new_output("display_data", {"image/png": PNG}), new_output("display_data", {"text/markdown": table})]))
        page = self.html(nb)
        links = re.findall(r'href="(name/figures/[^"]*)"', page)
        self.assertEqual(links, [f"name/figures/{n}" for n in ("picture-1.svg", "picture-1.pdf", "picture-1.png", "figure-1.svg", "figure-1.pdf", "figure-1.png", "picture-2.png")])
        with tempfile.TemporaryDirectory() as folder:
            report.write_files(nb, page, pathlib.Path(folder, "name"))
            for link in links:
                head = pathlib.Path(folder, link).read_bytes()[:4]
                self.assertEqual(head, {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}[link[-3:]], link)
            self.assertEqual(sorted(f.name for f in pathlib.Path(folder, "name", "tables").iterdir()), ["table-1.csv", "table-2.csv"])
            with open(pathlib.Path(folder, "name", "tables", "table-2.csv"), newline="") as file:
                self.assertEqual(list(csv.reader(file)), [["name", "value"], ['a, “b”', "5e-07"]])
        # A table of which the cell gives the file, with all digits.
        sheet = 'name,value\n"a, ""b""",5.000000001e-07\nc,\n'
        nb = self.notebook(new_code_cell("x", outputs=[new_output("display_data", {"text/markdown": table, "text/csv": sheet})]))
        with tempfile.TemporaryDirectory() as folder:
            report.write_files(nb, self.html(nb), pathlib.Path(folder))
            self.assertEqual(pathlib.Path(folder, "tables", "table-1.csv").read_text(), sheet)

    def test_numbers_in_tables_stand_to_the_right(self):
        tables = "|a|-1.5e-07|\n|b|86.9 %|", "|a|1.5|\n|b|–|", "|a|1.5|\n|b|none|"
        nb = self.notebook(new_code_cell("x", outputs=[new_output("display_data", {"text/markdown": f"|name|value|\n|---|---|\n{rows}\n"}) for rows in tables]))
        right = [part.count('<th style="text-align: right;">value') for part in self.html(nb).split("<table")[1:]]
        self.assertEqual(right, [1, 1, 0])
        self.assertTrue(self.pdf(nb).startswith(b"%PDF"))

    def test_summary_before_a_formula(self):
        nb = new_notebook(cells=[new_markdown_cell("# T\n\nThe mean is\n$$ x. y $$\nand so on: all."), new_code_cell("x", outputs=[picture()])])
        self.assertEqual(report.summary(nb), "<p>The mean is</p>\n")


if __name__ == "__main__":
    unittest.main()
