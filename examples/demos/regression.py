"""Files of `truecost demo regression`: two models that predict the course of diabetes.

python examples/demos/regression.py src/truecost/data/demo

The patients are those of scikit-learn (B. Efron et al., "Least Angle Regression", 2004). Each is
predicted by models that were trained on the other nine tenths of them.
"""

import sys
from pathlib import Path

import polars as pl
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MODELS = {
    "neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
    "linear": make_pipeline(StandardScaler(), RidgeCV()),
}

folder = Path(sys.argv[1]) / "regression"
folder.mkdir(exist_ok=True)
features, progression = load_diabetes(return_X_y=True)
folds = KFold(10, shuffle=True, random_state=0)
for name, model in MODELS.items():
    predicted = cross_val_predict(model, features, progression, cv=folds)
    columns = {
        "patient": range(1, len(progression) + 1),
        "progression": progression.astype(int),
        "predicted": predicted.round(1),
    }
    pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
