from collections.abc import AsyncIterator

import pytest

from tests.support.servers.anthropic_server import AnthropicServer
from tests.support.servers.lab import ADAPTERS, KEY, Lab, open_lab
from tests.support.servers.openai_server import OpenAIServer


@pytest.fixture(params=ADAPTERS)
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    """Each adapter in turn, with its server."""
    with ADAPTERS[request.param][0](api_key=KEY) as server:
        opened = open_lab(request.param, server)
        yield opened
        await opened.model.aclose()


@pytest.fixture
async def anthropic_lab() -> AsyncIterator[Lab]:
    with AnthropicServer(api_key=KEY) as server:
        opened = open_lab("anthropic", server)
        yield opened
        await opened.model.aclose()


@pytest.fixture
async def openai_lab() -> AsyncIterator[Lab]:
    with OpenAIServer(api_key=KEY) as server:
        opened = open_lab("openai", server)
        yield opened
        await opened.model.aclose()
