"""Part of the stand-in for tau2-bench 1.0.1."""
