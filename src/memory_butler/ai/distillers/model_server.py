"""Requests to a language model through pydantic-ai. Needs the extra `models`; imported at the first use."""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from httpx2 import InvalidURL
from pydantic_ai import exceptions as failures
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings as RequestSettings
from pydantic_ai.tools import ToolDefinition

from memory_butler.ai.distillers.rendering import Prompt
from memory_butler.errors import DistillerUnavailable, MemoryButlerError, Unprocessable, UnusableProposal
from memory_butler.policy.consolidation.proposal_schema import PROPOSAL_SCHEMA
from memory_butler.settings import ModelSettings


class RequestRejected(UnusableProposal):
    """The model's server rejected the request."""


class _Mode(Enum):
    """Output modes: OpenAI's JSON schema, the older JSON mode with a schema that some servers accept, or plain text."""

    SCHEMA = auto()
    JSON = auto()
    PLAIN = auto()


class Meaning(NamedTuple):
    """Error class and message for a failure of pydantic-ai."""

    kind: type[MemoryButlerError]
    words: str
    recovery: str | None = None


PROPOSAL = "proposal"
DESCRIPTION = "What to remember from the episodes."
# Messages of servers that have no error code for a request that exceeds the context window.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|(?:prompt|input|request)(?: is|_is)?[ _]too[ _](?:long|large)"
    r"|too many (?:input )?tokens|request_too_large|string_above_max_length"
)
_FORMAT = re.compile(r"response_format|json_schema")
_CHECK_KEY = "Check consolidation.model.api_key, or the provider's own variable."
_CHECK_NAME = "Check consolidation.model.name and consolidation.model.base_url."
_CHECK_SERVER = "Check that it runs and that consolidation.model.base_url is right; the episodes wait."
# Messages are our own: a server's message may repeat the prompt.
_MEANINGS = {
    failures.ModelConnectionError: Meaning(
        DistillerUnavailable, "The server of the model {} cannot be reached, or broke off", _CHECK_SERVER
    ),
    failures.ModelAuthenticationError: Meaning(
        DistillerUnavailable, "The server of the model {} did not accept the key", _CHECK_KEY
    ),
    failures.ModelNotFoundError: Meaning(DistillerUnavailable, "The server does not know the model {}", _CHECK_NAME),
    failures.ModelQuotaExceededError: Meaning(DistillerUnavailable, "The account for the model {} is used up"),
    failures.ModelRateLimitError: Meaning(DistillerUnavailable, "The model {} was asked too often"),
    failures.ModelRequestRejectedError: Meaning(RequestRejected, "The server of the model {} rejected the request"),
}
_FAILED = Meaning(DistillerUnavailable, "The server of the model {} failed")
_UNREADABLE = Meaning(UnusableProposal, "The answer of the server of the model {} cannot be read")
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN)\b")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model. Token counts are 0 if the server does not report them."""

    text: str
    refused: bool
    cut_off: bool
    input_tokens: int
    output_tokens: int


