"""Suites of tasks with checks, the results of their runs, and comparisons of runs; pure."""
