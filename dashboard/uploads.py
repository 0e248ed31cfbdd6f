"""Which pages may send a file: those whose signed-in person was shown a place for one, as long as they stay signed in.

Streamlit takes a file from anybody who knows the number of an open page, and a page is open before anybody signs in.
The cookie of a signed-in browser would not do instead: over plain HTTP from another machine it is never sent.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard import session
from engine.domain.accounts import Permission
from engine.services import accounts

ROUTE = "/_stcore/upload_file"
METHODS = frozenset({"PUT", "DELETE"})

HELD = 1000
"""Pages remembered; the one that offered longest ago is forgotten first and offers anew when it is drawn again."""

_offers: OrderedDict[str, tuple[int, Permission]] = OrderedDict()
"""By page: whose session, and the right that sending a file there takes."""
_lock = threading.Lock()


def offer(needed: Permission = Permission.MANAGE_BANKS) -> None:
    """Let the page that is being drawn send files, for the session of its signed-in person and while they may."""
    context, held = get_script_run_ctx(), session.current()
    if context is None or held is None:
        return
    with _lock:
        _offers[context.session_id] = held.session_id, needed
        _offers.move_to_end(context.session_id)
        while len(_offers) > HELD:
            _offers.popitem(last=False)


def allowed(method: str, path: str) -> bool:
    """Whether a request to Streamlit's upload route comes from such a page. Waits for the database."""
    page, _, file = path.removeprefix(f"{ROUTE}/").partition("/")
    with _lock:
        offered = _offers.get(page)
    if method not in METHODS or not file or "/" in file or offered is None:
        return False
    session_id, needed = offered
    found = accounts.by_session(session.engine(), session_id)
    return found is not None and found.user.may(needed)
