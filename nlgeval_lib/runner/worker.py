"""The process that executes notebooks: one JSON request a line in, one JSON answer a line out.

Started by `pool.Worker` as `python -m nlgeval_lib.runner.worker`. It is kept between notebooks, since loading papermill
takes longer than starting a kernel.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

KERNEL = "nlgeval"


def kernel_folder(state: Path) -> Path:
    """Write, below `state`, a Jupyter folder whose one kernel runs this very Python; return it."""
    from nlgeval_lib import files

    spec = {
        "argv": [
            sys.executable,
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
            "--HistoryManager.hist_file=:memory:",
        ],
        "display_name": KERNEL,
        "language": "python",
    }
    folder = state / "jupyter"
    target = folder / "kernels" / KERNEL / "kernel.json"
    text = json.dumps(spec)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        files.write_text(target, text)
    return folder


def execute(request: dict[str, Any]) -> dict[str, Any]:
    """Run one notebook to `request["target"]`; the answer says `ok`, or which cell failed and how."""
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    from nlgeval_lib import files

    os.environ.update(request["environment"])
    try:
        papermill.execute_notebook(
            request["source"],
            request["target"],
            parameters=request["parameters"],
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            cwd=request["folder"],
            start_timeout=120,
            execution_timeout=request["timeout"],
            config=Config({"KernelManager": {"shutdown_wait_time": 2.0}}),
        )
    except papermill.PapermillExecutionError as error:
        return {
            "ok": False,
            "cell": error.exec_count,
            "source": error.source,
            "error": f"{error.ename}: {error.evalue}",
            "traceback": "\n".join(error.traceback),
        }
    except CellTimeoutError:
        return {"ok": False, "error": f"a cell took longer than {request['timeout']} s (--timeout)"}
    except DeadKernelError:
        return {"ok": False, "error": "the kernel died (out of memory, or killed)"}
    except OSError as error:
        if error.errno in files.NO_ROOM:
            where = Path(request["target"]).parent
            return {"ok": False, "error": f"cannot write the executed copy in {where}: {files.way_out(error)}"}
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    return {"ok": True}


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to the log, not between the answers
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from nlgeval_lib.runner import forked

    try:
        if forked.wanted():
            forked.use()
        for line in sys.stdin:
            answers.write(json.dumps(execute(json.loads(line))) + "\n")
            answers.flush()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
