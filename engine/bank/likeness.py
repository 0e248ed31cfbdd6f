"""Which texts are nearly the same, found through an index so that a hundred thousand of them take seconds."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

GRAM = 5
"""Characters to a gram; a text shorter than this has none and is like no other."""

_BUCKET_BITS = 22

_LOOKED_UP = 1_500_000
"""Divided by how many texts there are: of one gram so many are looked up, those nearest in length. Up to 1,200 texts
that is all of them."""

_SKETCH_BITS = 1024

_SHARED = 5
"""So many of the rare grams two texts must share to be compared in full; one alone is often shared by chance."""


def near_duplicates(texts: Sequence[str], groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs (later, earlier) of texts whose sets of character 5-grams have a Jaccard index above 0.5.

    Texts of the same group are never compared. Of a crowd of like texts each is named once, against one that is not
    itself named. So the pairs are not all there are, but up to 1,200 texts there is none exactly when no two texts
    are alike; in a larger bank two that share nothing but what very many texts say may be missed.

    How: with the grams of every text in one order, rarest first, two like texts share a few grams among the first of
    each (Bayardo, Ma, Srikant: Scaling up all pairs similarity search, WWW 2007). Only those are indexed and looked
    up, and what is found is compared in full. Texts come shortest first, so the shorter one's part can be smaller.
    """
    # Exact counts of ten million grams would cost a gigabyte. Any order serves as long as it is one and the same, so
    # grams are counted by hash; two that share a bucket only make each other look less rare.
    counts = array("I", bytes(4 << _BUCKET_BITS))
    mask = (1 << _BUCKET_BITS) - 1
    hashed = [array("I", [hash(gram) & mask for gram in _grams(text)]) for text in texts]
    for buckets in hashed:
        for bucket in buckets:
            counts[bucket] += 1
    most = max(12, _LOOKED_UP // max(1, len(texts)))
    index: dict[int, array[int]] = {}
    sketches = [0] * len(texts)  # a bit for each gram: bits that differ are grams that only one of two texts has
    bits = [1 << bit for bit in range(_SKETCH_BITS)]
    for number in sorted(range(len(texts)), key=lambda number: len(hashed[number])):
        buckets = hashed[number]
        size = len(buckets)
        ranked = sorted([counts[bucket] << _BUCKET_BITS | bucket for bucket in buckets])
        # 3 * shared > size + other is what Jaccard above 0.5 means, and a text found here is at most as long. Hence
        # shared > size / 2 for this text, and shared > 2/3 of its size for the shorter one; to share one gram, the
        # first of each that are left when so many are taken off suffice, and each one more makes it one more.
        least = min(_SHARED, size // 2 + 1)
        rare = bisect_left(ranked, 2 << _BUCKET_BITS)  # what stands before is in no other text
        wanted = [rank & mask for rank in ranked[rare : size - size // 2 + least - 1]]
        hits = Counter(chain.from_iterable([index[bucket] for bucket in wanted if bucket in index]))
        sketch = 0
        for bucket in buckets:
            sketch |= bits[bucket % _SKETCH_BITS]
        sketches[number] = sketch
        for other in sorted([other for other, shared in hits.items() if shared >= least]):
            both = size + len(hashed[other])
            if groups[other] == groups[number] or 3 * (sketch ^ sketches[other]).bit_count() >= both:
                continue
            if 3 * len(_grams(texts[number]) & _grams(texts[other])) > both:
                yield max(number, other), min(number, other)
                break
        else:
            for rank in ranked[rare : size - 2 * size // 3 + _SHARED - 1]:
                known = index.get(rank & mask)
                if known is None:
                    index[rank & mask] = array("I", (number,))
                elif len(known) < most:
                    known.append(number)
                else:
                    del known[0]
                    known.append(number)


def _grams(text: str) -> set[str]:
    return {text[start : start + GRAM] for start in range(len(text) - GRAM + 1)}
