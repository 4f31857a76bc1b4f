import asyncio

from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from llama_index.llms.openai import OpenAI

from ken.llama_index import KenRetriever
from project import Project
from sides import CLAIM, PLAIN, QUESTION


class TestLlamaIndex(Project):
    def test_retriever(self):
        claim = self.k.remember(CLAIM)
        retriever = KenRetriever(self.k, limit=3)
        for found in (retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))):
            self.assertEqual([(n.node_id, n.get_content()) for n in found], [(claim.id, CLAIM)])
            self.assertGreater(found[0].score, 0)
            self.assertIn("tier", found[0].node.get_content(MetadataMode.ALL))

    def test_query_engine(self):
        self.k.remember(CLAIM)
        model = OpenAI(model="gpt-4.1-mini", api_base=self.up + "/v1", api_key="sk-test")
        engine = RetrieverQueryEngine.from_args(KenRetriever(self.k), llm=model)
        self.assertEqual(str(engine.query(QUESTION)), PLAIN)
        self.assertIn(CLAIM, str(self.bodies()[0]["messages"]))
