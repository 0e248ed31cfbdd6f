"""The REST API: routes and status codes, nothing to decide. Each route is one call of `engine.services`."""

from engine.api.app import create_api as create_api
