"""Landmark manifolds of LDDMM, computed by the program anatomy-space: Space.

    M = anatomy.Space(39, 2, width=5.0436)
    geodesic = M.log(a, b)                 # a, b: [39, 2]
    print(geodesic)                        # geodesic of length 23.11, converged after 29 iterations, residual 3.7e-10
    moved = M.transform(geodesic, grid)    # [times, points, 2]

Every result has a `status`, "converged" where its search ended at what was asked for, and prints its certificate. Lengths are in the unit of
the landmarks. An error is an AnatomyError with the program's words.
"""
from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
from dataclasses import dataclass, fields

import numpy as np

from . import AnatomyError, program

_PLUGINS = "fastatomstruct-xla-cpu", "xla-cpu-pjrt"


class _Result:
    """The fields of a result of the program, by their names in Python."""

    @classmethod
    def _of(cls, answer):
        named = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(): value for name, value in answer.items()}
        return cls(**{f.name: np.array(named[f.name]) if isinstance(named[f.name], list) else named[f.name] for f in fields(cls)})

    def __str__(self):
        return self.text


@dataclass(repr=False)
class Geodesic(_Result):
    """A geodesic at the times 0, 1/n, …, 1.

    start, end, velocity, momentum: [N, D]. path, momenta: [n + 1, N, D]. length: of the whole geodesic. steps: n. step_error: how far the end moves
    with twice as many steps, divided by length. residual: of log, root mean square distance of the end to the target. conjugate: time of the first
    conjugate point, inf if there is none, 0 if it was not searched for. status, text: how the search ended.
    """
    start: np.ndarray
    end: np.ndarray
    velocity: np.ndarray
    momentum: np.ndarray
    path: np.ndarray
    momenta: np.ndarray
    length: float
    steps: int
    step_error: float
    residual: float
    iterations: int
    conjugate: float
    status: str
    text: str


@dataclass(repr=False)
class Matching(Geodesic):
    """The geodesic whose end comes close to the target. mismatch: squared distance of both. objective: what was minimised."""
    mismatch: float
    objective: float


@dataclass(repr=False)
class Mean(_Result):
    """The Fréchet mean of shapes. point: [N, D]. velocities: [samples, N, D], the logarithms at the mean. distances: [samples].
    variance: mean squared distance. gradient: its norm at the mean, 0 if exact. imbalance, unsettled: with mismatch, the errors of the mean in its
    standard errors and of the geodesics in the spread of the samples."""
    point: np.ndarray
    velocities: np.ndarray
    momenta: np.ndarray
    distances: np.ndarray
    variance: float
    gradient: float
    imbalance: float
    unsettled: float
    status: str
    text: str


@dataclass(repr=False)
class Regression(_Result):
    """A geodesic that fits shapes at times best. point: [N, D], at the mean time origin[0]. velocities: [1, N, D], length per unit of time.
    fitted: [samples, N, D]. residuals: distances to it. r2: the share of the variance about the Fréchet mean that it explains."""
    point: np.ndarray
    velocities: np.ndarray
    origin: np.ndarray
    fitted: np.ndarray
    residuals: np.ndarray
    variance: float
    r2: float
    status: str
    text: str


class Space:
    """The manifold of N landmarks in R^D whose cometric is a kernel.

    landmarks: N. dim: D. width: of the kernel, in the unit of the landmarks, or one for each axis. kernel: "gaussian", "laplace" (of an order from 1 to
    4) or "cauchy". The program is started by the first call and ends with the Space, or after an interrupt; compiled programs are kept.
    """

    _process = None

    def __init__(self, landmarks, dim, width, kernel="gaussian", order=2):
        widths = np.atleast_1d(np.asarray(width, dtype=float)).tolist()
        self._about = {"landmarks": landmarks, "dim": dim, "kernel": kernel, "order": order, "width": widths}
        self._shape = landmarks, dim
        self._start()

    def exp(self, q, velocity):
        """The Geodesic from shape q with an initial velocity, both [N, D]."""
        return Geodesic._of(self._call("exp", self._points(q), self._points(velocity)))

    def shoot(self, q, momentum):
        """The Geodesic from shape q with an initial momentum, both [N, D]."""
        return Geodesic._of(self._call("shoot", self._points(q), self._points(momentum)))

    def log(self, q, target):
        """The Geodesic from shape q to a target, both [N, D]: the landmarks meet exactly."""
        return Geodesic._of(self._call("log", self._points(q), self._points(target)))

    def match(self, q, target, sigma=0.1):
        """The Matching from shape q towards a target. sigma: a miss of sigma costs as much as a deformation of length 1."""
        return Matching._of(self._call("match", self._points(q), self._points(target), float(sigma)))

    def transform(self, geodesic, points):
        """Moves any points, [k, D], by the deformations of a geodesic: [n + 1, k, D]."""
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != self._shape[1]:
            raise ValueError(f"points of shape {points.shape}, want [points, {self._shape[1]}]")
        return np.array(self._call("transform", self._geodesic(geodesic), points.tolist()))

    def transport(self, geodesic, vector):
        """Parallel transport of a tangent vector at the start of a geodesic, [N, D], along it: [n + 1, N, D]."""
        return np.array(self._call("transport", self._geodesic(geodesic), self._points(vector))[0])

    def mean(self, shapes, mismatch=0.0):
        """The Fréchet Mean of shapes, [samples, N, D]. mismatch: distances that forgive noise; 0 for exact logarithms."""
        return Mean._of(self._call("mean", [self._points(s) for s in shapes], float(mismatch)))

    def regress(self, shapes, times, mismatch=0.0):
        """The Regression of shapes, [samples, N, D], by times, [samples]."""
        return Regression._of(self._call("regress", [self._points(s) for s in shapes], np.asarray(times, dtype=float).tolist(), float(mismatch)))

    def close(self):
        """Ends the program; the next call starts it again."""
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close

    def _points(self, x):
        x = np.asarray(x, dtype=float)
        if x.shape != self._shape:
            raise ValueError(f"an array of shape {x.shape}, want {self._shape}: landmarks and dimensions of the space")
        return x.tolist()

    @staticmethod
    def _geodesic(g):
        return {"Start": g.start.tolist(), "Momentum": g.momentum.tolist(), "Steps": g.steps, "Length": g.length}

    def _start(self):
        environment = {**os.environ, "ANATOMY_PLUGINS": _plugins()}
        self._process = subprocess.Popen([program("anatomy-space")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
                                         env=environment, start_new_session=True)
        self._ask(self._about)

    def _call(self, name, *arguments):
        if not self._process:
            self._start()
        return self._ask({"call": name, "arguments": arguments})

    def _ask(self, question):
        try:
            text = json.dumps(question, allow_nan=False)
        except ValueError:
            raise ValueError("an argument holds NaN or infinity") from None
        try:
            self._process.stdin.write(text + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BaseException:
            self.close()
            raise
        if not line:
            self.close()
            raise AnatomyError("the program anatomy-space ended; what it said stands above")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise AnatomyError(answer["error"])
        return answer


def _plugins():
    """The folder of XLA's wheel."""
    for name in _PLUGINS:
        try:
            return str(importlib.metadata.distribution(name).locate_file(""))
        except importlib.metadata.PackageNotFoundError:
            pass
    raise AnatomyError('Space computes with XLA: run `pip install "anatomy-shapes[space]"`, on Linux')
