"""Millrace: the exact, resumable training stream in every script.

    import millrace

    stream = millrace.stream("spec.yaml")
    for batch in stream:                       # this rank's rows of a step
        loss = f(model(batch)); loss.backward(); opt.step()
    checkpoint["data"] = stream.state_dict()   # any rank's; goes on with any number of ranks

Importing this loads neither numpy nor torch.
"""

from ._batch import Batch, Ragged
from ._checkpoint import Resumed, checkpoint, resume
from ._errors import FeedError, MillraceError, MisuseError, SpecError
from ._link import log
from ._questions import Estimate, check, dataset, preview
from ._stream import Evaluation, Stream, stream
from ._version import __version__

__all__ = ["Batch", "Estimate", "Evaluation", "FeedError", "MillraceError", "MisuseError", "Ragged", "Resumed",
           "SpecError", "Stream", "__version__", "check", "checkpoint", "dataset", "log", "preview", "resume", "stream"]
