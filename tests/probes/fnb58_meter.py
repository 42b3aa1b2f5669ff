"""A stand-in for a FNIRSI meter: its entry in sysfs, and packets over sockets that keep them whole."""

import contextlib
import os
import select
import shutil
import socket
import struct
import threading

from edgebench.probes.host import fnb58 as hidraw
from edgebench.probes.host.fnb58 import GO_ON, SELECT, START, crc8

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

    packet_s = 0.01

    def __init__(self, tree, answer=lambda n: packet((5.0, 1.0)), ids=FNB58, serial="A1", node="hidraw3"):
        self.ids, self.serial, self.node, self.tree = ids, serial, node, tree
        self.answer = answer
        self.written = []  # by the probe, without the number 0 before each
        self.thread = None
        self.plug_in()

    def plug_in(self):
        self._write_entry()
        self.probes_end, self.own_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.end = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _write_entry(self):
        device = self.tree / self.node / "device"
        device.mkdir(parents=True)
        vendor, product = self.ids
        (device / "uevent").write_text(
            f"DRIVER=hid-generic\nHID_ID=0003:{vendor:08X}:{product:08X}\nHID_NAME=FNIRSI\nHID_UNIQ={self.serial}\n"
        )
        (device / "report_descriptor").write_bytes(VENDOR_PAGE)

    def unplug(self):
        if self.thread is None:
            return
        shutil.rmtree(self.tree / self.node)
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
            if select.select([self.own_end], [], [], self.packet_s)[0]:
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


class SocketStandIn(StandIn):
    """The same for a probe in a process of its own: its node is a socket in a folder.

    Args:
        nodes: the folder, in place of /dev.
    """

    packet_s = 0.04  # as long as its four samples

    def __init__(self, tree, nodes, **more):
        self.path = nodes / "hidraw3"
        super().__init__(tree, **more)

    def plug_in(self):
        self._write_entry()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.listener.settimeout(0.02)
        self.own_end = self.listener
        self.end = threading.Event()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def unplug(self):
        self.probes_end = self.listener
        super().unplug()
        self.path.unlink(missing_ok=True)

    def _accept(self):
        while not self.end.is_set():
            with contextlib.suppress(TimeoutError):
                self.own_end, _ = self.listener.accept()
                self.written = []
                with self.own_end, contextlib.suppress(ConnectionError):
                    self._serve()
