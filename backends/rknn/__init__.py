"""The neural units of Rockchip's processors, and the simulator of their tool chain."""
