#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden/*.safetensors: PyTorch's outputs, losses, gradients and optimizer steps, to be met from the same weights.

usage: make_golden.py [FOLDER [FILE ...]]      with a Python that has torch (tools/peers_setup); all files, in this folder, by default

The tests read only the committed results. Tensors of a file:
  input, labels or targets   the batch (absent for 784 features: rows follow from the formula below)
  initial.NAME               parameters before step 1, NAME as in the state_dict
  output, loss, gradient.NAME   of step 1; a frozen parameter has no gradient
  predicted                  where a model tracks running statistics: outputs after the last step; output and loss are then of a prediction, too
  after1.NAME, after20.NAME, losses   after optimizer steps on the same batch; losses[k] is that before step k + 1
Token ids are (3 i + 5 j + i j) mod 13, the labels the ids that follow. Other inputs are multiples of 1/128, targets of 1/16, made from integers, so every program makes the same ones:
  input(i, j) = ((37 i + 101 j + i j) mod 127) / 128, label(i) = (7 i + 3) mod 10, target(i, j) = (((53 i + 29 j + i j) mod 31) - 15) / 16
Each case is run in float64 as well; `float64_difference` in the metadata is the largest absolute difference of any stored float32
number from that run: the part of a tolerance that is PyTorch's own rounding. A case above `MOST_DIFFERENCE` is refused, because
Adam divides by |gradient| and an unlucky gradient near zero would make the file a test of luck. In a case whose values are bfloat16
that difference is what bfloat16 rounds: `rounding.NAME` has it for each tensor, and the case is refused above `MOST_ROUNDING`.
"""
import json
import pathlib
import struct
import sys

import torch
from torch import nn

MOST_DIFFERENCE = 1e-6
MOST_ROUNDING = 0.02
TYPES = {torch.float32: ("F32", 0), torch.int64: ("I64", -1)}  # wide types first, as the reference does: data stay aligned


def write_safetensors(path, tensors, metadata):
    order = sorted(tensors, key=lambda name: (TYPES[tensors[name].dtype][1], name))
    header, data = {"__metadata__": dict(sorted(metadata.items()))}, b""
    for name in order:
        tensor = tensors[name].detach().contiguous()
        raw = tensor.numpy().astype(tensor.numpy().dtype.newbyteorder("<")).tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype][0], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def inputs(rows, features, first=0):
    i = torch.arange(first, first + rows).reshape(-1, 1)
    j = torch.arange(features).reshape(1, -1)
    return ((37 * i + 101 * j + i * j) % 127).float() / 128


def labels(rows, first=0):
    return (7 * torch.arange(first, first + rows) + 3) % 10


def targets(rows, features):
    i = torch.arange(rows).reshape(-1, 1)
    j = torch.arange(features).reshape(1, -1)
    return ((53 * i + 29 * j + i * j) % 31 - 15).float() / 16


class Mlp(nn.Module):
    """Sequential<Named<"linear1", Linear>, ReLU, Named<"linear2", Linear>>"""

    def __init__(self, features, width, classes):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(width, classes)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


class Inner(nn.Module):
    """x + tanh(inner(x))"""

    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.inner(x))


class ResidualMlp(nn.Module):
    """Sequential<Named<"linear1", Linear>, GELU, Named<"block", Residual<Named<"inner", Linear>, Tanh>>, Sigmoid, Named<"linear2", Linear>>"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.block, self.linear2 = nn.Linear(features, width), Inner(width), nn.Linear(width, outputs)

    def forward(self, x):
        return self.linear2(torch.sigmoid(self.block(nn.functional.gelu(self.linear1(x)))))


class NormedBlock(nn.Module):
    """x + tanh(linear(norm(x)))"""

    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.RMSNorm(width, eps=1e-3), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.linear(self.norm(x)))


