"""How the miniature judge is made: data written by rule, a small Llama trained on them,
its quality measured.

`python -m mini_judge` trains it and writes its card; `python -m
mini_judge.ablate` runs the training ablations of the papers at its scale. What
needs the finished judge is in `reproduction.training.mini`.

The way from a seed to the judge, module by module:
domains, phrases: what records are about, and the sentences that say it.
criteria: the kinds of error, and the scores that they lower.
records: a record, a text that says it, errors put in: an `Item`.
prompts, answers: an evaluator's prompt on an item, and the right answer: an `Example`.
tokens, batches: examples as batches of tokens.
recipe, model, train: the settings, the network, and the training of it.
heldout, measure, quality, card: the set that it is measured on, what it says of it, how
    good that is, and the card that tells it.
studies, ablate: the arms of the ablations, and their runs.
"""
