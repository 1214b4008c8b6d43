"""Batches: many tasks, each a `forge run` in a worktree of its own, to be continued after any end."""
