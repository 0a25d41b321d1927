"""Statistics against numbers worked out by hand, and against the definitions of the thesis."""

import math

import numpy as np
import pytest

from loadpath.analysis.statistics import (
    Significance,
    adjust,
    anova,
    compare,
    describe,
    mann_whitney,
    paired_t,
    site_means,
    wilcoxon,
)


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


class TestDescribe:
    def test_the_interval_is_students(self) -> None:
        # t with 3 degrees of freedom at 97.5 % is 3.182446; sd = sqrt(20 / 3).
        result = describe(floats(1, 3, 5, 7))
        half = 3.182446 * math.sqrt(20 / 3) / 2
        assert (result.n, result.mean, result.median) == (4, 4, 4)
        assert result.sd == pytest.approx(math.sqrt(20 / 3))
        assert (result.low, result.high) == pytest.approx((4 - half, 4 + half), abs=1e-5)

    def test_a_wider_interval_has_more_confidence(self) -> None:
        narrow, wide = (describe(floats(1, 3, 5, 7), c) for c in (0.9, 0.99))
        assert wide.low is not None
        assert narrow.low is not None
        assert wide.low < narrow.low

    def test_what_too_few_values_do_not_define_is_absent(self) -> None:
        assert describe(floats()).mean is None
        assert describe(floats(5)).mean == 5
        assert describe(floats(5)).sd is None
        assert describe(floats(5)).low is None


class TestComparison:
    BASELINE = floats(1000, 1020, 2000, 2000, 3000, 3000)
    VARIANT = floats(900, 880, 2010, 2026, 3060, 2940)
    SITES = np.array([4, 4, 7, 7, 9, 9])

    def test_figures_are_those_of_table_5_1(self) -> None:
        result = compare(self.BASELINE, self.VARIANT, self.SITES, margin=20)
        differences = [100, 140, -10, -26, -60, 60]
        mean = sum(differences) / 6
        assert result.difference.mean == pytest.approx(mean)
        assert result.difference.sd == pytest.approx(
            math.sqrt(sum((d - mean) ** 2 for d in differences) / 5)
        )
        assert result.improvement_percent == pytest.approx(100 * 204 / 12_020)
        assert result.mean_baseline - result.mean_variant == pytest.approx(mean)
        assert (result.sites, result.pairs) == (3, 6)

    def test_sites_within_the_margin_are_as_good(self) -> None:
        # Means differ by 120, -18 and 0 ms.
        shares = [
            compare(self.BASELINE, self.VARIANT, self.SITES, margin=m).same_or_better_percent
            for m in (0, 17.9, 18, 20)
        ]
        assert shares == pytest.approx([200 / 3, 200 / 3, 100, 100])
        pairs = compare(self.BASELINE, self.VARIANT, self.SITES, margin=20)
        assert pairs.same_or_better_pairs_percent == pytest.approx(400 / 6)

    def test_runs_of_a_site_are_no_evidence_about_sites(self) -> None:
        """More runs of the same sites make the thesis's test more certain, the honest ones not."""
        many = [np.tile(column, 50) for column in (self.BASELINE, self.VARIANT, self.SITES)]
        few = compare(self.BASELINE, self.VARIANT, self.SITES, margin=20)
        more = compare(many[0], many[1], many[2], margin=20)
        assert few.anova.p is not None
        assert more.anova.p is not None
        assert more.anova.p < few.anova.p
        for test in ("site_t", "site_wilcoxon", "site_mann_whitney", "site_anova"):
            assert getattr(more, test).p == pytest.approx(getattr(few, test).p)
        assert more.site_difference.sd == pytest.approx(few.site_difference.sd)

    def test_equal_loads_have_no_test(self) -> None:
        same = compare(self.BASELINE, self.BASELINE, self.SITES, margin=20)
        assert same.improvement_percent == 0
        assert same.site_t == same.site_wilcoxon == Significance(None, None, None)
        assert same.same_or_better_percent == 100

    def test_one_pair_is_described_but_not_tested(self) -> None:
        result = compare(floats(10), floats(8), np.array([0]), margin=0)
        assert result.difference.mean == 2
        assert result.site_t.p is None
        assert result.anova.p is None

    @pytest.mark.parametrize("lengths", [(0, 0, 0), (2, 1, 2), (2, 2, 1)])
    def test_lists_that_are_no_pairs_are_refused(self, lengths: tuple[int, int, int]) -> None:
        a, b, n = lengths
        with pytest.raises(ValueError, match="same length"):
            compare(np.ones(a), np.ones(b), np.zeros(n, dtype=np.int64), margin=0)


class TestTests:
    def test_paired_t(self) -> None:
        result = paired_t(floats(1, 2, 3))
        assert result.statistic == pytest.approx(2 * math.sqrt(3))
        # Two degrees of freedom: p = 1 - t / sqrt(t^2 + 2).
        assert result.p == pytest.approx(1 - math.sqrt(12 / 14))
        assert result.effect == pytest.approx(2)

    def test_wilcoxon_of_differences_with_one_sign(self) -> None:
        # All 5 signs alike: 2 of 2^5 ways.
        assert wilcoxon(floats(1, 2, 3, 4, 5)) == Significance(0, 2 / 32, 1)
        # One of rank 1 against: ranks for 14, against 1; 4 of 2^5 ways are as extreme.
        mixed = wilcoxon(floats(-1, 2, 3, 4, 5, 0))
        assert mixed.statistic == 1
        assert mixed.p == pytest.approx(4 / 32)
        assert mixed.effect == pytest.approx(13 / 15)

    def test_mann_whitney_of_lists_apart(self) -> None:
        # 2 of the C(6, 3) = 20 ways to divide.
        apart = mann_whitney(floats(1, 2, 3), floats(4, 5, 6))
        assert apart.p == pytest.approx(0.1)
        assert (apart.statistic, apart.effect) == (0, -1)
        assert mann_whitney(floats(4, 5, 6), floats(1, 2, 3)).effect == 1
        assert mann_whitney(floats(), floats(1)).p is None

    def test_anova_of_two_groups_is_the_t_test_squared(self) -> None:
        result = anova(floats(1, 2, 3), floats(3, 4, 5))
        assert result.f == pytest.approx(6)
        assert (result.df_between, result.df_within) == (1, 4)
        # t = sqrt(6) with 4 degrees of freedom; tables have 2.132 at 10 %, 2.776 at 5 %.
        assert result.p is not None
        assert 0.05 < result.p < 0.1

    def test_anova_of_constant_groups_is_not_defined(self) -> None:
        assert anova(floats(1, 1), floats(1, 1)).eta_squared is None
        apart = anova(floats(1, 1), floats(2, 2))
        assert (apart.f, apart.p, apart.eta_squared) == (None, None, 1)


class TestAdjustment:
    def test_holm(self) -> None:
        assert adjust([0.01, 0.04, 0.03], "holm") == pytest.approx([0.03, 0.06, 0.06])

    def test_benjamini_hochberg(self) -> None:
        corrected = adjust([0.01, 0.04, 0.03], "benjamini-hochberg")
        assert corrected == pytest.approx([0.03, 0.04, 0.04])

    def test_undefined_ones_do_not_count(self) -> None:
        assert adjust([None, 0.02, None, 0.5], "holm") == [None, 0.04, None, 0.5]
        assert adjust([None], "holm") == [None]
        assert adjust([], "holm") == []


def test_site_means_are_in_order_of_sites() -> None:
    assert site_means(floats(1, 2, 3, 6), np.array([5, 2, 5, 9])).tolist() == [2, 2, 6]
