"""Models as torch's exporter writes them: a convolutional net and a transformer, with fixed and with open shapes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import graphs
from judge.cases import MODEL
from judge.report import Report, table

SEED = 20_260


@dataclass(frozen=True)
class Export:
    """One model to export."""

    name: str
    module: Any
    arguments: tuple[Any, ...]
    dynamic_shapes: tuple[Any, ...] | None
    optimize: bool = True
    """Whether the exporter runs its own optimiser, which folds most of what there is to fold."""


def command(out: Path) -> int:
    report = Report()
    rows = []
    for export in exports():
        folder = out / "exported" / export.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            write(export, folder / MODEL)
        except Exception as error:  # the exporter raises many types
            report.failed(export.name, f"{type(error).__name__}: {error}")
            continue
        reached, why = graphs.validity(folder / MODEL)
        report.judged(export.name, [] if reached is graphs.Validity.FULL else [why])
        model = graphs.load(folder / MODEL)
        opset = ", ".join(f"{each.domain or 'ai.onnx'} {each.version}" for each in model.opset_import)
        rows.append(
            [
                export.name,
                str(graphs.n_operators(model)),
                str(len(model.functions)),
                opset,
                str(graphs.size_on_disk(folder / MODEL)),
            ]
        )
    print(table(["model", "operators", "functions", "operator sets", "bytes"], rows))
    return report.finish()


def write(export: Export, path: Path) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            export.module,
            export.arguments,
            dynamo=True,
            dynamic_shapes=export.dynamic_shapes,
            optimize=export.optimize,
            verbose=False,
        )
        program.save(str(path), external_data=False)


def exports() -> Iterator[Export]:
    import torch

    torch.manual_seed(SEED)
    batch = torch.export.Dim("batch", min=1, max=64)
    length = torch.export.Dim("length", min=2, max=128)
    images, tokens = torch.randn(2, 3, 64, 64), torch.randint(0, 100, (2, 12))
    for optimize in (True, False):
        suffix = "" if optimize else "_plain"
        yield Export(f"convolutions{suffix}", perturbed(convolutions()), (images,), None, optimize)
        yield Export(f"convolutions_dynamic{suffix}", perturbed(convolutions()), (images,), ({0: batch},), optimize)
        yield Export(f"transformer{suffix}", perturbed(transformer()), (tokens,), None, optimize)
        yield Export(
            f"transformer_dynamic{suffix}", perturbed(transformer()), (tokens,), ({0: batch, 1: length},), optimize
        )


def perturbed(module: Any) -> Any:
    """Freshly made parameters are ones and zeros in places, which would flatter an optimiser."""
    import torch

    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if not value.is_floating_point():
                continue
            noise = torch.rand(value.shape, generator=generator)
            if name.endswith("running_var"):
                value.copy_(0.5 + noise)
            else:
                value.add_(0.2 * (noise - 0.5))
    return module.eval()


def convolutions() -> Any:
    """A narrow ResNet-18: the blocks are torchvision's, the widths a fraction of the original's."""
    import torch
    from torchvision.models.resnet import BasicBlock

    def stage(width_in: int, width_out: int, stride: int) -> torch.nn.Sequential:
        shortcut = torch.nn.Sequential(
            torch.nn.Conv2d(width_in, width_out, 1, stride, bias=False), torch.nn.BatchNorm2d(width_out)
        )
        return torch.nn.Sequential(BasicBlock(width_in, width_out, stride, shortcut), BasicBlock(width_out, width_out))

    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, 2, 3, bias=False),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(3, 2, 1),
        stage(16, 16, 1),
        stage(16, 32, 2),
        stage(32, 64, 2),
        torch.nn.Dropout(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 10),
    )


def transformer() -> Any:
    """Token and position embeddings, two encoder layers with a causal mask, a projection."""
    import torch

    width, n_tokens, longest = 32, 100, 128

    class Transformer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = torch.nn.Embedding(n_tokens, width)
            self.positions = torch.nn.Embedding(longest, width)
            self.attention = torch.nn.ModuleList(torch.nn.Linear(width, 3 * width) for _ in range(2))
            self.mixing = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(2))
            self.wide = torch.nn.ModuleList(torch.nn.Linear(width, 4 * width) for _ in range(2))
            self.narrow = torch.nn.ModuleList(torch.nn.Linear(4 * width, width) for _ in range(2))
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(4))
            self.out = torch.nn.Linear(width, n_tokens)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            batch, length = ids.shape
            x = self.tokens(ids) + self.positions(torch.arange(length, device=ids.device))
            for layer in range(2):
                heads = self.attention[layer](self.norms[2 * layer](x)).reshape(batch, length, 3, 4, width // 4)
                query, key, value = heads.permute(2, 0, 3, 1, 4)
                mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
                x = x + self.mixing[layer](mixed.transpose(1, 2).reshape(batch, length, width))
                x = x + self.narrow[layer](torch.nn.functional.gelu(self.wide[layer](self.norms[2 * layer + 1](x))))
            return self.out(x)

    return Transformer()
