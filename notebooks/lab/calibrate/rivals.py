"""Logarithms of geomstats or jaxgeometry between points read from standard input, there and back: how many are open, by more than
1e-8 in the library's own Exp, and how many are by a thousandth longer than the way back. "absent" if the library is not installed."""
import json
import os
import sys

os.environ["GEOMSTATS_BACKEND"] = "numpy"
import numpy as np


def geomstats(kind, points):
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.spd_matrices import SPDMatrices
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal

    space = {"sphere": lambda: Hypersphere(2), "spd": lambda: SPDMatrices(3), "rotations": lambda: SpecialOrthogonal(3)}[kind]()
    if kind != "sphere":
        points = points.reshape(-1, 3, 3)
    x, y = points, np.roll(points, len(points) // 2, axis=0)
    v = space.metric.log(y, x)
    return np.abs(space.metric.exp(v, x) - y).reshape(len(x), -1).max(axis=1), space.metric.norm(v, x)


def jaxgeometry(kind, points):
    import jax

    jax.config.update("jax_enable_x64", True)
    from jaxgeometry.Riemannian import Log, geodesic, metric
    from jaxgeometry.manifolds.S2 import S2
    from jaxgeometry.manifolds.landmarks import landmarks

    sys.stdout = sys.stderr  # they print
    m = S2() if kind == "sphere" else landmarks(5, 2, k_sigma=[[0.5, 0.0], [0.0, 0.5]])
    for part in (metric, geodesic, Log):
        part.initialize(m)

    def at(z):  # a point in its own chart
        return (m.invF((z, z)), z) if kind == "sphere" else (z, jax.numpy.zeros(1))

    @jax.jit
    def log(x, y):
        v, _ = m.Log(at(x), at(y))
        end = m.Exp(at(x), v)
        off = (m.F(end) if kind == "sphere" else end[0]) - y
        return jax.numpy.abs(off).max(), jax.numpy.sqrt(v @ m.g(at(x)) @ v)

    return np.array([log(x, y) for x, y in zip(points, np.roll(points, len(points) // 2, axis=0))]).T


library, kind = sys.argv[1].split("/")
out = sys.stdout
try:
    off, length = globals()[library](kind, np.array(json.load(sys.stdin)))
except ModuleNotFoundError as e:
    if e.name.split(".")[0] != library:
        raise
    sys.exit(print("absent", file=out))
back = np.roll(length, len(length) // 2)
print(int((~(off <= 1e-8)).sum()), int((length > back * (1 + 1e-3)).sum()), file=out)
