"""Talking to a language model through pydantic-ai. Needs the extra `models`, and is imported when it is needed."""

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
from memory_butler.policy.proposals import PROPOSAL_SCHEMA
from memory_butler.settings import ModelSettings


class RequestRejected(UnusableProposal):
    """The model's server rejected the request."""


class _Way(Enum):
    """How an answer of the right form is asked for: by OpenAI's own format, by the older one with a schema that some
    servers understand instead, or by words alone."""

    SCHEMA = auto()
    JSON = auto()
    PLAIN = auto()


class Meaning(NamedTuple):
    """What a failure of theirs is to us."""

    kind: type[MemoryButlerError]
    words: str
    recovery: str | None = None


PROPOSAL = "proposal"
DESCRIPTION = "What to remember from the episodes."
# How servers that have no code for it say that a request does not fit.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|(?:prompt|input|request)(?: is|_is)?[ _]too[ _](?:long|large)"
    r"|too many (?:input )?tokens|request_too_large|string_above_max_length"
)
_FORMAT = re.compile(r"response_format|json_schema")
_CHECK_KEY = "Check consolidation.model.api_key, or the provider's own variable."
_CHECK_NAME = "Check consolidation.model.name and consolidation.model.base_url."
_CHECK_SERVER = "Check that it runs and that consolidation.model.base_url is right; the episodes wait."
# What each failure means here, in words of our own: what a server says may repeat what it was sent.
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
    """One answer. `text` is what may hold the proposal; tokens are 0 where the server does not count."""

    text: str
    refused: bool
    cut_off: bool
    input_tokens: int
    output_tokens: int


class ModelServer:
    """Asks the model that the settings name, within the schema of a proposal where its server can."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        # Once one has worked, those before it are not tried again.
        self._ways = [_Way.SCHEMA, _Way.JSON, _Way.PLAIN] if settings.base_url else [_Way.SCHEMA, _Way.PLAIN]

    def model(self) -> Model:
        """The model, to be entered while it is asked."""
        return open_model(self._settings)

    async def ask(self, model: Model, prompt: Prompt, correction: str | None) -> Reply:
        """One answer, or an error that says whether it is worth asking again. Not bounded in time."""
        for place, way in enumerate(self._ways):
            try:
                reply = await self._ask(model, prompt, correction, way)
            except RequestRejected:
                if way is _Way.PLAIN:
                    raise
            else:
                self._ways = self._ways[place:]
                return reply
        raise AssertionError("the plain way is the last one")

    async def tell(self, model: Model, prompt: Prompt) -> Reply:
        """One answer in plain words. Not bounded in time."""
        return await self._ask(model, prompt, None, _Way.PLAIN)

    async def _ask(self, model: Model, prompt: Prompt, correction: str | None, way: "_Way") -> Reply:
        parts = [UserPromptPart(text) for text in (prompt.data, correction) if text]
        # The run is tried again later as a whole; waiting in here for a busy server would only use up the deadline.
        wanted = RequestSettings(max_tokens=self._settings.max_output_tokens, max_retries=0)
        form = _form(native=self._settings.base_url is not None) if way is _Way.SCHEMA else None
        if way is not _Way.PLAIN and self._settings.base_url:
            wanted["temperature"] = 0.0
        if way is _Way.JSON:
            wanted["extra_body"] = {"response_format": {"type": "json_object", "schema": PROPOSAL_SCHEMA}}
        try:
            response = await model_request(
                model,
                [ModelRequest(parts=parts, instructions=prompt.instructions)],
                model_settings=wanted,
                model_request_parameters=form,
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
    """The model that the settings name. Nothing is sent yet."""
    name = settings.name
    if not name:
        raise DistillerUnavailable(
            "No model is set for the distiller `model`.",
            recovery="Set consolidation.model.name, or choose the distiller built-in.",
        )
    key = settings.api_key.get_secret_value() if settings.api_key else None
    try:
        if settings.base_url:
            # The key of a big provider is not handed to whatever listens at an address: only a key that was set for it.
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


def _unknown(name: str, said: str) -> DistillerUnavailable:
    if variable := _KEY_VARIABLE.search(said):
        return DistillerUnavailable(
            f"There is no key for the model {name}.",
            recovery=f"Set consolidation.model.api_key, or the environment variable {variable[0]}.",
        )
    return DistillerUnavailable(
        f"The model {name} cannot be used as it is set.",
        recovery="consolidation.model.name is a provider and a model, such as openai:gpt-5-mini; for a server of your"
        " own set consolidation.model.base_url too.",
    )


def _form(*, native: bool) -> ModelRequestParameters:
    """The schema of a proposal, as an output format or as the one tool to call, whichever the model is best at."""
    form = ModelRequestParameters(
        output_mode="auto",
        output_object=OutputObjectDefinition(json_schema=PROPOSAL_SCHEMA, name=PROPOSAL, description=DESCRIPTION),
        output_tools=[
            ToolDefinition(
                name=PROPOSAL, parameters_json_schema=PROPOSAL_SCHEMA, description=DESCRIPTION, kind="output"
            )
        ],
    )
    return replace(form, output_mode="native") if native else form


def _text(response: ModelResponse) -> str:
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return calls[-1].args_as_json_str()
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _translated(problem: failures.ModelAPIError, settings: ModelSettings) -> MemoryButlerError:
    """Whether the outage is theirs, the answer is bad, or the request can never work. Their words stay with them."""
    status = problem.status_code if isinstance(problem, failures.ModelHTTPError) else None
    if _is_too_long(problem, status):
        return Unprocessable(f"The episodes are too long for the model {settings.name}.")
    if status and status >= 500 and _FORMAT.search(str(problem.body)[:2_000]):
        # Some servers fail over a format that they do not know instead of refusing it.
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
    said = (problem.provider_error_code, problem.provider_error_type, message)
    return any(_TOO_LONG.search(str(one)[:500].lower()) for one in said if one)
