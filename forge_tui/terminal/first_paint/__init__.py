"""The first frame, painted with the standard library while Textual is being imported."""
