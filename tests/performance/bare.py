"""The floor: the same HTTP client, one request an instance, nothing judged, nothing stored. Prints JSON.

python -m tests.performance.bare --instances 5000 --base-url URL --in-flight 64
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time

import httpx
from httpx_aiohttp import AiohttpTransport

from tests.performance.processes import memory_mb


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a bare client.")
    parser.add_argument("--instances", type=int, required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(_ask(1, options.base_url, 1))
    cpu, wall = time.process_time(), time.monotonic()
    asyncio.run(_ask(options.instances, options.base_url, options.in_flight))
    figures = {"wall_s": time.monotonic() - wall, "cpu_s": time.process_time() - cpu}
    print(json.dumps({**figures, "peak_mb": memory_mb(os.getpid(), "VmHWM")}))


async def _ask(instances: int, base_url: str, in_flight: int) -> None:
    numbers = iter(range(instances))
    limits = httpx.Limits(max_connections=in_flight)
    async with httpx.AsyncClient(transport=AiohttpTransport(limits=limits), timeout=30) as client:

        async def worker() -> None:
            for number in numbers:
                body = {"model": "scripted", "messages": [{"role": "user", "content": f"Question number {number}"}]}
                answer = await client.post(f"{base_url}/chat/completions", json=body)
                json.loads(answer.content)["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(in_flight)))


if __name__ == "__main__":
    main()
