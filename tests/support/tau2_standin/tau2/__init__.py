"""A small stand-in for tau2-bench 1.0.1: its names, fields and checks as far as an agent meets them.

For Pythons where tau2 cannot be installed. The same tests run against the real tau2 where it is.
"""
