"""A step of the engine in words and in the picture: what has run, what is ready, what waits."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from torch import nn

from insidetorch import BackwardStepper
from insidetorch.draw.backward import backward_text, gradient_text, step_sentence, step_svg
from insidetorch.observe.backward import record_backward


def recorded():
    x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    h = x * w
    return record_backward((h * h + x).sum(), names={"x": x, "w": w})


def boxes(record, number):
    found = ET.fromstring(step_svg(record, number, live=True))
    groups = found.iter("{http://www.w3.org/2000/svg}g")
    return [g.attrib for g in groups if "data-link" in g.attrib]


def test_each_step_is_told():
    assert backward_text(recorded()).splitlines() == [
        "6 steps, in the order in which the engine ran them:",
        "  Step 1 of 6: SumBackward0 receives 1. It sends [1, 1] to AddBackward0.",
        "  Step 2 of 6: AddBackward0 receives [1, 1]. It sends [1, 1] to MulBackward0; [1, 1] to "
        "x.",
        "  Step 3 of 6: MulBackward0 receives [1, 1]. It sends [3, 3] to MulBackward0; [3, 3] to "
        "MulBackward0.",
        "  Step 4 of 6: MulBackward0 receives [6, 6], the sum of what came along 2 edges. It sends "
        "[18, 18] to x; [6, 6] to w.",
        "  Step 5 of 6: AccumulateGrad of x receives [19, 19], the sum of what came along 2 edges. "
        "Its .grad held nothing and now holds [19, 19].",
        "  Step 6 of 6: AccumulateGrad of w receives [6, 6]. Its .grad held nothing and now holds "
        "[6, 6].",
    ]


def test_the_picture_shows_the_queue_of_the_step():
    record = recorded()
    for number, step in enumerate(record.steps):
        words = {
            box["data-link"]: box["data-say"].rpartition("; ")[2] for box in boxes(record, number)
        }
        nodes = {int(link.split()[1]): word for link, word in words.items()}
        assert nodes[step.node] == "runs now"
        for k, node in enumerate(step.ready[1:], 1):
            assert nodes[node] == f"ready, place {k}"
        for node, more in step.missing:
            assert nodes[node] == f"waits for {more}"
        for before in record.steps[:number]:
            received = gradient_text(before.received[0])
            said = f"got {received}" if len(received) <= 10 else "has run"
            assert nodes[before.node] == said


def test_boxes_stay_where_they_are_from_step_to_step():
    record = recorded()
    places = []
    for number in range(len(record.steps)):
        root = ET.fromstring(step_svg(record, number))
        places.append([root.attrib["width"], root.attrib["height"]])
    assert all(place == places[0] for place in places)


def test_the_stepper_reads_the_record_only():
    model = nn.Linear(2, 1)
    stepper = BackwardStepper(model(torch.ones(1, 2)).sum(), module=model)
    before = [p.grad.clone() for p in model.parameters()]
    for number in range(len(stepper.record.steps)):
        stepper.step.value = number + 1
        assert stepper.view.status == step_sentence(stepper.record, number)
    assert all(map(torch.equal, before, (p.grad for p in model.parameters())))
    assert repr(stepper).startswith("BackwardStepper\n")


def test_a_leaf_alone_is_one_step():
    x = torch.ones((), requires_grad=True)
    assert "AccumulateGrad of a leaf receives 1" in BackwardStepper(x).view.status


def test_of_a_large_pass_the_picture_shows_where_the_engine_is():
    y = torch.ones(1, requires_grad=True)
    for _ in range(700):
        y = y + 1
    stepper = BackwardStepper(y)
    for number in (1, 9, 350, 700, 701):
        stepper.step.value = number
        found = re.findall('data-say="([^"]*)"', stepper.view.svg)
        assert len(found) <= 60 and sum("runs now" in say for say in found) == 1
        assert sum("; got [1]" in say for say in found) == min(number - 1, 8)
    assert "and 641 more steps" in repr(stepper)


def test_what_backward_raises_is_raised():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        BackwardStepper(x * 2)
