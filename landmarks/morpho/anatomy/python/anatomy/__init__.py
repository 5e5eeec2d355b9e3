"""Statistics of anatomical shapes that are given by landmarks, by the program `anatomy`, which this package holds.

    heads = anatomy.read("heads.tps", covariates="specimens.csv")
    test = anatomy.anova(heads, model="species*site")

**Data** are the path of a file or folder, an array of shape [N, n, d] (N specimens, n landmarks, d = 2 or 3; NaN where a landmark is missing), or
Landmarks. **Options** are the flags of the program with _ for -: strings, numbers, True, a list for a flag that may stand several times, and a
dict for NAME=VALUE. `covariates` is also a pandas table or a dict of columns. Landmarks in options are named as in the file, or counted from 1.

Every function runs the program once. An error is an AnatomyError with its words.
"""
from __future__ import annotations

import csv
import functools
import importlib.metadata
import io
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unicodedata
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Alignment", "Anova", "AnatomyError", "Components", "Disparity", "Finding", "Inspection", "Landmarks", "Report", "Signal", "Space",
           "Table", "align", "anova", "components", "disparity", "inspect", "program", "read", "report", "signal"]
DISTRIBUTION = "anatomy-shapes"


class AnatomyError(Exception):
    """What the program said about the data, the question or an option."""


