"""Sums of floats that do not depend on order: every number is added to a fixed grid of digits.

A double is a 53-bit whole number times a power of two from 2^-1074 up. Its bits are added to digits
of base 2^32 at absolute places; 64-bit integers can add up a billion numbers, and carries are made
before that. The result is the exact sum, rounded once: equal for any order, any partition of the
rows and any number of threads. Adding takes 5 ns a number, five times as long as adding floats.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truecost.kernels import FEW, kernel

Limbs = npt.NDArray[np.int64]
Keys = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
DIGITS = 67  # of 32 bits: 2^-1074 to 2^1024, with room for carries
LEAST = -1074  # power of two of the last place
DIGIT = 0xFFFFFFFF
LARGE = 1e300  # `math.fsum` of few numbers that are no larger never overflows
BETWEEN_CARRIES = 1 << 29  # numbers: each adds less than 2^33 to a digit
MOST = 1 << 28  # bytes of digits; of more keys the rows are put in order instead


@kernel
def add_exact(keys: Keys, values: Floats, limbs: Limbs) -> None:
    """Add each value to the digits of its key, `limbs` (keys x DIGITS); all values are finite."""
    words = values.view(np.int64)
    for i in range(len(keys)):
        word = words[i]
        place = (word >> 52) & 0x7FF
        number = word & 0xFFFFFFFFFFFFF
        if place > 0:  # else it is subnormal: no leading bit
            number |= 1 << 52
            place -= 1
        digit, shift = place >> 5, place & 31
        low, high = (number & DIGIT) << shift, (number >> 32) << shift
        sign = -1 if word < 0 else 1
        key = keys[i]
        limbs[key, digit] += sign * (low & DIGIT)
        limbs[key, digit + 1] += sign * ((low >> 32) + (high & DIGIT))
        limbs[key, digit + 2] += sign * (high >> 32)


@kernel
def round_exact(limbs: Limbs, out: Floats) -> None:
    """The double nearest to the number in each row of digits; the digits are overwritten by those
    of its size.
    """
    for key in range(len(limbs)):
        negative = _carried(limbs[key])
        top = DIGITS - 1
        while top > 0 and limbs[key, top] == 0:
            top -= 1
        number = np.uint64(limbs[key, top])
        place, rest = top, 0
        for _ in range(2):  # 64 bits or more: what is below only decides ties
            if place > 0 and number < np.uint64(1 << 32):
                place -= 1
                number = (number << np.uint64(32)) | np.uint64(limbs[key, place])
        if place > 0 and number < np.uint64(1 << 62):  # the leading digit may be small
            spare = 0
            while number < np.uint64(1 << 62):
                number <<= np.uint64(1)
                spare += 1
            number |= np.uint64(limbs[key, place - 1] >> (32 - spare))
            rest = limbs[key, place - 1] & ((1 << (32 - spare)) - 1)
            power = LEAST + 32 * place - spare
            place -= 1
        else:
            power = LEAST + 32 * place
        for below in range(place):
            rest |= limbs[key, below]
        if rest != 0:
            number |= np.uint64(1)
        found = math.ldexp(np.float64(number), power)
        out[key] = -found if negative else found


@kernel
def carry(limbs: Limbs) -> None:
    """Bring all digits but the last one, which has the sign, into 0 to 2^32 - 1."""
    for key in range(len(limbs)):
        over = 0
        for d in range(DIGITS - 1):
            over += limbs[key, d]
            limbs[key, d] = over & DIGIT
            over >>= 32
        limbs[key, DIGITS - 1] += over


@kernel
def _carried(digits: Limbs) -> bool:
    """Bring digits into 0 to 2^32 - 1, those of the size of the number; returns whether it is
    negative.
    """
    carry = 0
    for d in range(DIGITS):
        carry += digits[d]
        digits[d] = carry & DIGIT
        carry >>= 32
    if carry >= 0:
        return False
    borrow = 1  # the two's complement
    for d in range(DIGITS):
        borrow += DIGIT - digits[d]
        digits[d] = borrow & DIGIT
        borrow >>= 32
    return True


def _add_few(pieces: Sequence[tuple[Keys, Floats]], out: Floats) -> None:
    """Sums by key as in `math.fsum`, exact and rounded once too, without a kernel."""
    keys, values = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    sums = values[order].tolist()
    for key, start, stop in zip(found, starts, [*starts[1:], len(sums)], strict=False):
        out[key] = math.fsum(sums[start:stop])


class ExactSums:
    """Sums by key from several pieces: equal for any pieces in any order.

    The sums are exact and rounded once, except where there are so many keys that digits would take
    more than `MOST` bytes, or a value is not finite: then values are added in order of size.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._limbs = np.zeros((0 if size * DIGITS * 8 > MOST else size, DIGITS), np.int64)
        self._apart: list[tuple[Keys, Floats]] = []
        self._few: list[tuple[Keys, Floats]] = []  # not yet among the digits
        self._room = FEW if size <= FEW >> 4 else 0  # numbers that may be kept so: a loop over keys
        self._uncarried = 0  # numbers added since the last carry

    def add(self, keys: Keys, values: Floats) -> None:
        """Add each value to its key, from 0 to size - 1."""
        whole = np.ascontiguousarray(values, np.float64)
        if len(self._limbs) < self.size or not np.isfinite(whole).all():
            self._apart.append((keys, whole))
            return
        self._few.append((keys, whole))
        self._room -= len(whole)
        if self._room < 0 or bool((np.abs(whole) > LARGE).any()):
            self._room = -1  # all that follow are many
            for of, numbers in self._few:
                self._add(of, numbers)
            self._few.clear()

    def _add(self, keys: Keys, values: Floats) -> None:
        for start in range(0, len(keys), BETWEEN_CARRIES):
            rows = slice(start, start + BETWEEN_CARRIES)
            self._uncarried += len(keys[rows])
            if self._uncarried > BETWEEN_CARRIES:
                carry(self._limbs)
                self._uncarried = len(keys[rows])
            add_exact(keys[rows], values[rows], self._limbs)

    def sums(self) -> Floats:
        """Sum of each key, shape (size,); nothing can be added afterwards."""
        out = np.zeros(self.size)
        if self._room < 0 and len(self._limbs):
            round_exact(self._limbs, out)
        elif self._few:
            _add_few(self._few, out)
        if not self._apart:
            return out
        keys, values = (np.concatenate(columns) for columns in zip(*self._apart, strict=True))
        order = np.lexsort((values, keys))
        return out + np.bincount(keys[order], values[order], self.size)


def exact_sums(keys: Keys, values: Floats, size: int) -> Floats:
    """Sum of the values of each key from 0 to size - 1: the same for any order of the rows."""
    found = ExactSums(size)
    found.add(keys, values)
    return found.sums()
