"""The test folders of the package onnx, and which of them need f64."""
import os


def folder():
    """Where they are; ImportError if the package is absent."""
    import onnx.backend.test
    return os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")


def nodes(expanded=False):
    """The folders of single nodes; with expanded, also those with the function of an op in its place."""
    data = os.path.join(folder(), "node")
    return [os.path.join(data, name) for name in sorted(os.listdir(data)) if expanded or "_expanded" not in name]


def _type_has_f64(kind):
    from onnx import TensorProto
    if kind.HasField("tensor_type"):
        return kind.tensor_type.elem_type == TensorProto.DOUBLE
    if kind.HasField("sequence_type"):
        return _type_has_f64(kind.sequence_type.elem_type)
    return kind.HasField("optional_type") and _type_has_f64(kind.optional_type.elem_type)


def _node_has_f64(node):
    from onnx import TensorProto
    for a in node.attribute:
        if a.name in ("to", "dtype", "stash_type", "output_datatype") and a.i == TensorProto.DOUBLE:
            return True
        if a.t.data_type == TensorProto.DOUBLE or any(t.data_type == TensorProto.DOUBLE for t in a.tensors):
            return True
        if any(_graph_has_f64(g) for g in [*([a.g] if a.HasField("g") else []), *a.graphs]):
            return True
    return False


def _graph_has_f64(graph):
    from onnx import TensorProto
    return (any(_type_has_f64(v.type) for v in [*graph.input, *graph.output, *graph.value_info])
            or any(t.data_type == TensorProto.DOUBLE for t in graph.initializer) or any(map(_node_has_f64, graph.node)))


def has_f64(path):
    """True if the model of a folder states values of 64 bits anywhere, so that a device without f64 refuses it."""
    import onnx
    model = onnx.load(os.path.join(path, "model.onnx"))
    return _graph_has_f64(model.graph) or any(_node_has_f64(n) for f in model.functions for n in f.node)
