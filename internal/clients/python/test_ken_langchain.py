import asyncio
import socket
from pathlib import Path
from unittest import mock

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ChatMessage, FunctionMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from ken.langchain import KenChatMessageHistory, KenMiddleware, KenRetriever
from project import Project
from sides import CLAIM, MARKER, PLAIN, QUESTION


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return "retries: 3"


class TestLangChain(Project):
    def setUp(self):
        super().setUp()
        self.k.remember(CLAIM, about="payments service")
        self.model = ChatOpenAI(base_url=self.up + "/v1", api_key="sk-test", model="gpt-4.1-mini", max_retries=0)

    def test_retriever(self):
        retriever = KenRetriever(ken=self.k, limit=3)
        for found in (retriever.invoke(QUESTION), asyncio.run(retriever.ainvoke(QUESTION))):
            self.assertEqual([d.page_content for d in found], [CLAIM])
            self.assertEqual(found[0].metadata["about"][0], "payments service")
            self.assertGreater(found[0].metadata["score"], 0)

    def test_history(self):
        history = KenChatMessageHistory(self.k, "history-1")
        self.assertEqual(history.messages, [])
        call = {"id": "c1", "name": "read_file", "args": {"path": "a"}, "type": "tool_call"}
        said = [HumanMessage(QUESTION), AIMessage("", tool_calls=[call]), ToolMessage("retries: 3", tool_call_id="c1"), AIMessage("Three times.")]
        history.add_messages(said[:2])
        history.add_messages(said[2:])
        got = KenChatMessageHistory(self.k, "history-1").messages
        self.assertEqual([(m.type, m.text) for m in got], [(m.type, m.text) for m in said])
        self.assertEqual(got[1].tool_calls, [call])
        self.assertEqual(got[2].tool_call_id, "c1")
        history.clear()
        self.assertEqual(history.messages, [])
        history.clear()

    def test_runnable_with_history(self):
        chain = ChatPromptTemplate.from_messages([("system", "Be brief."), MessagesPlaceholder("history"), ("user", "{question}")]) | self.model
        chat = RunnableWithMessageHistory(chain, lambda session: KenChatMessageHistory(self.k, session),
                                          input_messages_key="question", history_messages_key="history")
        config = {"configurable": {"session_id": "history-2"}}
        chat.invoke({"question": "We decided to use PostgreSQL 15 for the ledger service."}, config)
        chat.invoke({"question": "Why?"}, config)
        self.assertEqual([m["content"] for m in self.bodies()[1]["messages"]][1:],
                         ["We decided to use PostgreSQL 15 for the ledger service.", PLAIN, "Why?"])
        self.assertEqual(len(self.said("history-2")), 4)
        self.k.session("history-2").learned()
        self.assertTrue(any("PostgreSQL" in c.text for c in self.k.recall("which database does the ledger service use?")))

    def test_middleware(self):
        agent = create_agent(self.model, tools=[read_file], system_prompt="Be brief.", middleware=[KenMiddleware(self.k)], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "thread-1"}}
        out = agent.invoke({"messages": [("user", QUESTION)]}, config)
        self.assertTrue(out["messages"][-1].text)
        # The blocks are in the calls and not in the state.
        self.assertNotIn(MARKER, str(out["messages"]))
        self.check_blocks(2)
        roles = [role for role, _ in self.said("thread-1")]
        self.assertEqual(roles, ["user", "assistant", "tool", "assistant"])

    def test_middleware_async(self):
        agent = create_agent(self.model, middleware=[KenMiddleware(self.k, session="named")])

        async def go():
            return [chunk async for chunk in agent.astream({"messages": [("user", QUESTION)]})]

        self.assertTrue(asyncio.run(go()))
        self.check_blocks()
        self.assertEqual(self.said("named"), [("user", QUESTION), ("assistant", PLAIN)])

    def test_an_agent_goes_on_without_ken(self):
        agent = create_agent(self.model, middleware=[KenMiddleware(self.k)])
        self.k._http.url = "http://127.0.0.1:9"
        with self.assertLogs("ken", "WARNING"):
            self.assertEqual(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text, PLAIN)

    def test_an_agent_does_not_wait_for_a_ken_that_hangs(self):
        agent = create_agent(self.model, middleware=[KenMiddleware(self.k)])
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.k._http.url = f"http://127.0.0.1:{other.getsockname()[1]}"
            with mock.patch("ken._adapt.PATIENCE", 0.1), self.assertLogs("ken", "WARNING"):
                self.assertEqual(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text, PLAIN)

    def test_only_a_persons_message_is_a_users(self):
        history = KenChatMessageHistory(self.k, "roles")
        history.add_messages([HumanMessage(QUESTION), FunctionMessage("retries: 3", name="read_file"), ChatMessage("Three.", role="assistant"),
                              ChatMessage("Four.", role="critic")])
        self.assertEqual(self.said("roles"), [("user", QUESTION), ("tool", "retries: 3"), ("assistant", "Three."), ("assistant", "Four.")])

    def test_arguments_that_are_no_json(self):
        history = KenChatMessageHistory(self.k, "odd")
        history.add_messages([HumanMessage(QUESTION), AIMessage("", tool_calls=[{"id": "c1", "name": "read_file", "args": {"path": Path("a")}, "type": "tool_call"}])])
        self.assertEqual([m.type for m in history.messages], ["human", "ai"])

    def test_a_model_through_the_gateway(self):
        to = self.k.endpoint(self.up + "/v1", session="direct")
        model = ChatOpenAI(base_url=to.base_url, default_headers=to.headers, api_key="sk-test", model="gpt-4.1-mini")
        self.assertEqual(model.invoke(QUESTION).text, PLAIN)
        self.check_blocks()
