"""C15: what an endpoint does not support, found in the words of its refusal."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.cases import ToolDef
from engine.domain.chat import Dialect, Message
from tests.providers.conftest import answer_of, ask, endpoint, error_of
from tests.support.scripted_server import Step


def openai(message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def fastapi(*loc: str | int, msg: str, kind: str, value: Any = None) -> dict[str, Any]:
    return {"detail": [{"loc": ["body", *loc], "msg": msg, "type": kind, "input": value}]}


EXTRA = "Extra inputs are not permitted"
INSTEAD = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
ONLY_1 = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
NO_SYSTEM = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
NO_VARIANT = (
    "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, "
    "expected one of `system`, `user`, `assistant`, `tool` at line 1 column 30"
)
ROLES = "Input should be 'system', 'user', 'assistant' or 'tool'"

REFUSALS: list[tuple[str, int, Any]] = [
    # max_tokens
    ("max_tokens", 400, openai(INSTEAD, param="max_tokens", code="unsupported_parameter")),
    ("max_tokens", 400, openai(INSTEAD)),
    ("max_tokens", 400, openai("Please use 'max_completion_tokens' instead of 'max_tokens', which is unsupported.")),
    ("max_tokens", 422, fastapi("max_tokens", msg=EXTRA, kind="extra_forbidden", value=50)),
    ("max_tokens", 400, openai("max_tokens is deprecated in favor of max_completion_tokens")),
    ("max_completion_tokens", 400, openai("Unrecognized request argument supplied: max_completion_tokens")),
    ("max_completion_tokens", 400, openai("property 'max_completion_tokens' is unsupported")),
    (
        "max_completion_tokens",
        422,
        fastapi("max_completion_tokens", msg="extra fields not permitted", kind="value_error.extra"),
    ),
    # temperature
    ("temperature", 400, openai(ONLY_1, param="temperature", code="unsupported_value")),
    ("temperature", 400, openai("Unsupported parameter: 'temperature' is not supported with this model.")),
    ("temperature", 400, {"message": "litellm.UnsupportedParamsError: m does not support parameters: ['temperature']"}),
    ("temperature", 400, {"message": "`temperature` is deprecated for this model.", "code": 400}),
    (
        "temperature",
        400,
        {"message": "This model doesn't support the temperature field. Remove temperature and retry."},
    ),
    ("temperature", 400, {"error": "参数 temperature 不支持"}),
    # system and developer
    ("system", 400, openai(NO_SYSTEM, param="messages[0].role", code="unsupported_value")),
    ("system", 400, {"object": "error", "message": "System role not supported", "code": 400}),
    ("system", 400, {"error": {"code": 400, "message": "Developer instruction is not enabled for models/small"}}),
    ("system", 400, openai("This model does not support system messages.")),
    (
        "system",
        422,
        fastapi("messages", 0, "role", msg="Input should be 'user' or 'assistant'", kind="enum", value="system"),
    ),
    ("developer", 400, openai(NO_VARIANT)),
    ("developer", 422, fastapi("messages", 0, "role", msg=ROLES, kind="literal_error", value="developer")),
    (
        "developer",
        400,
        openai("'messages[0].role' does not support 'developer' with this model.", param="messages[0].role"),
    ),
    ("developer", 400, openai("developer role is not supported")),
    # stream and stream_options
    (
        "stream",
        400,
        openai("'stream' does not support true with this model.", param="stream", code="unsupported_value"),
    ),
    ("stream", 400, openai("Streaming is not supported for this model.")),
    ("stream", 422, fastapi("stream", msg=EXTRA, kind="extra_forbidden", value=True)),
    ("stream_options", 400, openai("Unrecognized request argument supplied: stream_options")),
    (
        "stream_options",
        400,
        openai("Unknown parameter: 'stream_options'.", param="stream_options", code="unknown_parameter"),
    ),
    ("stream_options", 422, fastapi("stream_options", msg=EXTRA, kind="extra_forbidden")),
    (
        "stream_options",
        400,
        {
            "object": "error",
            "message": f"[{{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': '{EXTRA}'}}]",
        },
    ),
    # tools
    ("tools", 400, openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')),
    ("tools", 400, {"error": {"message": "library/small does not support tools", "type": "api_error"}}),
    ("tools", 400, openai("Unrecognized request arguments supplied: tool_choice, tools")),
    ("tools", 404, {"error": {"message": "No endpoints found that support tool use. Try another model.", "code": 404}}),
    ("tools", 400, openai("`tool calling` is not supported with this model")),
    ("tools", 400, {"error": {"code": 400, "message": "Function calling is not enabled for models/small"}}),
    # response_format
    (
        "response_format",
        400,
        openai("Invalid parameter: 'response_format' of type 'json_object' is not supported.", param="response_format"),
    ),
    ("response_format", 400, {"error": "'response_format.type' must be one of 'json_schema' or 'text'"}),
    ("response_format", 400, {"error": {"code": 400, "message": "JSON mode is not enabled for models/small"}}),
    ("response_format", 422, fastapi("response_format", "type", msg="Input should be 'text'", kind="literal_error")),
    # whatever else a provider's extra body may hold
    ("top_k", 400, openai("Unsupported parameter: 'top_k'", param="top_k", code="unsupported_parameter")),
    ("seed", 400, openai("Unrecognized request argument supplied: seed")),
]

OTHERS: list[tuple[int, Any]] = [
    (400, openai("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.", param="temperature")),
    (400, openai("max_tokens is too large: 100000. This model supports at most 4096 completion tokens.")),
    (400, openai("This model's maximum context length is 8192 tokens, which max_tokens does not support.")),
    (400, openai("This model only supports stream mode; set stream to true. Other modes are not supported.")),
    (400, openai("The model `gpt-x` does not exist or is not supported.", code="model_not_found")),
    (400, openai("Invalid image: this format is not supported.")),
    (400, {}),
    (400, []),
    (400, "Not supported."),
    (400, b"<html>temperature is not supported</html>"[:6]),
    (401, openai("temperature is not supported", param="temperature", code="unsupported_parameter")),
    (429, openai("temperature is not supported", param="temperature", code="unsupported_parameter")),
]


@pytest.mark.parametrize(("name", "status", "body"), REFUSALS, ids=[f"{r[0]}-{n}" for n, r in enumerate(REFUSALS)])
def test_c15_what_is_refused_is_named(server, name, status, body):
    """C15."""
    server.always(Step(status=status, body=body))
    error = error_of(endpoint(server.base_url))
    assert (error.refused, error.tries) == (name, 1)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("verbosity", {"type": "error", "error": {"message": f"verbosity: {EXTRA}"}}),
        ("verbosity", openai("Unrecognized request argument supplied: verbosity")),
        ("verbosity", openai("Unsupported parameter: 'verbosity' is not supported. Use 'service_tier' instead.")),
        ("verbosity", {"detail": "The verbosity parameter is not supported by this model, whatever its temperature."}),
        ("store", {"message": "UnsupportedParamsError: m does not support parameters: ['store', 'n']"}),
        ("enable_thinking", {"error": "参数 `enable_thinking` 不支持"}),
        (None, openai("This store does not support the model any more.")),
        (None, openai("Users of this tier may not use it: it is not enabled for the user.")),
        (None, openai("The parameter 'top_a' is not supported.")),
    ],
)
def test_c15_what_only_the_extra_body_has_is_named_where_it_is_quoted_or_called_a_parameter(server, name, body):
    """C15."""
    extra = {"verbosity": "low", "store": False, "enable_thinking": True, "user": "u", "service_tier": "flex"}
    server.always(Step(status=400, body=body))
    assert error_of(endpoint(server.base_url, extra_body=extra)).refused == name
    if name is not None:
        assert error_of(endpoint(server.base_url)).refused != name, "nobody sent it"


@pytest.mark.parametrize(("status", "body"), OTHERS)
def test_what_is_wrong_for_another_reason_is_not_called_refused(server, status, body):
    server.always(Step(status=status, body=body))
    assert error_of(endpoint(server.base_url)).refused is None


# -- speaking in the dialect that was found -----------------------------------------------------------------------

LOOK = ToolDef(name="look", description="Looks.", parameters={"type": "object"})
TALK = (
    Message(role="system", text="Be brief."),
    Message(role="user", text="Hello."),
    Message(role="assistant", text="Hi."),
    Message(role="user", text="Bye."),
)


def sent(server: Any, dialect: Dialect, **changes: Any) -> Any:
    request = ask(messages=TALK, tools=(LOOK,), temperature=0.0, max_tokens=50, json_object=True, dialect=dialect)
    answer_of(endpoint(server.base_url, **changes), request)
    return server.chats[-1].json


def test_json_is_asked_for_by_the_endpoints_own_means(server):
    assert sent(server, Dialect())["response_format"] == {"type": "json_object"}
    assert "response_format" not in sent(server, Dialect(left_out=("response_format",)))


@pytest.mark.parametrize("name", ["temperature", "max_tokens", "tools", "response_format", "top_p"])
def test_c15_what_is_left_out_is_not_sent_even_when_the_extra_body_has_it(server, name):
    """C15."""
    extra = {"top_p": 0.5} | ({name: 7} if name not in ("tools",) else {})
    usual, without = (
        sent(server, Dialect(), extra_body=extra),
        sent(server, Dialect(left_out=(name,)), extra_body=extra),
    )
    assert usual.keys() - without.keys() == {name}
    assert {key: usual[key] for key in without} == without


def test_c15_what_is_renamed_is_sent_under_its_other_name(server):
    """C15."""
    dialect = Dialect(renamed={"max_tokens": "max_completion_tokens", "system": "developer"})
    body = sent(server, dialect)
    assert body["max_completion_tokens"] == 50 and "max_tokens" not in body
    assert body["messages"][0] == {"role": "developer", "content": "Be brief."}


def test_c15_a_system_text_that_is_refused_stands_before_the_first_question(server):
    """C15."""
    body = sent(server, Dialect(left_out=("system",)))
    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        ("user", "Be brief.\n\nHello."),
        ("assistant", "Hi."),
        ("user", "Bye."),
    ]
