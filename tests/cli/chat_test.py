#!/usr/bin/env python3
"""Talks to `puna run MODEL` on a pseudo-terminal, as a person would, and interrupts it.

usage: tests/cli/chat_test.py PUNA

The model is a tiny one with random weights, given a chat template and a long context: its text means nothing, but the same
conversation gives the same text (--temp 0), and an answer goes on for many seconds unless it is stopped.
"""
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pseudo_terminal import PATIENCE_S, Terminal
from tiny_gguf import STRING, U32, Gguf

MODEL = Path(__file__).resolve().parent.parent / "goldens/llama-q4_0.gguf"
PUNA = str(Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/puna").resolve())
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[answer]"


# Thinking is opened by the prompt unless it is switched off; earlier thinking is left out.
THINKS = TEMPLATE + "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"


def total(stats):
    """Tokens of the prompt; those that the cache still holds are not evaluated again."""
    return int(stats["prompt_tokens"]) + int(stats["cached_tokens"])


class Chat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        model = Gguf(MODEL)
        model.set("tokenizer.chat_template", STRING, TEMPLATE)
        model.set("llama.context_length", U32, 200000)
        self.model = model.save(self.home / "chat.gguf")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PUNA_", "OLLAMA_", "NO_COLOR"))}
        self.env = {**clean, "PUNA_HOME": str(self.home), "TERM": "xterm"}

    def start(self, *args, columns=0):
        terminal = Terminal([PUNA, "run", self.model, "--temp", "0", "--device", "cpu", "--threads", "1", "--stats", *args], self.env,
                            columns)
        self.addCleanup(terminal.close)
        return terminal

    def chat(self, *args, columns=0):
        terminal = self.start(*args, columns=columns)
        terminal.wait_for(r"context\s\d+\stokens.*Ctrl-D")
        terminal.wait_for_prompt()
        return terminal

    def test_turns_build_on_one_another_until_cleared(self):
        chat = self.chat("-n", "8", "--ignore-eos")
        first, stats = chat.say("hello")
        self.assertEqual(stats["generated_tokens"], "8")
        self.assertEqual(stats["stop"], "length")
        second, more = chat.say("hello")
        self.assertGreater(total(more), total(stats))
        self.assertGreater(int(more["cached_tokens"]), 0)
        self.assertNotEqual(first, second)
        chat.type("/clear\r")
        chat.wait_for_prompt()
        again, stats_again = chat.say("hello")
        self.assertEqual((again, total(stats_again)), (first, total(stats)))
        chat.type("/system be brief\r")
        chat.wait_for_prompt()
        self.assertGreater(total(chat.say("hello")[1]), total(stats))

    def test_ctrl_c_is_not_missed_between_keys(self):
        chat = self.chat("-n", "2")
        for _ in range(50):
            chat.type("half a li\x03")
            chat.wait_for_prompt()
        chat.say("one")

    def test_keys(self):
        chat = self.chat("-n", "2")
        chat.say("one")
        chat.type("\x1b[A")  # up: the line before
        chat.wait_for("one")
        chat.type("!\x01zero \x05\r")  # to the start, a word, to the end
        chat.wait_for("stop=")
        chat.wait_for_prompt()
        chat.type("half a li\x03")  # Ctrl-C drops the line
        chat.wait_for("Ctrl-D or /bye")
        chat.wait_for_prompt()
        _, stats = chat.say("two")
        chat.type('"""first\r')
        chat.wait_for(r"\.\.\. ")
        chat.type('second"""\r')
        chat.wait_for("stop=")
        chat.wait_for_prompt()
        chat.type("/?\r")
        chat.wait_for("/clear.*/bye")
        chat.wait_for_prompt()
        chat.type("/nonsense\r")
        chat.wait_for("Unknown command /nonsense")
        chat.wait_for_prompt()
        chat.type("\r")
        chat.wait_for_prompt()
        chat.type("\x04")
        self.assertEqual(chat.code(), 0)
        history = self.home / "history"
        self.assertIn("zero", history.read_text())
        self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
        # The next chat knows the lines of this one.
        chat = self.chat("-n", "2")
        chat.type("\x1b[A")
        chat.wait_for("nonsense")
        chat.type("\x15/bye\r")
        self.assertEqual(chat.code(), 0)

    def test_characters_beyond_ascii_reach_the_model(self):
        line = "Grüße, 世界"
        self.env |= {"LC_ALL": "C"}
        answer, _ = self.chat("-n", "8", "--ignore-eos").say(line)
        alone = subprocess.run([PUNA, "run", self.model, line, "--temp", "0", "--device", "cpu", "-n", "8", "--ignore-eos"],
                               capture_output=True, env=self.env, timeout=PATIENCE_S).stdout
        # What is no UTF-8 stays as it is in a pipe, and is U+FFFD on a terminal.
        self.assertEqual(answer.encode("latin-1").decode().replace("\r\n", "\n"), re.sub("[\udc80-\udcff]", "\ufffd",
                                                                                      alone.decode(errors="surrogateescape")))

    def thinking_model(self):
        model = Gguf(MODEL)
        model.set("tokenizer.chat_template", STRING, THINKS)
        return model.save(self.home / "thinks.gguf")

    def answer(self, model, *args):
        command = [PUNA, "run", model, "hello", "--temp", "0", "--device", "cpu", "-n", "8", "--ignore-eos", *args]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=self.env, timeout=PATIENCE_S)

    def test_thinking_is_no_part_of_the_answer(self):
        model = self.thinking_model()
        thought = self.answer(model)  # the tiny model never ends its thinking
        self.assertEqual((thought.returncode, thought.stdout), (0, "\n"))
        self.assertRegex(thought.stderr, r"(?s)Thinking\.\.\.\n.+\n\.\.\.done thinking\.\n")
        self.assertNotIn("\x1b", thought.stderr)
        hidden = self.answer(model, "--hidethinking")
        self.assertEqual((hidden.returncode, hidden.stdout), (0, "\n"))
        self.assertNotIn("hinking", hidden.stderr)
        off = self.answer(model, "--think=false")
        self.assertGreater(len(off.stdout), 1)
        self.assertNotIn("hinking", off.stderr)
        self.assertEqual(self.answer(model, "--think").stdout, "\n")

    def form(self, name, text):
        (self.home / name).write_text(text)
        return str(self.home / name)

    def test_an_answer_has_the_form_that_is_asked_for(self):
        schema = self.form("schema.json", '{"enum": ["yes", "no"]}')
        grammar = self.form("list.gbnf", 'root ::= "- " [a-c] "\\n"')
        for args, fits in ((["--format", schema], r'"(yes|no)"'), (["--grammar", grammar], r"- [abc]"), (["--regex", "[0-9]{3}"], r"[0-9]{3}")):
            answer = self.answer(self.model, *args)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertRegex(answer.stdout, rf"\A{fits}\n+\Z")

    def test_a_form_that_is_none_is_named_with_its_place(self):
        schema = self.form("schema.json", '{"properties": {"a": {"type": "strin"}}}')
        grammar = self.form("list.gbnf", 'root ::= "a" b')
        for args, code, said in ((["--format", schema], 1, '#/properties/a: "type" is "strin"'),
                                 (["--format", "nonsense"], 1, "The JSON schema nonsense cannot be opened"),
                                 (["--grammar", grammar], 1, 'Line 1, column 14: Rule "b" is not defined.'),
                                 (["--regex", "(("], 1, "Line 1, column 2: "),
                                 (["--format", "json", "--regex", "a"], 2, "one of them may be given")):
            refused = self.answer(self.model, *args)
            self.assertEqual((refused.returncode, refused.stdout), (code, ""))
            self.assertIn(said, refused.stderr)
            if args[0] != "--format" and code == 1:
                self.assertIn(f"of {args[0]}", refused.stderr)

    def test_a_switch_that_a_template_lacks_is_refused(self):
        for model, flag in ((self.thinking_model(), "--think=low"), (self.model, "--think"), (self.model, "--think=false")):
            refused = self.answer(model, flag)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertRegex(refused.stderr, r"\Aerror: The chat template of .* has no switch for (thinking|how much the model thinks), so ")
        for flags in (["--think=maybe"], ["--think", "--raw"]):
            self.assertEqual(self.answer(self.model, *flags).returncode, 2)

    def test_a_chat_forgets_what_was_thought(self):
        self.model = self.thinking_model()
        chat = self.chat("-n", "8", "--ignore-eos")
        first, stats = chat.say("hello")
        self.assertRegex(first, r"(?s)\x1b\[90mThinking\.\.\..*done thinking\.\x1b\[0m")
        _, thought = chat.say("hello")
        chat.type("/clear\r")
        chat.wait_for_prompt()
        chat.type("/set nothink\r")
        chat.wait_for_prompt()
        first, plain = chat.say("hello")
        self.assertNotIn("hinking", first)
        self.assertLess(total(plain), total(stats))  # the prompt opens no thinking
        _, answered = chat.say("hello")
        self.assertLess(total(thought) - total(stats), total(answered) - total(plain))
        chat.type("/set nonsense\r")
        chat.wait_for("Unknown setting nonsense")
        chat.wait_for_prompt()

    def test_a_full_context_offers_two_ways_on(self):
        chat = self.chat("-n", "8", "--ignore-eos", "--ctx", "96")
        full = None
        while full is None:
            chat.type("hello again\r")
            full = chat.wait_for(r"stop=length|error: [^\n]*takes (\d+) tokens[^\n]*holds 96 [^\n]*/drop[^\n]*/clear|is full[^\n]*").group(1)
            chat.wait_for_prompt()
        self.assertGreaterEqual(int(full), 96)
        chat.type("/drop\r")
        chat.wait_for(r"(\d+) of (\d+) turns are forgotten.*stop=length")  # and the message is answered
        chat.wait_for_prompt()
        chat.say("more")
        chat.type("/drop\r")
        chat.wait_for("turns are forgotten")
        chat.wait_for_prompt()
        chat.type("/clear\r")
        chat.wait_for_prompt()
        chat.type("/drop\r")
        chat.wait_for("no turn to forget")
        chat.wait_for_prompt()
        chat.type("long " * 100 + "\r")
        chat.wait_for(r"error: The message takes \d+ tokens, but the context holds 96 ")
        chat.wait_for_prompt()
        chat.say("short")

    def test_an_answer_that_fills_the_context_says_so(self):
        chat = self.chat("--ignore-eos", "--ctx", "64")
        chat.type("hello\r")
        chat.wait_for(r"stop=context.*context of 64 tokens is full[^\n]*/drop[^\n]*/clear")
        chat.wait_for_prompt()
        chat.type("/drop\r")
        chat.wait_for("1 of 1 turns")
        chat.wait_for_prompt()
        self.assertEqual(chat.say("hello")[1]["stop"], "context")

    def test_a_setting_that_cannot_be_is_not_kept(self):
        chat = self.chat("-n", "2")
        for setting in ("think", "nothink", "think high"):
            chat.type(f"/set {setting}\r")
            chat.wait_for("error: [^\n]* has no switch")
            chat.wait_for_prompt()
            self.assertEqual(chat.say("hello")[1]["generated_tokens"], "2")
        refused = self.start("--think")
        self.assertEqual(refused.code(), 1)
        self.assertIn("has no switch", refused.seen)

    def test_bytes_that_are_no_utf8_do_not_take_keys_along(self):
        chat = self.chat("-n", "2")
        for keys in (b"caf\xe9\r", b"\xe9\r", b"\xe4\xb8\r", b"a\xf0\x9f\x98\r", b"\xff\xfe\x80 b\r", b"a\x00b\r"):
            chat.type(keys)
            chat.wait_for("stop=")
            chat.wait_for_prompt()
        chat.type(b"\xe9\x03")  # Ctrl-C drops the line with half a character
        chat.wait_for_prompt()
        chat.say("one")
        chat.type("x" * 4000 + "\r")
        chat.wait_for("stop=")

    def command(self, chat, line, said=""):
        """What a command prints."""
        chat.type(line + "\r")
        chat.wait_for(re.escape(line) + r"\r*\n")
        start = chat.read
        if said:
            chat.wait_for(said)
        chat.wait_for_prompt()
        return chat.seen[start : chat.read - len(">>> ")]

    def test_parameters_bind_what_follows(self):
        chat = self.chat("--ignore-eos", "-n", "4")
        self.command(chat, "/set parameter num_predict 7", "Set num_predict to 7")
        self.assertEqual(chat.say("hello")[1]["generated_tokens"], "7")
        for wrong, said in (("temperature hot", "invalid float"), ("top_k -1", "0 to 4294967295"), ("tempo 1", "unknown parameter 'tempo'")):
            self.command(chat, f"/set parameter {wrong}", f"error: [^\n]*{said}")
        self.assertEqual(chat.say("hello")[1]["generated_tokens"], "7")
        self.assertRegex(self.command(chat, "/show parameters"), r"num_predict +7")
        self.assertRegex(self.command(chat, "/set parameter"), r"(?s)min_p +0 to 1.*temperature +0 to 100")
        self.command(chat, "/set parameter num_ctx 64", "Set num_ctx")
        chat.type("x" * 300 + "\r")
        chat.wait_for("error: [^\n]*64 tokens")

    def test_what_a_chat_shows(self):
        chat = self.chat("-n", "2")
        info = self.command(chat, "/show info")
        for said in ("architecture +llama", "context length +200000", "embedding length +64", "answered by +CPU", "can do +completion"):
            self.assertRegex(info, said)
        self.assertIn("[answer]", self.command(chat, "/show template"))
        self.assertIn("no system message", self.command(chat, "/show system"))
        chat.type('/set system """Be brief.\r')
        chat.wait_for(r"\.\.\. ")
        chat.type('And kind."""\r')
        chat.wait_for("system message is set")
        chat.wait_for_prompt()
        self.assertIn("Be brief.\r\nAnd kind.", self.command(chat, "/show system"))
        self.command(chat, "/show nonsense", "Unknown subject nonsense")
        self.command(chat, "/sett", "did you mean /set")
        self.assertIn("Ctrl-G", self.command(chat, "/? shortcuts"))
        self.command(chat, "/save ../mine", "error: ")
        self.command(chat, "/load no-such-model", "error: ")
        self.command(chat, f"/load {self.model}", "answers now")
        self.assertEqual(chat.say("hello")[1]["generated_tokens"], "2")

    def test_a_chat_is_saved_as_a_model(self):
        chat = self.chat("-n", "2", "--system", "Be brief.")
        answer, _ = chat.say("hello")
        self.command(chat, "/set parameter top_k 3", "Set top_k")
        self.command(chat, "/save smollm2", "error: .*catalogue")
        self.command(chat, "/save me/mine", "The model me/mine is made")
        chat.type("/bye\r")
        self.assertEqual(chat.code(), 0)
        shown = json.loads(subprocess.run([PUNA, "show", "me/mine", "--json"], env=self.env, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(shown["system"], "Be brief.")
        self.assertEqual(shown["parameters"], {"temperature": 0, "num_predict": 2, "top_k": 3})
        asked, answered = shown["messages"]
        self.assertEqual((asked, answered["role"]), ({"role": "user", "content": "hello"}, "assistant"))
        self.assertEqual(json.dumps(answered["content"])[1:-1], answer.strip())  # which is printed without control characters

        self.model = "me/mine"
        again = self.chat()
        self.assertRegex(self.command(again, "/show parameters"), r"top_k +3")
        self.assertIn("Be brief.", self.command(again, "/show system"))
        self.assertIn("FROM", self.command(again, "/show modelfile"))
        self.command(again, "/save me/mine", "The model me/mine is made")  # over itself

    def test_answers_of_a_chat_are_json_where_it_is_set(self):
        chat = self.chat("-n", "40")
        self.command(chat, "/set format json", "Answers are JSON")
        self.assertRegex(chat.say("hello")[0], r"\A\s*\{")
        self.command(chat, "/set format no-such-file", "error: .*no-such-file")
        self.command(chat, "/set noformat")
        self.assertNotRegex(chat.say("hello")[0], r"\A\s*\{")
        self.command(chat, "/set verbose")
        chat.type("hello\r")
        chat.wait_for(r"total duration: +[\d.]+m?s.*prompt eval count: +\d+ token.*eval rate: +[\d.]+ tokens/s.*stop=")
        chat.wait_for_prompt()
        self.command(chat, "/set quiet")
        self.assertNotIn("duration", chat.say("hello")[0])

    def test_an_editor_writes_the_message(self):
        editor = self.home / "editor"
        editor.write_text('#!/bin/sh\ncat "$1" > "$1.was"; mv "$1.was" "$PUNA_HOME/was"; printf "$EDITED" > "$1"\n')
        editor.chmod(0o700)
        self.env |= {"EDITOR": str(editor), "EDITED": "one line"}
        chat = self.chat("-n", "2")
        chat.type("halb f\u00fc\x07")
        chat.wait_for("one line")
        chat.type("!\r")
        chat.wait_for("!\r*\n.*stop=")
        chat.wait_for_prompt()
        self.assertEqual((self.home / "was").read_text(), "halb f\u00fc\n")
        chat.type("\x04")
        self.assertEqual(chat.code(), 0)
        self.env |= {"EDITED": "two\\nlines\\n"}
        chat = self.chat("-n", "2")
        chat.type("\x07")
        chat.wait_for("two\r\nlines\r\n.*stop=")
        chat.wait_for_prompt()
        self.env |= {"EDITOR": "false"}
        chat = self.chat("-n", "2")
        chat.type("kept\x07")
        chat.wait_for("error: The editor")
        chat.type("\r")
        chat.wait_for("stop=")

    def test_lines_are_remembered_unless_that_is_off(self):
        history = self.home / "history"
        chat = self.chat("-n", "2")
        self.command(chat, "/set nohistory")
        chat.say("a secret")
        self.assertNotIn("a", history.read_text().split("nohistory")[1])
        self.command(chat, "/set history")
        chat.say("no secret")
        self.assertIn(r"no\040secret", history.read_text())
        for variable in ("PUNA_NOHISTORY", "OLLAMA_NOHISTORY"):
            history.unlink(missing_ok=True)
            self.env[variable] = "1"
            self.chat("-n", "2").say("hello")
            del self.env[variable]
            self.assertFalse(history.exists())

    def test_a_narrow_terminal_without_colours(self):
        self.env |= {"NO_COLOR": "1", "LC_ALL": "C"}
        chat = self.chat("-n", "60", "--ignore-eos", columns=40)
        for line in self.command(chat, "/?").split("\r\n"):
            self.assertLessEqual(len(line), 40, line)
        self.model = self.thinking_model()
        chat = self.chat("-n", "4", "--ignore-eos", columns=40)
        self.assertNotIn("\x1b[90m", chat.say("hello")[0])

    def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(self):
        chat = self.chat("--ctx", "0", "--ignore-eos")
        chat.type("go\r")
        chat.wait_for("go\r*\n.{20}")
        chat.type("\x03")
        chat.process.send_signal(signal.SIGINT)  # pressed twice
        stopped = chat.wait_for(r"generated_tokens=(\d+).*stop=(\w+)\r\n")
        self.assertEqual(stopped.group(2), "cancelled")
        self.assertLess(int(stopped.group(1)), 190000)
        chat.wait_for_prompt()
        chat.type("\x04")
        self.assertEqual(chat.code(), 0)

    def test_ctrl_c_ends_a_single_answer(self):
        run = self.start("--ctx", "0", "--ignore-eos", "go")
        run.wait_for(r"\A(?:\r[^\x1b]*\x1b\[K)*[^\r\x1b].{20}")  # after the progress bar
        run.type("\x03")
        self.assertEqual(run.code(), 130)
        self.assertIn("stop=cancelled", run.seen)

    def test_termination_ends_a_chat(self):
        chat = self.chat()
        chat.process.send_signal(signal.SIGTERM)
        self.assertEqual(chat.code(), 130)

    def test_progress_bars_are_for_terminals(self):
        command = [PUNA, "quantize", str(MODEL.with_name("llama-q4_k_m.gguf")), str(self.home / "out.gguf"), "q8_0"]
        terminal = Terminal(command, self.env)
        self.addCleanup(terminal.close)
        terminal.wait_for(r"\[[#.]+\].*%.*/s.*left")
        self.assertEqual(terminal.code(), 0)
        quiet = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=PATIENCE_S)
        self.assertEqual(quiet.returncode, 0)
        self.assertNotIn("[#", quiet.stderr)
        self.assertNotIn("\x1b", quiet.stderr + quiet.stdout)


if __name__ == "__main__":
    unittest.main()
