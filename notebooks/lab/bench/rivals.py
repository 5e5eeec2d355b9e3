"""The sums of notebooks/lab/bench with other libraries: rivals.py METHOD POINTS SIGMA [SHAPE [TOLERANCE [KERNEL]]] prints one line of JSON.

KERNEL is Gaussian or Laplace-2, -3, -4, for finufft."""

import json
import math
import resource
import sys
import time

try:
    import numpy as np
except ImportError:
    print(json.dumps({"Missing": "not installed: numpy"}))
    sys.exit()

SIGMA = float(sys.argv[3])
TOLERANCE = float(sys.argv[5]) if len(sys.argv) > 5 else 1e-9
ORDER = int(sys.argv[6].removeprefix("Laplace-")) if sys.argv[6:] not in ([], ["Gaussian"]) else 0  # 0: the Gaussian


def cloud(n, shape):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(n, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    if shape == "volume":
        u *= np.cbrt(rng.random(n))[:, None]
    if shape == "curve":
        t = 2 * np.pi * rng.random(n)
        u = np.stack([np.cos(t), np.sin(t), np.sin(3 * t)], 1)
    return u * np.array([1.0, 0.8, 0.6]), rng.normal(size=(n, 3)) / n


def jax_sums(x, p):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    n = len(x)
    rows = min(500, n)

    @jax.jit
    def hamilton(q, p):
        def block(i):
            a = jax.lax.dynamic_slice(q, (i * rows, 0), (rows, 3))
            b = jax.lax.dynamic_slice(p, (i * rows, 0), (rows, 3))
            square = (a * a).sum(-1)[:, None] + (q * q).sum(-1)[None] - 2 * a @ q.T
            k = jnp.exp(-square / (2 * SIGMA**2))
            w = k * (b @ p.T)
            return k @ p, (w.sum(1)[:, None] * a - w @ q) / SIGMA**2

        v, f = jax.lax.map(block, jnp.arange(n // rows))
        return v.reshape(n, 3), f.reshape(n, 3)

    q, p = jnp.array(x), jnp.array(p)
    return lambda: [np.asarray(a) for a in jax.block_until_ready(hamilton(q, p))]


def keops_sums(x, p):
    from pykeops.numpy import Genred

    velocity = Genred("Exp(-g*SqDist(x,y))*b", ["g=Pm(1)", "x=Vi(3)", "y=Vj(3)", "b=Vj(3)"], axis=1)
    force = Genred("Exp(-g*SqDist(x,y))*(a|b)*(x-y)", ["g=Pm(1)", "x=Vi(3)", "y=Vj(3)", "a=Vi(3)", "b=Vj(3)"], axis=1)
    g = np.array([1 / (2 * SIGMA**2)])
    return lambda: [velocity(g, x, x, p), force(g, x, x, p, p) / SIGMA**2]


def finufft_sums(x, p):
    import finufft

    # The kernel summed over its images with period L: Fourier coefficients in closed form. As much as the tolerance lies outside.
    if ORDER:
        r = np.linspace(1, 100, 10000)
        reach = SIGMA * r[np.searchsorted(-kernel(r**2), -TOLERANCE)]
        # The share of the spectrum beyond |k| = K: ∫ k²(1+k²)^-(c+2) dk, for large K, over the whole of it; a half of 10 tolerances.
        whole = math.sqrt(math.pi) / 4 * math.gamma(ORDER + 0.5) / math.gamma(ORDER + 2)
        cut = (5 * TOLERANCE * whole * (2 * ORDER + 1)) ** (-1 / (2 * ORDER + 1)) / SIGMA
    else:
        reach = SIGMA * np.sqrt(-2 * np.log(TOLERANCE / 4))
        cut = reach / SIGMA**2
    period = x.max(0) - x.min(0) + reach
    modes = [2 * int(np.ceil(cut * l / (2 * np.pi))) + 1 for l in period]
    if np.prod(modes) > 2e7:
        raise MemoryError(f"{modes} waves")
    theta = [np.ascontiguousarray(2 * np.pi * x[:, a] / period[a]) for a in range(3)]
    square = 0.0
    for a in range(3):
        k = 2 * np.pi / period[a] * (np.arange(modes[a]) - modes[a] // 2)
        square = np.add.outer(square, (SIGMA * k) ** 2)
    if ORDER:
        density = 8 * np.pi**1.5 * math.gamma(ORDER + 2) / math.gamma(ORDER + 0.5) * (1 + square) ** -(ORDER + 2.0)
    else:
        density = (2 * np.pi) ** 1.5 * np.exp(-0.5 * square)
    c = density * SIGMA**3 / np.prod(period)
    weights = np.ascontiguousarray(p.T.astype(complex))

    def call():
        f = finufft.nufft3d1(*theta, weights, tuple(modes), eps=TOLERANCE)
        return [finufft.nufft3d2(*theta, f * c, eps=TOLERANCE).real.T]

    return call


def kernel(square):
    """k for r²/σ²."""
    r = np.sqrt(square)
    if ORDER:
        polynomial = {2: 1 + r + square / 3, 3: 1 + r + square * 2 / 5 + r * square / 15, 4: 1 + r + square * 3 / 7 + r * square * 2 / 21 + square**2 / 105}
        return polynomial[ORDER] * np.exp(-r)
    return np.exp(-square / 2)


def worst(x, p, got):
    out = 0.0
    for what, values in enumerate(got):
        d = x[:100, None] - x[None]
        k = kernel((d * d).sum(-1) / SIGMA**2)
        want = k @ p if what == 0 else ((k * (p[:100] @ p.T))[..., None] * d).sum(1) / SIGMA**2
        out = max(out, np.abs(values[:100] - want).max() / np.abs(want).max())
    return float(out)


def main(method, n):
    x, p = cloud(n, sys.argv[4] if len(sys.argv) > 4 else "surface")
    try:
        call = {"H JAX": jax_sums, "H KeOps": keops_sums, "K finufft": finufft_sums}[method](x, p)
    except ImportError as e:
        return {"Missing": f"not installed: {e.name}"}
    except MemoryError as e:
        return {"Missing": str(e)}
    start = time.perf_counter()
    got = call()
    first = time.perf_counter() - start
    best, cpu, begin = float("inf"), float("inf"), time.perf_counter()
    while time.perf_counter() - begin < 3:
        start, spent = time.perf_counter(), time.process_time()
        call()
        best, cpu = min(best, time.perf_counter() - start), min(cpu, time.process_time() - spent)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"First": first, "Best": best, "CPU": cpu, "Megabytes": peak, "Error": worst(x, p, got)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