class Table(dict):
    """Columns by name, in their order: arrays of numbers (NaN where one is missing), or of texts."""

    def frame(self):
        """The table as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(dict(self))

    def by(self, key, value):
        """A dict from the cells of one column to those of another."""
        return dict(zip(self[key].tolist(), self[value].tolist()))


@dataclass
class Landmarks:
    """Specimens with landmarks.

    points: [N, n, d], in the unit of the file; NaN where missing. names: of the N specimens, each its own. labels: of the n landmarks.
    covariates: a column of N values for each name; the column `group`, if any, has the groups. A pandas table is taken by the order of its rows.

    Units, sliders and outlines that are closed are options of the functions, as `unit="mm"`.
    """
    points: np.ndarray
    names: list[str] | None = None
    labels: list[str] | None = None
    covariates: Table = field(default_factory=Table)

    def __post_init__(self):
        self.points = np.asarray(self.points, dtype=float)
        if self.points.ndim == 2:
            self.points = self.points[None]
        if self.points.ndim != 3 or self.points.shape[2] not in (2, 3):
            raise ValueError(f"points of shape {self.points.shape}, want [specimens, landmarks, 2 or 3]")
        count, landmarks, _ = self.points.shape
        self.names = [f"specimen{i + 1}" for i in range(count)] if self.names is None else [str(n) for n in self.names]
        self.labels = [str(i + 1) for i in range(landmarks)] if self.labels is None else [str(n) for n in self.labels]
        for what, given, want in ("names", self.names, count), ("labels", self.labels, landmarks):
            if len(given) != want or len(set(given)) != want:
                raise ValueError(f"{len(given)} {what}, {len(set(given))} of them different, want {want} different ones")
        if "specimen" in self.covariates:
            raise ValueError("a covariate cannot be called specimen: give the names of the specimens as names")
        index = getattr(self.covariates, "index", None)
        if index is not None and not _counts(index) and [str(k) for k in index] != self.names:
            raise ValueError("the rows of the covariates have other names than the specimens, or another order: use covariates.loc[names]")
        self.covariates = Table({str(name): np.asarray(self.covariates[name]) for name in self.covariates})
        for name, column in self.covariates.items():
            if column.shape != (count,):
                raise ValueError(f"covariate {name!r} of shape {column.shape}, want a value for each of the {count} specimens")


@dataclass
class Finding:
    """A specimen to look at, with the landmarks that look wrong, if only some do, and a sentence."""
    specimen: str
    landmarks: list[str]
    about: str


@dataclass
class Inspection:
    """What the data are, what the reader noted, columns for a model, and specimens to look at before any analysis."""
    about: str
    notes: list[str]
    columns: list[str]
    findings: list[Finding]

    def __str__(self):
        return "\n".join([self.about, *(f"note: {n}" for n in self.notes), *(f.about for f in self.findings)])


@dataclass
class Alignment:
    """Shapes after generalised Procrustes alignment.

    shapes: [N, n, d], of centroid size about 1; with keep_size in the unit of the coordinates. mean: [n, d].
    distances: [N], of each shape to the mean. centroid_sizes: [N], in the unit of the coordinates. landmarks: shapes with names and covariates.
    """
    shapes: np.ndarray
    mean: np.ndarray
    distances: np.ndarray
    centroid_sizes: np.ndarray
    rms: float
    status: str
    iterations: int
    landmarks: Landmarks


@dataclass
class Anova:
    """Procrustes analysis of variance. table has a row for each term: df, SS, MS (squared centroid sizes), R2, F, Z, p; p and R2 are by term."""
    table: Table
    p: dict[str, float]
    R2: dict[str, float]


@dataclass
class Components:
    """Principal components of the aligned shapes, in the tangent space of their mean.

    scores: [N, k], in centroid sizes. components: [k, n, d], of length 1. mean: [n, d]. explained_variance_ratio: [k]. names: of the specimens.
    """
    scores: np.ndarray
    components: np.ndarray
    mean: np.ndarray
    explained_variance_ratio: np.ndarray
    names: list[str]


@dataclass
class Disparity:
    """Procrustes variances of groups (squared centroid sizes). groups has a row for each, pairs a row for each two of them, with p."""
    groups: Table
    pairs: Table
    variances: dict[str, float]


@dataclass
class Signal:
    """Phylogenetic signal: K and lambda (`lam`), about 1 for Brownian motion on the tree and about 0 without signal, with their p-values."""
    K: float
    K_p: float
    lam: float
    lam_p: float
    table: Table


@dataclass
class Report:
    """A folder with the page index.html, tables as CSV, figures, the data and the question."""
    folder: pathlib.Path
    page: pathlib.Path

    def tables(self):
        """The tables by name."""
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("tables/*.csv"))}
        return {name: _table(list(csv.DictReader(io.StringIO(text)))) for name, text in texts.items()}


@functools.cache
def program(name="anatomy"):
    """The path of a program that the wheel has installed."""
    file = f"{name}.exe" if os.name == "nt" else name
    installed = [f.locate() for f in importlib.metadata.files(DISTRIBUTION) or [] if f.name == file]
    for place in map(pathlib.Path, [*installed, pathlib.Path(__file__).parents[1] / "bin" / file]):  # bin: by pip install --target
        if place.is_file():
            return str(place.resolve())
    raise AnatomyError(f"the program {name} is not where the wheel for this system puts it")


def read(data, **options):
    """Reads a file or a folder of landmarks, in any format that the program reads, with `covariates`, a table, and corrections such as
    `without=["s07"]`, and returns Landmarks."""
    with _Call() as call:
        out = call.file("landmarks.csv")
        call.run("convert", data, out, options=options)
        return _landmarks(out)


def inspect(data, **options):
    """Looks for mirrored specimens, exchanged landmarks, other units and outliers, and returns an Inspection."""
    with _Call() as call:
        about = json.loads(call.run("inspect", data, options={**options, "format": "json"}))
    findings = [Finding(f["specimen"], f.get("landmarks", []), f["about"]) for f in about["findings"]]
    return Inspection(about["data"], about.get("notes", []), about["columns"], findings)


def align(data, keep_size=False, **options):
    """Aligns shapes by generalised Procrustes analysis, and returns an Alignment. keep_size: only translate and rotate.

    Missing landmarks are estimated first, and semi-landmarks slide if `curves` names them, as "1-9; 9-20"."""
    with _Call() as call:
        out = call.file("aligned.csv")
        about = json.loads(call.run("align", data, out, options={**options, "keep_size": keep_size, "format": "json"}))
        aligned = _landmarks(out)
    numbers = {name: np.array(about[name]) for name in ("mean", "distances", "centroid_sizes")}
    return Alignment(shapes=aligned.points, **numbers, rms=about["rms"], status=about["status"], iterations=about["iterations"], landmarks=aligned)


def components(data, **options):
    """Returns the principal Components of the aligned shapes. Options are those of align."""
    with _Call() as call:
        found = json.loads(call.run("components", data, options={**options, "format": "json"}))
    return Components(np.array(found["scores"]).T, np.array(found["axes"]), np.array(found["mean"]), np.array(found["shares"]), found["specimens"])


def anova(data, model=None, **options):
    """Tests what explains the shapes, by permutation, and returns an Anova.

    model: terms such as "size + species*site", where size is the logarithm of centroid size; without: the groups. sums: "I", "II" or "III".
    permutations: draws of each test, 999 if not given. seed: of the draws; equal seeds give equal numbers. tree: a file with a phylogeny."""
    table, = _tables(data, ["anova"], model=model, **options)
    return Anova(table, table.by("term", "p"), table.by("term", "R2"))


def disparity(data, model=None, **options):
    """Compares the variances of groups, by permutation, and returns a Disparity. Options are those of anova; the model has a factor."""
    groups, pairs = _tables(data, ["disparity", "disparity-pairs"], model=model, **options)
    return Disparity(groups, pairs, groups.by("group", "variance"))


def signal(data, tree, **options):
    """Tests by permutation whether relatives resemble each other: a Signal. tree: a file (Newick or NEXUS) whose leaves are the specimens."""
    table, = _tables(data, ["signal"], tree=tree, **options)
    (k, lam), (k_p, lam_p) = table["value"], table["p"]
    return Signal(float(k), float(k_p), float(lam), float(lam_p), table)


def report(data, out, model=None, **options):
    """Writes a page with tables, figures and methods into the folder `out`: a Report. Options are those of anova, and title, authors, unit, mesh."""
    with _Call() as call:
        call.run("report", data, options={**options, "model": model, "out": os.fspath(out)})
    folder = pathlib.Path(out)
    return Report(folder, folder / "index.html")


class _Call:
    """A call of the program, with a folder for files between it and Python."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="anatomy-")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, command, data, *places, options):
        options = dict(options)
        path = self.data(data, options)
        if options.get("covariates") is not None and not isinstance(options["covariates"], (str, os.PathLike)):
            options["covariates"] = self.table(options["covariates"])
        flags = [flag for name, value in options.items() for flag in _flags(name, value)]
        done = subprocess.run([program(), command, *flags, "--", path, *places], stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            words = done.stderr.replace(self.folder.name + os.sep, "").replace("\nanatomy --help has examples", "")
            raise AnatomyError(words.strip().removeprefix("anatomy: ") or f"the program ended with state {done.returncode}")
        return done.stdout

    def data(self, data, options):
        """The path of data, which are written if they are none."""
        if isinstance(data, (str, os.PathLike)):
            return os.fspath(data)
        if not isinstance(data, Landmarks):
            data = Landmarks(data)
        if data.covariates:
            if options.get("covariates") is not None:
                raise ValueError("the landmarks have covariates already: add columns to their covariates, or give them as points alone")
            options["covariates"] = self.table({"specimen": data.names, **data.covariates})
        axes, path = "xyz"[:data.points.shape[2]], self.file("landmarks.csv")
        with open(path, "w", newline="", encoding="utf-8") as out:
            rows = csv.writer(out)
            rows.writerow(["specimen", "landmark", *axes])
            for name, shape in zip(data.names, data.points):
                rows.writerows([name, label, *map(_cell, point)] for label, point in zip(data.labels, shape.tolist()))
        return path

    def table(self, columns):
        """The path of a table of covariates; the index of a pandas table that is no count has the names of the specimens."""
        index, path = getattr(columns, "index", None), self.file("covariates.csv")
        named = {str(name): [*np.asarray(columns[name])] for name in columns}
        if index is not None and not _counts(index):
            named = {"specimen": list(index), **named}
        with open(path, "w", newline="", encoding="utf-8") as out:
            rows = csv.writer(out)
            rows.writerow(named)
            rows.writerows([_cell(v) for v in row] for row in zip(*named.values(), strict=True))
        return path


def _counts(index):
    return [*index] == [*range(len(index))]


def _cell(value):
    """A value as the program reads it: NA if it is missing, numbers with all digits, whole ones without a point."""
    if value is None or str(value) in ("nan", "NaT", "<NA>"):
        return "NA"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else float.__repr__(value)
    return str(value)


def _flags(name, value):
    """An option as flags of the program."""
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, dict):
        value = [f"{k}={v}" for k, v in value.items()]
    return [f"{flag}={v}" for v in (value if isinstance(value, (list, tuple, np.ndarray)) else [value])]


