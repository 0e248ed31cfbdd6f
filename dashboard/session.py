"""The engine handle, the person who is signed in, and the names of what a session remembers.

The only module that uses streamlit-authenticator: its login form, with our own accounts behind it. Its cookie is not
used: a script-set cookie can be read by scripts and cannot be revoked. After a good login a hidden frame asks the API
to set an HttpOnly cookie for a one-time code, so that a reload stays signed in.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard import spoken
from dashboard.i18n import _
from engine.domain.accounts import User
from engine.errors import EngineError, TooManyAttempts
from engine.services import accounts

if TYPE_CHECKING:
    from engine.assembly import Engine

PAGES = Path(__file__).resolve().parent.parent / "pages"

COOKIE = "__Host-magistrate"
COOKIE_ROUTE = "/api/v1/auth/browser"
CLOSING_ROUTE = "/api/v1/auth/browser/end"

SIGNED_IN = "session.signed_in"
CHECKED_AT = "session.checked_at"
FRAME = "session.frame"
ENDED = "session.ended"
"""Whose session ended by itself: what they had typed is there again when the same person signs in."""
SIGN_IN_ERROR = "session.sign_in_error"
PASSWORD_CHANGED = "session.password_changed"  # noqa: S105

SELECTED_RUN = "runs.selected"
RUNS_PAGE = "runs.page"
START_KEY = "runs.start_key"
RESULTS_ADDRESS = "results.address"
REVIEW_SKIPPED = "review.skipped"
REVIEW_LAST = "review.last"
REVIEW_UP = "review.up"
PROVIDER_CHECKS = "providers.checks"
PROVIDER_DIALOG = "providers.dialog"
DELETING_RUN = "runs.deleting"
JUDGING_RUN = "runs.judging"
ASKING_AGAIN = "results.asking_again"
DECIDING = "results.deciding"

RECHECK_S = 0.5
"""Within one page run a session is looked up once; a later run or a live fragment looks again."""
FRAME_S = 30.0
"""How long the frame that fetches the cookie stays drawn; a quick rerun must not take it away before it has loaded."""

_engine: Engine | None = None


def attach(engine: Engine) -> None:
    """Make the engine known to every page of this process."""
    global _engine
    _engine = engine


def detach() -> None:
    """Forget the engine."""
    global _engine
    _engine = None


def engine() -> Engine:
    """The engine of this process.

    Raises:
        RuntimeError: the page was started without the server that owns the engine.
    """
    if _engine is None:
        raise RuntimeError("no engine: start the dashboard with `magistrate serve`")
    return _engine


def page(name: str) -> Path:
    """Where a page lives, for links and switches."""
    return PAGES / f"{name}.py"


def cookie() -> str | None:
    """What the browser sent when it opened this page; a cookie set later shows only after a reload."""
    return st.context.cookies.get(COOKIE)


def client() -> str:
    """Where the browser is, for the throttle of wrong passwords; Streamlit gives no address for the machine itself."""
    return st.context.ip_address or "127.0.0.1"


def on_phone() -> bool:
    """Whether the browser says that it is a phone's; how wide a window is, the server is not told."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


def current() -> accounts.DashboardSession | None:
    """The live session of this browser, looked up anew on every page run, or None."""
    held: accounts.DashboardSession | None = st.session_state.get(SIGNED_IN)
    if held is not None and time.monotonic() - st.session_state.get(CHECKED_AT, 0) < RECHECK_S:
        return held
    if held is not None:
        found = accounts.by_session(engine(), held.session_id)
        if found is None:
            del st.session_state[SIGNED_IN]
            st.session_state[ENDED] = held.user.id
            return None
    else:
        value = cookie()
        found = accounts.by_cookie(engine(), value) if value else None
    if found is not None:
        st.session_state[SIGNED_IN] = found
        st.session_state[CHECKED_AT] = time.monotonic()
    return found


def user() -> User:
    """Who acts. A session that has ended meanwhile is sent to the sign-in form at once."""
    found = current()
    if found is None:
        st.rerun()
    return found.user


def sign_out() -> None:
    """End the session at the server; what is left of the cookie is worth nothing then, and a frame removes it."""
    held: accounts.DashboardSession | None = st.session_state.get(SIGNED_IN)
    forget()
    if held is not None:
        code = accounts.close_session(engine(), held.session_id, actor=held.user)
        st.session_state[FRAME] = (f"{CLOSING_ROUTE}?code={code}", time.monotonic() + FRAME_S)


def forget() -> None:
    """Drop everything this browser session remembers, so that the next person starts clean."""
    for key in list(st.session_state.keys()):
        if key != "lang":
            del st.session_state[key]


def draw_cookie_frame() -> None:
    """Draw the hidden frame in which the API sets or removes the cookie, for a little while after signing in or out."""
    address, until = st.session_state.get(FRAME, ("", 0.0))
    if time.monotonic() < until:
        st.iframe(address, height=1, tab_index=-1)


class _OurAccounts:
    """What stands behind the login form: our accounts instead of a dictionary of credentials."""

    def login(self, username: str | None = None, password: str | None = None, *_args: Any, **_more: Any) -> bool | None:
        if not username or not password:
            st.session_state[SIGN_IN_ERROR] = _("Enter the user name and the password.")
            return None
        try:
            opened = accounts.open_session(engine(), username, password, client=client())
        except TooManyAttempts as error:
            wait = max(1, round(error.retry_after_s))
            st.session_state[SIGN_IN_ERROR] = _("Too many attempts. Try again in {n} s.").format(n=wait)
            return False
        except EngineError as error:
            st.session_state[SIGN_IN_ERROR] = (
                _("User name or password is wrong.")
                if error.code == "invalid_credentials"
                else spoken.said(error.message)
            )
            return False
        if st.session_state.get(ENDED) != opened.user.id:
            forget()
        st.session_state.pop(ENDED, None)
        st.session_state[SIGNED_IN] = opened
        st.session_state[CHECKED_AT] = time.monotonic()
        st.session_state[FRAME] = (f"{COOKIE_ROUTE}?code={opened.code}", time.monotonic() + FRAME_S)
        return True


class _NoCookie:
    """The form asks for a cookie before and sets one after; ours is set by the API."""

    def get_cookie(self) -> None:
        return None

    def set_cookie(self) -> None:
        return None


def _form() -> Any:
    """The login form of streamlit-authenticator over our accounts.

    Imported here: the package registers its widgets on import, which outside a page run fills the log with warnings.
    """
    from streamlit_authenticator import Authenticate

    form = Authenticate.__new__(Authenticate)  # its __init__ would draw its own cookie's component
    form.attrs = {"login_sleep_time": 0}
    form.path = None
    form.authentication_controller = _OurAccounts()
    form.cookie_controller = _NoCookie()
    return form


def draw_login() -> None:
    """The login form; reruns the page signed in, or says what is wrong with the form still filled."""
    st.session_state.pop(SIGN_IN_ERROR, None)
    _form().login(
        fields={
            "Form name": _("Sign in"),
            "Username": _("User name"),
            "Password": _("Password"),
            "Login": _("Sign in"),
        },
        key="sign_in",
    )
    if st.session_state.get(SIGNED_IN) is not None:
        st.rerun()
    problem = st.session_state.get(SIGN_IN_ERROR)
    if problem:
        st.error(problem, icon=":material/error:")
    elif st.session_state.get(PASSWORD_CHANGED):
        st.success(_("The password was changed. Sign in with the new one."), icon=":material/key:")
    elif st.session_state.get(ENDED):
        st.info(_("Your session has ended. Sign in to go on where you were."), icon=":material/logout:")
