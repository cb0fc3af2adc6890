"""Layers and functions that PyTorch has, too: calls that are the same text in both, with the shapes of their inputs.

A shape is a float input; ("int", n, shape) integers below n, ("unit", shape) floats within (0, 1), ("mask", shape) bools,
("sign", shape) -1 or 1. MODULES: name -> (expression with nn, inputs, in training or not). FUNCTIONS: (expression with F
and inputs a, b, c, ...)."""

IMAGE, SEQUENCE, ROWS = (2, 4, 6, 7), (2, 4, 9), (5, 6)
CLASSES, PIXELS = ("int", 4, (5,)), ("int", 4, (2, 6, 7))


def _modules():
    plain = """ReLU ReLU6 SiLU Mish Tanh Sigmoid LogSigmoid SELU Softsign Hardswish Hardsigmoid Tanhshrink GELU LeakyReLU ELU CELU
    Softplus Softshrink Hardshrink Hardtanh PReLU Identity Softmax2d""".split()
    yield from ((f"{name}()", [IMAGE], False) for name in plain)
    yield from ((text, [IMAGE], False) for text in """GELU(approximate='tanh')
        LeakyReLU(0.2)
        ELU(alpha=0.5)
        GLU(1)
        Softmax(dim=1)
        Softmax(dim=-1)
        LogSoftmax(dim=1)
        Softmin(dim=1)
        Softplus(2.0, 1.0)
        Threshold(0.1, 0.5)
        PReLU(4)
        RReLU()
        Flatten()
        Flatten(0, 1)
        Unflatten(1, (2, 2))
        Dropout(0.5)
        MaxPool2d(2)
        MaxPool2d(3, stride=2, padding=1)
        MaxPool2d((2, 3), ceil_mode=True)
        AvgPool2d(2)
        AvgPool2d(3, 2, padding=1, count_include_pad=False)
        AvgPool2d(2, divisor_override=3)
        AdaptiveAvgPool2d(1)
        AdaptiveAvgPool2d((3, None))
        AdaptiveMaxPool2d((2, 3))
        Conv2d(4, 6, 3)
        Conv2d(4, 6, kernel_size=3, padding='same')
        Conv2d(4, 6, kernel_size=(3, 2), padding='same', dilation=2)
        Conv2d(4, 6, kernel_size=3, stride=2, padding=1, bias=False)
        Conv2d(4, 8, 3, groups=2, dilation=2)
        Conv2d(4, 4, 3, padding=1, groups=4)
        Conv2d(4, 8, (2, 3), stride=2, groups=4)
        ConvTranspose2d(4, 8, 3, stride=2, groups=4)
        Conv2d(4, 6, 3, padding=1, padding_mode='reflect')
        Conv2d(4, 6, 3, padding='same', padding_mode='circular')
        Conv2d(4, 4, 1, padding_mode='replicate', padding=2)
        ConvTranspose2d(4, 6, 3)
        ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)
        ConvTranspose2d(4, 6, 2, stride=2, groups=2, bias=False)
        BatchNorm2d(4)
        BatchNorm2d(4, affine=False, momentum=0.3)
        BatchNorm2d(4, track_running_stats=False)
        InstanceNorm2d(4)
        InstanceNorm2d(4, affine=True, track_running_stats=True)
        GroupNorm(2, 4)
        LayerNorm(7)
        LayerNorm((6, 7))
        LayerNorm([6, 7], bias=False)
        RMSNorm(7)
        RMSNorm((6, 7), eps=1e-3)
        LocalResponseNorm(2)
        PixelShuffle(2)
        Upsample(scale_factor=2)
        Upsample(size=(5, 9), mode='bilinear')
        Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        Upsample(scale_factor=2, mode='bicubic')
        ZeroPad2d((1, 2, 0, 1))
        ConstantPad2d(1, 3.5)
        ReflectionPad2d((1, 2, 1, 0))
        ReplicationPad2d(2)
        CircularPad2d(1)
        Unfold(2)
        Linear(7, 3)
        Linear(7, 3, bias=False)""".split("\n        "))
    yield from ((text, [SEQUENCE], False) for text in """Conv1d(4, 6, 3)
        Conv1d(4, 6, 4, padding='same')
        ConvTranspose1d(4, 6, 3, stride=2)
        MaxPool1d(2)
        AvgPool1d(3, 2)
        AdaptiveAvgPool1d(4)
        AdaptiveMaxPool1d(4)
        BatchNorm1d(4)
        InstanceNorm1d(4)
        Upsample(scale_factor=2, mode='linear')
        ReflectionPad1d(2)""".split("\n        "))
    yield from ((text, [(2, 2, 4, 5, 6)], False) for text in """Conv3d(2, 3, 3, padding=1)
        ConvTranspose3d(2, 3, 2, stride=2)
        MaxPool3d(2)
        AvgPool3d(2)
        AdaptiveAvgPool3d(2)
        BatchNorm3d(2)""".split("\n        "))
    for text, shape in (("BatchNorm1d(6)", ROWS), ("BatchNorm1d(4)", SEQUENCE), ("BatchNorm2d(4, momentum=None)", IMAGE),
                        ("InstanceNorm2d(4, track_running_stats=True)", IMAGE), ("Dropout(0.0)", IMAGE)):
        yield text, [shape], True
    yield from (("Embedding(10, 4)", [("int", 10, (3, 5))], False), ("Embedding(10, 4, padding_idx=2)", [("int", 10, (3, 5))], False),
                ("Bilinear(6, 6, 3)", [ROWS, ROWS], False), ("CosineSimilarity()", [ROWS, ROWS], False),
                ("PairwiseDistance()", [ROWS, ROWS], False), ("Conv2d(4, 3, 3)", [(4, 6, 7)], False),
                ("MaxPool2d(2)", [(4, 6, 7)], False), ("Fold((4, 5), (2, 2))", [(2, 8, 12)], False))
    time = (7, 3, 5)
    for kind in ("RNN", "GRU", "LSTM"):
        for options in ("", ", batch_first=True", ", num_layers=2, bidirectional=True", ", bias=False, num_layers=2"):
            yield f"{kind}(5, 4{options})", [time], False
        yield f"{kind}(5, 4)", [(7, 5)], False
        yield f"{kind}Cell(5, 4)", [(3, 5)], False
    yield "RNN(5, 4, nonlinearity='relu')", [time], False
    yield "GRU(5, 4, 2)", [time, (2, 3, 4)], False
    query, memory = (6, 2, 8), (5, 2, 8)
    yield "MultiheadAttention(8, 2)", [query, memory, memory], False
    yield "MultiheadAttention(8, 2)", [(6, 8), (5, 8), (5, 8)], False
    yield "MultiheadAttention(8, 2, bias=False, batch_first=True)", [(2, 6, 8), (2, 5, 8), (2, 5, 8)], False
    yield "MultiheadAttention(8, 4, kdim=6, vdim=3)", [query, (5, 2, 6), (5, 2, 3)], False
    for options in ("", ", norm_first=True, activation='gelu'", ", batch_first=True, bias=False"):
        yield f"TransformerEncoderLayer(8, 2, 12{options})", [query], False
        yield f"TransformerDecoderLayer(8, 2, 12{options})", [query, (6, 2, 8)], False
    yield "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, norm=nn.LayerNorm(8))", [(2, 6, 8)], False
    yield "TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12), 2)", [query, memory], False
    yield "Transformer(8, 2, 1, 1, 12)", [query, memory], False
    yield "Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 3), nn.Tanh()))", [ROWS], False
    yield "Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 2))", [IMAGE], True
    tokens = (2, 6, 8)
    yield "SwiGLU(8, 20)", [tokens], False
    yield "SwiGLU(8, 3, bias=True)", [(5, 8)], False
    for text in ("RoPE()", "RoPE(6, base=100.0)", "RoPE(traditional=True)", "RoPE(4, True, 500.0, 0.5)", "GroupedQueryAttention(8, 4, 2)",
                 "GroupedQueryAttention(8, 4, 1, nn.RoPE(), bias=True)", "GroupedQueryAttention(8, 2, rope=nn.RoPE(2), head_width=6)"):
        yield text, [tokens], False
    yield "GroupedQueryAttention(8, 4, 2)", [tokens, (6, 6)], False
    yield "PatchEmbedding(4, 5, (3, 7))", [IMAGE], False
    losses = {"": [ROWS, ROWS], "BCELoss": [("unit", ROWS), ("unit", ROWS)], "BCEWithLogitsLoss": [ROWS, ("unit", ROWS)],
              "KLDivLoss": [ROWS, ("unit", ROWS)], "NLLLoss": [(5, 4), CLASSES], "CrossEntropyLoss": [(5, 4), CLASSES],
              "MultiMarginLoss": [(5, 4), CLASSES], "PoissonNLLLoss": [ROWS, ("unit", ROWS)], "GaussianNLLLoss": [ROWS, ROWS, ("unit", ROWS)],
              "MarginRankingLoss": [ROWS, ROWS, ("sign", ROWS)], "CosineEmbeddingLoss": [ROWS, ROWS, ("sign", (5,))],
              "TripletMarginLoss": [ROWS, ROWS, ROWS], "HingeEmbeddingLoss": [ROWS, ("sign", ROWS)], "SoftMarginLoss": [ROWS, ("sign", ROWS)],
              "MultiLabelSoftMarginLoss": [ROWS, ("unit", ROWS)]}
    for text in """MSELoss() MSELoss(reduction='sum') MSELoss(reduction='none') L1Loss() SmoothL1Loss() SmoothL1Loss(beta=0.5) HuberLoss()
        HuberLoss(delta=0.3) KLDivLoss() KLDivLoss(reduction='batchmean') KLDivLoss(log_target=True) BCELoss() BCEWithLogitsLoss() NLLLoss()
        NLLLoss(reduction='sum') NLLLoss(ignore_index=1) CrossEntropyLoss() CrossEntropyLoss(label_smoothing=0.1) CrossEntropyLoss(ignore_index=2)
        CrossEntropyLoss(ignore_index=2,label_smoothing=0.2) CrossEntropyLoss(reduction='none') MultiMarginLoss() MultiMarginLoss(p=2)
        PoissonNLLLoss() PoissonNLLLoss(log_input=False,full=True) GaussianNLLLoss() GaussianNLLLoss(full=True) MarginRankingLoss(margin=0.2)
        CosineEmbeddingLoss() TripletMarginLoss() TripletMarginLoss(swap=True,p=1) HingeEmbeddingLoss() SoftMarginLoss()
        MultiLabelSoftMarginLoss()""".split():
        inputs = losses.get(text.partition("(")[0], losses[""])
        if "log_input=False" in text:
            inputs = [("unit", ROWS), ("unit", ROWS)]
        yield text, inputs, False
    yield "CrossEntropyLoss()", [(2, 4, 6, 7), PIXELS], False
    yield "CrossEntropyLoss()", [(5, 4), ("unit", (5, 4))], False
    yield "CrossEntropyLoss(label_smoothing=0.1)", [(2, 4, 6, 7), PIXELS], False


