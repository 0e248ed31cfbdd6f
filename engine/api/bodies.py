"""Request bodies: strict JSON, so that whatever passes can be stored and given back as it came."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

DEEPEST = 50
LARGEST_INTEGER = 2**63 - 1


class StrictRoute(APIRoute):
    """A route whose body may hold no lone surrogate, NaN, infinity, number past 64 bits or tower of brackets."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Raises ValueError, which the framework takes for an unreadable body."""
        body = json.loads(await self.body())
        remaining = [(body, 0)]
        while remaining:
            value, depth = remaining.pop()
            if depth > DEEPEST:
                raise ValueError("nested too deeply")
            match value:
                case dict():
                    remaining.extend((each, depth + 1) for pair in value.items() for each in pair)
                case list():
                    remaining.extend((each, depth + 1) for each in value)
                case str():
                    value.encode()
                case float() if not math.isfinite(value):
                    raise ValueError("not a number")
                case int() if abs(value) > LARGEST_INTEGER:
                    raise ValueError("number too large")
        return body
