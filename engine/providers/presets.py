"""Where well-known endpoints are found, so that a person need not look it up."""

from __future__ import annotations

from typing import NamedTuple

from engine.domain.providers import ProviderKind


class Preset(NamedTuple):
    """One well-known endpoint. A part in capitals of `base_url` is to be replaced."""

    title: str
    kind: ProviderKind
    base_url: str
    needs_key: bool = True


PRESETS = (
    Preset("OpenAI", ProviderKind.OPENAI, "https://api.openai.com/v1"),
    Preset("Azure OpenAI", ProviderKind.AZURE, "https://RESOURCE.openai.azure.com"),
    Preset("Anthropic", ProviderKind.ANTHROPIC, "https://api.anthropic.com/v1"),
    Preset("DeepSeek", ProviderKind.OPENAI, "https://api.deepseek.com/v1"),
    Preset("Moonshot", ProviderKind.OPENAI, "https://api.moonshot.cn/v1"),
    Preset("OpenRouter", ProviderKind.OPENAI, "https://openrouter.ai/api/v1"),
    Preset("Qwen (DashScope)", ProviderKind.OPENAI, "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    Preset("SiliconFlow", ProviderKind.OPENAI, "https://api.siliconflow.cn/v1"),
    Preset("Volcengine Ark", ProviderKind.OPENAI, "https://ark.cn-beijing.volces.com/api/v3"),
    Preset("Zhipu", ProviderKind.OPENAI, "https://open.bigmodel.cn/api/paas/v4"),
    Preset("Ollama", ProviderKind.OLLAMA, "http://127.0.0.1:11434", needs_key=False),
    Preset("LM Studio", ProviderKind.OPENAI, "http://127.0.0.1:1234/v1", needs_key=False),
    Preset("vLLM", ProviderKind.OPENAI, "http://127.0.0.1:8000/v1", needs_key=False),
)
