"""Users, passwords, tokens and sessions: who somebody is, and whether they still are."""

from engine.accounts.accounts import Accounts as Accounts
from engine.accounts.shapes import DashboardSession as DashboardSession
from engine.accounts.shapes import Tokens as Tokens
