"""Batches: many tasks, each a `forge run` in its own worktree. An interrupted batch can be continued."""
