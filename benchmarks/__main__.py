"""Run every benchmark and print its table."""

from benchmarks import location, regression

location.main()
regression.main()
