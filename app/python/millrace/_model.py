"""The trained model of a built-in trainer's run, as a torch module."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from . import _safetensors
from ._client import Client
from ._errors import MillraceError
from ._runs import Run

if TYPE_CHECKING:
    from ._modules import BuiltIn


def load_model(run: str | os.PathLike[str] | Run, step: int | None = None, *, best: bool = False,
               host: str | None = None, check_features: bool = True) -> BuiltIn:
    """Loads a model that a run of the built-in trainer has learnt, of any type, as a torch module that gives the same
    numbers.

    run
        A checkpoint's file (`step-00000400.a1.safetensors`); or a run, by id, name, the beginning of one, or a `Run`;
        `step` selects the checkpoint (default: the newest).
    best
        Selects the checkpoint of the best evaluation, for a run with `train.early_stop`.
    host
        The daemon that has the run, as in `millrace.Client`. The file must be on this machine.
    check_features
        True: a batch whose features differ from those that the model has learnt raises a `SpecError`, which names the
        first difference. Differences are another name or order of dense features, another size of a table or
        vocabulary, or another step that computes a feature. The choice of rows and their weights do not matter. False:
        accepts every batch that has columns of these names.

    The whole file is read and verified against its checksums; a damaged file is rejected. `model(batch)` gives the
    logits [rows, heads] of a batch with the same features, and `model.probabilities(batch)` the probabilities by head.
    Inputs are scaled as in training.

        import millrace
        model = millrace.load_model("r-abc23")
        figures = millrace.evaluate(model.probabilities, "spec.yaml")   # as the run reported them

    `model.heads` has the names of the labels, and `model.step` the step of the checkpoint. The `state_dict()` of a
    network uses the checkpoint's names. Needs torch.
    """
    file = _safetensors.Checkpoint(_path_of(run, step, best, host), is_whole=True)
    facts = json.loads(file.metadata.get("module", "{}"))
    if "inputs" not in facts:
        raise MillraceError(f"checkpoint {file.path} does not say of which model it is: it is a script's, which alone knows what "
                            "it has saved (millrace.resume())")
    from . import _modules  # imports torch
    model = _modules.build(facts, file.tensors(json.loads(file.metadata["weights"])), file.path)
    model.step, model.checks_features = int(file.metadata["step"]), check_features
    return model


def _path_of(run: str | os.PathLike[str] | Run, step: int | None, best: bool, host: str | None) -> str:
    """The path of the checkpoint."""
    if not isinstance(run, Run):
        path = os.fspath(run)
        if os.path.isfile(path) or os.sep in path or path.endswith(".safetensors"):
            return path
        run = path
    details = Client(host).show(run)
    found = [one for one in details.checkpoints if step is None or one.step == step]
    if not found:
        there = ", ".join(str(one.step) for one in sorted(details.checkpoints, key=lambda one: one.step))
        raise MillraceError(f"run {details.id} has no checkpoint{'' if step is None else f' of step {step}'}; "
                            + (f"there are those of {there}" if there else "there is none yet"))
    path = max(found, key=lambda one: (one.step, one.attempt)).path
    if best:
        path = os.path.join(os.path.dirname(path), "best.safetensors")
        if not os.path.exists(path):
            raise MillraceError(f"run {details.id}: {path} is not there; runs with train.early_stop keep one")
    if not os.path.exists(path):
        raise MillraceError(f"run {details.id}: {path} is not on this machine; copy it here and give its path")
    return path
