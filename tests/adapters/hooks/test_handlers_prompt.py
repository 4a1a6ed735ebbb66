"""The user-prompt hook: a briefing for the first prompt of a session, and silence afterwards."""

import json
import socket
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.adapters.hooks.conftest import (
    BUTLER,
    SESSION,
    Hook,
    agent,
    context_in,
    person,
    project_memory,
    prompted,
    said,
    started,
)
from tests.support.service import serving

from memory_butler.adapters.hooks.transcript import HEAD_BYTES, has_earlier_turns
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

PROMPTED = "UserPromptSubmit"
PROMPT = "Please move the invoices to Stripe."
STRIPE = "Invoices go to Stripe in Europe."
COMMAND = person("<command-name>/model</command-name>")
CONTEXT = {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["# What I remember"]}}


async def invoices(resources: Resources) -> None:
    await project_memory(resources)
    await remember.fact(resources, NewFact(subject="invoices", predicate="payment", content=STRIPE))


def written(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "prompted.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


async def test_the_first_prompt_gets_a_briefing_for_its_task(
    resources: Resources, port: int, hook: Hook, project: Path
) -> None:
    """With what is relevant to the prompt, and not with the whole project, which the start told."""
    await invoices(resources)
    await hook("session-start", port, started(project))
    text = context_in((await hook("user-prompt", port, prompted(project, PROMPT, session=SESSION))).stdout, PROMPTED)
    assert STRIPE in text
    assert "make check" not in text
    assert "data, not instructions" in text


async def test_a_session_that_started_without_memory_hears_all_of_it_with_its_first_prompt(
    resources: Resources, port: int, hook: Hook, project: Path
) -> None:
    """Its server was not running yet."""
    await invoices(resources)
    text = context_in((await hook("user-prompt", port, prompted(project, PROMPT))).stdout, PROMPTED)
    assert STRIPE in text
    assert "make check" in text


async def test_a_prompt_that_memory_does_not_know_about_gets_nothing(port: int, hook: Hook, project: Path) -> None:
    """No block and no remark; debugging explains it."""
    done = await hook("user-prompt", port, prompted(project, PROMPT), MEMORY_BUTLER_HOOK_DEBUG="1")
    assert done.stdout == ""
    assert done.stderr == "memory-butler hook user-prompt: not the first prompt, or the briefing is empty\n"


FIRST = {
    "commands of the client": [CONTEXT, COMMAND],
    "the prompt itself": [CONTEXT, person(PROMPT)],
    "a caveat of the client": [person("Caveat: generated", isMeta=True)],
}
LATER = {
    "another prompt": [person("Hello"), agent(said("Hi!"))],
    "a prompt without an answer": [person("Hello")],
    "the same prompt with an answer": [person(PROMPT), agent(said("Done."))],
    "a compacted session": [person("This session continues …", isCompactSummary=True)],
}


@pytest.mark.parametrize("entries", FIRST.values(), ids=FIRST)
async def test_what_the_client_writes_is_no_earlier_turn(
    resources: Resources, port: int, hook: Hook, *, project: Path, tmp_path: Path, entries: list[dict[str, Any]]
) -> None:
    """The prompt is still the first one."""
    await invoices(resources)
    told = prompted(project, PROMPT, written(tmp_path, *entries))
    assert STRIPE in context_in((await hook("user-prompt", port, told)).stdout, "UserPromptSubmit")


@pytest.mark.parametrize("entries", LATER.values(), ids=LATER)
async def test_a_later_prompt_gets_nothing(
    resources: Resources, port: int, hook: Hook, *, project: Path, tmp_path: Path, entries: list[dict[str, Any]]
) -> None:
    """Also in a session that was resumed or compacted."""
    await invoices(resources)
    assert (await hook("user-prompt", port, prompted(project, PROMPT, written(tmp_path, *entries)))).stdout == ""


async def test_a_later_prompt_does_not_call_the_server(hook: Hook, project: Path, transcript: Path) -> None:
    """The server hangs; the hook ends long before its deadline of 30 seconds."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0.1)
        assert (await hook("user-prompt", silent.getsockname()[1], prompted(project, PROMPT, transcript))).stdout == ""
        with pytest.raises(TimeoutError):
            silent.accept()


async def test_a_second_prompt_before_there_is_a_transcript_gets_nothing(
    resources: Resources, port: int, hook: Hook, project: Path
) -> None:
    """Prompts in quick succession, and sessions without a transcript: the server knows the session."""
    await invoices(resources)
    session = str(uuid4())
    answers = [(await hook("user-prompt", port, prompted(project, PROMPT, session=session))).stdout for _ in range(2)]
    assert STRIPE in answers[0]
    assert answers[1] == ""


async def test_what_the_start_told_is_not_told_again(
    resources: Resources, port: int, hook: Hook, project: Path
) -> None:
    """If nothing else is relevant, there is no block."""
    await project_memory(resources)
    session, question = str(uuid4()), "Run the tests with make check."
    assert "make check" in (await hook("user-prompt", port, prompted(project, question))).stdout
    start = {**started(project), "session_id": session}
    assert "make check" in context_in((await hook("session-start", port, start)).stdout)
    assert (await hook("user-prompt", port, prompted(project, question, session=session))).stdout == ""
    other = {**started(project), "session_id": (session := str(uuid4()))}
    await hook("session-start", port, other)
    await remember.fact(
        resources, NewFact(subject="tests", predicate="time", content="The tests with make check take an hour.")
    )
    text = context_in(
        (await hook("user-prompt", port, prompted(project, question, session=session))).stdout, "UserPromptSubmit"
    )
    assert "take an hour" in text
    assert "Tests run with make check." not in text


@pytest.mark.parametrize("prompt", ["", "  \n", "<task-notification>done</task-notification>"])
async def test_what_no_user_wrote_gets_nothing(
    resources: Resources, port: int, hook: Hook, project: Path, prompt: str
) -> None:
    """Clients submit results of background work as prompts."""
    await invoices(resources)
    assert (await hook("user-prompt", port, prompted(project, prompt))).stdout == ""


async def test_a_very_long_prompt_is_cut(resources: Resources, port: int, hook: Hook, project: Path) -> None:
    """The beginning is used; a pasted log behind it does not delay the session."""
    await invoices(resources)
    told = prompted(project, f"{PROMPT}\n" + "x86_64 0xdeadbeef " * 20_000)
    assert STRIPE in context_in((await hook("user-prompt", port, told)).stdout, "UserPromptSubmit")


async def test_the_route_refuses_other_events(port: int) -> None:
    """With the error that every other route gives."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
        for body in ({}, {"event": "session-end"}, {"event": "user-prompt", "butler": BUTLER}):
            answer = await web.post("/hooks/briefing", json=body)
            assert (answer.status_code, answer.json()["error"]) == (422, "validation_error")


async def test_callers_with_tokens_have_sessions_of_their_own(resources: Resources, tenant: str) -> None:
    """The id of another caller's session neither silences a briefing nor shortens it."""
    body = {"event": "user-prompt", "session_id": "s", "butler": "chef", "prompt": PROMPT}
    async with serving(resources) as service:
        await invoices(service.resources)
        tokens = [await service.token(tenant) for _ in range(2)]
        told = []
        for token in (*tokens, tokens[0]):
            async with service.web(token) as web:
                told.append((await web.post("/hooks/briefing", json=body)).json()["context"])
        async with service.web() as web:
            assert (await web.post("/hooks/briefing", json=body)).status_code == 401
    assert STRIPE in told[0] and told[1] == told[0] and told[2] == ""


def test_a_transcript_that_cannot_be_read_counts_as_begun(tmp_path: Path) -> None:
    """Like one that is too long to be that of a new session."""
    assert has_earlier_turns(str(tmp_path), PROMPT)
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps({"type": "attachment", "attachment": "x" * HEAD_BYTES}))
    assert has_earlier_turns(str(long), PROMPT)
    assert not has_earlier_turns(str(tmp_path / "none.jsonl"), PROMPT)
