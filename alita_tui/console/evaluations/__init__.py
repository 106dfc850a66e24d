"""Runs of suites: which there are, one of them case by case while it goes on, and each case as a replay."""
