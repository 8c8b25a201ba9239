"""Random graphs through passes: what onnxruntime computes of the result is what it computes of the original.

    python -m random_graphs --relais BINARY --graphs 20000 --seed 1

Everything follows from the seed and the versions of the runtimes: `--seed 7 --batch 12` makes one batch again. The models
of a batch that fails are kept in the folder that `--keep` names."""
