"""DistilBERT's encoder in plain PyTorch modules, with random weights: the peer of `ingot bench --only distilbert`."""
import torch

WORDS, PLACES, WIDTH, HEADS, INNER, LAYERS = 30522, 512, 768, 12, 3072, 6


class Layer(torch.nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        linear, norm = torch.nn.Linear, torch.nn.LayerNorm
        self.heads = heads
        self.query, self.key, self.value, self.out = (linear(width, width) for _ in range(4))
        self.up, self.down = linear(width, inner), linear(inner, width)
        self.norm1, self.norm2 = norm(width, eps=1e-12), norm(width, eps=1e-12)

    def forward(self, x):
        q, k, v = (part(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.out(y))
        return self.norm2(x + self.down(torch.nn.functional.gelu(self.up(x))))


class DistilBert(torch.nn.Module):
    def __init__(self, layers=LAYERS, width=WIDTH, heads=HEADS, inner=INNER, words=WORDS):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(PLACES, width)
        self.norm = torch.nn.LayerNorm(width, eps=1e-12)
        self.layers = torch.nn.ModuleList(Layer(width, heads, inner) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x


def prepared(batch, tokens, dtype, device):
    """The model and ids for it."""
    torch.manual_seed(0)
    model = DistilBert().to(device, dtype).eval().requires_grad_(False)
    return model, torch.randint(WORDS, (batch, tokens), device=device)