class Normed(nn.Module):
    """linear2(norm2(block(gelu(norm1(linear1(x)))))), each vector of 20 features by itself"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.norm1, self.block = nn.Linear(features, width), nn.LayerNorm(width), NormedBlock(width)
        self.norm2, self.linear2 = nn.LayerNorm(width, eps=1e-6, bias=False), nn.Linear(width, outputs)

    def forward(self, x):
        return self.linear2(self.norm2(self.block(nn.functional.gelu(self.norm1(self.linear1(x))))))


class Branched(nn.Module):
    """linear2(norm(sum of three branches and of what they read)), which is gelu(linear1(x))"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.norm, self.linear2 = nn.Linear(features, width), nn.LayerNorm(width), nn.Linear(width, outputs)
        narrow = nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Linear(6, width))
        self.mix = nn.ModuleList([nn.Linear(width, width), narrow, nn.Identity(), nn.Sequential(nn.Sigmoid(), nn.Linear(width, width, bias=False))])

    def forward(self, x):
        h = nn.functional.gelu(self.linear1(x))
        return self.linear2(self.norm(sum(branch(h) for branch in self.mix)))


class AttentionBlock(nn.Module):
    """x + linear2(attention of the queries, keys and values that linear1 makes of norm(x))"""

    def __init__(self, width, heads, key_value_heads, causal):
        super().__init__()
        self.sizes, self.causal = (heads, key_value_heads, key_value_heads), causal
        self.norm, self.linear2 = nn.LayerNorm(width), nn.Linear(width, width)
        self.linear1 = nn.Linear(width, width // heads * sum(self.sizes))

    def forward(self, x):
        each = x.shape[-1] // self.sizes[0]
        packed = self.linear1(self.norm(x)).split([each * count for count in self.sizes], dim=-1)
        q, k, v = (part.unflatten(-1, (-1, each)).transpose(1, 2) for part in packed)
        made = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.sizes[0] != self.sizes[1])
        return x + self.linear2(made.transpose(1, 2).flatten(2))


class Attention(nn.Module):
    """linear2(block3(block2(block1(linear1(x))))): 4 heads that see what is before them, 4 that share 2 of keys and values, 2 that see everything"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(width, outputs)
        self.block1, self.block2 = AttentionBlock(width, 4, 4, True), AttentionBlock(width, 4, 2, True)
        self.block3 = AttentionBlock(width, 2, 2, False)

    def forward(self, x):
        return self.linear2(self.block3(self.block2(self.block1(self.linear1(x)))))


class Joined(nn.Module):
    """linear2(mix(longer(gelu(linear1(x))))): longer joins two sequences into one, mix joins the features of four branches"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(2 * width + 9, outputs)
        narrow = nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Linear(6, 5))
        self.mix = nn.ModuleList([nn.Linear(width, width), narrow, nn.Identity(), nn.Sequential(nn.Sigmoid(), nn.Linear(width, 4, bias=False))])
        self.longer = nn.ModuleList([nn.Linear(width, width), nn.Tanh()])

    def forward(self, x):
        h = nn.functional.gelu(self.linear1(x))
        h = torch.cat([branch(h) for branch in self.longer], dim=1)
        return self.linear2(torch.cat([branch(h) for branch in self.mix], dim=-1))


class GatedBlock(nn.Module):
    """x + linear2(silu(gate) value), both halves of linear1(norm(x))"""

    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.linear1, self.linear2 = nn.RMSNorm(width, eps=1e-3), nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width)

    def forward(self, x):
        gate, value = self.linear1(self.norm(x)).chunk(2, -1)
        return x + self.linear2(nn.functional.silu(gate) * value)


