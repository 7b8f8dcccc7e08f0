"""Fine-tuning by named settings: the papers' runs, variants marked as ours, and what each would take.

    config = named("tigerscore-7b")
    print("\\n".join(plan(config).lines()))          tokens, memory, hours; nothing is loaded
    finetune(config, "sets/metricinstruct", "runs/tigerscore-7b")

On several GPUs: `launch_command(config)`.
"""

from __future__ import annotations

from nlgeval_lib.training.finetune.config import Config, named, names, plan, size_of
from nlgeval_lib.training.finetune.run import chosen, examples, finetune, launch_command, tokenized

__all__ = [
    "Config",
    "chosen",
    "examples",
    "finetune",
    "launch_command",
    "named",
    "names",
    "plan",
    "size_of",
    "tokenized",
]
