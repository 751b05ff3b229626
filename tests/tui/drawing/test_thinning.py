"""Of very many topics those that a drawing looks at: none that would stand out in a cell is left out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.drawing.ring_dots import BIN_BITS, Thinning, thinned

SIZE = 2**20  # 64 hashes in a piece
hash_lists = st.lists(st.integers(0, 4 * 64 - 1) | st.integers(0, SIZE - 1), max_size=300).map(sorted)


@settings(max_examples=80, deadline=None)
@given(hash_lists, st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.5, 0.97, 1.0]))
def test_each_piece_keeps_its_last_topic_and_the_last_of_each_mask(listed: list[int], seed: int, part: float) -> None:
    """Few or nearly all of them marked: the places are those that a look at every topic finds, ascending, each once."""
    hashes = np.array(listed, dtype=np.int32)
    random = np.random.default_rng(seed)
    masks = [random.random(len(hashes)) < part, random.random(len(hashes)) < 0.05]
    last: dict[tuple[int, int], int] = {}
    for at, value in enumerate(listed):
        piece = value * 2**BIN_BITS // SIZE
        last[-1, piece] = at
        last.update({(number, piece): at for number, mask in enumerate(masks) if mask[at]})
    expected = sorted(set(last.values()))
    assert Thinning(hashes, SIZE).places(*masks).tolist() == expected
    assert thinned(hashes, SIZE, *masks).tolist() == expected
    assert thinned(hashes, SIZE).tolist() == sorted({at for (number, _), at in last.items() if number < 0})
