"""Google's Edge TPU: the USB Accelerator, the M.2 and PCIe cards, the Dev Boards with Linux."""
