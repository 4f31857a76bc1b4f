"""Ken for LlamaIndex: a retriever. It needs llama-index-core."""

from __future__ import annotations

import asyncio

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ken._client import Ken


class KenRetriever(BaseRetriever):
    """Finds what Ken knows of a question, as nodes with a score.

    ``documents`` looks among the pieces of the repository, too.
    """

    def __init__(self, ken: Ken, *, limit: int = 5, documents: bool = False) -> None:
        super().__init__()
        self.ken = ken
        self.limit = limit
        self.documents = documents

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.ken.recall(query_bundle.query_str, limit=self.limit, documents=self.documents)
        return [
            NodeWithScore(score=c.score, node=TextNode(id_=c.id, text=c.text, metadata={"kind": c.kind, "status": c.status, "tier": c.tier}))
            for c in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
