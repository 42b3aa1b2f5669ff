"""A stand-in for a FNIRSI meter: its entry in sysfs, and packets over sockets that keep them whole."""

import os
import select
import socket
import struct
import threading

from edgebench.probes.host import hidraw
from edgebench.probes.host.fnb58_packets import GO_ON, SELECT, START, crc8

FNB58, FNB48S, FNB48, C1 = (0x2E3C, 0x5558), (0x2E3C, 0x0049), (0x0483, 0x003A), (0x0483, 0x003B)
VENDOR_PAGE = bytes.fromhex("06 00 ff 09 01 a1 01 09 02 15 00 26 ff 00 75 08 95 40 81 02 09 03 91 02 c0")


def packet(*samples, kind=4):
    """64 bytes with four (volts, amperes)."""
    body = bytes([kind])
    for volts, amperes in (samples * 4)[:4]:
        body += struct.pack("<IIHHBH", round(volts * 1e5), round(amperes * 1e5), 600, 600, 1, 251)
    body = body.ljust(62, b"\0")
    return b"\xaa" + body + bytes([crc8(body)])


class StandIn:
    """A meter that sends a packet every 10 ms once it was started in the way of its model.

    Args:
        tree: for its entry in place of /sys/class/hidraw.
        answer: called with the number of the packet, from 0; the packet, or None to be silent.
        node: the name of its node.
    """

    def __init__(self, tree, answer=lambda n: packet((5.0, 1.0)), ids=FNB58, serial="A1", node="hidraw3"):
        self.ids, self.serial, self.node, self.tree = ids, serial, node, tree
        self.answer = answer
        self.written = []  # by the probe, without the number 0 before each
        self.thread = None
        self.plug_in()

    def plug_in(self):
        device = self.tree / self.node / "device"
        device.mkdir(parents=True)
        vendor, product = self.ids
        (device / "uevent").write_text(
            f"DRIVER=hid-generic\nHID_ID=0003:{vendor:08X}:{product:08X}\nHID_NAME=FNIRSI\nHID_UNIQ={self.serial}\n"
        )
        (device / "report_descriptor").write_bytes(VENDOR_PAGE)
        self.probes_end, self.own_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.end = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def unplug(self):
        if self.thread is None:
            return
        for file in ("uevent", "report_descriptor"):
            (self.tree / self.node / "device" / file).unlink()
        (self.tree / self.node / "device").rmdir()
        (self.tree / self.node).rmdir()
        self.end.set()
        self.thread.join(10)
        self.thread = None
        self.own_end.close()
        self.probes_end.close()

    def open(self, node):
        """In place of hidraw.open_node."""
        assert node.path == os.path.join(hidraw.NODES, self.node)
        descriptor = os.dup(self.probes_end.fileno())
        os.set_blocking(descriptor, False)
        return descriptor

    def _serve(self):
        number = 0
        while not self.end.is_set():
            if select.select([self.own_end], [], [], 0.01)[0]:
                data = self.own_end.recv(100)
                if not data:
                    return
                assert len(data) == 65 and data[0] == 0
                self.written.append(data[1:])
            elif self._is_started():
                answer = self.answer(number)
                number += 1
                if answer is not None:
                    self.own_end.send(answer)

    def _is_started(self):
        last = SELECT if self.ids[0] == 0x2E3C else GO_ON
        return self.written[:3] == [START, SELECT, last]
