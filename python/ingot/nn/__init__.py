"""Networks. A module is a plain class whose attributes are arrays (parameters), other modules, and lists or dicts of them.
Layers have PyTorch's names, arguments, layouts and initial values. All ops are functions here too: nn.relu, nn.cross_entropy.

    class Net(nn.Module):
        def __init__(self):
            self.hidden, self.out = nn.Linear(784, 128), nn.Linear(128, 10)

        def forward(self, x):
            return self.out(nn.relu(self.hidden(x)))

    net, opt = Net(), optim.Adam(1e-3)
    step = nn.value_and_grad(net, lambda net, x, y: nn.cross_entropy(net(x), y))
    loss, grads = step(net, x, y)
    opt.update(net, grads)
"""
from .. import _ingot, _names
from . import functional, init, utils  # noqa: F401
from .module import (  # noqa: F401
    LossScale, Module, Parameter, Parameters, loss_scale, mixed, value_and_grad)
from .containers import (  # noqa: F401
    ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential)
from .activations import (  # noqa: F401
    AlphaDropout, CELU, CosineSimilarity, Dropout, Dropout1d, Dropout2d, Dropout3d, ELU, FeatureAlphaDropout, Flatten, Fold,
    GELU, GLU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, Identity, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU,
    PairwiseDistance, PixelShuffle, PixelUnshuffle, RReLU, ReLU, ReLU6, SELU, SiLU, Sigmoid, Softmax, Softmax2d, Softmin,
    Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold, Unflatten, Unfold, Upsample, UpsamplingBilinear2d,
    UpsamplingNearest2d)
from .pools import (  # noqa: F401
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d,
    AvgPool1d, AvgPool2d, AvgPool3d, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d,
    ConstantPad3d, MaxPool1d, MaxPool2d, MaxPool3d, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, ZeroPad1d, ZeroPad2d, ZeroPad3d)
from .layers import (  # noqa: F401
    Bilinear, Conv, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Embedding, Linear)
from .norms import (  # noqa: F401
    BatchNorm, BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm,
    LocalResponseNorm, RMSNorm)
from .recurrent import (  # noqa: F401
    GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell)
from .attention import (  # noqa: F401
    MultiHeadAttention, MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer)
from .blocks import (  # noqa: F401
    GroupedQueryAttention, PatchEmbedding, RoPE, SwiGLU)
from .losses import (  # noqa: F401
    BCELoss, BCEWithLogitsLoss, CTCLoss, CosineEmbeddingLoss, CrossEntropyLoss, GaussianNLLLoss, HingeEmbeddingLoss,
    HuberLoss, KLDivLoss, L1Loss, MSELoss, MarginRankingLoss, MultiLabelSoftMarginLoss, MultiMarginLoss, NLLLoss,
    PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss)

_ops = _ingot._ops


def __getattr__(name):
    if name == "initializers":
        from importlib import import_module
        return import_module("ingot.nn.initializers")
    return _ops[name] if name in _ops else _names.find(name, "nn.")