class Gated(nn.Module):
    """linear2(block(linear1(x)))"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.block, self.linear2 = nn.Linear(features, width), GatedBlock(width, 24), nn.Linear(width, outputs)

    def forward(self, x):
        return self.linear2(self.block(self.linear1(x)))


class Shared(nn.Module):
    """log_softmax(linear2(x + softmax(linear(x)))) of x = linear1(input), each vector of 20 features by itself"""

    def __init__(self, features, width, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(width, outputs)
        self.block = nn.ModuleDict({"inner": nn.Linear(width, width)})

    def forward(self, x):
        h = self.linear1(x)
        return nn.functional.log_softmax(self.linear2(h + nn.functional.softmax(self.block["inner"](h), dim=-1)), dim=-1)


class Imaged(nn.Module):
    """linear3(tanh(norm2(linear2(gelu(norm1(linear1(x))))))), norms over images of 3 and of 8 channels"""

    def __init__(self, features, outputs):
        super().__init__()
        self.linear1, self.linear2, self.linear3 = nn.Linear(features, 48), nn.Linear(48, 32), nn.Linear(32, outputs)
        self.norm1, self.norm2 = nn.BatchNorm2d(3), nn.BatchNorm2d(8, eps=1e-3, momentum=0.25)

    def forward(self, x):
        h = nn.functional.gelu(self.norm1(self.linear1(x).unflatten(-1, (3, 4, 4))))
        return self.linear3(torch.tanh(self.norm2(self.linear2(h.flatten(1)).unflatten(-1, (8, 2, 2)))).flatten(1))


class Pooled(nn.Module):
    """linear2(tanh(mean of windows(largest of windows(gelu(linear1(x)))))), on 3 channels of 6 x 8"""

    def __init__(self, features, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, 144), nn.Linear(18, outputs)
        self.largest = nn.MaxPool2d((3, 2), stride=2, padding=1)
        self.mean = nn.AvgPool2d(3, stride=2, padding=1)

    def forward(self, x):
        h = self.largest(nn.functional.gelu(self.linear1(x).unflatten(-1, (3, 6, 8))))
        return self.linear2(torch.tanh(self.mean(h)).flatten(1))


class Convolved(nn.Module):
    """linear2(conv3(tanh(conv2(relu(conv1(linear1(x))))))), on 2 channels of 6 x 7"""

    def __init__(self, features, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, 84), nn.Linear(30, outputs)
        self.conv1 = nn.Conv2d(2, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, (3, 2), stride=(2, 1), padding=(0, 1), groups=4)
        self.conv3 = nn.Conv2d(8, 6, 2, dilation=(1, 3), bias=False)

    def forward(self, x):
        h = torch.relu(self.conv1(self.linear1(x).unflatten(-1, (2, 6, 7))))
        return self.linear2(self.conv3(torch.tanh(self.conv2(h))).flatten(1))


class Divided(nn.Module):
    """linear2(leaky(mean of 3 x 2 places(silu(linear1(x))))), on 3 channels of 5 x 7"""

    def __init__(self, features, outputs):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, 105), nn.Linear(18, outputs)

    def forward(self, x):
        h = nn.functional.silu(self.linear1(x)).unflatten(-1, (3, 5, 7))
        return self.linear2(nn.functional.leaky_relu(nn.functional.adaptive_avg_pool2d(h, (3, 2)), 0.2).flatten(1))


def still(model):
    """The model with norm2 as it is: no gradient, and what it has tracked in the place of statistics of the batch."""
    model.norm2.running_mean.copy_(torch.arange(8) / 16 - 0.25)
    model.norm2.running_var.copy_(torch.arange(8) / 8 + 0.5)
    model.norm2.eval()
    return frozen(model, "norm2")


class GptBlock(nn.Module):
    """x + attention(norm(x)), then x + linear2(gelu(linear1(norm(x))))"""

    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm = AttentionBlock(width, heads, heads, True), nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = self.attention(x)
        return x + self.linear2(nn.functional.gelu(self.linear1(self.norm(x))))


class Gpt(nn.Module):
    """norm(blocks(wte(ids) + wpe(positions))) times the weights of wte; the table of positions is longer than the sequences"""

    def __init__(self, vocabulary, width, length):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h, self.norm = nn.Sequential(GptBlock(width, 4), GptBlock(width, 4)), nn.LayerNorm(width)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.2)

    def forward(self, x):
        h = self.wte(x.long()) + self.wpe(torch.arange(x.shape[-1]))
        return nn.functional.linear(self.norm(self.h(h)), self.wte.weight)


class RotaryBlock(nn.Module):
    """x + linear2(attention of the turned queries and keys that linear1 makes of norm1(x)), then a gated network"""

    def __init__(self, width, heads, shared):
        super().__init__()
        self.sizes = (heads, shared, shared)
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.linear1 = nn.Linear(width, width // heads * sum(self.sizes), bias=False)
        self.linear2, self.linear3, self.linear4 = (nn.Linear(a, b, bias=False) for a, b in ((width, width), (width, 80), (40, width)))

    def turned(self, x):
        """Of (rows, heads, positions, features)"""
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[-2])[:, None] * 500.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * c - second * s, second * c + first * s], -1)

    def forward(self, x):
        each = x.shape[-1] // self.sizes[0]
        packed = self.linear1(self.norm1(x)).split([each * count for count in self.sizes], dim=-1)
        q, k, v = (part.unflatten(-1, (-1, each)).transpose(1, 2) for part in packed)
        made = nn.functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True, enable_gqa=True)
        x = x + self.linear2(made.transpose(1, 2).flatten(2))
        gate, value = self.linear3(self.norm2(x)).chunk(2, -1)
        return x + self.linear4(nn.functional.silu(gate) * value)


class Llama(nn.Module):
    """lm_head(norm(layers(embed(ids))))"""

    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed, self.norm = nn.Embedding(vocabulary, width), nn.RMSNorm(width, eps=1e-5)
        self.layers, self.lm_head = nn.Sequential(RotaryBlock(width, 4, 2), RotaryBlock(width, 4, 2)), nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        return self.lm_head(self.norm(self.layers(self.embed(x.long()))))


class Encoded(nn.Module):
    """linear2(two encoder layers(linear1(x)))"""

    def __init__(self, features, width, outputs, activation, norm_first, causal=False):
        super().__init__()
        self.causal = causal
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(width, outputs)
        layer = nn.TransformerEncoderLayer(width, 4, 24, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype) if self.causal else None
        return self.linear2(self.encoder(self.linear1(x), mask=mask, is_causal=self.causal))


class LanguageModel(nn.Module):
    """Sequential<Input, Named<"embedding", Embedding>, Named<"block", Residual<Named<"inner", Linear>, Tanh>>, Named<"head", Linear<.., NoBias>>>"""

    def __init__(self, vocabulary, width, padding=None, tied=False):
        super().__init__()
        self.embedding, self.block = nn.Embedding(vocabulary, width, padding_idx=padding), Inner(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.block(self.embedding(x.long())))


class SeveralHeads(nn.Module):
    """digit and angle of tanh(linear2(h)), early of h = gelu(linear1(x)); their outputs side by side"""

    def __init__(self, features, width, classes, values):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(features, width), nn.Linear(width, width)
        self.digit, self.angle, self.early = nn.Linear(width, classes), nn.Linear(width, values), nn.Linear(width, classes)

    def forward(self, x):
        h = nn.functional.gelu(self.linear1(x))
        g = torch.tanh(self.linear2(h))
        return torch.cat([self.digit(g), self.angle(g), self.early(h)], dim=-1)


def several_heads(z, y):
    """The labels of every fourth row are ignored; the early classifier has the same ones, smoothed."""
    labels, values = y
    digit, angle, early = z[:, :10], z[:, 10:13], z[:, 13:]
    return (nn.functional.cross_entropy(digit, labels) + 0.5 * nn.functional.huber_loss(angle, values, delta=0.5)
            + 0.3 * nn.functional.cross_entropy(early, labels, label_smoothing=0.1))


class WordsAndValues(nn.Module):
    """The next token of each position, and two numbers of it: (rows, positions, vocabulary + 2)"""

    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding, self.block = nn.Embedding(vocabulary, width), Inner(width)
        self.next, self.value = nn.Linear(width, vocabulary), nn.Linear(width, 2)

    def forward(self, x):
        h = self.block(self.embedding(x.long()))
        return torch.cat([self.next(h), self.value(h)], dim=-1)


def words_and_values(z, y):
    tokens, values = y
    return (nn.functional.cross_entropy(z[..., :-2].flatten(0, 1), tokens.flatten(), weight=(torch.arange(13) % 9 / 4).to(z.dtype))
            + 2 * nn.functional.mse_loss(z[..., -2:], values))


class Convnet(nn.Module):
    """A convolution of 7 x 7, the largest of 2 x 2, a linear layer: the two halves of a model on two devices, for images of 16 x 16"""

    def __init__(self, channels, classes):
        super().__init__()
        self.conv1, self.fc = nn.Conv2d(3, channels, 7, stride=2, padding=3), nn.Linear(channels * 16, classes)

    def forward(self, x):
        x = torch.relu(self.conv1(x.reshape(-1, 3, 16, 16)))
        return self.fc(nn.functional.max_pool2d(x, 2).flatten(1))


class Rounded(nn.Module):
    """A model whose layers read bfloat16 parameters and give bfloat16 values; parameters, their steps and the loss are float32, as under FSDP's MixedPrecision."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        parameters = {name: p.bfloat16() for name, p in self.model.named_parameters()}
        return torch.func.functional_call(self.model, parameters, (x.bfloat16(),)).float()


