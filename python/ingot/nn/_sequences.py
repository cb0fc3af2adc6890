"""ingot.nn.utils.rnn: sequences of different lengths as one array."""
from .. import _names

_op = _names.op_space()


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of shape (length, ...) as one array (longest, batch, ...), or (batch, longest, ...) with batch_first."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence: padding_side is 'left' or 'right', not {padding_side!r}")
    longest = max(x.shape[0] for x in sequences)
    rows = []
    for x in sequences:
        missing = longest - x.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        rows.append(_op.pad(x, [ends] + [(0, 0)] * (x.ndim - 1), "constant", padding_value))
    return _op.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of an array that pad_sequence made."""
    rows = padded_sequences if batch_first else padded_sequences.swapaxes(0, 1)
    return [row[:int(n)] for row, n in zip(rows, lengths)]


def __getattr__(name):
    return _names.find(name, "utils.rnn.")
