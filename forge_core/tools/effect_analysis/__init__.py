"""Static analysis of the effects of a command line on files, including the scripts and makefiles that it
runs.

`command_lines` reads the line, `program_effects` holds what common programs write, `python_outputs`,
`node_outputs` and `makefiles` read what the line runs. Nothing is executed. Undo attributes these effects to
the command (see `forge_core.undo.attribution`); it leaves a file that is missed here alone, and lists it.
"""
