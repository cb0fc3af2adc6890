"""Fourier transforms: the standard's extension and more."""
from . import _ingot, _names

_STANDARD = """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift""".split()
globals().update((name, _ingot._ops[name]) for name in _STANDARD)
__all__ = _STANDARD
__getattr__ = _names.getter("fft.", globals())
