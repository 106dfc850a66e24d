"""Tests of the languages that tools are written in."""
