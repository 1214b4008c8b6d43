"""A view over blocks: layout, window, rows, selection, search and mouse."""
