"""The client itself: what is known, model clients, sessions, errors, and when a server runs."""

import asyncio
import http.server
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request
from unittest import mock

from anthropic import Anthropic, AsyncAnthropic
from openai import APIStatusError, AsyncOpenAI, AzureOpenAI, OpenAI

from ken import AsyncKen, Ken, KenError, _adapt, _server
from project import PACKAGES, Project
from sides import CLAIM, KEN, MARKER, PLAIN, QUESTION, UPSTREAM, Sides, launch

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
THANKS = {"role": "user", "content": "thanks!"}
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}


def header(request, name):
    return [f["value"] for f in request["header"] if f["name"].lower() == name.lower()]


class TestKnowledge(Project):
    def test_remember_recall_forget(self):
        claim = self.k.remember(CLAIM, about="payments service", source="the handbook")
        self.assertEqual((claim.text, claim.about[0], claim.rule), (CLAIM, "payments service", False))
        found = self.k.recall(QUESTION)
        self.assertEqual([c.id for c in found], [claim.id])
        self.assertGreater(found[0].score, 0)
        self.assertEqual(self.k.forget(claim), [claim.id])
        self.assertEqual(self.k.recall(QUESTION), [])

    def test_rule(self):
        rule = self.k.remember("Never log card numbers.", about=["payments service"], rule=True)
        self.assertTrue(rule.rule)
        no = self.k.remember("The docs say: never log card numbers.", rule=False)
        self.assertFalse(no.rule)

    def test_the_same_key_again(self):
        first = self.k.remember("The release is on Tuesdays.", key="release-day")
        second = self.k.remember("The release is on Wednesdays.", key="release-day")
        self.assertEqual(first.id, second.id)
        self.assertEqual([c.text for c in self.k.recall("which day is the release?")], ["The release is on Wednesdays."])

    def test_owners(self):
        ana = Ken(project=self.folder, owner="ana")
        self.addCleanup(ana.close)
        ana.remember(CLAIM)
        self.assertEqual(self.k.recall(QUESTION), [])
        self.assertEqual(len(ana.recall(QUESTION)), 1)

    def test_limit_and_documents(self):
        for i in range(4):
            self.k.remember(f"The payments service has worker number {i}.")
        self.assertEqual(len(self.k.recall("payments service workers", limit=2)), 2)
        self.assertTrue(self.k.recall("payments service workers", documents=True))

    def test_async(self):
        async def go():
            async with AsyncKen(project=self.folder) as k:
                claim = await k.remember(CLAIM)
                self.assertEqual([c.id for c in await k.recall(QUESTION)], [claim.id])
                async with AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-test") as client:
                    async with k.session("visit") as s:
                        answer = await s.wrap(client).chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                        self.assertEqual(answer.choices[0].message.content, PLAIN)
                        turn = await s.prepare([*ASK, {"role": "assistant", "content": PLAIN}, THANKS])
                        await s.answered(turn, {"role": "assistant", "content": "Welcome."})
                    await s.learned()
                self.check_blocks()
                self.assertEqual(await k.forget(claim.id), [claim.id])
                self.assertEqual(k.url, self.k.url)
            self.assertEqual([text for _, text in self.said("visit")], [QUESTION, PLAIN, "thanks!", "Welcome."])

        asyncio.run(go())


