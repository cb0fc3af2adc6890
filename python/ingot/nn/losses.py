"""Losses as modules."""
from .._names import find
from . import functional as F
from .containers import OWN
from .module import Module


class _Loss(Module):
    """A loss whose attributes are the function's keywords."""

    def __init__(self, size_average=None, reduce=None, reduction="mean", **options):
        self.reduction = reduction
        vars(self).update(options)

    def forward(self, *args):
        return self._call(*args, **{name: x for name, x in vars(self).items() if name not in OWN})


class MSELoss(_Loss):
    _call = staticmethod(F.mse_loss)


class L1Loss(_Loss):
    _call = staticmethod(F.l1_loss)


class SoftMarginLoss(_Loss):
    _call = staticmethod(F.soft_margin_loss)


class SmoothL1Loss(_Loss):
    _call = staticmethod(F.smooth_l1_loss)

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(_Loss):
    _call = staticmethod(F.huber_loss)

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction, delta=delta)


class KLDivLoss(_Loss):
    """target * (log(target) - input) for log probabilities input."""

    _call = staticmethod(F.kl_div)

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(reduction=reduction, log_target=log_target)


class PoissonNLLLoss(_Loss):
    _call = staticmethod(F.poisson_nll_loss)

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(reduction=reduction, log_input=log_input, full=full, eps=eps)


class HingeEmbeddingLoss(_Loss):
    _call = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=reduction, margin=margin)


class _Weighted(_Loss):
    """A loss with weights, which are not trained."""

    _state = ("weight", "pos_weight")

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", **options):
        super().__init__(reduction=reduction, weight=weight, **options)


class BCELoss(_Weighted):
    """Binary cross entropy of probabilities."""

    _call = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_Weighted):
    """Binary cross entropy of logits."""

    _call = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(weight, reduction=reduction, pos_weight=pos_weight)


class MultiLabelSoftMarginLoss(_Weighted):
    _call = staticmethod(F.multilabel_soft_margin_loss)


class NLLLoss(_Weighted):
    """Minus the log probabilities (N, C, ...) at the classes of the target."""

    _call = staticmethod(F.nll_loss)

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, reduction=reduction, ignore_index=ignore_index)


class CrossEntropyLoss(_Weighted):
    """The loss of logits (N, C, ...), for targets that are classes or probabilities."""

    _call = staticmethod(F.cross_entropy)

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        super().__init__(weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


class MultiMarginLoss(_Weighted):
    _call = staticmethod(F.multi_margin_loss)

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, reduction=reduction, p=p, margin=margin)


class GaussianNLLLoss(_Loss):
    """The loss of (input, target, var)."""

    _call = staticmethod(F.gaussian_nll_loss)

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction=reduction, full=full, eps=eps)


class MarginRankingLoss(_Loss):
    """The loss of (input1, input2, target)."""

    _call = staticmethod(F.margin_ranking_loss)

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=reduction, margin=margin)


class CosineEmbeddingLoss(_Loss):
    """The loss of (input1, input2, target)."""

    _call = staticmethod(F.cosine_embedding_loss)

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=reduction, margin=margin)


class TripletMarginLoss(_Loss):
    """The loss of (anchor, positive, negative)."""

    _call = staticmethod(F.triplet_margin_loss)

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        super().__init__(reduction=reduction, margin=margin, p=p, eps=eps, swap=swap)


class CTCLoss(_Loss):
    """The loss of (log_probs, targets, input_lengths, target_lengths)."""

    _call = staticmethod(F.ctc_loss)

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction, blank=blank, zero_infinity=zero_infinity)


def __getattr__(name):
    """MLX's losses, whose results are not averaged unless MLX does."""
    if name in ("mse_loss", "l1_loss", "smooth_l1_loss"):
        return getattr(F, name)
    return find(name, "losses.")
