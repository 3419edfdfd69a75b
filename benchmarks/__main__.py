"""Run every benchmark and print its table."""

from benchmarks import location

location.main()
