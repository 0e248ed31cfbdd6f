"""Swagger UI and ReDoc from an installed package: no public network, no inline script."""

from __future__ import annotations

from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from engine.errors import NotFoundError

ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "redoc.standalone.js": "text/javascript",
    "favicon.png": "image/png",
}
"""The only files that are served, with their media types."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'"
)
"""Both pages style themselves at run time, so styles may be inline; scripts may not."""

OUTSIDE_LOGO = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
NO_PICTURE = b"data:,"
"""ReDoc's footer asks its maker's server for a picture; the policy would stop it, this does not even ask."""

# Addresses are relative: the pages work wherever the API is mounted.
_SWAGGER = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Magistrate API</title>
<link rel="icon" href="docs-assets/favicon.png">
<link rel="stylesheet" href="docs-assets/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs-assets/swagger-ui-bundle.js"></script>
<script src="docs-assets/start-swagger.js"></script>
</body>
</html>
"""

_START_SWAGGER = """"use strict";
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset].filter(Boolean),
});
"""

_REDOC = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Magistrate API</title>
<link rel="icon" href="docs-assets/favicon.png">
</head>
<body>
<redoc spec-url="openapi.json" hide-loading="true"></redoc>
<script src="docs-assets/redoc.standalone.js"></script>
</body>
</html>
"""


def install(app: FastAPI) -> None:
    """Add `/docs`, `/redoc` and their files to the application."""

    @app.get("/docs", include_in_schema=False)
    def swagger() -> HTMLResponse:
        return HTMLResponse(_SWAGGER, headers={"Content-Security-Policy": POLICY})

    @app.get("/redoc", include_in_schema=False)
    def redoc() -> HTMLResponse:
        return HTMLResponse(_REDOC, headers={"Content-Security-Policy": POLICY})

    @app.get("/docs-assets/start-swagger.js", include_in_schema=False)
    def start_swagger() -> Response:
        return Response(_START_SWAGGER, media_type="text/javascript")

    folder = files("fastapi_offline") / "static"

    @app.get("/docs-assets/{name}", include_in_schema=False)
    def asset(name: str) -> Response:
        if name not in ASSETS:
            raise NotFoundError(f"no documentation file {name!r}")
        content = (folder / name).read_bytes().replace(OUTSIDE_LOGO, NO_PICTURE)
        return Response(content, media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=86400"})
