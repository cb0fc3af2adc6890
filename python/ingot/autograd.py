"""Derivatives of functions with the names of torch.autograd."""
from types import SimpleNamespace

from . import _tensor, transform
from ._names import adviser


def grad(*_, **__):
    """Raises an error with the form of gradients here."""
    raise TypeError("autograd.grad: gradients are results of a function here: use ig.grad(f)(x), or ig.value_and_grad(f)(x)")


def _many(function):
    """PyTorch's call, with the arguments of the function in a tuple: the derivatives by all of them."""
    def derivative(func, inputs, create_graph=False, strict=False, vectorize=False):
        if isinstance(inputs, (tuple, list)):
            return function(func, argnums=tuple(range(len(inputs))))(*inputs)
        return function(func)(inputs)

    return derivative


functional = SimpleNamespace(jacobian=_many(transform.jacobian), hessian=_many(transform.hessian))
no_grad, enable_grad, set_grad_enabled, inference_mode = _tensor.no_grad, _tensor.enable_grad, _tensor.set_grad_enabled, _tensor.no_grad

__getattr__ = adviser(__name__, "autograd.")
