from anthropic import Anthropic

from sides import PLAIN, QUESTION, Sides


class TestAnthropic(Sides):
    def test_messages(self):
        client = Anthropic(base_url=self.url, api_key="sk-test", max_retries=0)
        self.addCleanup(client.close)
        ask = [{"role": "user", "content": QUESTION}]
        answer = client.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=ask).content[-1].text
        self.assertEqual(answer, PLAIN)
        more = [*ask, {"role": "assistant", "content": answer}, {"role": "user", "content": "thanks!"}]
        with client.messages.stream(model="claude-sonnet-4-5", max_tokens=100, messages=more) as stream:
            self.assertEqual("".join(stream.text_stream), PLAIN)
        self.check()