MODULES = list(_modules())

FUNCTIONS = [
    ("F.relu(a)", [ROWS]), ("F.softmax(a, dim=1)", [ROWS]), ("F.log_softmax(a, dim=0)", [ROWS]), ("F.gelu(a, approximate='tanh')", [ROWS]),
    ("F.cross_entropy(a, b)", [(5, 4), CLASSES]), ("F.cross_entropy(a, b, weight=c)", [(5, 4), CLASSES, ("unit", (4,))]),
    ("F.cross_entropy(a, b, weight=c, label_smoothing=0.1, ignore_index=1)", [(5, 4), CLASSES, ("unit", (4,))]),
    ("F.cross_entropy(a, b, weight=c, reduction='sum', label_smoothing=0.1)", [(2, 4, 6, 7), PIXELS, ("unit", (4,))]),
    ("F.cross_entropy(a, b, weight=c)", [(5, 4), ("unit", (5, 4)), ("unit", (4,))]), ("F.nll_loss(a, b, weight=c)", [(5, 4), CLASSES, ("unit", (4,))]),
    ("F.cross_entropy(a, b)", [(4,), ("int", 4, ())]),
    ("F.binary_cross_entropy_with_logits(a, b, pos_weight=c)", [ROWS, ("unit", ROWS), ("unit", (6,))]),
    ("F.binary_cross_entropy(a, b, weight=c)", [("unit", ROWS), ("unit", ROWS), ("unit", ROWS)]),
    ("F.mse_loss(a, b, reduction='none')", [ROWS, ROWS]), ("F.conv2d(a, b, stride=2, padding=1)", [IMAGE, (3, 4, 3, 3)]),
    ("F.conv2d(a, b, c, padding='same')", [IMAGE, (3, 4, 2, 3), (3,)]), ("F.conv_transpose1d(a, b, stride=2)", [SEQUENCE, (4, 2, 3)]),
    ("F.max_pool2d(a, 2)", [IMAGE]), ("F.max_pool1d(a, 2, 1)", [SEQUENCE]), ("F.max_pool2d(a, 2, return_indices=True)[1]", [IMAGE]),
    ("F.avg_pool2d(a, 3, ceil_mode=True)", [IMAGE]),
    ("F.adaptive_avg_pool2d(a, (2, 2))", [IMAGE]), ("F.pad(a, (1, 2))", [ROWS]), ("F.pad(a, (1, 1, 2, 0), value=2.5)", [IMAGE]),
    ("F.pad(a, (1, 1), mode='reflect')", [SEQUENCE]), ("F.pad(a, (-1, 2))", [ROWS]), ("F.pad(a, (2, 1), mode='circular')", [SEQUENCE]),
    ("F.one_hot(a, 10)", [("int", 10, (3, 2))]), ("F.one_hot(a)", [("int", 10, (30,))]),
    ("F.interpolate(a, scale_factor=2)", [IMAGE]), ("F.interpolate(a, size=(3, 4), mode='bilinear', align_corners=False)", [IMAGE]),
    ("F.interpolate(a, size=4, mode='area')", [IMAGE]), ("F.interpolate(a, size=12, mode='linear')", [SEQUENCE]),
    ("F.scaled_dot_product_attention(a, b, c)", [(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)]),
    ("F.scaled_dot_product_attention(a, b, c, is_causal=True)", [(2, 3, 5, 4)] * 3),
    ("F.scaled_dot_product_attention(a, b, b, attn_mask=c)", [(2, 3, 5, 4), (2, 3, 6, 4), (5, 6)]),
    ("F.scaled_dot_product_attention(a, b, b, enable_gqa=True, scale=0.3)", [(2, 4, 5, 4), (2, 2, 6, 4)]),
    ("F.dropout(a, p=0.5, training=False)", [ROWS]), ("F.layer_norm(a, (6,), b, c)", [ROWS, (6,), (6,)]),
    ("F.layer_norm(a, a.shape[1:])", [IMAGE]), ("F.group_norm(a, 2)", [IMAGE]), ("F.rms_norm(a, (6,))", [ROWS]),
    ("F.batch_norm(a, b, c, training=False)", [IMAGE, (4,), ("unit", (4,))]), ("F.batch_norm(a, None, None, training=True)", [IMAGE]),
    ("F.instance_norm(a)", [IMAGE]), ("F.normalize(a)", [ROWS]), ("F.normalize(a, p=1, dim=0)", [ROWS]),
    ("F.linear(a, b, c)", [ROWS, (3, 6), (3,)]), ("F.bilinear(a, b, c)", [ROWS, ROWS, (2, 6, 6)]),
    ("F.embedding(a, b)", [("int", 7, (3, 2)), (7, 4)]), ("F.cosine_similarity(a, b)", [ROWS, ROWS]),
    ("F.pairwise_distance(a, b, p=1)", [ROWS, ROWS]), ("F.glu(a, dim=1)", [ROWS]), ("F.softplus(a, beta=3)", [ROWS]),
    ("F.hardtanh(a, -0.5, 0.5)", [ROWS]), ("F.prelu(a, b)", [IMAGE, (4,)]), ("F.leaky_relu(a, 0.3)", [ROWS]), ("F.elu(a, 0.3)", [ROWS]),
    ("F.celu(a, 0.3)", [ROWS]), ("F.threshold(a, 0.1, 7.0)", [ROWS]), ("F.softmin(a, dim=1)", [ROWS]), ("F.logsigmoid(a)", [ROWS]),
    ("F.tanhshrink(a)", [ROWS]), ("F.softshrink(a, 0.2)", [ROWS]), ("F.hardshrink(a, 0.2)", [ROWS]), ("F.relu6(a * 5)", [ROWS]),
    ("F.hardsigmoid(a * 5)", [ROWS]), ("F.unfold(a, 2, padding=1, stride=2)", [IMAGE]), ("F.pixel_shuffle(a, 2)", [IMAGE]),
    ("F.kl_div(a, b, reduction='batchmean')", [ROWS, ("unit", ROWS)]), ("F.smooth_l1_loss(a, b, beta=0.3)", [ROWS, ROWS]),
    ("F.huber_loss(a, b, delta=0.4, reduction='sum')", [ROWS, ROWS]), ("F.triplet_margin_loss(a, b, c, margin=0.3)", [ROWS, ROWS, ROWS]),
    ("F.multi_margin_loss(a, b, weight=c)", [(5, 4), CLASSES, ("unit", (4,))]), ("F.grid_sample(a, b, align_corners=False)", [IMAGE, (2, 3, 3, 2)]),
    ("F.poisson_nll_loss(a, b, full=True)", [ROWS, ("unit", ROWS)]),
]
