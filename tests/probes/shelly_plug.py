"""A stand-in for a Shelly on the loopback interface: it answers requests with the bytes that a test gives."""

import contextlib
import socket
import threading

# As the makers' documents and dumps of such devices have them, with other numbers of devices.
PLUG_S = {
    "/shelly": '{"type":"SHPLG-S","mac":"AABBCC000001","auth":false,"fw":"20230913-113421/v1.14.0-gcb84623"}',
    "/meter/0": '{"power":48.52,"overpower":0.00,"is_valid":true,"timestamp":1606215925,'
    '"counters":[48.663, 48.776, 46.173],"total":394}',
}
PLUS_PLUG = {
    "/shelly": '{"name":null,"id":"shellyplugus-aabbcc000002","mac":"AABBCC000002","slot":1,'
    '"model":"SNPL-00116US","gen":2,"fw_id":"20231219-133953/1.1.0-g34b5d4f","ver":"1.1.0","app":"PlugUS",'
    '"auth_en":false,"auth_domain":null}',
    "/rpc/Switch.GetStatus?id=0": '{"id":0, "source":"HTTP", "output":true, "apower":47.1, "voltage":232.0, '
    '"current":0.203, "pf":0.95, "aenergy":{"total":5.125,"by_minute":[0.000,0.000,0.000],'
    '"minute_ts":1675718520},"temperature":{"tC":25.3, "tF":77.5}}',
}
PM_MINI = {
    "/shelly": '{"id":"shellypmminig3-aabbcc000003","model":"S3PM-001PCEU16","gen":3,"auth_en":false}',
    "/rpc/PM1.GetStatus?id=0": '{"id":0,"voltage":230.1,"current":0.101,"apower":12.3,"freq":50.0,'
    '"aenergy":{"total":14.093,"by_minute":[0,0,0],"minute_ts":1675718520}}',
}
PRO_EM = {
    "/shelly": '{"id":"shellyproem50-aabbcc000004","model":"SPEM-002CEBEU50","gen":2,"auth_en":false}',
    "/rpc/EM1.GetStatus?id=0": '{"id":0,"current":0.096,"voltage":235.9,"act_power":7.4,"aprt_power":22.6,'
    '"pf":0.67,"freq":50.0,"calibration":"factory"}',
}


def answer(body, status="200 OK", *headers):
    """The bytes of an answer."""
    data = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", "Server: ShellyHTTP/1.0.0", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + data


class StandIn:
    """A plug at `address` until it is unplugged.

    Args:
        pages: the JSON by path; others are not found.
        spoil: called with the number of the request, from 0, and its path; the pieces of its answer, None for
            the page. The connection is closed behind an answer of pieces.
        keeps: whether connections are kept.
    """

    def __init__(self, pages, spoil=lambda number, path: None, keeps=True):
        self.pages, self._spoil, self._keeps = pages, spoil, keeps
        self.paths: list[str] = []
        self.connections = 0
        self._port = 0
        self.plug_in()

    def plug_in(self):
        """Listen, at the port of before."""
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listener.getsockname()[1]
        self.address = f"shelly:127.0.0.1:{self._port}"
        threading.Thread(target=self._serve, args=[self._listener], daemon=True).start()

    def unplug(self):
        """Be gone, with every connection."""
        for end in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _serve(self, listener):
        with contextlib.suppress(OSError):
            while True:
                end = listener.accept()[0]
                self.connections += 1
                self._open.add(end)
                threading.Thread(target=self._converse, args=[end], daemon=True).start()

    def _converse(self, end):
        with contextlib.suppress(OSError, ValueError), end, end.makefile("rb") as lines:
            while line := lines.readline():
                path = line.split()[1].decode()
                while lines.readline().strip():
                    pass
                self.paths.append(path)
                pieces = self._spoil(len(self.paths) - 1, path)
                for piece in [self._page(path)] if pieces is None else pieces:
                    end.sendall(piece)
                if pieces is not None or not self._keeps:
                    return

    def _page(self, path):
        if path not in self.pages:
            return answer("Not Found", "404 Not Found")
        return answer(self.pages[path], "200 OK", *([] if self._keeps else ["Connection: close"]))
