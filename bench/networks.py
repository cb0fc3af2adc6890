"""Convolutional networks with random weights, as lists of nodes: written as ONNX files without a library, or built with PyTorch.

    python3 bench/networks.py resnet50 [--dtype f16] [--batch N] [--folded] -o resnet50.onnx

Weights are normal with the variance of He et al., and batch norms have random statistics, so results are finite also in f16.
The length of the batch axis is symbolic unless --batch gives it.
"""
import argparse
import struct

NUMPY = {"f32": "float32", "f16": "float16"}


class Network:
    """A network that is being written down: nodes (op, inputs, output, attributes) and weights by name."""

    def __init__(self, dtype="f32", folded=False):
        import numpy as np

        self.rng, self.dtype, self.folded = np.random.default_rng(0), NUMPY[dtype], folded
        self.nodes, self.weights, self.channels = [], {}, {"x": 3}

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights[name] = values.astype(self.dtype)
        return name

    def node(self, op, inputs, channels, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append((op, inputs, output, attributes))
        self.channels[output] = channels
        return output

    def conv(self, x, channels, side, stride=1, groups=1):
        """A convolution and its batch norm, as exporters of trained networks write them; or, folded, with a bias."""
        fan = self.channels[x] // groups * side * side
        w = self.weight(self.rng.normal(size=(channels, fan // side // side, side, side)) * (2 / fan) ** 0.5)
        b = [self.weight(self.rng.uniform(-0.1, 0.1, channels))] if self.folded else []
        y = self.node("Conv", [x, w] + b, channels, kernel_shape=[side] * 2, strides=[stride] * 2, pads=[side // 2] * 4,
                      dilations=[1, 1], group=groups)
        if self.folded:
            return y
        around = [self.weight(self.rng.uniform(low, high, channels)) for low, high in
                  ((0.5, 1), (-0.1, 0.1), (-0.1, 0.1), (0.5, 1.5))]
        return self.node("BatchNormalization", [y] + around, channels, epsilon=1e-5)

    def relu(self, x):
        return self.node("Relu", [x], self.channels[x])

    def add(self, x, y):
        return self.node("Add", [x, y], self.channels[x])

    def classify(self, x, classes=1000):
        x = self.node("GlobalAveragePool", [x], self.channels[x])
        n = self.channels[x]
        x = self.node("Flatten", [x], n, axis=1)
        w, b = self.weight(self.rng.normal(size=(classes, n)) / n**0.5), self.weight(self.rng.normal(size=classes) * 0.1)
        return self.node("Gemm", [x, w, b], classes, transB=1)


def resnet50(dtype="f32", folded=False):
    """He et al. 2015, with the stride in the 3 x 3 convolution, as most libraries have it."""
    net = Network(dtype, folded)
    x = net.relu(net.conv("x", 64, 7, 2))
    x = net.node("MaxPool", [x], 64, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for channels, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(blocks):
            stride = 2 if i == 0 and channels > 64 else 1
            y = net.relu(net.conv(x, channels, 1))
            y = net.conv(net.relu(net.conv(y, channels, 3, stride)), 4 * channels, 1)
            x = net.relu(net.add(y, net.conv(x, 4 * channels, 1, stride) if i == 0 else x))
    net.classify(x)
    return net


def mobilenet_v2(dtype="f32", folded=False):
    """Sandler et al. 2018: inverted bottlenecks with depthwise convolutions."""
    net = Network(dtype, folded)

    def clip(x):
        if "low" not in net.weights:
            import numpy as np

            net.weights["low"], net.weights["high"] = np.array(0, net.dtype), np.array(6, net.dtype)
        return net.node("Clip", [x, "low", "high"], net.channels[x])

    x = clip(net.conv("x", 32, 3, 2))
    for expand, channels, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(blocks):
            wide, stride = net.channels[x] * expand, first if i == 0 else 1
            y = x if expand == 1 else clip(net.conv(x, wide, 1))
            y = net.conv(clip(net.conv(y, wide, 3, stride, groups=wide)), channels, 1)
            x = net.add(x, y) if i else y
    net.classify(clip(net.conv(x, 1280, 1)))
    return net


NETWORKS = {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2}

# ---- ONNX files: protocol buffers, field by field ------------------------------------------------


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    """An integer, a float, a text or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    kind = {int: (3, 2), float: (2, 1)}.get(type(value))
    content = field(kind[0], value) + field(20, kind[1]) if kind else b"".join(field(8, v) for v in value) + field(20, 7)
    return field(5, field(1, name) + content)


def value_info(name, dtype, *lengths):
    axes = b"".join(field(1, field(2, n) if isinstance(n, str) else field(1, n)) for n in lengths)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, axes)))


def onnx_bytes(net, batch="batch", opset=17):
    dtype = {"float32": 1, "float16": 10}[net.dtype]
    graph = field(2, "network")
    for op, inputs, output, attributes in net.nodes:
        graph += field(1, b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, op)
                       + b"".join(attribute(k, v) for k, v in attributes.items()))
    parts = [graph]
    for name, w in net.weights.items():
        parts.append(field(5, b"".join(field(1, n) for n in w.shape) + field(2, dtype) + field(8, name)
                           + field(9, w.tobytes())))
    last = net.nodes[-1][2]
    parts.append(field(11, value_info("x", dtype, batch, 3, 224, 224)))
    parts.append(field(12, value_info(last, dtype, batch, net.channels[last])))
    return field(1, 8) + field(7, b"".join(parts)) + field(8, field(1, "") + field(2, opset))


# ---- PyTorch -----------------------------------------------------------------------------------------


def torch_module(net, device):
    import torch
    from torch.nn import functional as F

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, w in net.weights.items():
                self.register_buffer(name, torch.from_numpy(w.copy()))

        def forward(self, x):
            values = {"x": x}
            for op, inputs, output, a in net.nodes:
                v = [values[i] if i in values else getattr(self, i) for i in inputs]
                values[output] = self.compute(op, v, a)
            return values[output]

        @staticmethod
        def compute(op, v, a):
            if op == "Conv":
                return F.conv2d(*v, stride=a["strides"], padding=a["pads"][:2], groups=a["group"])
            if op == "BatchNormalization":
                return F.batch_norm(v[0], v[3], v[4], v[1], v[2], eps=a["epsilon"])
            if op == "MaxPool":
                return F.max_pool2d(v[0], a["kernel_shape"], a["strides"], a["pads"][:2])
            if op == "Gemm":
                return F.linear(*v)
            return {"Relu": torch.relu, "Add": torch.add, "Flatten": lambda x: x.flatten(1),
                    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
                    "Clip": lambda x, *_: torch.clamp(x, 0, 6)}[op](*v)

    return Module().to(device).eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--dtype", choices=NUMPY, default="f32")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--folded", action="store_true", help="convolutions with a bias instead of batch norms")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    with open(options.output, "wb") as file:
        file.write(onnx_bytes(NETWORKS[options.network](options.dtype, options.folded), options.batch or "batch"))


if __name__ == "__main__":
    main()