class TestErrors(Project):
    def test_fields(self):
        with self.assertRaises(KenError) as caught:
            self.k.remember("")
        e = caught.exception
        self.assertEqual((e.code, e.field, e.status), ("invalid", "text", 400))
        self.assertTrue(e.hint)
        self.assertIn("Try: " + e.hint, str(e))
        self.assertEqual(str(pickle.loads(pickle.dumps(e))), str(e))
        with self.assertRaises(KenError) as caught:
            self.k.forget("no such id")
        self.assertEqual((caught.exception.code, caught.exception.status), ("not_found", 404))

    def test_nobody_there(self):
        with self.assertRaises(KenError) as caught:
            Ken("http://127.0.0.1:9").recall("x")
        self.assertEqual((caught.exception.code, caught.exception.status), ("unavailable", 0))
        with self.assertRaises(KenError) as caught:
            Ken(self.up).recall("x")  # a server that is not Ken
        self.assertEqual((caught.exception.code, caught.exception.status), ("unavailable", 404))

    def test_an_answer_that_is_not_ken_s(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_DELETE = do_GET

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(other.shutdown)
            k = Ken(f"http://127.0.0.1:{other.server_port}")
            for call in (lambda: k.recall("x"), lambda: k.remember("x"), lambda: k.forget("x"), lambda: k.prepare(ASK),
                         k.session("x").messages, k.session("x").learned):
                with self.assertRaises(KenError) as caught:
                    call()
                self.assertEqual((caught.exception.code, caught.exception.status), ("unavailable", 0))
            self.assertIsNone(_adapt.prepare(k, ASK, None))  # an adapter goes on
            other.shutdown()

    def test_what_is_no_address(self):
        for url in ("localhost:8484", "ken.example", "http://", "ftp://127.0.0.1:8484", 8484):
            with self.assertRaises(KenError) as caught:
                Ken(url)
            self.assertEqual((caught.exception.code, caught.exception.field), ("invalid", "url"))

    def test_what_is_empty_or_no_string(self):
        # An empty owner must not lead to the knowledge of the default one, nor an empty key to that of KEN_KEY.
        with mock.patch.dict(os.environ, {"KEN_KEY": "ken_other"}):
            for field, value in (("owner", ""), ("owner", 7), ("owner", "a b"), ("owner", "*"), ("key", ""), ("key", 7)):
                with self.assertRaises(KenError) as caught:
                    Ken(self.up, **{field: value})
                self.assertEqual((caught.exception.code, caught.exception.field), ("invalid", field))
        for field, call in (("claim", lambda: self.k.forget("")), ("claim", lambda: self.k.forget(None)), ("question", lambda: self.k.recall("")),
                            ("question", lambda: self.k.recall(None)), ("session", lambda: self.k.session(7)),
                            ("turn", lambda: self.k.answered("", {"role": "assistant", "content": "x"}))):
            with self.assertRaises(KenError) as caught:
                call()
            self.assertEqual((caught.exception.code, caught.exception.field), ("invalid", field))

    def test_a_long_question(self):
        claim = self.k.remember(CLAIM)
        for question in (QUESTION + " 订单" * 20000, "订单" * 20000 + QUESTION):
            self.assertEqual([c.id for c in self.k.recall(question)], [claim.id])

    def test_start_that_fails(self):
        (self.folder / "bad" / ".ken").mkdir(parents=True)
        (self.folder / "bad" / ".ken" / "config.yaml").write_text("retrieval:\n  dedline: 1s\n")
        with self.assertRaises(KenError) as caught:
            Ken(project=self.folder / "bad")
        self.assertIn("dedline", str(caught.exception))
        self.assertIn("deadline", caught.exception.hint)
        with self.assertRaises(KenError) as caught:
            Ken(project=self.folder / "no such folder")
        self.assertEqual((caught.exception.code, caught.exception.field), ("invalid", "project"))
        os.environ["KEN_BIN"] = str(self.folder / "nothing")
        self.addCleanup(os.environ.update, KEN_BIN=KEN)
        with self.assertRaises(KenError) as caught:
            Ken(project=self.folder)
        self.assertEqual(caught.exception.code, "unavailable")
        with self.assertRaises(KenError) as caught:
            Ken(self.k.url, project=self.folder)
        self.assertEqual(caught.exception.field, "project")

    def test_what_is_no_json(self):
        with self.assertRaises(KenError) as e:
            self.k.prepare([{"role": "user", "content": {1, 2}}])
        self.assertEqual(e.exception.code, "invalid")
        self.assertTrue(e.exception.hint)

    def test_what_is_no_http(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            def answer():
                connection, _ = other.accept()
                connection.recv(1 << 16)
                connection.sendall(b"SSH-2.0-other\r\n")
                connection.close()

            thread = threading.Thread(target=answer)
            thread.start()
            with self.assertRaises(KenError) as e:
                Ken(f"http://127.0.0.1:{other.getsockname()[1]}").recall("x")
            thread.join()
        self.assertEqual(e.exception.code, "unavailable")

    def test_a_start_that_hangs(self):
        program = self.folder / "hangs"
        program.write_text("#!/bin/sh\nexec sleep 600\n")
        program.chmod(0o700)
        with mock.patch.dict(os.environ, {"KEN_BIN": str(program)}), mock.patch("ken._server.START_PATIENCE", 0.1):
            with self.assertRaises(KenError) as e:
                Ken(project=self.folder)
        self.assertEqual(e.exception.code, "unavailable")
        self.assertIn("takes", str(e.exception))

    def test_a_name_that_is_refused_starts_nothing(self):
        before = dict(_server._servers)
        folder = self.folder / "refused"
        (folder / ".ken").mkdir(parents=True)
        with self.assertRaises(KenError):
            Ken(project=folder, owner="ä")
        self.assertEqual(_server._servers, before)

    def test_names(self):
        for name in ("zażółć", "a\nb", "a" * 129):
            with self.assertRaises(KenError) as caught:
                self.k.session(name)
            self.assertEqual(caught.exception.field, "session")
        with self.assertRaises(KenError) as caught:
            Ken(self.k.url, owner="a\r\nX-Other: b")
        self.assertEqual(caught.exception.field, "owner")

    def test_clients_that_are_not_wrapped(self):
        azure = AzureOpenAI(azure_endpoint="https://example.openai.azure.com", api_key="x", api_version="2024-10-21")
        for client in (azure, object()):
            with self.assertRaises(KenError) as caught:
                self.k.wrap(client)
            self.assertEqual(caught.exception.field, "client")


class TestWrap(Project):
    def setUp(self):
        super().setUp()
        self.k.remember(CLAIM)

    def test_openai(self):
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=3, default_headers={"X-Own": "1"}) as plain:
            client = self.k.wrap(plain)
            self.assertIs(type(client), OpenAI)
            self.assertEqual((client.max_retries, client.api_key), (3, "sk-mine"))
            answer = client.chat.completions.create(model="gpt-4.1-mini", messages=ASK).choices[0].message
            self.assertEqual(answer.content, PLAIN)
            more = [*ASK, {"role": "assistant", "content": answer.content}, THANKS]
            with client.chat.completions.create(model="gpt-4.1-mini", messages=more, stream=True) as stream:
                self.assertEqual("".join(c.choices[0].delta.content or "" for c in stream if c.choices), PLAIN)
            self.check_blocks(2)
            for request in self.requests():
                self.assertEqual(header(request, "Authorization"), ["Bearer sk-mine"])
                self.assertEqual(header(request, "X-Own"), ["1"])
                self.assertFalse([f for f in request["header"] if f["name"].lower().startswith("x-ken")])
            # The first client stays as it was.
            plain.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
            self.assertNotIn(MARKER, json.dumps(self.bodies()[-1]))

    def test_responses(self):
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine") as plain:
            self.assertEqual(self.k.wrap(plain).responses.create(model="gpt-5-mini", input=ASK).output_text, PLAIN)
        self.check_blocks()

    def test_tools(self):
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine") as plain:
            client = self.k.wrap(plain, session="tools")
            call = client.chat.completions.create(model="gpt-4.1-mini", messages=ASK, tools=[TOOL]).choices[0].message
            self.assertEqual(call.tool_calls[0].function.name, "read_file")
            more = [*ASK, call, {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "retries: 3"}]
            self.assertTrue(client.chat.completions.create(model="gpt-4.1-mini", messages=more, tools=[TOOL]).choices[0].message.content)
        self.check_blocks(2)

    def test_anthropic(self):
        with Anthropic(base_url=self.up, api_key="sk-mine") as plain:
            client = self.k.wrap(plain)
            answer = client.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=ASK[1:]).content[-1].text
            self.assertEqual(answer, PLAIN)
            more = [*ASK[1:], {"role": "assistant", "content": answer}, THANKS]
            with client.messages.stream(model="claude-sonnet-4-5", max_tokens=100, messages=more) as stream:
                self.assertEqual("".join(stream.text_stream), PLAIN)
        self.check_blocks(2)
        self.assertIn("sk-mine", json.dumps(self.requests()[0]["header"]))

    def test_async_clients(self):
        async def go():
            async with AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-mine") as one, AsyncAnthropic(base_url=self.up, api_key="sk-mine") as two:
                stream = await self.k.wrap(one).chat.completions.create(model="gpt-4.1-mini", messages=ASK, stream=True)
                self.assertEqual("".join([c.choices[0].delta.content or "" async for c in stream if c.choices]), PLAIN)
                answer = await self.k.wrap(two).messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=ASK[1:])
                self.assertEqual(answer.content[-1].text, PLAIN)

        asyncio.run(go())
        self.check_blocks(2)

    def test_retries(self):
        order = json.dumps([{"recording": "error_502_html"}, {"recording": "error_500_html"}]).encode()
        urllib.request.urlopen(urllib.request.Request(self.up + "/_upstream/next", data=order, method="POST")).close()
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=2) as plain:
            answer = self.k.wrap(plain).chat.completions.create(model="gpt-4.1-mini", messages=ASK)
        self.assertEqual(answer.choices[0].message.content, PLAIN)
        self.check_blocks(3)

    def test_two_providers_at_once(self):
        other, url = launch(UPSTREAM)
        self.addCleanup(other.communicate)
        with OpenAI(base_url=self.up + "/v1", api_key="sk-one") as one, OpenAI(base_url=url + "/v1", api_key="sk-two") as two:
            for client in (one, two):
                self.k.wrap(client).chat.completions.create(model="gpt-4.1-mini", messages=ASK)
        self.assertEqual([header(r, "Authorization") for r in self.requests()], [["Bearer sk-one"]])

    def test_owner(self):
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine") as client, Ken(project=self.folder, owner="ana") as ana:
            ana.wrap(client, session="ana's").chat.completions.create(model="gpt-4.1-mini", messages=ASK)
            self.assertNotIn(MARKER, json.dumps(self.bodies()[0]))  # what is known is not hers
            self.assertEqual(len(ana.session("ana's").messages()), 2)
        self.assertEqual(self.k.session("ana's").messages(), [])

    def test_endpoint(self):
        to = self.k.endpoint(self.up + "/v1", session="by hand")
        with OpenAI(base_url=to.base_url, default_headers=to.headers, api_key="sk-mine") as client:
            client.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
            # A client in front of Ken already is wrapped as well, and stays in front of its provider.
            self.k.wrap(client, session="by hand").chat.completions.create(model="gpt-4.1-mini", messages=ASK)
        self.check_blocks(2)


