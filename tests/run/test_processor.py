"""Processor time: that of child processes counts while they live, and once."""

import subprocess
import sys
import time

from scorebo.run.processor import processor_seconds

BURN = """
import sys, time
while time.process_time() < {seconds}: pass
print(time.process_time(), flush=True)
sys.stdin.read()
"""


def burning(seconds, *before):
    """A child that has computed for so long and is alive, and what it says it took."""
    command = [*before, sys.executable, "-S", "-c", BURN.format(seconds=seconds)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, float(child.stdout.readline())


def test_children_count_while_they_live_and_once():
    before = processor_seconds()
    child, taken = burning(0.4)
    alive = processor_seconds() - before
    assert taken - 0.03 < alive < taken + 0.2
    child.communicate("")
    assert alive - 0.03 < processor_seconds() - before < alive + 0.2


def test_children_of_children_count():
    before = processor_seconds()
    child, taken = burning(0.3, "sh", "-c", '"$@"; true', "sh")
    assert processor_seconds() - before > taken - 0.03
    child.communicate("")


def test_waiting_does_not_count():
    before = processor_seconds()
    time.sleep(0.3)
    assert processor_seconds() - before < 0.1
