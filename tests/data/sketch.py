"""The recipe once more, written independently and slowly: what rendered patches are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ["water", "ice", "vegetation", "bare", "cloud"]


class SketchedEarth:
    """Whole layers as float32, as the set was first made."""

    def __init__(self, folder: Path) -> None:
        ground = Image.open(folder / "earth-blue-marble.jpg").convert("RGB")
        self.ground = np.asarray(ground).astype(np.float32)
        self.h, self.w, _ = self.ground.shape
        water = (
            Image.open(folder / "earth-water.png").convert("L").resize(ground.size, Image.Resampling.BILINEAR)
        )
        self.water = np.asarray(water).astype(np.float32) / 255
        cloud = Image.open(folder / "earth-clouds.png").convert("RGBA")
        assert cloud.size == ground.size
        self.cloud = np.asarray(cloud)[..., 3].astype(np.float32) / 255

    def _sample(self, layer, lat, lon):
        y = np.clip((90 - lat) / 180 * self.h - 0.5, 0, self.h - 1.001)
        x = ((lon + 180) / 360 * self.w - 0.5) % self.w
        y0, x0 = y.astype(int), x.astype(int)
        y1, x1 = y0 + 1, (x0 + 1) % self.w
        fy, fx = y - y0, x - x0
        if layer.ndim == 3:
            fy, fx = fy[..., None], fx[..., None]
        upper = layer[y0, x0] * (1 - fx) + layer[y0, x1] * fx
        lower = layer[y1, x0] * (1 - fx) + layer[y1, x1] * fx
        return upper * (1 - fy) + lower * fy

    def render(self, lat, lon, width_km, size, angle, cloud_shift, cloud_gain):
        half = np.float64(width_km) / 6371.0 / 2
        g = ((np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1).astype(np.float64)
        x, y = np.meshgrid(g * half, -g * half)
        c, s = np.cos(angle), np.sin(angle)
        x, y = c * x - s * y, s * x + c * y
        rho = np.minimum(np.hypot(x, y), 0.999)
        k = np.arcsin(rho)
        p0, l0 = np.radians(lat), np.radians(lon)
        safe = np.where(rho == 0, 1, rho)
        sin_lat = np.cos(k) * np.sin(p0) + y * np.sin(k) * np.cos(p0) / safe
        plat = np.degrees(np.arcsin(np.clip(sin_lat, -1, 1)))
        east = np.arctan2(x * np.sin(k), rho * np.cos(p0) * np.cos(k) - y * np.sin(p0) * np.sin(k))
        plon = (np.degrees(l0 + east) + 180) % 360 - 180
        ground, water = self._sample(self.ground, plat, plon), self._sample(self.water, plat, plon)
        cover = self._sample(self.cloud, plat, (plon + cloud_shift + 180) % 360 - 180)
        cloud = np.clip(cover * cloud_gain, 0, 1)
        most, least = ground.max(-1), ground.min(-1)
        label = np.where(ground[..., 1] >= ground[..., 0], 2, 3)
        label = np.where(water > 0.5, 0, label)
        label = np.where((most > 150) & (most - least < 45), 1, label)
        label = np.where(cloud > 0.45, 4, label).astype(np.uint8)
        rgb = ground * (1 - cloud[..., None]) + 250 * cloud[..., None]
        return np.clip(rgb + 1e-6, 0, 255).astype(np.uint8), label

    def patch(self, values, size=224):
        lat, lon, width, angle, shift, gain = values[:6]
        rgb, _ = self.render(lat, lon, width, size, angle, shift, gain)
        return np.clip(rgb * values[6], 0, 255).astype(np.uint8)