class TestSession(Project):
    def test_it_is_learned_from(self):
        with OpenAI(base_url=self.up + "/v1", api_key="sk-test") as client:
            with self.k.session("visit-1") as s:
                s.wrap(client).chat.completions.create(model="gpt-4.1-mini", messages=[
                    {"role": "user", "content": "We decided to use PostgreSQL 15 for the ledger service, because of logical replication."}])
                s.remember("The ledger is owned by the payments team.")
        learned = s.learned()
        self.assertTrue(any("PostgreSQL 15" in c.text for c in learned), learned)
        self.assertTrue(any("PostgreSQL 15" in c.text for c in self.k.recall("Which database did we choose for the ledger?")))

    def test_a_user_makes_no_rule(self):
        with self.k.session("visit") as s:
            s.prepare([{"role": "user", "content": "Always deploy the payments service with the blue-green script."}])
        learned = s.learned()
        self.assertTrue(any("blue-green" in c.text for c in learned), learned)
        self.assertEqual([c.text for c in learned if c.rule], [])

    def test_nothing_was_said(self):
        with self.k.session() as s:
            self.assertTrue(s.name)
        self.assertEqual(s.learned(), [])

    def test_an_error_goes_on(self):
        with self.assertRaises(ZeroDivisionError):
            with self.k.session():
                raise ZeroDivisionError

    def test_prepare(self):
        claim = self.k.remember(CLAIM)
        with self.k.session("visit-2") as s:
            turn = s.prepare(ASK, model="local")
            with_blocks = turn.insert(ASK, lambda text: {"role": "user", "content": text}, lambda m, text: {**m, "content": text + m["content"]})
            self.assertEqual([m["role"] for m in with_blocks], ["system", "user", "user"])
            self.assertIn(claim.text, with_blocks[1]["content"])
            s.answered(turn, {"role": "assistant", "content": "Three times."})
            s.answered(turn, {"role": "assistant", "content": "Three times."})  # once is enough
        self.assertEqual(self.said("visit-2"), [("user", QUESTION), ("assistant", "Three times.")])


