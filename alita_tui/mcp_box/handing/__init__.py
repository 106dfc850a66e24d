"""Approved tools handed over to other programs: as Agent Skills, as servers of their own, as scripts."""
