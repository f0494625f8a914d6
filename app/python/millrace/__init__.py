"""Millrace: the exact, resumable training stream in every script.

    import millrace

    stream = millrace.stream("spec.yaml")
    for batch in stream:                       # this rank's rows of a step
        loss = f(model(batch)); loss.backward(); opt.step()
    checkpoint["data"] = stream.state_dict()   # any rank's; resumes with any number of ranks

Importing this loads neither numpy nor torch.
"""

from ._batch import Batch, Ragged
from ._chart import Chart
from ._checkpoint import Resumed, checkpoint, resume
from ._client import Client
from ._errors import DaemonError, FeedError, MillraceError, MisuseError, RunError, SpecError
from ._evaluate import Figures, evaluate
from ._link import log
from ._model import load_model
from ._params import Params, params
from ._questions import Estimate, check, dataset, preview
from ._runs import Best, Checkpoint, Comparison, Metrics, Progress, Run, RunDetails, Runs, Series
from ._stream import Evaluation, Stream, stream
from ._version import __version__

__all__ = ["Batch", "Best", "Chart", "Checkpoint", "Client", "Comparison", "DaemonError", "Estimate", "Evaluation", "FeedError",
           "Figures", "Metrics", "MillraceError", "MisuseError", "Params", "Progress", "Ragged", "Resumed", "Run", "RunDetails", "RunError",
           "Runs", "Series", "SpecError", "Stream", "__version__", "check", "checkpoint", "dataset", "evaluate", "load_model",
           "log", "params", "preview", "resume", "stream"]
