"""A proxy on this machine that tunnels every CONNECT to one port, whatever host it names."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any


class Tunnel:
    """Use it as a context manager; it runs in a thread of its own."""

    def __init__(self, port: int, *, status: int = 200) -> None:
        """`port` is where all tunnels lead; a `status` other than 200 refuses them."""
        self.asked: list[str] = []
        """`host:port` of each CONNECT, in order."""
        self.heads: list[str] = []
        """The whole head of each."""
        self.port = 0
        self._to = port
        self._status = status

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Tunnel:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="tunnel")
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        listener = await asyncio.start_server(self._tunnel, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        started.set()
        await self._stop.wait()
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            self.asked.append(head.split(" ")[1])
            writer.write(f"HTTP/1.1 {self._status} X\r\nContent-Length: 0\r\n\r\n".encode())
            if self._status == 200:
                there, back = await asyncio.open_connection("127.0.0.1", self._to)
                await asyncio.wait(
                    [asyncio.ensure_future(self._copy(reader, back)), asyncio.ensure_future(self._copy(there, writer))],
                    return_when=asyncio.FIRST_COMPLETED,
                )
                back.close()
        writer.close()

    async def _copy(self, source: asyncio.StreamReader, target: Any) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