def frozen(model, *layers):
    """The model with requires_grad_(False) on the parameters of these layers."""
    for layer in layers:
        model.get_submodule(layer).requires_grad_(False)
    return model


def tokens(rows, positions, vocabulary):
    i = torch.arange(rows).reshape(-1, 1)
    j = torch.arange(positions).reshape(1, -1)
    return (3 * i + 5 * j + i * j) % vocabulary


def named(prefix, items):
    return {f"{prefix}.{name.removeprefix('model.')}": value.detach().clone() for name, value in items}


def tensors(model):
    """Parameters, and what is tracked beside them, but for counters."""
    return [*model.named_parameters(), *((name, buffer) for name, buffer in model.named_buffers() if buffer.is_floating_point())]


def predicted(model, batches):
    """Outputs of a batch as a prediction makes them; the model is as it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        outputs = [model(x) for x, _ in batches]
    for module, training in modes:
        module.training = training
    return outputs


def gradients(model):
    return named("gradient", ((name, p.grad) for name, p in model.named_parameters() if p.requires_grad))


def steps(model, optimizer, loss, batches, store_after):
    """Runs one optimizer step a batch; each batch is a list of micro-batches, whose losses are scaled by 1 / their number."""
    made, losses = named("initial", tensors(model)), []
    tracks = any(True for _ in model.buffers())
    for k, micro_batches in enumerate(batches, start=1):
        optimizer.zero_grad()
        total, outputs = 0.0, []
        first = predicted(model, micro_batches) if tracks and k == 1 else None
        for x, y in micro_batches:
            z = model(x)
            part = loss(z, y) / len(micro_batches)
            part.backward()
            total, outputs = total + part.detach(), outputs + [z.detach()]
        losses.append(total)
        if hasattr(optimizer, "clip"):
            optimizer.clip()
        if k == 1:
            if tracks:
                outputs = first
                total = sum(loss(z, y) / len(micro_batches) for z, (_, y) in zip(first, micro_batches))
            made |= {"output": torch.cat(outputs), "loss": total.clone()} | gradients(model)
        optimizer.step()
        if k in store_after:
            made |= named(f"after{k}", tensors(model))
    if tracks:
        made |= {"predicted": torch.cat(predicted(model, batches[-1]))}
    return made | {"losses": torch.stack(losses)}


def clipping(optimizer, clip, model, limit):
    """The optimizer, before whose steps gradients are clipped; those of a file are the clipped ones."""
    optimizer.clip = lambda: clip(model.parameters(), limit)
    return optimizer


GROUPS = "no decay of biases and linear2.weight, lr of linear1 x 1/10, of block x 3/2, of block.inner.bias x 1/4"


def groups(model, rate, decay):
    """GROUPS as torch.optim takes them: a group of its own for each parameter."""
    factors = {"linear1": 1 / 10, "block": 3 / 2, "block.inner.bias": 1 / 4}
    made = []
    for name, parameter in model.named_parameters():
        own = [factors[prefix] for prefix in sorted(factors, key=len) if name == prefix or name.startswith(prefix + ".")]
        spared = parameter.dim() < 2 or name == "linear2.weight"
        made.append({"params": [parameter], "lr": rate * (own[-1] if own else 1), "weight_decay": 0.0 if spared else decay})
    return made


def run(make_model, seed, make_optimizer, loss, batches, store_after):
    """Float32 results and their largest difference from the same run in float64; of a Rounded model, each tensor's own as rounding.NAME."""
    torch.manual_seed(seed)
    model = make_model()
    rounded = isinstance(model, Rounded)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    made = steps(model, make_optimizer(model), loss, batches, store_after)
    precise = (make_model().model if rounded else make_model()).double()
    precise.load_state_dict({name.removeprefix("model."): value.double() for name, value in start.items()})
    cast = lambda t: tuple(map(cast, t)) if isinstance(t, tuple) else t.double() if t.is_floating_point() else t
    wide = [[(cast(x), cast(y)) for x, y in micro_batches] for micro_batches in batches]
    reference = steps(precise, make_optimizer(precise), loss, wide, store_after)
    differences = {name: (made[name].double() - reference[name]).abs().max() for name in made}
    if rounded:
        made |= {f"rounding.{name}": difference.float().reshape(1) for name, difference in differences.items()}
    return made, float(torch.stack(list(differences.values())).max())  # NaN, if one is


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    mse = nn.MSELoss()
    cross_entropy = lambda z, y: nn.functional.cross_entropy(z.flatten(0, -2), y.flatten())  # mean over rows and positions
    ninths = torch.arange(13) % 9 / 4  # class weights 0 to 2
    weighted = lambda z, y: nn.functional.cross_entropy(z.flatten(0, -2), y.flatten(), weight=ninths.to(z.dtype))
    smoothed = lambda z, y: nn.functional.cross_entropy(z.flatten(0, -2), y.flatten(), weight=ninths.to(z.dtype), label_smoothing=0.1)
    absolute, huber, binary = nn.L1Loss(), nn.HuberLoss(delta=0.5), nn.BCEWithLogitsLoss()
    words_of = {mse: "mean squared error", absolute: "mean absolute error", huber: "Huber, delta=0.5", binary: "binary cross-entropy with logits",
                smoothed: "cross-entropy, label_smoothing=0.1", several_heads: "cross-entropy + Huber, delta=0.5, / 2 + 0.3 cross-entropy",
                words_and_values: "weighted cross-entropy + 2 mean squared error"}
    adam = lambda m: torch.optim.Adam(m.parameters(), lr=1e-3)
    mlp, residual = lambda: Mlp(20, 16, 10), lambda: ResidualMlp(20, 16, 10)
    classes = lambda rows, first=0: (inputs(rows, 20, first), labels(rows, first))
    large = [(inputs(64, 784), labels(64))]
    regression = [(inputs(8, 20), targets(8, 10))]
    questions = [(inputs(8, 20), torch.sigmoid(3 * targets(8, 10)))]
    sequences = [(inputs(24, 20).reshape(8, 3, 20), targets(24, 10).reshape(8, 3, 10))]
    longer = [(inputs(48, 20).reshape(8, 6, 20), targets(48, 10).reshape(8, 6, 10))]
    doubled = [(inputs(24, 20).reshape(8, 3, 20), targets(48, 10).reshape(8, 6, 10))]
    text = tokens(8, 7, 13)
    sentences = [(text[:, :-1].float(), text[:, 1:])]
    ends = torch.where(torch.arange(6) > torch.arange(8).reshape(-1, 1) % 5, -100, text[:, 1:])  # sentences of 1 to 5 words
    unequal = [(text[:, :-1].float(), ends)]
    told = (torch.where(torch.arange(8) % 4 == 3, -100, labels(8)), targets(8, 3))
    spoken = (ends, targets(48, 2).reshape(8, 6, 2))
    quarters = [classes(4, first) for first in (0, 4, 8, 12)]
    cases = {  # file: model, seed, optimizer, its words, loss, batches, steps whose parameters are stored, tensors of the batch
        "mlp_784_50_10_adam": (lambda: Mlp(784, 50, 10), 1, adam, "Adam lr=1e-3", cross_entropy, [large] * 20, (1, 20), {"labels": large[0][1]}),
        "residual_20_16_10_sgd": (residual, 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.1), "SGD lr=0.1", mse, [regression] * 20, (1, 20), None),
        "residual_20_16_10_momentum": (
            residual, 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-2),
            "SGD lr=0.1 momentum=0.9 nesterov weight_decay=1e-2", mse, [regression] * 20, (1, 20), None),
        "residual_20_16_10_adamw": (
            residual, 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "groups_20_16_10_momentum": (
            residual, 1, lambda m: torch.optim.SGD(groups(m, 0.1, 0.05), lr=0.1, momentum=0.9), f"SGD lr=0.1 momentum=0.9 weight_decay=0.05, {GROUPS}",
            mse, [regression] * 20, (1, 20), None),
        "groups_20_16_10_adamw": (
            residual, 1, lambda m: torch.optim.AdamW(groups(m, 1e-2, 0.2), lr=1e-2), f"AdamW lr=1e-2 weight_decay=0.2, {GROUPS}",
            mse, [regression] * 20, (1, 20), None),
        "clip_norm_20_16_10": (
            residual, 1, lambda m: clipping(torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), nn.utils.clip_grad_norm_, m, 0.2),
            "SGD lr=0.5 momentum=0.9, clip_grad_norm_ 0.2", mse, [regression] * 20, (1, 20), None),
        "clip_values_20_16_10": (
            residual, 1, lambda m: clipping(torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), nn.utils.clip_grad_value_, m, 0.01),
            "SGD lr=0.5 momentum=0.9, clip_grad_value_ 0.01", mse, [regression] * 20, (1, 20), None),
        "norm_20_16_10_adamw": (
            lambda: Normed(20, 16, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [sequences] * 20, (1, 20), None),
        "branches_20_16_10_adamw": (
            lambda: Branched(20, 16, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "attention_20_16_10_momentum": (  # no Adam: the bias of a key has no gradient but rounding, which it would divide by itself
            lambda: Attention(20, 16, 10), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-2),
            "SGD lr=0.02 momentum=0.9 nesterov weight_decay=1e-2", mse, [longer] * 20, (1, 20), None),
        "joined_20_16_10_adamw": (
            lambda: Joined(20, 16, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [doubled] * 20, (1, 20), None),
        "swiglu_20_16_10_adamw": (
            lambda: Gated(20, 16, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "softmax_20_16_10_adamw": (
            lambda: Shared(20, 16, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [sequences] * 20, (1, 20), None),
        "batch_norm_20_10_adamw": (
            lambda: Imaged(20, 10), 2, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "batch_norm_still_20_10_adamw": (
            lambda: still(Imaged(20, 10)), 2, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "pool_20_10_adamw": (
            lambda: Pooled(20, 10), 2, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "convolution_20_10_adamw": (
            lambda: Convolved(20, 10), 2, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "convnet_3_16_16": (
            lambda: Convnet(8, 10), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9), "SGD lr=0.02 momentum=0.9", cross_entropy,
            [[(inputs(8, 768), labels(8))]] * 20, (1, 20), None),
        "divided_20_10_adamw": (
            lambda: Divided(20, 10), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse, [regression] * 20, (1, 20), None),
        "language_model_13_8": (
            lambda: LanguageModel(13, 8), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "SGD lr=0.5 momentum=0.9", cross_entropy,
            [sentences] * 20, (1, 20), None),
        "ignored_13_8": (
            lambda: LanguageModel(13, 8), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "SGD lr=0.5 momentum=0.9", cross_entropy,
            [unequal] * 20, (1, 20), None),
        "weighted_13_8": (
            lambda: LanguageModel(13, 8), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "SGD lr=0.5 momentum=0.9", weighted,
            [unequal] * 20, (1, 20), None),
        "padding_13_8": (
            lambda: LanguageModel(13, 8, padding=4), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "SGD lr=0.5 momentum=0.9",
            cross_entropy, [sentences] * 20, (1, 20), None),
        "padding_tied_13_8": (
            lambda: LanguageModel(13, 8, padding=4, tied=True), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
            "SGD lr=0.1 momentum=0.9", cross_entropy, [sentences] * 20, (1, 20), None),
        "gpt_13_16": (
            lambda: Gpt(13, 16, 8), 5, lambda m: torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9), "SGD lr=0.01 momentum=0.9", cross_entropy,
            [sentences] * 20, (1, 20), None),
        "llama_13_16": (
            lambda: Llama(13, 16), 5, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), "SGD lr=0.1 momentum=0.9", cross_entropy,
            [sentences] * 20, (1, 20), None),
        "encoder_20_16_10": (
            lambda: Encoded(20, 16, 10, "relu", False), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9), "SGD lr=0.02 momentum=0.9",
            mse, [longer] * 20, (1, 20), None),
        "encoder_norm_first_20_16_10": (
            lambda: Encoded(20, 16, 10, "gelu", True), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9), "SGD lr=0.02 momentum=0.9",
            mse, [longer] * 20, (1, 20), None),
        "encoder_causal_20_16_10": (
            lambda: Encoded(20, 16, 10, "gelu", False, causal=True), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9),
            "SGD lr=0.02 momentum=0.9", mse, [longer] * 20, (1, 20), None),
        "mixed_norm_20_16_10": (
            lambda: Rounded(Normed(20, 16, 10)), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9),
            "SGD lr=0.05 momentum=0.9, bfloat16", mse, [sequences] * 20, (1, 20), None),
        "mixed_encoder_20_16_10": (
            lambda: Rounded(Encoded(20, 16, 10, "gelu", True)), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9),
            "SGD lr=0.02 momentum=0.9, bfloat16", mse, [longer] * 20, (1, 20), None),
        "smoothed_13_8": (
            lambda: LanguageModel(13, 8), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.9), "SGD lr=0.5 momentum=0.9", smoothed,
            [unequal] * 20, (1, 20), None),
        "absolute_20_16_10": (residual, 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.1), "SGD lr=0.1", absolute, [regression] * 20, (1, 20), None),
        "huber_20_16_10": (residual, 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5), "SGD lr=0.5", huber, [regression] * 20, (1, 20), None),
        "binary_20_16_10": (residual, 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.5), "SGD lr=0.5", binary, [questions] * 20, (1, 20), None),
        "several_20_16": (
            lambda: SeveralHeads(20, 16, 10, 3), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", several_heads,
            [[(inputs(8, 20), told)]] * 20, (1, 20), {"input": inputs(8, 20), "labels": told[0], "values": told[1]}),
        "several_13_8": (
            lambda: WordsAndValues(13, 8), 1, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), "SGD lr=0.1 momentum=0.9",
            words_and_values, [[(text[:, :-1].float(), spoken)]] * 20, (1, 20),
            {"input": text[:, :-1].float(), "labels": spoken[0], "values": spoken[1]}),
        "frozen_front_20_16_10": (
            lambda: frozen(ResidualMlp(20, 16, 10), "linear1", "block"), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse,
            [regression] * 20, (1, 20), None),
        "frozen_middle_20_16_10": (
            lambda: frozen(ResidualMlp(20, 16, 10), "block"), 1, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2), "AdamW lr=1e-2", mse,
            [regression] * 20, (1, 20), None),
        "frozen_last_20_16_10": (
            lambda: frozen(ResidualMlp(20, 16, 10), "linear2"), 1,
            lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-2),
            "SGD lr=0.1 momentum=0.9 nesterov weight_decay=1e-2", mse, [regression] * 20, (1, 20), None),
        "accumulate_20_16_10": (mlp, 1, adam, "Adam lr=1e-3, 4 micro-batches of 4 rows, each loss / 4", cross_entropy, [quarters], (1,), None),
        "keep_last_20_16_10": (
            mlp, 1, adam, "Adam lr=1e-3, one batch of rows 0-63, one of rows 64-86", cross_entropy,
            [[classes(64)], [classes(23, 64)]], (1, 2), None),
    }
    wanted = sys.argv[2:] or list(cases)
    if unknown := [file for file in wanted if file not in cases]:
        sys.exit(f"make_golden: there is no file '{unknown[0]}'. Fix: name some of {', '.join(cases)}.")
    for file, (model, seed, optimizer, words, loss, batches, store_after, batch) in ((file, cases[file]) for file in wanted):
        made, difference = run(model, seed, optimizer, loss, batches, store_after)
        most = MOST_ROUNDING if file.startswith("mixed") else MOST_DIFFERENCE
        if not difference <= most:
            sys.exit(f"{file}: the run and the one in float64 differ by {difference:.1e}, more than {most:.0e}. Fix: another seed.")
        if batch is None:
            flat = [pair for micro_batches in dict.fromkeys(map(tuple, batches)) for pair in micro_batches]
            batch = {"input": torch.cat([x for x, _ in flat])}
            batch["targets" if flat[0][1].is_floating_point() else "labels"] = torch.cat([y for _, y in flat])
        metadata = {"torch": torch.__version__, "optimizer": words, "loss": words_of.get(loss, "cross-entropy"),
                    "seed": str(seed), "float64_difference": f"{difference:.1e}"}
        write_safetensors(folder / f"{file}.safetensors", made | batch, metadata)
        print(f"{file}: losses {float(made['losses'][0]):.6f} -> {float(made['losses'][-1]):.6f}, float64 difference {difference:.1e}, "
              f"{(folder / f'{file}.safetensors').stat().st_size} bytes")


if __name__ == "__main__":
    main()
