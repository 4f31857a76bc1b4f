import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched
os.environ["LITELLM_TELEMETRY"] = "False"

import litellm

from ken.litellm import KenLogger
from project import Project
from sides import CLAIM, PLAIN, QUESTION

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


class TestLiteLLM(Project):
    def setUp(self):
        super().setUp()
        self.k.remember(CLAIM)
        litellm.callbacks = [KenLogger(self.k)]
        # LiteLLM keeps the first callback of a class, also when the list has another one.
        self.addCleanup(litellm.logging_callback_manager._reset_all_callbacks)
        self.to = {"model": "openai/gpt-4.1-mini", "api_base": self.up + "/v1", "api_key": "sk-test"}

    def heard(self, session, n):
        """The callback runs behind the answer's back."""

        async def wait():
            for _ in range(100):
                if len(self.said(session)) >= n:
                    break
                await asyncio.sleep(0.1)
            return [text for _, text in self.said(session)]

        return wait()

    def test_acompletion(self):
        async def go():
            answer = (await litellm.acompletion(messages=ASK, metadata={"session_id": "visit"}, **self.to)).choices[0].message
            self.assertEqual(answer.content, PLAIN)
            self.assertEqual(await self.heard("visit", 2), [QUESTION, PLAIN])
            more = [*ASK, answer, {"role": "user", "content": "thanks!"}]
            stream = await litellm.acompletion(messages=more, stream=True, metadata={"session_id": "visit"}, **self.to)
            self.assertEqual("".join([c.choices[0].delta.content or "" async for c in stream]), PLAIN)
            self.assertEqual((await self.heard("visit", 3))[:3], [QUESTION, PLAIN, "thanks!"])

        asyncio.run(go())
        bodies = self.check_blocks(2)
        self.assertNotIn("ken_turn", str(bodies))

    def test_pictures_stay_here(self):
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (5 << 20)}}
        ask = [ASK[0], {"role": "user", "content": [{"type": "text", "text": QUESTION}, picture]}]

        async def go():
            answer = await litellm.acompletion(messages=ask, metadata={"session_id": "seen"}, **self.to)
            self.assertEqual(answer.choices[0].message.content, PLAIN)
            self.assertEqual(await self.heard("seen", 2), [QUESTION, PLAIN])

        asyncio.run(go())
        [body] = self.check_blocks()
        self.assertIn(picture, body["messages"][-1]["content"])

    def test_a_program_that_ends_at_once(self):
        printed = self.python(f"""
import asyncio, os
os.dup2(1, 2)  # what LiteLLM logs is printed
import litellm
from ken import Ken
from ken.litellm import KenLogger

litellm.callbacks = [KenLogger(Ken())]
asyncio.run(litellm.acompletion(messages={ASK!r}, metadata={{"session_id": "brief"}}, **{self.to!r}))
""")
        self.assertEqual(printed, "")
        self.assertEqual([text for _, text in self.said("brief")], [QUESTION, PLAIN])

    def test_router(self):
        async def go():
            router = litellm.Router(model_list=[{"model_name": "helper", "litellm_params": self.to}])
            answer = await router.acompletion(model="helper", messages=ASK, litellm_session_id="routed")
            self.assertEqual(answer.choices[0].message.content, PLAIN)
            self.assertEqual(await self.heard("routed", 2), [QUESTION, PLAIN])

        asyncio.run(go())
        self.check_blocks()

    def test_completion(self):
        to = self.k.endpoint(self.up + "/v1", session="sync")
        answer = litellm.completion(model="openai/gpt-4.1-mini", messages=ASK, api_base=to.base_url, extra_headers=to.headers, api_key="sk-test")
        self.assertEqual(answer.choices[0].message.content, PLAIN)
        self.check_blocks()
