"""Runs the catalogue's notebooks: strictly, several at a time, and only those that
something changed for.

`stale` decides which outputs must be made again, `session` is one run over the
catalogue, `pool` executes notebooks side by side in the `kernels` that it starts, and
`trials` are runs on the side: sweeps over parameters, and checks that results come out
again.
"""