def _tables(data, names, **options):
    """Tables of the program by their names."""
    with _Call() as call:
        lines = call.run("test", data, options={**options, "table": names, "format": "json"})
    tables = [_table(json.loads(line)) for line in lines.splitlines()]
    return [Table({name: t[name] for name in sorted(t, key=lambda n: _FIRST.index(n) if n in _FIRST else len(_FIRST))}) for t in tables]


# JSON has no order of columns.
_FIRST = ["specimen", "group", "other_group", "term", "signal", "value", "specimens", "df", "SS", "MS", "R2", "F", "Z", "p"]
_TEXTS = set(_FIRST[:5])
_GREEK = str.maketrans({"λ": "lambda", "σ": "sigma"})


def _table(rows):
    """A table of rows by name of column, with names in plain letters."""
    out = {}
    for title in rows[0] if rows else ():
        plain = unicodedata.normalize("NFKD", title.translate(_GREEK)).encode("ascii", "ignore").decode()
        name = re.sub("[^A-Za-z0-9]+", "_", plain).strip("_")
        out[name] = _column([row[title] for row in rows], text=name in _TEXTS)
    return Table(out)


def _column(cells, text=False):
    """An array of numbers if each cell is one or missing, otherwise of texts. 007 is a text."""
    def number(cell):
        if cell in (None, "", "NA", "–"):
            return math.nan
        if isinstance(cell, str) and re.match(r"[-+]?0\d", cell):
            raise ValueError(cell)
        return float(cell)
    if not text:
        try:
            values = np.array([number(c) for c in cells])
            if not np.isnan(values).all():
                return values
        except ValueError:
            pass
    return np.array(["" if c is None else str(c) for c in cells], dtype=object)


def _landmarks(path):
    """Landmarks of the table that the program writes: specimen, group, covariates, landmark, x, y[, z]."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    dim = 3 if header[-1] == "z" and header[-4] == "landmark" else 2
    at = len(header) - dim - 1
    shapes, labels, first = {}, {}, {}
    for row in rows:
        first.setdefault(row[0], row)
        labels.setdefault(row[0], []).append(row[at])
        shapes.setdefault(row[0], []).append([math.nan if v == "NA" else float(v) for v in row[at + 1:]])
    names = list(shapes)
    for name in names:
        if labels[name] != labels[names[0]]:
            raise AnatomyError(f"{name} has {len(labels[name])} landmarks, or other ones than {names[0]} with {len(labels[names[0]])}: "
                               "an array needs the same landmarks in all specimens")
    columns = {header[k]: [first[n][k] for n in names] for k in range(1, at)}
    if not any(columns["group"]):
        del columns["group"]
    covariates = Table({name: _column(cells, text=name == "group") for name, cells in columns.items()})
    return Landmarks(np.array([shapes[n] for n in names]), names, labels[names[0]], covariates)

from .space import Space  # noqa: E402 needs the names above
