"""jax: compiled functions and gradients, below an array of 300 MB."""
import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x ** 2).mean()


def work():
    key = jax.random.PRNGKey(0)
    weights = [jax.random.normal(k, (64, 64)) for k in jax.random.split(key, 6)]
    step = jax.jit(jax.value_and_grad(loss))
    x = jax.random.normal(key, (256, 64))
    for _ in range(20):
        value, slopes = step(weights, x)
        weights = [w - 0.1 * s for w, s in zip(weights, slopes)]
    eigen = jnp.linalg.eigvalsh(x.T @ x)
    many = jax.vmap(lambda v: jnp.sort(v) * 2)(x)
    return round(float(value), 3), bool(eigen[-1] > 0), many.shape


big = np.empty(37_500_000)  # the big one
big.fill(1)
print(work(), big.sum())