class ModelServer:
    """Calls the configured model, with the schema of a proposal if its server supports one."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        # After one mode has worked, the modes before it are not tried again.
        self._modes = [_Mode.SCHEMA, _Mode.JSON, _Mode.PLAIN] if settings.base_url else [_Mode.SCHEMA, _Mode.PLAIN]

    def model(self) -> Model:
        """Return the model, an async context manager."""
        return open_model(self._settings)

    async def ask(self, model: Model, prompt: Prompt, correction: str | None) -> Reply:
        """Return one answer; the class of an error says if a retry can help. No timeout."""
        for place, mode in enumerate(self._modes):
            try:
                reply = await self._ask(model, prompt, correction, mode)
            except RequestRejected:
                if mode is _Mode.PLAIN:
                    raise
            else:
                self._modes = self._modes[place:]
                return reply
        raise AssertionError("the plain mode is the last one")

    async def ask_for_text(self, model: Model, prompt: Prompt) -> Reply:
        """Return one answer in plain text. No timeout."""
        return await self._ask(model, prompt, None, _Mode.PLAIN)

    async def _ask(self, model: Model, prompt: Prompt, correction: str | None, mode: "_Mode") -> Reply:
        parts = [UserPromptPart(text) for text in (prompt.data, correction) if text]
        # No retries here: the whole run is retried later, and waiting for a busy server would use up the timeout.
        request_settings = RequestSettings(max_tokens=self._settings.max_output_tokens, max_retries=0)
        output = _output_schema(native=self._settings.base_url is not None) if mode is _Mode.SCHEMA else None
        if mode is not _Mode.PLAIN and self._settings.base_url:
            request_settings["temperature"] = 0.0
        if mode is _Mode.JSON:
            request_settings["extra_body"] = {"response_format": {"type": "json_object", "schema": PROPOSAL_SCHEMA}}
        try:
            response = await model_request(
                model,
                [ModelRequest(parts=parts, instructions=prompt.instructions)],
                model_settings=request_settings,
                model_request_parameters=output,
            )
        except failures.ModelAPIError as problem:
            raise _translated(problem, self._settings) from None
        except failures.UnexpectedModelBehavior:
            raise UnusableProposal(f"The answer of the model {self._settings.name} cannot be read.") from None
        except failures.UserError as problem:
            raise _unknown(str(self._settings.name), str(problem)) from None
        return Reply(
            text=_text(response),
            refused=response.finish_reason == "content_filter",
            cut_off=response.finish_reason == "length",
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
        )


def open_model(settings: ModelSettings) -> Model:
    """Return the configured model. Sends nothing."""
    name = settings.name
    if not name:
        raise DistillerUnavailable(
            "No model is set for the distiller `model`.",
            recovery="Set consolidation.model.name, or choose the distiller built-in.",
        )
    key = settings.api_key.get_secret_value() if settings.api_key else None
    try:
        if settings.base_url:
            # A custom URL gets only the key that was configured for it, never the provider's key of the environment.
            provider = OpenAICompatibleProvider(
                "compatible",
                base_url=settings.base_url,
                api_key=key,
                profile=OpenAIModelProfile(
                    supports_json_schema_output=True, openai_chat_supports_max_completion_tokens=False
                ),
            )
            return OpenAIChatModel(name, provider=provider)
        return infer_model(name, lambda kind: _provider(kind, key)) if key else infer_model(name)
    except ImportError:
        kind = name.partition(":")[0]
        raise DistillerUnavailable(
            f"The model {name} needs a package that is not installed.",
            recovery=f'Run `pip install "pydantic-ai-slim[{kind}]"`.',
        ) from None
    except (failures.UserError, ValueError, TypeError, InvalidURL) as problem:
        raise _unknown(name, str(problem)) from None


def _provider(kind: str, key: str) -> Provider[object]:
    make = infer_provider_class(kind)
    return make(api_key=key)  # type: ignore[call-arg]


def _unknown(name: str, message: str) -> DistillerUnavailable:
    if variable := _KEY_VARIABLE.search(message):
        return DistillerUnavailable(
            f"There is no key for the model {name}.",
            recovery=f"Set consolidation.model.api_key, or the environment variable {variable[0]}.",
        )
    return DistillerUnavailable(
        f"The model {name} cannot be used as it is set.",
        recovery="consolidation.model.name is a provider and a model, such as openai:gpt-5-mini; for a server of your"
        " own set consolidation.model.base_url too.",
    )


def _output_schema(*, native: bool) -> ModelRequestParameters:
    """Return the schema of a proposal as output format or as the only tool, whichever suits the model."""
    output = ModelRequestParameters(
        output_mode="auto",
        output_object=OutputObjectDefinition(json_schema=PROPOSAL_SCHEMA, name=PROPOSAL, description=DESCRIPTION),
        output_tools=[
            ToolDefinition(
                name=PROPOSAL, parameters_json_schema=PROPOSAL_SCHEMA, description=DESCRIPTION, kind="output"
            )
        ],
    )
    return replace(output, output_mode="native") if native else output


def _text(response: ModelResponse) -> str:
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return calls[-1].args_as_json_str()
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _translated(problem: failures.ModelAPIError, settings: ModelSettings) -> MemoryButlerError:
    """Map a failure to an outage, an unusable answer, or a request that can never work."""
    status = problem.status_code if isinstance(problem, failures.ModelHTTPError) else None
    if _is_too_long(problem, status):
        return Unprocessable(f"The episodes are too long for the model {settings.name}.")
    if status and status >= 500 and _FORMAT.search(str(problem.body)[:2_000]):
        # Some servers fail with a 5xx status for an unsupported format instead of rejecting it.
        return RequestRejected(f"The server of the model {settings.name} does not know the format asked for.")
    if isinstance(problem, failures.ModelTimeoutError) and problem.phase == "read":
        return UnusableProposal(f"The model {settings.name} took too long to answer.")
    known = (meaning for cause, meaning in _MEANINGS.items() if isinstance(problem, cause))
    meaning = next(known, _FAILED if status else _UNREADABLE)
    number = f" ({status})" if status else ""
    return meaning.kind(f"{meaning.words.format(settings.name)}{number}.", recovery=meaning.recovery)


def _is_too_long(problem: failures.ModelAPIError, status: int | None) -> bool:
    if isinstance(problem, failures.ModelContextWindowExceededError) or status == 413:
        return True
    if status not in (400, 422):
        return False
    inner = problem.body.get("error", problem.body) if isinstance(problem.body, dict) else problem.body
    message = inner.get("message") if isinstance(inner, dict) else inner
    texts = (problem.provider_error_code, problem.provider_error_type, message)
    return any(_TOO_LONG.search(str(text)[:500].lower()) for text in texts if text)