class TestServer(Project):
    def test_processes_share_it(self):
        # The second program starts while the first one runs, and a third one after it: one server.
        url = "from ken import Ken; print(Ken().url)"
        self.assertEqual({self.python(url), self.python(url)}, {self.k.url})
        other = self.folder / "other"
        (other / ".ken").mkdir(parents=True)
        with Ken(project=other) as k:
            self.assertNotEqual(k.url, self.k.url)

    def test_it_ends_after_a_program_that_was_killed(self):
        code = "import os, sys; from ken import Ken; print(Ken().url, flush=True); sys.stdin.read()"
        folder = self.folder / "killed"
        (folder / ".ken").mkdir(parents=True)
        child = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": str(PACKAGES)})
        self.assertIn("http://127.0.0.1:", child.stdout.readline())
        file = folder / ".ken" / "state" / ".gateway" / "shared.json"
        self.assertTrue(file.exists())
        child.kill()
        child.communicate()
        for _ in range(600):
            if not file.exists():
                return
            time.sleep(0.1)
        self.fail("the server stays")

    def test_a_server_that_was_killed_is_replaced(self):
        folder = self.folder / "dead"
        (folder / ".ken").mkdir(parents=True)
        started = []
        popen = subprocess.Popen

        def start(*arguments, **options):
            started.append(popen(*arguments, **options))
            return started[-1]

        with mock.patch("ken._server.subprocess.Popen", start), Ken(project=folder) as k, k.session("visit") as s:
            k.remember(CLAIM)
            before = k.url
            started[0].kill()
            started[0].wait()
            s.prepare(ASK)
            self.assertEqual([c.text for c in k.recall(QUESTION)], [CLAIM])
            self.assertNotEqual(k.url, before)
            self.assertEqual(len(started), 2)

            started[1].terminate()
            started[1].wait()
            self.assertEqual([c.text for c in k.recall(QUESTION)], [CLAIM])

    def test_wrapped_clients_follow_a_server_that_was_replaced(self):
        folder = self.folder / "dies"
        (folder / ".ken").mkdir(parents=True)
        (folder / ".ken" / "config.yaml").write_text((self.folder / ".ken" / "config.yaml").read_text())
        started = []
        popen = subprocess.Popen

        def start(*arguments, **options):
            process = popen(*arguments, **options)
            if "serve" in arguments[0]:
                started.append(process)
            return process

        def die():
            started[-1].kill()
            started[-1].wait()

        async def go(client):
            async with client:
                wrapped = k.wrap(client, session="async")
                for _ in range(2):
                    await wrapped.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                    die()
                await wrapped.chat.completions.create(model="gpt-4.1-mini", messages=ASK)

        with mock.patch("ken._server.subprocess.Popen", start), Ken(project=folder) as k:
            k.remember(CLAIM)
            with OpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=0) as one, Anthropic(base_url=self.up, api_key="sk-mine", max_retries=0) as two:
                openai, anthropic = k.wrap(one, session="openai"), k.wrap(two)
                for n in range(3):
                    openai.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                    anthropic.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=ASK[1:])
                    openai.with_options(timeout=30).responses.create(model="gpt-5-mini", input=ASK)
                    self.assertEqual(len(started), n + 1)
                    die()
                # The first client, and a copy that is sent elsewhere, are no business of Ken's.
                one.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                openai.with_options(base_url=self.up + "/v1").chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                self.assertNotIn(MARKER, json.dumps(self.bodies()[-2:]))
                self.assertEqual(len(started), 3)
            asyncio.run(go(AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=0)))
            self.assertEqual(sum(MARKER in json.dumps(b) for b in self.bodies()), 12)
            self.assertEqual(len(k.session("openai").messages()), 2)
            self.assertNotIn("ken_", json.dumps([r["header"] for r in self.requests()[:9]]))

    def test_wrapped_clients_go_on_without_a_server_that_cannot_be_started(self):
        folder = self.folder / "gone"
        (folder / ".ken").mkdir(parents=True)
        started = []
        popen = subprocess.Popen

        def start(*arguments, **options):
            started.append(popen(*arguments, **options))
            return started[-1]

        def ask(client):
            return client.chat.completions.create(model="gpt-4.1-mini", messages=ASK).choices[0].message.content

        async def ask_async():
            async with AsyncOpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=0) as one:
                client = k.wrap(one, session="visit")
                started[-1].kill()
                started[-1].wait()
                with mock.patch.dict(os.environ, {"KEN_BIN": str(folder / "nothing")}), self.assertLogs("ken", "WARNING"):
                    await client.chat.completions.create(model="gpt-4.1-mini", messages=ASK)
                await client.chat.completions.create(model="gpt-4.1-mini", messages=ASK)

        with mock.patch("ken._server.subprocess.Popen", start), Ken(project=folder, owner="ana", agent="bot") as k:
            k.remember(CLAIM)
            with OpenAI(base_url=self.up + "/v1", api_key="sk-mine", max_retries=0) as one, Anthropic(base_url=self.up, api_key="sk-mine", max_retries=0) as two:
                openai, anthropic = k.wrap(one, session="visit"), k.wrap(two)
                started[-1].kill()
                started[-1].wait()
                with mock.patch.dict(os.environ, {"KEN_BIN": str(folder / "nothing")}), self.assertLogs("ken", "WARNING"):
                    self.assertTrue(ask(openai))
                    self.assertTrue(ask(openai.with_options(timeout=30)))
                    anthropic.messages.create(model="claude-sonnet-4-5", max_tokens=100, messages=ASK[1:])
                self.assertNotIn(MARKER, json.dumps(self.bodies()))
                self.assertNotIn("x-ken", json.dumps([r["header"] for r in self.requests()]).lower())
                self.assertTrue(ask(openai))  # Ken can be started again
                self.assertIn(MARKER, json.dumps(self.bodies()[-1]))
                asyncio.run(ask_async())
                self.assertEqual([MARKER in json.dumps(b) for b in self.bodies()[-2:]], [False, True])

                k.close()
                with self.assertLogs("ken", "WARNING") as logged:
                    self.assertTrue(ask(openai))
                self.assertIn("closed", logged.output[0])
                self.assertNotIn(MARKER, json.dumps(self.bodies()[-1]))
                self.assertEqual([c.text for c in k.recall(QUESTION)], [CLAIM])  # another method starts it again
                self.assertTrue(ask(openai))
                self.assertIn(MARKER, json.dumps(self.bodies()[-1]))

    def test_nobody_else_may_use_it(self):
        self.k.remember(CLAIM)
        for headers in ({}, {"X-Ken-Key": "ken_" + 64 * "0"}, {"X-Ken-Owner": "ana"}):
            for path in ("/api/search?q=payments", "/metrics"):
                with self.assertRaises(urllib.error.HTTPError) as caught:
                    urllib.request.urlopen(urllib.request.Request(self.k.url + path, headers=headers))
                self.assertEqual(caught.exception.code, 401)
                caught.exception.close()
        with self.assertRaises(KenError) as caught:
            Ken(self.k.url).recall(QUESTION)
        self.assertEqual(caught.exception.code, "missing_key")
        file = self.folder / ".ken" / "state" / ".gateway" / "shared.json"
        self.assertEqual(file.stat().st_mode & 0o077, 0)

    def test_the_console_opens_by_its_link(self):
        self.k.remember(CLAIM)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(self.k.console) as page:
            self.assertEqual(page.url, self.k.url + "/console/")
        with browser.open(self.k.url + "/console/claims") as page:
            self.assertIn(CLAIM, page.read().decode())
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(self.k.url + "/console/claims")
        self.assertEqual(caught.exception.code, 401)
        caught.exception.close()

    def test_keys_of_its_own(self):
        folder = self.folder / "keyed"
        (folder / ".ken").mkdir(parents=True)
        made = subprocess.run([KEN, "--dir", folder, "key", "create", "app", "--json"], check=True, capture_output=True, text=True)
        with Ken(project=folder, key=json.loads(made.stdout)["key"]) as k:
            k.remember(CLAIM)
            self.assertEqual(k.console, k.url + "/console/")
            with Ken(project=folder) as other, self.assertRaises(KenError) as caught:
                other.recall(QUESTION)
            self.assertEqual(caught.exception.code, "missing_key")

    def test_one_server_of_an_async_ken(self):
        async def go():
            k = AsyncKen(project=self.folder)
            loop = asyncio.get_running_loop()
            first = loop.create_task(k.recall("x"))
            await asyncio.sleep(0)  # it starts in a thread
            self.assertTrue(k.url)
            await first
            await k.close()

        made = []
        init = Ken.__init__

        def count(ken, *arguments, **options):
            made.append(ken)
            init(ken, *arguments, **options)

        with mock.patch.object(Ken, "__init__", count):
            asyncio.run(go())
        self.assertEqual(len(made), 1)

    def test_many_at_once(self):
        folder = self.folder / "many"
        (folder / ".ken").mkdir(parents=True)
        code = "import sys; from ken import Ken; k = Ken(); k.remember('Statement ' + sys.argv[1]); print(k.url)"
        all_ = [subprocess.Popen([sys.executable, "-c", code, str(i)], cwd=folder, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": str(PACKAGES)}) for i in range(5)]
        urls = {p.communicate(timeout=120)[0].strip() for p in all_}
        self.assertEqual(len(urls), 1, urls)
        with Ken(project=folder) as k:
            self.assertEqual(k.url, urls.pop())
            self.assertEqual(len(k.recall("which statement?", limit=10)), 5)

    def test_no_warning_is_left(self):
        code = "from ken import Ken; k = Ken(); k.remember('x is y'); k.recall('x')"
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGES)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_proxy_is_not_asked(self):
        code = """
import asyncio, sys
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI
from ken import Ken

k = Ken()
k.recall("x")
ask = [{"role": "user", "content": "hi"}]
k.wrap(OpenAI()).chat.completions.create(model="m", messages=ask)
k.wrap(Anthropic()).messages.create(model="m", max_tokens=9, messages=ask)
asyncio.run(k.wrap(AsyncOpenAI()).chat.completions.create(model="m", messages=ask))
"""
        # Ken itself does ask the proxy for what is elsewhere, so this provider is an exception for it.
        self.python(code, HTTP_PROXY="http://127.0.0.1:9", ALL_PROXY="http://127.0.0.1:9", OPENAI_API_KEY="x", OPENAI_BASE_URL=self.up + "/v1",
                    ANTHROPIC_API_KEY="x", ANTHROPIC_BASE_URL=self.up)
        self.assertEqual(len(self.bodies()), 3)


class TestAttached(Sides):
    """A Ken that somebody else runs."""

    def test_by_its_address(self):
        self.assertEqual(Ken(self.url).recall(QUESTION)[0].text, CLAIM)
        os.environ["KEN_URL"] = self.url + "/v1/"  # as the base URL of OpenAI's clients
        self.addCleanup(os.environ.pop, "KEN_URL")
        k = Ken()
        self.assertEqual(k.url, self.url)
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine") as client:
            k.wrap(client).chat.completions.create(model="gpt-4.1-mini", messages=ASK)
        self.assertIn(MARKER.encode(), self.bodies()[0])

    def test_a_key_goes_to_no_other_api(self):
        with OpenAI(base_url="https://api.elsewhere.example/v1", api_key="sk-secret") as client:
            with self.assertRaises(APIStatusError) as caught:
                Ken(self.url).wrap(client).chat.completions.create(model="m", messages=ASK)
        self.assertEqual(caught.exception.status_code, 421)
        self.assertEqual(self.bodies(), [])

    def test_a_key_of_ken(self):
        made = subprocess.run([KEN, "--dir", self.folder, "key", "create", "app", "--json"], check=True, capture_output=True, text=True)
        key = json.loads(made.stdout)["key"]
        with self.assertRaises(KenError) as caught:
            Ken(self.url).recall(QUESTION)
        self.assertEqual((caught.exception.code, caught.exception.status), ("missing_key", 401))
        k = Ken(self.url, key=key)
        self.assertEqual(k.recall(QUESTION)[0].text, CLAIM)
        claim = k.remember("Refunds take two days.")  # without the right operate it is an agent's word
        self.assertEqual(claim.raw["trust"], "agent")
        with self.assertRaises(KenError) as caught:
            k.forget(claim)
        self.assertEqual(caught.exception.code, "forbidden")
        with OpenAI(base_url=self.up + "/v1", api_key="sk-mine") as client, k.session("keyed") as s:
            s.wrap(client).chat.completions.create(model="gpt-4.1-mini", messages=ASK)
        self.assertEqual(s.learned(), [])
        self.assertNotIn(key, json.dumps(self.get(self.up + "/_upstream/requests")))


if __name__ == "__main__":
    unittest.main()
