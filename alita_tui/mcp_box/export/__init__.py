"""Approved tools exported for other programs: as Agent Skills, standalone servers or scripts."""
