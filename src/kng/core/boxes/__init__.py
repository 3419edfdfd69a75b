"""Boxes of lattice points: where they are kept, and how they are halved."""
