"""Which nodes are shown as one box, where a step leads to a node that other steps lead to, too?"""

from __future__ import annotations

import re

import pytest
import torch

from insidetorch import graph_of
from insidetorch.draw.folding import items_of
from insidetorch.draw.graph import graph_svg


def recurrent(kind, steps):
    torch.manual_seed(0)
    net = kind(8, 8)
    return graph_of(net(torch.randn(steps, 2, 8))[0].sum(), module=net)


@pytest.mark.parametrize(("kind", "nodes"), [(torch.nn.RNN, 4), (torch.nn.GRU, 14)])
@pytest.mark.parametrize("steps", [50, 200])
def test_the_steps_of_a_recurrent_net_are_one_box(kind, nodes, steps):
    graph = recurrent(kind, steps)
    # The first step has no gradient to send to the initial state: its edges are others.
    assert [(i.step, i.times) for i in items_of(graph) if i.times > 1] == [(nodes, steps - 1)]
    assert 0 < graph_svg(graph).count("<text") < 100


def test_a_step_that_leads_to_another_far_node_is_no_repeat():
    torch.manual_seed(0)
    near, far = (torch.randn(8, requires_grad=True) * k for k in (2, 3))
    h = torch.zeros(8)
    for k in range(200):
        h = (h + (near if k < 100 else far)).tanh()
    found = [i for i in items_of(graph_of(h.sum())) if i.times > 1]
    assert [(i.step, i.times) for i in found] == [(2, 100), (2, 99)]


def test_a_node_with_many_outputs_has_a_box_that_can_be_read():
    svg = graph_svg(recurrent(torch.nn.RNN, 200))
    assert "UnbindBackward0" in svg
    assert max(map(len, re.findall(r"<text[^>]*>([^<]*)", svg))) < 80
    assert int(re.search(r'width="(\d+)"', svg)[1]) < 2_000
