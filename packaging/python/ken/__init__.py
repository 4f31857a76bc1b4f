"""Ken, the knowledge layer for LLM agents.

    from ken import Ken
    from openai import OpenAI

    k = Ken()                                  # starts Ken for this folder
    k.remember("We deploy on Tuesdays.")
    client = k.wrap(OpenAI())                  # its calls get knowledge from Ken

``Ken`` and ``AsyncKen`` are the client. The modules ``ken.langchain``,
``ken.llama_index``, ``ken.openai_agents``, ``ken.litellm`` and ``ken.pydantic_ai``
connect it with those frameworks; each needs the framework and nothing else.
"""

from ken._async import AsyncKen, AsyncSession
from ken._client import Ken, Session
from ken._model import Claim, Endpoint, Insertion, Turn
from ken._problem import KenError

__all__ = ["AsyncKen", "AsyncSession", "Claim", "Endpoint", "Insertion", "Ken", "KenError", "Session", "Turn"]
