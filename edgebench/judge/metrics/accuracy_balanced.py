"""Balanced accuracy."""

from __future__ import annotations

import math
from statistics import NormalDist

from edgebench.judge.metrics.accuracy import IMAGES, image_metric, of_labelled
from edgebench.judge.trial import STATED, Confusion, Estimate


def balanced_accuracy(confusion: Confusion) -> Estimate:
    """Mean recall of the classes that occur, with the normal interval of their binomial variances.

    The variance of a mean of C independent recalls r of n images is the sum of r (1 - r) / n over C squared.
    A class's variance takes (right + 1) / (n + 2) for r, since a class that is always right has one of 0
    (Agresti and Caffo 2000, The American Statistician 54, 280-288). The ends stay within 0 and 1.
    """
    classes = [(right, n) for right, n in zip(confusion.right, confusion.n, strict=True) if n]
    mean = math.fsum(right / n for right, n in classes) / len(classes)
    shares = [((right + 1) / (n + 2), n) for right, n in classes]
    variance = math.fsum(share * (1 - share) / n for share, n in shares) / len(classes) ** 2
    half = NormalDist().inv_cdf((1 + STATED.interval) / 2) * math.sqrt(variance)
    low, high = max(0.0, mean - half), min(1.0, mean + half)
    occurring = f"mean recall of {len(classes)} classes"
    return Estimate(mean, low, high, n=sum(confusion.n), final=True).with_notes(occurring)


METRICS = (
    image_metric(
        "accuracy_balanced",
        "Mean recall of the classes that occur among the labelled images.",
        source="predictions.parquet",
        statistics=("mean",),
        read=of_labelled(lambda recorded, worker, confusion: balanced_accuracy(confusion)),
        by_worker=True,
        label="Balanced accuracy",
        options=(IMAGES,),
        heading="Balanced accuracy, %",
    ),
)
