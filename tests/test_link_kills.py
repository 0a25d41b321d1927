"""The quick form of `make study-link-kills`: nothing of a link is left, whatever is killed when."""

import random
import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from link_kills import Victim, end_link, kill_link

pytestmark = pytest.mark.usefixtures("links")


def test_a_link_leaves_nothing(tmp_path: Path) -> None:
    end_link(tmp_path)


@pytest.mark.parametrize("victim", Victim)
def test_a_kill_at_a_random_point_leaves_nothing(tmp_path: Path, victim: Victim) -> None:
    chance = random.Random(str(victim))
    kill_link(victim, chance.uniform(0, 0.8), tmp_path, chance)
