"""ONNX Runtime as a peer: see bench/peer.py."""


class OnnxRuntime:
    """ONNX Runtime with all of its graph optimizations, on a graph of standard ops as an exporter writes it."""

    dtypes = {"f32": "float32"}

    def __init__(self, threads):
        import numpy
        import onnx
        import onnxruntime

        self.np, self.onnx, self.ort, self.threads = numpy, onnx, onnxruntime, threads
        self.version = onnxruntime.__version__

    def load(self, path, dtype):
        return self.np.load(path)

    def save(self, path, y):
        self.np.save(path, y)

    def distilbert(self, ids, words, places, *stacks):
        np, onnx = self.np, self.onnx
        squares, square_bias, up, up_bias, down, down_bias, norm, norm_bias = stacks
        batch, tokens, width = *ids.shape, words.shape[1]
        nodes, constants, names = [], [], iter(range(100000))

        def constant(x):
            name = f"c{next(names)}"
            constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(x), name))
            return name

        def node(op, *inputs, **attributes):
            name = f"v{next(names)}"
            nodes.append(onnx.helper.make_node(op, list(inputs), [name], **attributes))
            return name

        def linear(x, weight, bias):
            return node("Add", node("MatMul", x, constant(weight.T)), constant(bias))

        def normed(x, i):
            return node("LayerNormalization", x, constant(norm[i]), constant(norm_bias[i]), epsilon=1e-12)

        def heads(x, order):
            split = node("Reshape", x, constant(np.int64([batch, tokens, width // 64, 64])))
            return node("Transpose", split, perm=order)

        def attention(x, weight, bias):
            query, key, value = (linear(x, weight[i], bias[i]) for i in range(3))
            scores = node("MatMul", heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1]))
            chances = node("Softmax", node("Div", scores, constant(np.float32(8))), axis=-1)
            y = node("Transpose", node("MatMul", chances, heads(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
            return linear(node("Reshape", y, constant(np.int64([batch, tokens, width]))), weight[3], bias[3])

        x = normed(node("Add", node("Gather", constant(words), "ids"), constant(places[:tokens])), 0)
        for i in range(len(up)):
            x = normed(node("Add", x, attention(x, squares[i], square_bias[i])), 1 + 2 * i)
            y = linear(node("Gelu", linear(x, up[i], up_bias[i])), down[i], down_bias[i])
            x = normed(node("Add", x, y), 2 + 2 * i)
        return self.session(nodes, constants, "ids", ids, x, (batch, tokens, width))

    def linear_bytes(self, x, weight):
        np, onnx = self.np, self.onnx
        values = {"weight": np.ascontiguousarray(weight.T), "zero": np.uint8(7), "scale": np.float32(0.01)}
        constants = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in values.items()]
        nodes = [
            onnx.helper.make_node("MatMulInteger", ["x", "weight", "zero"], ["sums"]),
            onnx.helper.make_node("Cast", ["sums"], ["whole"], to=onnx.TensorProto.FLOAT),
            onnx.helper.make_node("Mul", ["whole", "scale"], ["y"]),
        ]
        return self.session(nodes, constants, "x", x, "y", (len(x), len(weight)))

    def roi_align(self, x, boxes):
        np, onnx = self.np, self.onnx
        ends = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1).astype("f4")
        constants = [onnx.numpy_helper.from_array(v, n) for n, v in (("boxes", ends), ("image", np.zeros(len(boxes), "i8")))]
        node = onnx.helper.make_node("RoiAlign", ["x", "boxes", "image"], ["y"], output_height=7, output_width=7, sampling_ratio=2,
                                     coordinate_transformation_mode="output_half_pixel")
        return self.session([node], constants, "x", x, "y", (len(boxes), x.shape[1], 7, 7))

    def session(self, nodes, constants, name, x, result, shape):
        """Runs a graph with one input and one f32 result."""
        onnx = self.onnx
        value = onnx.helper.make_tensor_value_info
        kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
        graph = onnx.helper.make_graph(
            nodes, "graph", [value(name, kind, x.shape)], [value(result, onnx.TensorProto.FLOAT, shape)], constants
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
        model.ir_version = 9
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        session = self.ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {name: x})[0]
