"""The published example of hyperiax (its notebook 07) by its own sampler: the conditioned flow of hyperiax.prebuilt.bffg, moved by a
step of the preconditioned Crank-Nicolson method for the noise and one of a random walk for the logarithms of amplitude and width,
with that notebook's sizes of steps and starts, in float32. Reads the leaves, [9, 32], as JSON, and prints the processor and wall seconds
without compilation and the draws, [amplitude, width][chain][draw]. "absent" if the library is not installed."""
import json
import sys
import time

try:
    import hyperiax
    from hyperiax.prebuilt import bffg
except ModuleNotFoundError as e:
    if e.name != "hyperiax":
        raise
    sys.exit(print("absent"))
import jax
import jax.numpy as jnp

draws, steps = int(sys.argv[1]), int(sys.argv[2])
leaves = jnp.array(json.load(sys.stdin), dtype=jnp.float32)
n, d = 16, 32
topology = hyperiax.symmetric_topology(depth=2, degree=3)
angles = jnp.linspace(0, 2 * jnp.pi, n, endpoint=False)
circle = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1).ravel()
schema = bffg.continuous_schema(d=d, n_steps=steps)
blank = hyperiax.Tree.empty(topology, schema).set(edge_len=jnp.ones(topology.size, dtype=jnp.float32))
blank = blank.at[topology.is_root].set(vals=jnp.broadcast_to(circle, (steps + 1, d)))


def noise(_, q, theta):
    x = q.reshape(n, 2) / theta["width"]
    r = jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-8)
    k = theta["amplitude"] * jnp.exp(-r) * (1 + r * (1 + r * (3 / 7 + r * (2 / 21 + r / 105))))
    k = k + 1e-6 * jnp.maximum(1, k[0, 0]) * jnp.eye(n)
    return jnp.kron(jnp.linalg.cholesky(k), jnp.eye(2))


def still(t, q, theta):
    return jnp.zeros(d)


backwards = bffg.continuous_bf_sweep(steps, None, None, noise)
refine = bffg.continuous_refine_anchor()
forwards = bffg.continuous_fg_sweep(steps, still, noise, None, None, noise)


def log_weight(z, u):
    theta = {"amplitude": jnp.exp(u[0]), "width": jnp.exp(u[1])}
    t = bffg.init_continuous_tree(blank, leaves, obs_var=1e-3, d=d, n_steps=steps, root_val=circle, anchor_init=circle)
    for _ in range(3):
        t = refine(backwards(t, params=theta), params=theta)
    t = forwards(t.set(zs=z.reshape(topology.size, steps, d)), params=theta)
    message = t.log_norm[0] + t.ptnl_v[0] @ circle - 0.5 * circle @ t.prec_v[0] @ circle
    prior = -(2 * u[0] + 0.5 * jnp.exp(-u[0])) - (3 * u[1] + 2 * jnp.exp(-u[1]))
    return t.log_corr.sum() + message + prior


def move(state, x):
    z, u, log = state
    key, of_noise = x
    k = jax.random.split(key, 3)
    z1 = jnp.where(of_noise, jnp.sqrt(1 - 0.1**2) * z + 0.1 * jax.random.normal(k[0], z.shape), z)
    u1 = jnp.where(of_noise, u, u + jnp.array([0.05, 0.04]) * jax.random.normal(k[1], (2,)))
    log1 = log_weight(z1, u1)
    yes = jnp.log(jax.random.uniform(k[2])) < log1 - log
    state = jnp.where(yes, z1, z), jnp.where(yes, u1, u), jnp.where(yes, log1, log)
    return state, jnp.exp(state[1])


def run(state, keys):  # a draw is a move of the noise and one of the unknowns
    return jax.lax.scan(move, state, (keys, jnp.arange(len(keys)) % 2 == 0))[1][1::2]


states = []
for c, start in enumerate([(0.05, 0.15), (0.1, 0.25), (0.3, 0.5)]):
    z, u = jax.random.normal(jax.random.PRNGKey(c), (topology.size * steps * d,)), jnp.log(jnp.array(start))
    states.append((z, u, jax.block_until_ready(jax.jit(log_weight)(z, u))))
keys = jax.random.split(jax.random.PRNGKey(7), (3, 2 * draws))
compiled = jax.jit(run).lower(states[0], keys[0]).compile()
processor, wall = time.process_time(), time.perf_counter()
out = [jax.block_until_ready(compiled(s, k)) for s, k in zip(states, keys)]
processor, wall = time.process_time() - processor, time.perf_counter() - wall
print(json.dumps({"processor": processor, "wall": wall, "draws": [[o[:, j].tolist() for o in out] for j in range(2)]}))
