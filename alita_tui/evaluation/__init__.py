"""Suites of tasks with checkers, what runs of them gave, and whether one is better than another; pure."""
