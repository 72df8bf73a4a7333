from __future__ import annotations

import torch

from scorebo.search.scan import LEVELS, crests, lines

TOPS = torch.tensor([[0.3, 1.0, 0.5], [0.0, 0.6, 0.55]], dtype=torch.float64)


def test_lines_go_through_the_tops_along_every_coordinate():
    points = lines(TOPS)
    assert points.shape == (2 * 3 * (LEVELS + 1), 3)
    for t, top in enumerate(TOPS):
        for d in range(3):
            line = points.reshape(2, 3, LEVELS + 1, 3)[t, d]
            others = [i for i in range(3) if i != d]
            assert torch.equal(line[:, others], top[others].expand(LEVELS + 1, 2))
            assert torch.equal(line[:-1, d], torch.linspace(0, 1, LEVELS, dtype=torch.float64))
            assert torch.equal(line[-1], top)


def test_of_one_hill_there_is_no_crest():
    points = lines(TOPS[:1])
    assert len(crests(points, -(points - TOPS[0]).square().sum(-1), 10)) == 0


def test_hills_in_line_with_a_top_are_found_the_highest_first():
    hills = TOPS[:1] + torch.tensor([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.0, -0.9, 0.0], [0.0, -0.5, 0.4]])
    heights = torch.tensor([1.0, 2.0, 3.0, 9.0], dtype=torch.float64)
    points = lines(TOPS[:1])
    values = (heights * (-80 * torch.cdist(points, hills.double()).square()).exp()).amax(dim=-1)
    found = crests(points, values, 10)
    # The last hill is not in line with the top.
    assert (found[0] - hills[2]).abs().max() <= 0.5 / (LEVELS - 1)
    assert (found[1] - hills[1]).abs().max() <= 0.5 / (LEVELS - 1)
    assert len(crests(points, values, 1)) == 1


def test_a_crest_is_higher_than_both_neighbors_on_its_line():
    generator = torch.Generator().manual_seed(0)
    points = lines(TOPS)
    values = torch.rand(len(points), dtype=torch.float64, generator=generator)
    values[3] = torch.nan
    expected = set()
    for line, height in zip(points.reshape(-1, LEVELS + 1, 3), values.reshape(-1, LEVELS + 1), strict=True):
        d = int((line[0] != line[1]).nonzero()[0, 0])
        ordered = sorted(range(LEVELS + 1), key=lambda i, line=line, d=d: (line[i, d].item(), i))
        padded = [-torch.inf, *height.nan_to_num(nan=-torch.inf)[ordered].tolist(), -torch.inf]
        for k, i in enumerate(ordered):
            if i < LEVELS and padded[k] < padded[k + 1] > padded[k + 2]:
                expected.add((tuple(line[i].tolist()), height[i].item()))
    found = crests(points, values, 1000)
    assert len(found) == len(expected)
    assert [tuple(x) for x in found.tolist()] == [x for x, _ in sorted(expected, key=lambda pair: -pair[1])]
