"""How long what is in flight may take once a run is to stop."""

from __future__ import annotations

import asyncio

from engine.domain.runs import RunStatus
from engine.runs.stopping import NO_NEW_CALL_S, ON_THE_WIRE_S, Stopping


def stopped_while(*, on_the_wire: bool, takes_s: float) -> bool:
    """Whether a task that takes so long comes to its end although the run is stopped at once."""

    async def scene() -> bool:
        stopping = Stopping()
        task = asyncio.create_task(asyncio.sleep(takes_s))
        stopping.ask(RunStatus.CANCELLED)
        await stopping.finish([task], lambda: on_the_wire)
        return not task.cancelled()

    return asyncio.run(scene())


def test_an_answer_that_is_on_its_way_is_waited_for():
    assert stopped_while(on_the_wire=True, takes_s=(NO_NEW_CALL_S + ON_THE_WIRE_S) / 2)


def test_an_item_that_would_make_another_call_is_given_up_sooner():
    """B12."""
    assert not stopped_while(on_the_wire=False, takes_s=(NO_NEW_CALL_S + ON_THE_WIRE_S) / 2)


def test_nothing_is_waited_for_for_long():
    """B12."""
    assert not stopped_while(on_the_wire=True, takes_s=3600)


def test_the_first_wish_counts_and_ends_a_wait():
    async def scene() -> None:
        stopping = Stopping()
        asyncio.get_running_loop().call_later(0.05, stopping.ask, RunStatus.CANCELLED)
        assert not await stopping.either(asyncio.sleep(3600))
        stopping.ask(RunStatus.INTERRUPTED, "later")
        assert stopping.wish == (RunStatus.CANCELLED, None)

    asyncio.run(scene())


def test_without_a_wish_everything_is_waited_for():
    async def scene() -> bool:
        stopping = Stopping()
        task = asyncio.create_task(asyncio.sleep(NO_NEW_CALL_S + 0.3))
        await stopping.finish([task], lambda: False)
        return task.cancelled()

    assert not asyncio.run(scene())
