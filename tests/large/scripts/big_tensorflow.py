"""tensorflow: a network trained for some steps, below a tensor of 300 MB that tensorflow allocates."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def work():
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu") for _ in range(4)] + [tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    x = np.random.default_rng(1).normal(size=(2000, 20)).astype("float32")
    history = model.fit(x, x.sum(axis=1), epochs=2, verbose=0)
    return len(history.history["loss"]), bool(history.history["loss"][-1] < history.history["loss"][0])


big = tf.fill([75_000_000], 1.0)  # the big one
print(work(), float(big[-1]))
