#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes gpt2_checkpoint.safetensors, as Hugging Face saves a GPT-2 of 2 blocks, and gpt2_steps.safetensors: what it gives and 20 steps from it.

usage: make_gpt2_checkpoint.py [FOLDER]      with a Python that has torch and transformers; FOLDER is this one by default

gpt2_steps has the tensors that make_golden.py describes; parameters have the names of the state_dict, such as transformer.h.0.attn.c_attn.weight.
"""
import pathlib
import shutil
import sys
import tempfile

import torch
import transformers
from torch import nn

import make_golden


class Logits(transformers.GPT2LMHeadModel):
    """The model, called with ids alone, gives its logits alone."""

    def forward(self, ids):
        return super().forward(ids.long(), use_cache=False).logits


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    config = transformers.GPT2Config(
        vocab_size=13, n_positions=8, n_embd=16, n_layer=2, n_head=4, activation_function="gelu_new", initializer_range=0.2, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0)
    config._attn_implementation = "eager"
    text = make_golden.tokens(8, 7, 13)
    batch = [(text[:, :-1].float(), text[:, 1:])]
    cross_entropy = lambda z, y: nn.functional.cross_entropy(z.flatten(0, -2), y.flatten())
    momentum = lambda m: torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9)
    made, difference = make_golden.run(lambda: Logits(config), 5, momentum, cross_entropy, [batch] * 20, (1, 20))
    if not difference <= make_golden.MOST_DIFFERENCE:
        sys.exit(f"float32 and float64 differ by {difference:.1e}. Fix: another seed.")
    metadata = {"torch": torch.__version__, "transformers": transformers.__version__, "optimizer": "SGD lr=0.01 momentum=0.9", "loss": "cross-entropy",
                "seed": "5", "float64_difference": f"{difference:.1e}"}
    make_golden.write_safetensors(folder / "gpt2_steps.safetensors", made | {"input": batch[0][0], "labels": batch[0][1]}, metadata)
    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as place:
        Logits(config).save_pretrained(place)
        shutil.copy(pathlib.Path(place) / "model.safetensors", folder / "gpt2_checkpoint.safetensors")
    print(f"losses {float(made['losses'][0]):.6f} -> {float(made['losses'][-1]):.6f}, float64 difference {difference:.1e}")


if __name__ == "__main__":
    main()
