import asyncio

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from sides import PLAIN, QUESTION, Sides

set_tracing_disabled(True)


class TestAgents(Sides):
    def converse(self, make, name):
        async def go():
            async with AsyncOpenAI(base_url=self.v1, api_key="sk-test", max_retries=0) as client:
                agent = Agent(name="Helper", instructions="Be brief.", model=make(model=name, openai_client=client))
                first = await Runner.run(agent, QUESTION)
                self.assertEqual(first.final_output, PLAIN)
                second = Runner.run_streamed(agent, [*first.to_input_list(), {"role": "user", "content": "thanks!"}])
                async for _ in second.stream_events():
                    pass
                self.assertEqual(second.final_output, PLAIN)

        asyncio.run(go())

    def test_chat(self):
        self.converse(OpenAIChatCompletionsModel, "gpt-4.1-mini")
        self.check()

    def test_responses(self):
        self.converse(OpenAIResponsesModel, "gpt-5-mini")
        self.check(same=False)  # the first input is a text, and the second one a list
