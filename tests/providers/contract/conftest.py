"""Every test here runs against every kind of endpoint, asking for whole answers and for streamed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.domain.runs import EndpointSettings
from tests.providers.conftest import endpoint
from tests.support.dialects import FACES, Face, FacedServer


@pytest.fixture(params=sorted(FACES))
def face(request: pytest.FixtureRequest) -> Face:
    return FACES[request.param]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def server(face: Face) -> Iterator[FacedServer]:
    with FacedServer(face) as running:
        yield running


@pytest.fixture
def settings(face: Face, server: FacedServer, streamed: bool) -> Callable[..., EndpointSettings]:
    """The endpoint's settings, with changes."""

    def made(**changes: Any) -> EndpointSettings:
        return endpoint(server.base_url, kind=face.kind, stream=streamed, **changes)

    return made
