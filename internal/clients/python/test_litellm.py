import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched
os.environ["LITELLM_TELEMETRY"] = "False"

import litellm

from sides import PLAIN, QUESTION, Sides

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


class TestLiteLLM(Sides):
    def converse(self, **to):
        answer = litellm.completion(messages=ASK, api_key="sk-test", **to).choices[0].message
        self.assertEqual(answer.content, PLAIN)
        more = [*ASK, {"role": "assistant", "content": answer.content}, {"role": "user", "content": "thanks!"}]
        stream = litellm.completion(messages=more, api_key="sk-test", stream=True, **to)
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in stream), PLAIN)
        self.check()

    def test_chat(self):
        self.converse(model="openai/gpt-4.1-mini", api_base=self.v1)

    def test_messages(self):
        self.converse(model="anthropic/claude-sonnet-4-5", api_base=self.url)
