"""How the miniature judge is made: data written by rule, a small Llama trained on them,
its quality measured.

`python -m tools.mini_judge` trains it and writes its card; `python -m
tools.mini_judge.ablate` runs the training ablations of the papers at its scale. What
needs the finished judge is in the library, `nlgeval_lib.training.mini`.
"""
