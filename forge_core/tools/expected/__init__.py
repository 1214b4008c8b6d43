"""What a command line may do to files: read from the line, and from the scripts and makefiles that it runs.

`lines` reads the line, `programs` knows what usual programs write, `python_outputs`, `node_outputs` and
`makefiles` read what the line runs. Nothing is executed. What is found is what undo takes for the command's
(see `forge_core.undo.attribution`); a file that is missed here is left alone by undo, and listed.
"""
