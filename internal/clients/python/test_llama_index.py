from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI

from sides import PLAIN, QUESTION, Sides


class TestLlamaIndex(Sides):
    def test_chat(self):
        model = OpenAI(model="gpt-4.1-mini", api_base=self.v1, api_key="sk-test", max_retries=0)
        ask = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=QUESTION)]
        answer = model.chat(ask).message
        self.assertEqual(answer.content, PLAIN)
        more = [*ask, answer, ChatMessage(role="user", content="thanks!")]
        self.assertEqual("".join(c.delta or "" for c in model.stream_chat(more)), PLAIN)
        self.check()
