#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch takes on this card for what a backend of ours will do: attention, a classifier over a vocabulary, a step of GPT-2's smallest model."""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


def microseconds(work, rounds=20):
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def say(what, us, rate=""):
    print(f"| {what:70} | {us:10.1f} | {rate} |", flush=True)


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    batch, heads, length, width = 16, 12, 1024, 64
    q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    gradient = torch.randn_like(q)
    flops = 4 * batch * heads * length * length * width / 2  # causal: half of the products
    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION), ("plain", SDPBackend.MATH)):
        try:
            with sdpa_kernel(backend):
                run = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
                forward = microseconds(run)
                both = microseconds(lambda: run().backward(gradient))
        except RuntimeError as problem:
            print(f"| causal attention, {name}: {str(problem).splitlines()[0][:90]} | | |")
            continue
        say(f"causal attention, {name}, bf16, 16 x 12 heads x 1024 x 64, forward", forward, f"{flops / forward * 1e-6:.0f} TFLOP/s")
        say(f"causal attention, {name}, forward and backward", both, f"{3.5 * flops / both * 1e-6:.0f} TFLOP/s")


def classifier():
    rows, vocabulary = 8192, 50304
    logits = torch.randn(rows, vocabulary, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    targets = torch.randint(0, vocabulary, (rows,), device="cuda")
    least = 2 * logits.numel() * 2  # bytes: read once, gradient written once
    both = microseconds(lambda: F.cross_entropy(logits.float(), targets).backward())
    say("cross-entropy of 8192 x 50304 bf16 logits, forward and backward", both, f"{least / both * 1e-3:.0f} GB/s of the least traffic")
    compiled = torch.compile(lambda x: F.cross_entropy(x.float(), targets))
    both = microseconds(lambda: compiled(logits).backward())
    say("the same compiled", both, f"{least / both * 1e-3:.0f} GB/s of the least traffic")


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, vocabulary=50304, length=1024, width=768, heads=12, blocks=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for p in self.parameters():
            nn.init.normal_(p, std=0.02) if p.dim() > 1 else None
        self.head.weight = self.tokens.weight

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1).float(), targets.flatten())


def steps(batch=16, length=1024):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    ids = torch.randint(0, 50257, (batch, length), device="cuda")
    targets = torch.roll(ids, -1, 1)
    model = GPT2().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    flops = 6 * sum(p.numel() for p in model.parameters()) + 12 * 12 * 768 * length  # a token

    def step(loss_of, halves):
        with torch.autocast("cuda", torch.bfloat16, enabled=halves):
            loss = loss_of(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for arithmetic, halves in (("bf16 autocast", True), ("TF32", False))[:2 if batch == 16 else 1]:  # "high" is TF32 for what is float32
        for name, loss_of in (("eager", model), ("compiled", torch.compile(model))):
            torch.cuda.reset_peak_memory_stats()
            begin = time.monotonic()
            us = microseconds(lambda: step(loss_of, halves), 15)
            tokens = batch * length / us * 1e6
            say(f"a step of GPT-2 124M, {arithmetic}, {batch} x {length} tokens, {name}", us,
                f"{tokens:,.0f} tokens/s, MFU {tokens * flops / 989.5e12 * 100:.1f} %, {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB, ready after {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.manual_seed(0)
    print(f"## PyTorch {torch.__version__} on {torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}\n")
    print("| what | us | rate |\n|---|---|---|")
    attention()
    classifier()
    steps()
    steps(batch=64)
