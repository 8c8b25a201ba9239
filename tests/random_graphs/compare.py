"""What a runtime computes of the result, compared with what it computes of the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Counts:
    n_comparisons: int = 0
    n_off: int = 0
    """Elements that are off, but within their bounds."""
    n_decided: int = 0
    """Elements that may be anything."""

    def add(self, other: Counts) -> None:
        self.n_comparisons += other.n_comparisons
        self.n_off += other.n_off
        self.n_decided += other.n_decided


def difference(old: object, new: object, bound: np.ndarray | float | None, counts: Counts) -> str:
    """Why a value is not what it was; empty if it is."""
    if old is None or new is None:
        return "" if old is new else f"{old!r} became {new!r}"
    if isinstance(old, list) or isinstance(new, list):
        if type(old) is not type(new) or len(old) != len(new):
            return f"{type(old).__name__} of {len(old)} became {type(new).__name__} of {len(new)}"
        return next(filter(None, (difference(a, b, bound, counts) for a, b in zip(old, new, strict=True))), "")
    old, new = (np.asarray(array) for array in (old, new))
    old, new = (array.astype(object) if array.dtype.kind == "U" else array for array in (old, new))
    return difference_of_tensors(old, new, None if bound is None else np.broadcast_to(bound, old.shape), counts)


def difference_of_tensors(old: np.ndarray, new: np.ndarray, bound: np.ndarray | None, counts: Counts) -> str:
    """Bit for bit, NaNs all equal; or within the bounds, where infinities, NaN and signs of zero agree, too."""
    if old.dtype != new.dtype or old.shape != new.shape:
        return f"{old.dtype} {old.shape} became {new.dtype} {new.shape}"
    counts.n_comparisons += old.size
    if old.dtype.kind != "f":
        same = old == new
        if bound is not None:
            same = same | ~np.isfinite(bound)
    else:
        same = (old == new) & (np.signbit(old) == np.signbit(new)) | (np.isnan(old) & np.isnan(new))
        if bound is not None and not same.all():
            with np.errstate(all="ignore"):
                off = np.abs(old.astype(np.float64) - new.astype(np.float64))
                # A zero that is a sum may have either sign.
                within = np.isfinite(old) & np.isfinite(new) & (off <= bound) & ((old != 0) | (new != 0) | (bound > 0))
            decided = ~np.isfinite(bound)
            counts.n_off += int((within & ~same & ~decided).sum())
            counts.n_decided += int((decided & ~same).sum())
            same = same | within | decided
    if np.all(same):
        return ""
    at = tuple(int(index) for index in np.argwhere(~np.asarray(same))[0])
    limit = "" if bound is None else f", which may be off by {bound[at]:.3g}"
    return f"at {at}: {old[at]!r} became {new[at]!r}{limit}"
