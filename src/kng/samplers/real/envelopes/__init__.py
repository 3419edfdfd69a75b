"""Proposals for regressions drawn by rejection: densities that are nowhere below the stated one."""
