"""Random graphs through passes: what onnxruntime computes of the result is what it computes of the original. Random models
through random command lines: who took the input takes the result.

    python -m random_graphs --relais BINARY --graphs 20000 --seed 1
    python -m random_graphs --relais BINARY --graphs 10000 --seed 1 --commands

Everything follows from the seed and the versions of the runtimes: `--seed 7 --batch 12` makes one batch again, and with
`--commands` one model. The models that fail are kept in the folder that `--keep` names."""
