"""What goes wrong, as exceptions: each message is a whole sentence (where, what, what would be right)."""


class MillraceError(RuntimeError):
    """What Millrace has to say: a sentence. Base of the others."""


class SpecError(MillraceError):
    """The spec, the data or a state is wrong: the same again ends the same way."""


class FeedError(MillraceError):
    """The feed that computes the stream has failed or is gone: go on from the last state that was saved."""


class MisuseError(MillraceError):
    """The stream was used in a way in which it cannot work; the sentence says what works."""
