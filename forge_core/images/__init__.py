"""Images that messages carry: what they are, how texts and requests name them, and where their bytes are."""
