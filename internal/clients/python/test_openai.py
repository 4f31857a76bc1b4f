from openai import OpenAI

from sides import PLAIN, QUESTION, Sides

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
THANKS = {"role": "user", "content": "thanks!"}


class TestOpenAI(Sides):
    def setUp(self):
        super().setUp()
        self.client = OpenAI(base_url=self.v1, api_key="sk-test", max_retries=0)
        self.addCleanup(self.client.close)

    def test_chat(self):
        answer = self.client.chat.completions.create(model="gpt-4.1-mini", messages=ASK).choices[0].message
        self.assertEqual(answer.content, PLAIN)
        more = [*ASK, {"role": "assistant", "content": answer.content}, THANKS]
        with self.client.chat.completions.create(model="gpt-4.1-mini", messages=more, stream=True) as stream:
            self.assertEqual("".join(c.choices[0].delta.content or "" for c in stream if c.choices), PLAIN)
        self.check()

    def test_responses(self):
        answer = self.client.responses.create(model="gpt-5-mini", input=ASK)
        self.assertEqual(answer.output_text, PLAIN)
        more = [*ASK, {"role": "assistant", "content": answer.output_text}, THANKS]
        with self.client.responses.create(model="gpt-5-mini", input=more, stream=True) as stream:
            self.assertEqual("".join(e.delta for e in stream if e.type == "response.output_text.delta"), PLAIN)
        self.check()
