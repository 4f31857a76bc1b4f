from langchain_openai import ChatOpenAI

from sides import PLAIN, QUESTION, Sides


class TestLangChain(Sides):
    def converse(self, **how):
        model = ChatOpenAI(base_url=self.v1, api_key="sk-test", max_retries=0, **how)
        ask = [("system", "Be brief."), ("user", QUESTION)]
        answer = model.invoke(ask)
        self.assertEqual(answer.text, PLAIN)
        self.assertEqual("".join(c.text for c in model.stream([*ask, answer, ("user", "thanks!")])), PLAIN)
        self.check()

    def test_chat(self):
        self.converse(model="gpt-4.1-mini")

    def test_responses(self):
        self.converse(model="gpt-5-mini", use_responses_api=True)
