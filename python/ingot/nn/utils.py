"""Gradients and parameters of a whole network. Gradients are a dictionary of arrays, as nn.value_and_grad gives them."""
import sys

from .. import _ingot, _names
from . import _sequences as rnn
from .module import Parameters

sys.modules[__name__ + ".rnn"] = rnn  # as PyTorch has it

_op = _names.op_space()


def __getattr__(name):
    return _names.find(name, "utils.")


def _grads(grads, name):
    if isinstance(grads, Parameters) or not isinstance(grads, dict):
        raise TypeError(f"{name} takes the gradients that value_and_grad returns: loss, grads = step(net, x, y); {name}(grads, 1.0)")
    return grads


def get_total_norm(grads, norm_type=2.0):
    """The norm of all gradients together."""
    norms = [_op.vector_norm(g, ord=norm_type) for g in (grads.values() if isinstance(grads, dict) else grads)]
    return _op.vector_norm(_op.stack(norms), ord=norm_type) if norms else _ingot.asarray(0.0)


def clip_grad_norm_(grads, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales the gradients in the dictionary down to max_norm if their norm is larger. Returns the norm before."""
    norm = get_total_norm(_grads(grads, "clip_grad_norm_"), norm_type)
    if error_if_nonfinite and not bool(_op.isfinite(norm)):
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {float(norm)}")
    scale = _op.minimum(max_norm / (norm + 1e-6), 1.0)
    for name, g in grads.items():
        grads[name] = g * scale
    return norm


def clip_grad_value_(grads, clip_value):
    """Keeps all elements of the gradients in the dictionary within [-clip_value, clip_value]."""
    for name, g in _grads(grads, "clip_grad_value_").items():
        grads[name] = _op.clip(g, -clip_value, clip_value)


def parameters_to_vector(parameters):
    """All parameters as one vector."""
    return _op.concat([p.reshape((-1,)) for p in (parameters.values() if isinstance(parameters, dict) else parameters)])


def vector_to_parameters(vec, parameters):
    """Sets the parameters of a module, net.parameters(), to the parts of a vector."""
    if not isinstance(parameters, Parameters):
        raise TypeError("vector_to_parameters: the second argument must be net.parameters()")
    new, at = {}, 0
    for name, p in parameters.items():
        new[name] = vec[at:at + p.size].reshape(p.shape)
        at += p.size
    if at != vec.size:
        raise ValueError(f"vector_to_parameters: the vector has {vec.size} elements and the parameters {at}")
    parameters.module.load_state_dict(new, strict=False)
