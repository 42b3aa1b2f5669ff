"""Microcontrollers with a Cortex-M: firmware that speaks the serial protocol of MLPerf Tiny."""
