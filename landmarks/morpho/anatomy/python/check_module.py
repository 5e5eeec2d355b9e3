"""Compares the module anatomy, as the wheel has installed it, with the program: check_module.py DATA, the folder landmarks/morpho/data."""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import anatomy
import numpy as np
import pandas

DATA = pathlib.Path(sys.argv.pop())
HEADS, SPECIES, TREE = DATA / "plethodon_12.csv", DATA / "plethodon_species_11.csv", DATA / "plethodon_species.nwk"
ASK = {"model": "species*site", "permutations": 99}


def printed(*args):
    """A table as the program prints it: rows of cells."""
    done = subprocess.run([anatomy.program(), "test", *map(str, args), "--permutations", "99", "--format", "csv"], check=True, stdout=subprocess.PIPE)
    return list(csv.reader(io.StringIO(done.stdout.decode())))


class Module(unittest.TestCase):
    def test_installed(self):
        self.assertTrue(pathlib.Path(anatomy.__file__).is_relative_to(sys.prefix))
        self.assertTrue(pathlib.Path(anatomy.program()).is_relative_to(pathlib.Path(sys.prefix).resolve()))

    def setUp(self):
        self.heads = anatomy.read(HEADS)

    def same(self, table, rows):
        """Each cell of the table stands in the row of the program."""
        frame = table.frame()
        self.assertEqual(len(frame), len(rows) - 1)
        self.assertEqual(len(frame.columns), len(rows[0]))
        for row, cells in zip(frame.itertuples(index=False), rows[1:]):
            texts = [c for c in row if isinstance(c, str)]
            self.assertEqual([c for c in cells if c in texts], texts)
            numbers = sorted(float(c) for c in cells if c.lstrip("-")[:1].isdigit())
            self.assertEqual(numbers, sorted(c for c in row if not isinstance(c, str) and c == c))

    def test_read(self):
        table = pandas.read_csv(HEADS, float_precision="round_trip")
        heads = self.heads
        self.assertEqual(heads.points.shape, (40, 12, 2))
        first = table[table.iloc[:, 0] == heads.names[0]]
        self.assertEqual(len(first), 12)
        np.testing.assert_array_equal(heads.points[0], first[["x", "y"]].to_numpy())
        self.assertEqual(sorted(set(heads.covariates["species"])), ["Jord", "Teyah"])

    def test_kinds_of_data(self):
        """A path, landmarks, an array with a table, and a file with a table give the same numbers."""
        columns = self.heads.covariates.frame()
        by_name = columns.set_axis(self.heads.names)[::-1]
        bare = anatomy.Landmarks(self.heads.points, self.heads.names)
        want = anatomy.anova(HEADS, **ASK).table.frame()
        for other in (anatomy.anova(self.heads, **ASK), anatomy.anova(self.heads.points, covariates=dict(self.heads.covariates), **ASK),
                      anatomy.anova(anatomy.Landmarks(self.heads.points, covariates=columns), **ASK), anatomy.anova(bare, covariates=by_name, **ASK)):
            pandas.testing.assert_frame_equal(other.table.frame(), want)

    def test_tables(self):
        anova = anatomy.anova(self.heads, **ASK)
        self.same(anova.table, printed(HEADS, "--model", ASK["model"]))
        self.assertEqual(anova.p["species"], 0.01)
        self.assertTrue(np.isnan(anova.p["total"]))
        self.same(anatomy.disparity(self.heads, **ASK).groups, printed(HEADS, "--model", ASK["model"], "--table", "disparity"))
        self.same(anatomy.disparity(self.heads, **ASK).pairs, printed(HEADS, "--model", ASK["model"], "--table", "disparity-pairs"))
        signal = anatomy.signal(SPECIES, TREE, permutations=99)
        self.same(signal.table, printed(SPECIES, "--tree", TREE, "--table", "signal"))
        self.assertAlmostEqual(signal.K, 0.957, 3)

    def test_align(self):
        aligned = anatomy.align(self.heads)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "aligned.npy")
            subprocess.run([anatomy.program(), "align", HEADS, out], check=True, stderr=subprocess.DEVNULL)
            np.testing.assert_array_equal(aligned.shapes, np.load(out))
        np.testing.assert_allclose(aligned.mean, aligned.shapes.mean(axis=0), atol=1e-12)
        off = self.heads.points - self.heads.points.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(aligned.centroid_sizes, np.sqrt((off**2).sum(axis=(1, 2))), rtol=1e-12)
        self.assertEqual((aligned.status, aligned.landmarks.names), ("converged", self.heads.names))
        kept = anatomy.align(self.heads, keep_size=True).shapes
        np.testing.assert_allclose(np.sqrt((kept**2).sum(axis=(1, 2))), aligned.centroid_sizes, rtol=1e-12)

    def test_components(self):
        c = anatomy.components(self.heads)
        variances = c.scores.var(axis=0, ddof=1)
        np.testing.assert_allclose(variances / variances.sum(), c.explained_variance_ratio, atol=1e-10)
        axes = c.components.reshape(len(c.components), -1)
        np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-10)
        rows = printed(HEADS, "--table", "components")
        self.assertAlmostEqual(float(rows[1][1]), c.explained_variance_ratio[0], 4)
        restored = c.mean + np.einsum("ik,knd->ind", c.scores, c.components)
        self.assertLess(np.abs(restored - anatomy.align(self.heads).shapes).max(), 0.01)  # the tangent space is not the sphere

    def test_inspect(self):
        points = self.heads.points.copy()
        points[7] *= [-1, 1]
        found = anatomy.inspect(anatomy.Landmarks(points, self.heads.names)).findings
        self.assertEqual([f.specimen for f in found], [self.heads.names[7]])
        self.assertIn("mirror", found[0].about)
        self.assertEqual(anatomy.inspect(points, mirror=["specimen8"]).findings, [])

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            written = anatomy.report(self.heads, pathlib.Path(folder) / "supplement", title="Heads", authors=["A. Name", "B. Name"], unit="mm", **ASK)
            self.assertIn("B. Name", written.page.read_text(encoding="utf-8"))
            tables = written.tables()
            self.assertEqual(len(tables["specimens"]["specimen"]), 40)
            np.testing.assert_array_equal(tables["anova"]["p"], anatomy.anova(self.heads, **ASK).table["p"])

    def test_hostile_names(self):
        """Names of any letters, missing values and codes come back as they were."""
        names = ["a,b", 'say "x"', "=1+1", "Ä ö", "007", "7", "-", "NA?"]
        points = np.random.default_rng(1).normal(size=(8, 5, 3))
        points[2, 4] = np.nan
        columns = {"first, sex": list("mfmfmfmf"), "code": ["01", "02"] * 4, "age": [1.5, None, 3, 4, 5, 6, 7, 1e-300], "group": list("aabbaabb")}
        made = anatomy.Landmarks(points, names, ["tip", "b", "c", "d,e", "ü"], columns)
        back = anatomy.read(made)
        np.testing.assert_array_equal(back.points, points)
        self.assertEqual((back.names, back.labels), (made.names, made.labels))
        self.assertEqual(back.covariates["first, sex"].tolist(), columns["first, sex"])
        self.assertEqual(back.covariates["code"].tolist(), columns["code"])
        self.assertEqual(back.covariates["group"].tolist(), columns["group"])
        np.testing.assert_array_equal(back.covariates["age"], [np.nan if v is None else v for v in columns["age"]])

    def test_errors(self):
        for words, call in (
            ('no covariate "sex"', lambda: anatomy.anova(self.heads, model="sex")),
            ("unknown flag: --colour", lambda: anatomy.align(self.heads, colour="red")),
            ("no such file", lambda: anatomy.read("nothing.csv")),
            ("all landmarks are missing", lambda: anatomy.align(np.full((4, 3, 2), np.nan))),
            ("an array needs the same landmarks", self.ragged),
        ):
            with self.assertRaises(anatomy.AnatomyError) as caught:
                call()
            self.assertIn(words, str(caught.exception))
            self.assertNotIn(tempfile.gettempdir(), str(caught.exception))
        for words, call in (
            ("want [specimens, landmarks, 2 or 3]", lambda: anatomy.align(np.zeros((4, 5, 4)))),
            ("want 3 different ones", lambda: anatomy.Landmarks(np.zeros((3, 4, 2)), ["a", "b", "a"])),
            ("a value for each of the 3 specimens", lambda: anatomy.Landmarks(np.zeros((3, 4, 2)), covariates={"sex": ["m", "f"]})),
            ("another order", lambda: anatomy.Landmarks(np.zeros((2, 4, 2)), ["a", "b"], None, pandas.DataFrame({"x": [1, 2]}, index=["b", "a"]))),
            ("cannot be called specimen", lambda: anatomy.Landmarks(np.zeros((2, 4, 2)), ["a", "b"], covariates={"specimen": ["b", "a"]})),
            ("have covariates already", lambda: anatomy.anova(self.heads, covariates={"sex": ["m"] * 40})),
        ):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def ragged(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ragged.csv"
            path.write_text("specimen,landmark,x,y\na,1,0,0\na,2,1,0\na,3,0,1\nb,1,0,0\nb,2,1,0\nb,3,0,1\nb,4,1,1\n")
            anatomy.read(path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
