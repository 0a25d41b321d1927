"""Statistics of load times, as data.

The PCP thesis takes means, standard deviations and one-way ANOVA over all (site, run) pairs
(Table 5.1). The runs of one site are no independent observations of what sites do, so that such
tests find differences significant that another choice of sites would not show. `compare` gives the
thesis's figures, and beside them tests on the means of sites, where a site counts once.

Differences are baseline minus variant throughout: positive where the variant is faster.
"""

import warnings
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.multitest import multipletests

__all__ = [
    "CONFIDENCE",
    "Anova",
    "Comparison",
    "Correction",
    "Description",
    "Significance",
    "adjust",
    "anova",
    "compare",
    "describe",
    "mann_whitney",
    "paired_t",
    "site_means",
    "wilcoxon",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

CONFIDENCE = 0.95
"""Of intervals; the thesis's significance level is 5 % (section 5.3.1)."""

Correction: TypeAlias = Literal["holm", "benjamini-hochberg"]

_METHODS: dict[Correction, str] = {"holm": "holm", "benjamini-hochberg": "fdr_bh"}
"""Names in statsmodels."""


class Description(msgspec.Struct, frozen=True):
    """One list of values; `None` where there are too few."""

    n: int
    mean: float | None
    median: float | None
    sd: float | None
    """Sample standard deviation (n - 1)."""
    low: float | None
    """Confidence interval of the mean, Student's t."""
    high: float | None


class Significance(msgspec.Struct, frozen=True):
    """A test: statistic, probability under the null hypothesis, size of the effect.

    `None` where it is not defined: too few values, or none that differ.
    """

    statistic: float | None
    p: float | None
    effect: float | None


class Anova(msgspec.Struct, frozen=True):
    """One-way analysis of variance; `eta_squared` is the share of variance between the groups."""

    f: float | None
    p: float | None
    eta_squared: float | None
    df_between: int
    df_within: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A variant against a baseline, paired by site and run."""

    sites: int
    pairs: int
    mean_baseline: float
    mean_variant: float
    difference: Description
    """Over all pairs; its mean and sd are the x-bar and sigma of the thesis's Table 5.1."""
    site_difference: Description
    """Over the mean differences of the sites."""
    improvement_percent: float
    """100 x sum(baseline - variant) / sum(baseline) over all pairs (caption of Table 5.1)."""
    same_or_better_percent: float
    """Sites whose mean is not above the baseline's by more than the margin."""
    same_or_better_pairs_percent: float
    """The same of the pairs."""
    anova: Anova
    """All pairs in two groups, as the thesis does (Table 5.1)."""
    site_anova: Anova
    """The means of the sites in two groups."""
    site_t: Significance
    """Paired t test of the means of the sites; the effect is Cohen's d of the differences."""
    site_wilcoxon: Significance
    """Signed ranks of the mean differences; the effect is the rank-biserial correlation."""
    site_mann_whitney: Significance
    """Ranks of the means, not paired; the effect is the rank-biserial correlation."""


def describe(values: Floats, confidence: float = CONFIDENCE) -> Description:
    """Mean, median, sample standard deviation, confidence interval of the mean.

    >>> result = describe(np.array([1.0, 2.0, 6.0]))
    >>> result.n, result.mean, result.median, round(result.high, 3)
    (3, 3.0, 2.0, 9.572)
    """
    n = len(values)
    if n == 0:
        return Description(0, None, None, None, None, None)
    mean, median = float(np.mean(values)), float(np.median(values))
    if n == 1:
        return Description(1, mean, median, None, None, None)
    sd = float(np.std(values, ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * sd / n**0.5
    return Description(n, mean, median, sd, mean - half, mean + half)


def site_means(values: Floats, sites: Integers) -> Floats:
    """The mean of each site's values, in order of the sites' numbers."""
    numbers, place = np.unique(sites, return_inverse=True)
    return np.bincount(place, weights=values) / np.bincount(place, minlength=len(numbers))


def compare(
    baseline: Floats,
    variant: Floats,
    sites: Integers,
    *,
    margin: float,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """A variant against its baseline.

    Parameters
    ----------
    baseline, variant
        Load times; elements at the same place are of the same site and run.
    sites
        Number of the site of each pair.
    margin
        How much longer counts as the same, in the unit of the times (PCP thesis, footnote 4 of
        section 4.4.3.1: 20 ms).
    confidence
        Of the intervals.

    Raises
    ------
    ValueError
        There are no pairs, or the lists differ in length.
    """
    if not len(baseline) == len(variant) == len(sites) or not len(sites):
        raise ValueError("expected lists of the same length with at least one pair")
    differences = baseline - variant
    base_means, variant_means = site_means(baseline, sites), site_means(variant, sites)
    by_site = base_means - variant_means
    return Comparison(
        sites=len(by_site),
        pairs=len(differences),
        mean_baseline=float(np.mean(baseline)),
        mean_variant=float(np.mean(variant)),
        difference=describe(differences, confidence),
        site_difference=describe(by_site, confidence),
        improvement_percent=float(100 * np.sum(differences) / np.sum(baseline)),
        same_or_better_percent=float(100 * np.mean(by_site >= -margin)),
        same_or_better_pairs_percent=float(100 * np.mean(differences >= -margin)),
        anova=anova(baseline, variant),
        site_anova=anova(base_means, variant_means),
        site_t=paired_t(by_site),
        site_wilcoxon=wilcoxon(by_site),
        site_mann_whitney=mann_whitney(base_means, variant_means),
    )


def anova(*groups: Floats) -> Anova:
    """One-way analysis of variance.

    >>> result = anova(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0]))
    >>> round(result.f, 3), round(result.p, 3), result.eta_squared
    (6.0, 0.07, 0.6)
    """
    everything = np.concatenate(groups)
    between, within = len(groups) - 1, len(everything) - len(groups)
    total = float(np.sum((everything - np.mean(everything)) ** 2))
    if within < 1 or total == 0.0:
        return Anova(None, None, None, between, within)
    inside = sum(float(np.sum((group - np.mean(group)) ** 2)) for group in groups)
    if inside == 0.0:
        return Anova(None, None, 1.0, between, within)
    f, p = stats.f_oneway(*groups)
    return Anova(float(f), float(p), 1 - inside / total, between, within)


def paired_t(differences: Floats) -> Significance:
    """Whether the mean of the differences is zero; the effect is Cohen's d, mean by deviation."""
    sd = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    if sd == 0.0:
        return Significance(None, None, None)
    t, p = stats.ttest_1samp(differences, 0.0)
    return Significance(float(t), float(p), float(np.mean(differences)) / sd)


def wilcoxon(differences: Floats) -> Significance:
    """Wilcoxon's signed-rank test; differences of zero are left out.

    The effect is the matched-pairs rank-biserial correlation (Kerby 2014): ranks in favour less
    ranks against, as a part of all; 1 if all differences are positive.
    """
    nonzero = differences[differences != 0.0]
    if not len(nonzero):
        return Significance(None, None, None)
    with warnings.catch_warnings():
        # With few values or ties SciPy says that it approximates; the p-value is what it is.
        warnings.simplefilter("ignore", UserWarning)
        statistic, p = stats.wilcoxon(nonzero)
    ranks = stats.rankdata(np.abs(nonzero))
    effect = float(np.sum(ranks * np.sign(nonzero)) / np.sum(ranks))
    return Significance(float(statistic), float(p), effect)


def mann_whitney(baseline: Floats, variant: Floats) -> Significance:
    """Mann-Whitney's U of two independent lists.

    The effect is the rank-biserial correlation (Cliff's delta): the probability that a value of
    the baseline is larger, less the probability that it is smaller.
    """
    if not len(baseline) or not len(variant):
        return Significance(None, None, None)
    u, p = stats.mannwhitneyu(baseline, variant)
    effect = 2 * float(u) / (len(baseline) * len(variant)) - 1
    # All values alike: nothing to rank, and a probability of NaN.
    return Significance(float(u), None if np.isnan(p) else float(p), effect)


def adjust(probabilities: Sequence[float | None], correction: Correction) -> list[float | None]:
    """p-values of a family of tests, corrected for their number; undefined ones stay so.

    Parameters
    ----------
    probabilities
        Of all tests that are looked at together.
    correction
        "holm": the probability that any finding is false (Holm 1979); "benjamini-hochberg": the
        share of findings that are false (1995).

    >>> adjust([0.01, None, 0.04], "holm")
    [0.02, None, 0.04]
    """
    defined = [p for p in probabilities if p is not None]
    if not defined:
        return list(probabilities)
    corrected = iter(multipletests(defined, method=_METHODS[correction])[1])
    return [None if p is None else float(next(corrected)) for p in probabilities]
