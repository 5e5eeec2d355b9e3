"""Logarithms of geomstats between points read from standard input, there and back: how many are open, and longer than the way back."""
import json
import os
import sys

os.environ["GEOMSTATS_BACKEND"] = "numpy"
import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

space = {"sphere": lambda: Hypersphere(2), "spd": lambda: SPDMatrices(3), "rotations": lambda: SpecialOrthogonal(3)}[sys.argv[1]]()
points = np.array(json.load(sys.stdin))
if sys.argv[1] != "sphere":
    points = points.reshape(-1, 3, 3)
x, y = points, np.roll(points, len(points) // 2, axis=0)
v = space.metric.log(y, x)
off = np.abs(space.metric.exp(v, x) - y).reshape(len(x), -1).max(axis=1)
length = space.metric.norm(v, x)
back = np.roll(length, len(x) // 2)
print(int((~(off <= 1e-8)).sum()), int((length > back * (1 + 1e-3)).sum()))
