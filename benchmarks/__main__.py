"""Run every benchmark and print its table."""

from benchmarks import location, quantile_regression, regression

location.main()
regression.main()
quantile_regression.main()
