"""Transforms with the names and arguments of torch.func."""
from ._names import adviser
from .transform import grad, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap  # noqa: F401


def grad_and_value(func, argnums=0, has_aux=False):
    """The gradients and the value, in this order."""
    both = value_and_grad(func, argnums=argnums, has_aux=has_aux)
    return lambda *args, **kwargs: both(*args, **kwargs)[::-1]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None):
    """The result of the module with other parameters. The module has its own ones afterwards."""
    from .tree_util import tree_map
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (tuple, list)) else [parameter_and_buffer_dicts]
    places, kept = dict(_places(module)), []
    try:
        for name, value in ((name, value) for one in dicts for name, value in one.items()):
            if name not in places:
                raise KeyError(f"functional_call: the module has no array {name!r}; it has {', '.join(places)}")
            owner, attribute = places[name]
            kept.append((owner, attribute, getattr(owner, attribute)))
            setattr(owner, attribute, value)
        args = () if args is None else args if isinstance(args, tuple) else (args,)
        return tree_map(lambda x: x, module(*args, **(kwargs or {})))
    finally:
        for owner, attribute, value in reversed(kept):
            setattr(owner, attribute, value)


def _places(module):
    """The module and the attribute of each name of state_dict."""
    for name in module.state_dict():
        owner, _, attribute = name.rpartition(".")
        at = module
        for part in filter(None, owner.split(".")):
            at = at[int(part)] if part.isdigit() else getattr(at, part)
        yield name, (at, attribute)

__getattr__ = adviser(__name__, "func.")
