"""Builds the wheel of this system, installs it into a new environment with NumPy and pandas from the registry, and runs check_module.py there.

    python landmarks/morpho/anatomy/python/test_release.py
"""
import base64
import csv
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import release

DATA = release.ROOT / "landmarks" / "morpho" / "data"


class TestFiles(unittest.TestCase):
    """Files of a release that no compiler makes."""

    def test_wheels(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for system in release.SYSTEMS:
                program = folder / "anatomy"
                program.write_bytes(b"a program for " + system.encode())
                file = release.wheel(system, program, folder)
                first = file.read_bytes()
                self.assertEqual(release.wheel(system, program, folder).read_bytes(), first, "equal sources, other bytes")
                with zipfile.ZipFile(file) as archive:
                    names = archive.namelist()
                    record = next(n for n in names if n.endswith(".dist-info/RECORD"))
                    rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
                    self.assertEqual([row[0] for row in rows], names)
                    for name, checksum, size in rows[:-1]:
                        data = archive.read(name)
                        self.assertEqual(checksum, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("="))
                        self.assertEqual(int(size), len(data))
                    executable = [i.filename for i in archive.infolist() if i.external_attr >> 16 & 0o111]
                    want = "anatomy.exe" if system.startswith("windows") else "anatomy"
                    self.assertEqual([pathlib.PurePosixPath(n).name for n in executable], [want])

    def test_site(self):
        """Reports of the project's data are taken, and none where there are others beside them."""
        with tempfile.TemporaryDirectory(dir=release.ROOT / ".anatomy") as folder:
            folder = pathlib.Path(folder)
            self.assertIsNone(release.site(folder))
            (folder / "1" / "figures").mkdir(parents=True)
            for name in "index.html", "1.html", "1.pdf", "1/figures/a.svg", "other.html":
                (folder / name).write_text(name)
            (folder / ".reports.json").write_text(json.dumps({"index": "", "1": ""}))
            names = zipfile.ZipFile(io.BytesIO(release.site(folder))).namelist()
            self.assertEqual([n.split("/", 1)[1] for n in names], ["1/figures/a.svg", "1.html", "1.pdf", "index.html"])
            (folder / ".reports.json").write_text(json.dumps({"index": "", "1": "", "2": "my.csv"}))
            self.assertIsNone(release.site(folder))

    def test_texts(self):
        notes = release.notes()
        self.assertTrue(notes.startswith(f"## {release.version()}"))
        self.assertNotIn("](", notes)
        made = release.metadata()
        for name in ".zenodo.json", "codemeta.json":
            self.assertEqual(made[name]["version"], release.version())
        self.assertEqual(made[".zenodo.json"]["creators"], [{"name": "The anatomy authors"}])
        self.assertEqual(made["codemeta.json"]["author"], [{"@type": "Organization", "name": "The anatomy authors"}])


class TestWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.program = release.build(release.this_system(), folder)
        cls.space = release.build_space(release.this_system(), folder)
        wheel = release.wheel(release.this_system(), cls.program, folder, cls.space)
        cls.start = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        cls.python = folder / "venv" / "bin" / "python"
        subprocess.run([cls.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[pandas,space]" if cls.space else f"{wheel}[pandas]"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_c_library(self):
        """The program for Space needs no newer C library than the tag of its wheel says."""
        if not self.space:
            self.skipTest("anatomy-space is built on Linux")
        needed = {int(n) for n in re.findall(rb"GLIBC_2\.(\d+)", self.space.read_bytes())}
        self.assertIn(f"manylinux_2_{max(needed)}_", release.SPACE[release.this_system()][0])

    def test_bill(self):
        found = release.bill([self.program, self.space] if self.space else [self.program])
        names = [c["name"] for c in found["components"]]
        self.assertIn("github.com/spf13/cobra", names)
        self.assertEqual("github.com/gomlx/go-xla" in names, bool(self.space))
        pinned = (release.ROOT / "go.sum").read_text()
        for c in found["components"][1:]:
            checksum = base64.b64encode(bytes.fromhex(c["hashes"][0]["content"])).decode()
            self.assertIn(f"{c['name']} {c['version']} h1:{checksum}\n", pinned)
        json.dumps(found)

    def test_readme(self):
        """The example of README.md runs as it is, less than a minute after the installation began."""
        example, _ = re.findall(r"```python\n(.*?)```", (release.HERE / "README.md").read_text(), re.DOTALL)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "heads.csv").write_bytes((DATA / "plethodon_12.csv").read_bytes())
            done = subprocess.run([self.python, "-c", example], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("(40, 12, 2) converged", done.stdout)
            self.assertIn("species:site", done.stdout)
            self.assertTrue((pathlib.Path(folder) / "supplement" / "index.html").is_file())
        self.assertLess(time.monotonic() - self.start, 60)

    def test_space(self):
        """The second example prints its comments, and derivatives of the length of a geodesic are its momenta."""
        if not self.space:
            self.skipTest("anatomy-space is built on Linux")
        _, example = re.findall(r"```python\n(.*?)```", (release.HERE / "README.md").read_text(), re.DOTALL)
        check = """
import numpy as np
a, b = callosa
back = M.exp(a, geodesic.velocity)
assert abs(back.end - b).max() < 1e-8, abs(back.end - b).max()
assert abs((M.shoot(a, geodesic.momentum).path - back.path)).max() < 1e-9
moved = M.transport(geodesic, geodesic.velocity)[-1]
step = 1e-5 * moved
longer = M.log(a, b + step).length
assert abs(longer - (1 + 1e-5) * geodesic.length) < 1e-6, longer
mean = M.mean([a, b])
assert mean.status == "converged" and abs(mean.distances - geodesic.length / 2).max() < 1e-6
line = M.regress([a, mean.point, b], [0, 1, 2])
assert line.r2 > 1 - 1e-8, line.r2
assert M.match(a, b, 0.05).mismatch < M.match(a, b, 0.2).mismatch
for wrong in (lambda: M.log(a, 0 * b), lambda: anatomy.Space(39, 2, -1)):
    try:
        wrong()
    except anatomy.AnatomyError as error:
        print(error)
    else:
        raise SystemExit("no error")
print(M.log(a, b))
"""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "callosa.csv").write_bytes((DATA / "corpus_callosum_39.csv").read_bytes())
            done = subprocess.run([self.python, "-c", example + check], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("geodesic of length 23.11, converged"), 2, done.stdout)
        self.assertIn("(26, 39, 2)", done.stdout)
        # In a terminal the program finds the wheel of XLA beside it.
        said = subprocess.run([self.python.parent / "anatomy-space", "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
        self.assertRegex(said, rf"\Aanatomy-space version {re.escape(release.version())}\nXLA: \S+\.so of .*, built by .*; SHA-256 [0-9a-f]{{64}}\n\Z")

    @unittest.skipUnless(shutil.which("Rscript"), "R is not at hand")
    def test_r(self):
        """R reads the folder of a report by the lines of notebooks/your-data.md."""
        lines, = re.findall(r"```r\n(.*?)```", (release.ROOT / "notebooks" / "your-data.md").read_text(), re.DOTALL)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.program, "report", DATA / "plethodon_12.csv", "--model", "species*site", "--permutations", "99", "--out",
                            f"{folder}/heads-report"], check=True, stdout=subprocess.DEVNULL)
            check = "\nstopifnot(coords[2, 1, 1] == 9.268400000000002, anova$p[1] == 0.01, is.na(anova$p[5]), is.numeric(anova$p))\n"
            done = subprocess.run(["Rscript", "-e", lines + check], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("12  2 40", done.stdout)

    def test_module(self):
        done = subprocess.run([self.python, "-I", str(release.HERE / "check_module.py"), str(DATA)], cwd=self.folder.name, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
