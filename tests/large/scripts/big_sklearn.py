"""scikit-learn: six kinds of models, below an array of 300 MB."""
import numpy as np
from sklearn import cluster, datasets, decomposition, ensemble, linear_model, model_selection, svm


def work():
    x, y = datasets.make_classification(2000, 30, random_state=1)
    forest = ensemble.RandomForestClassifier(60, random_state=1).fit(x, y)
    boosted = ensemble.HistGradientBoostingClassifier(max_iter=30, random_state=1).fit(x, y)
    machine = svm.SVC().fit(x, y)
    scores = model_selection.cross_val_score(linear_model.LogisticRegression(), x, y)
    parts = decomposition.PCA(5, random_state=1).fit_transform(x)
    groups = cluster.KMeans(8, n_init=3, random_state=1).fit(parts)
    return [round(float(v), 2) for v in (forest.score(x, y), boosted.score(x, y), machine.score(x, y), scores.mean(),
                                         len(set(groups.labels_)))]


big = np.empty(37_500_000)  # the big one
big.fill(1)
print(work(), big.sum())
