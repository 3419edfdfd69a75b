"""Which estimator a command or a question fits."""

MODELS = {
    "linear": "LinearRegression",
    "huber": "HuberRegressor",
    "quantreg": "QuantileRegressor",
    "expectile": "ExpectileRegressor",
    "logistic": "LogisticRegression",
    "poisson": "PoissonRegressor",
}
