"""A page of the dashboard, opened as a browser does it, over the socket, until its script has ended."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.performance.processes import settings_of
from tests.performance.served import Served
from tests.support import engines

PATIENCE_S = 60.0


def sign_in(server: Served, folder: Path) -> str:
    """The Cookie header of a signed-in browser."""
    secret = settings_of(folder)["AUTH_TOKEN_SECRET"]
    with engines.opened(folder, run_worker=False, auth_token_secret=secret) as engine:
        opened = engine.accounts.open_session("gly", "maxta2026", client="bench")
    given = httpx.get(f"{server.address}/api/v1/auth/browser", params={"code": opened.code})
    return given.headers["set-cookie"].partition(";")[0]


def open_page(server: Served, name: str, cookie: str) -> tuple[float, int]:
    """Seconds until the whole page is there, and how many pieces were drawn."""
    address = server.address.replace("http://", "ws://") + "/_stcore/stream"
    headers = {"Cookie": cookie, "Origin": server.address}
    began = time.monotonic()
    drawn = 0
    with connect(address, additional_headers=headers, subprotocols=["streamlit"], max_size=None) as socket:
        ask = BackMsg()
        ask.rerun_script.page_name = name
        socket.send(ask.SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=PATIENCE_S))
            kind = message.WhichOneof("type")
            if kind == "delta":
                if message.delta.new_element.HasField("exception"):
                    raise SystemExit(f"the page {name} shows an exception: {message.delta.new_element.exception}")
                drawn += 1
            if kind == "script_finished":
                return time.monotonic() - began, drawn
