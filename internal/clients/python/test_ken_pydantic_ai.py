import asyncio

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ken.pydantic_ai import KenMemory
from project import Project
from sides import CLAIM, MARKER, PLAIN, QUESTION


class TestPydanticAI(Project):
    def setUp(self):
        super().setUp()
        self.k.remember(CLAIM)
        self.client = AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-test", max_retries=0)
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        self.addCleanup(lambda: self.loop.run_until_complete(self.client.close()))
        self.model = OpenAIChatModel("gpt-4.1-mini", provider=OpenAIProvider(openai_client=self.client))

    def agent(self, **how):
        return Agent(self.model, system_prompt="Be brief.", capabilities=[KenMemory(self.k, **how)])

    def test_conversation(self):
        agent = self.agent()

        async def go():
            first = await agent.run(QUESTION, conversation_id="visit")
            async with agent.run_stream("thanks!", message_history=first.all_messages()) as second:
                text = await second.get_output()
            return first, second.all_messages(), text

        first, history, text = self.loop.run_until_complete(go())
        self.assertEqual((first.output, text), (PLAIN, PLAIN))
        self.assertNotIn(MARKER, str(history))
        bodies = self.check_blocks(2)
        self.assertEqual(bodies[0]["messages"], bodies[1]["messages"][: len(bodies[0]["messages"])])  # the provider's cache holds
        self.assertEqual([text for _, text in self.said("visit")][:3], [QUESTION, PLAIN, "thanks!"])

    def test_tools(self):
        agent = self.agent(session="tools")

        @agent.tool_plain
        def read_file(path: str) -> str:
            """Read a file."""
            return "retries: 3"

        self.assertTrue(self.loop.run_until_complete(agent.run(QUESTION)).output)
        self.check_blocks(2)
        self.assertEqual([role for role, _ in self.said("tools")], ["user", "assistant", "tool", "assistant"])

    def test_wrapped_client(self):
        model = OpenAIChatModel("gpt-4.1-mini", provider=OpenAIProvider(openai_client=self.k.wrap(self.client)))
        self.assertEqual(self.loop.run_until_complete(Agent(model).run(QUESTION)).output, PLAIN)
        self.check_blocks()
