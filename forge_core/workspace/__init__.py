"""The folder being worked in: its git repository, what is ignored in it, and a walk over the rest."""
