import asyncio

from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool,
                    set_tracing_disabled)
from openai import AsyncOpenAI

from ken.openai_agents import KenMemory
from project import Project
from sides import CLAIM, PLAIN, QUESTION

set_tracing_disabled(True)


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return "retries: 3"


class TestAgents(Project):
    def setUp(self):
        super().setUp()
        self.k.remember(CLAIM)

    def run_agent(self, make, name, **how):
        async def go():
            async with AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-test", max_retries=0) as client:
                agent = Agent(name="Helper", instructions="Be brief.", model=make(model=name, openai_client=client), **how)
                memory = KenMemory(self.k, session="visit")
                config = RunConfig(call_model_input_filter=memory)
                session = SQLiteSession("visit")
                first = await Runner.run(agent, QUESTION, session=session, hooks=memory, run_config=config)
                second = Runner.run_streamed(agent, "thanks!", session=session, hooks=memory, run_config=config)
                async for _ in second.stream_events():
                    pass
                return first.final_output, second.final_output

        return asyncio.run(go())

    def test_chat(self):
        self.assertEqual(self.run_agent(OpenAIChatCompletionsModel, "gpt-4.1-mini"), (PLAIN, PLAIN))
        self.check_blocks(2)
        self.assertEqual([text for _, text in self.said("visit")][:3], [QUESTION, PLAIN, "thanks!"])

    def test_responses(self):
        self.assertEqual(self.run_agent(OpenAIResponsesModel, "gpt-5-mini"), (PLAIN, PLAIN))
        self.check_blocks(2)

    def test_tools(self):
        first, _ = self.run_agent(OpenAIChatCompletionsModel, "gpt-4.1-mini", tools=[read_file])
        self.assertTrue(first)
        self.check_blocks(4)
        self.assertEqual([role for role, _ in self.said("visit")][:4], ["user", "assistant", "tool", "assistant"])

    def test_wrapped_client(self):
        async def go():
            async with AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-test") as client:
                agent = Agent(name="Helper", model=OpenAIChatCompletionsModel("gpt-4.1-mini", self.k.wrap(client)), model_settings=ModelSettings())
                return (await Runner.run(agent, QUESTION)).final_output

        self.assertEqual(asyncio.run(go()), PLAIN)
        self.check_blocks()
