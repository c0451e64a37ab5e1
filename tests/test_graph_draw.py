"""The picture and the text of a graph hold what its record holds, and stay readable."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from torch import nn

from insidetorch import ForwardRecorder, GraphExplorer, graph_of, show
from insidetorch.draw.folding import items_of
from insidetorch.draw.graph import MOST_BOXES, graph_svg
from insidetorch.draw.graph_text import graph_text


def small():
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    h = (x * w).exp()
    return (h * h + x).sum(), {"x": x, "w": w}


def recurrent(steps):
    cell, h = nn.RNNCell(3, 4), torch.zeros(1, 4)
    for _ in range(steps):
        h = cell(torch.ones(1, 3), h)
    return h.sum(), cell


def encoder(layers):
    layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    return model(torch.ones(2, 5, 16)).sum(), model


def chain(length):
    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = y + 1
    return y


def boxes(svg):
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}g")
    return [g.attrib for g in found if "data-link" in g.attrib]


def test_each_node_and_each_use_of_a_leaf_is_one_box():
    loss, names = small()
    graph = graph_of(loss, names=names)
    drawn = boxes(graph_svg(graph, live=True))
    inner = [box for box in drawn if box["data-link"].startswith("item")]
    leaves = [box["data-say"] for box in drawn if box["data-link"].startswith("leaf")]
    assert len(inner) == sum(not node.is_leaf for node in graph.nodes)
    assert sorted(say.partition(",")[0] for say in leaves) == ["w", "x", "x"]


def test_the_two_uses_of_a_leaf_light_up_together():
    loss, names = small()
    drawn = boxes(graph_svg(graph_of(loss, names=names), live=True))
    links = [box["data-link"] for box in drawn if box["data-say"].startswith("x,")]
    assert len(links) == 2 and len(set(links)) == 1


@pytest.mark.parametrize(
    ("make", "step", "least"),
    [
        (lambda: recurrent(50)[0], 6, 49),
        (lambda: encoder(6)[0], None, 5),
        (lambda: chain(100), 1, 99),
    ],
)
def test_repeated_steps_are_one_box(make, step, least):
    graph = graph_of(make())
    items = items_of(graph)
    most = max(items, key=lambda item: item.times * item.step)
    assert most.times >= least and step in (None, most.step)
    numbers = [number for item in items for number in item.nodes]
    assert sorted(numbers) == [node.number for node in graph.nodes if not node.is_leaf]
    for item in items:
        names = [graph.nodes[number].name for number in item.nodes]
        assert names == names[: item.step] * item.times


def test_what_is_not_repeated_is_not_folded():
    y = torch.ones(2, requires_grad=True)
    for fn in (torch.sin, torch.exp, torch.sin, torch.tanh, torch.exp, torch.sin, torch.exp):
        y = fn(y)
    assert {item.times for item in items_of(graph_of(y))} == {1}
    x = a = torch.ones(2, requires_grad=True)
    for _ in range(6):
        a = a * x  # the same step, but each of them also uses x
    assert items_of(graph_of(a), fold=True)[0].times == 5


def test_steps_with_different_edges_are_different():
    x = torch.ones(2, requires_grad=True)
    a = b = x
    for k in range(9):
        a, b = (a + b, a) if k % 2 else (a + 1, b)
    [*items] = items_of(graph_of(a))
    assert not any(item.step == 1 and item.times > 2 for item in items)


def test_text_names_every_node_where_its_gradient_goes_and_what_it_saves():
    loss, names = small()
    assert graph_text(graph_of(loss, names=names)).splitlines() == [
        "7 nodes, 8 edges, 2 leaves; 60 bytes saved for backward.",
        "  SumBackward0 → AddBackward0; receives one value; saves no tensor",
        "  AddBackward0 → MulBackward0, x; receives (2, 3); saves alpha 1",
        "  MulBackward0 → ExpBackward0, ExpBackward0; receives (2, 3); saves other float32 (2, 3); "
        "self float32 (2, 3)",
        "  ExpBackward0 → MulBackward0; receives (2, 3); saves result float32 (2, 3)",
        "  MulBackward0 → x, w; receives (2, 3); saves other float32 (3,); self float32 (2, 3)",
    ]


def test_a_large_model_is_small_and_the_same_each_time():
    loss, model = encoder(24)
    graph = graph_of(loss, module=model)
    svg = graph_svg(graph)
    assert svg == graph_svg(graph_of(loss, module=model))
    assert len(show(graph)._repr_html_()) < 150_000
    assert int(re.search(r'width="(\d+)"', svg)[1]) < 2500
    assert "leaves" in svg and "in each repeat" in svg


def test_too_many_boxes_are_no_picture():
    graph = graph_of(chain(MOST_BOXES + 10))
    assert graph_svg(graph, fold=False) == "" and "× 609" in graph_svg(graph)
    assert len(graph_text(graph, fold=False).splitlines()) == 81
    explorer = GraphExplorer(chain(MOST_BOXES + 10))
    explorer.fold.value = False
    assert "more than 600 boxes" in explorer.view.status


def test_a_tensor_without_history_is_a_sentence():
    for t in (torch.ones(2), torch.ones(2, dtype=torch.int64)):
        picture = show(graph_of(t))
        assert picture.svg == "" and "<p>" in picture._repr_html_()
        assert GraphExplorer(t).view.status == picture.text


def test_the_explorer_reads_again_and_marks_leaves():
    loss, names = small()
    explorer = GraphExplorer(loss, names=names)
    explorer.mark.value = "w"
    marked = [box for box in boxes(explorer.view.svg) if box["class"].startswith("new")]
    assert [box["data-say"].partition(",")[0] for box in marked] == ["w"]
    loss.backward()
    assert "freed" not in explorer.view.status
    explorer.again.click()
    assert "5 saved tensors freed by a backward pass" in explorer.view.status


def test_an_overwritten_saved_tensor_is_told():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sum()
    with torch.no_grad():
        y.mul_(2)
    picture = show(graph_of(z))
    assert "1 saved tensor written in place since" in picture.alt
    assert "saved at version 0, now at version 1: backward will raise" in picture.text
    assert 'class="bad"' in picture.svg


def recorded(layers):
    layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    with ForwardRecorder(model) as forward:
        loss = model(torch.ones(2, 5, 16)).sum()
    return graph_of(loss, module=model, forward=forward)


def test_a_small_graph_is_not_folded_and_a_large_one_by_modules():
    assert all(len(item.nodes) == 1 for item in items_of(graph_of(chain(60))))
    assert [item.times for item in items_of(graph_of(chain(61)))] == [60, 1]
    graph = recorded(24)
    items = items_of(graph)
    assert len(items) <= 60
    assert [(i.modules, i.times) for i in items if i.times > 1] == [(("layers.22",), 22)]


def test_an_opened_module_shows_its_parts():
    graph = recorded(6)
    closed = items_of(graph, fold=True, opened=())
    assert [item.modules for item in closed] == [(), ("layers",)]
    layers = items_of(graph, fold=True, opened=["layers"])
    found = [(item.modules, item.times) for item in layers[1:]]
    assert found == [(("layers.5",), 5), (("layers.0",), 1)]  # the first has an input without edge
    opened = items_of(graph, fold=True, opened=["layers", "layers.5"])
    assert (opened[-2].modules, opened[-2].times) == (("layers.4",), 4)
    assert ("layers.5.self_attn",) in [item.modules for item in opened]
    for items in (closed, layers, opened):
        numbers = [number for item in items for number in item.nodes]
        assert sorted(numbers) == [node.number for node in graph.nodes if not node.is_leaf]


def test_an_opened_repeat_shows_its_first_step():
    graph = graph_of(recurrent(50)[0])
    [folded] = [item for item in items_of(graph, fold=True) if item.times > 1]
    items = items_of(graph, fold=True, opened=[folded.key])
    single = [item for item in items if len(item.nodes) == 1]
    assert len(single) >= folded.step and max(item.times for item in items) == folded.times - 1


def test_boxes_are_unfolded_by_choice_and_folded_again():
    loss, model = encoder(6)
    with ForwardRecorder(model) as forward:
        loss = model(torch.ones(2, 5, 16)).sum()
    explorer = GraphExplorer(loss, module=model, forward=forward)
    first = len(boxes(explorer.view.svg))
    explorer.unfold.value = next(k for _, k in explorer.unfold.options if k.startswith("layers.4"))
    assert len(boxes(explorer.view.svg)) > first
    explorer.unfold.value = "fold all again"
    assert len(boxes(explorer.view.svg)) == first
    explorer.fold.value = False
    assert explorer.unfold.disabled and len(boxes(explorer.view.svg)) > 400


def test_zoom_changes_the_size_on_the_page_alone():
    explorer = GraphExplorer(small()[0])
    wide = re.compile(r'<svg [^>]*viewBox="0 0 (\d+) \d+" width="(\d+)"')
    explorer.zoom.value = 50
    inside, outside = map(int, wide.search(explorer.view.svg).groups())
    assert outside == round(inside / 2)


def test_two_edges_between_two_nodes_are_two_lines():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()

    def arrows(graph):
        return re.search('class="e" d="([^"]*)"', graph_svg(graph))[1].count("M") // 2

    assert arrows(graph_of(y * y)) == 3 and arrows(graph_of(y * 2)) == 2
    assert arrows(graph_of(x * x)) == 2
