"""What a program derives its calibrator from; the build of an engine asks it for batches."""

from ._shape import ENUMERATIONS, Bound


class IInt8Calibrator(Bound):
    """What is derived from it gives batches as addresses of device memory."""

    def get_batch_size(self):
        """Patches a batch."""
        raise RuntimeError('Tried to call pure virtual function "IInt8Calibrator::get_batch_size"')

    def get_batch(self, names):
        """An address for each input, or None behind the last batch."""
        return []

    def read_calibration_cache(self):
        """What an earlier calibration wrote, or None."""
        return None

    def write_calibration_cache(self, cache):
        """Keep the ranges."""

    def get_algorithm(self):
        """Which calibration it is."""
        return ENUMERATIONS["CalibrationAlgoType"].ENTROPY_CALIBRATION_2


class IInt8LegacyCalibrator(IInt8Calibrator):
    """By quantiles."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """By entropy, as of old."""


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """By entropy."""


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """By the largest magnitude."""
