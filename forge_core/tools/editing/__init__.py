"""The edit engine: find the text to replace, replace it, check the result, write it atomically."""
