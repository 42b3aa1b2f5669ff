"""The Coral Dev Board Micro: firmware that answers JSON-RPC over the network of its USB cable."""
