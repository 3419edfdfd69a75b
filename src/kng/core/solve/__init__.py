"""Minimisers of quadratics, exactly and in float64, free and on an l1 ball."""
