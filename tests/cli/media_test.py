#!/usr/bin/env python3
"""Which encoder belongs to a model, pictures in chats, and encoders in stores and folders.

usage: tests/cli/media_test.py PUNA
"""
import json
import unittest
from pathlib import Path

from own_home import MODEL, PUNA, OwnHome
from pseudo_terminal import Terminal
from tiny_gguf import STRING, Gguf
from tiny_media import write_folder, write_mmproj, write_png

WIDTH = 64  # of the text model
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[answer]"


class Media(OwnHome):
    def setUp(self):
        super().setUp()
        model = Gguf(MODEL)
        model.set("tokenizer.chat_template", STRING, TEMPLATE)
        (self.path / "m").mkdir()
        self.model = model.save(self.path / "m/model.gguf")
        self.picture = write_png(self.path / "my photo.png")

    def mmproj(self, name, width=WIDTH, seed=1):
        return write_mmproj(self.path / "m" / name, width, seed)

    def run_model(self, *args, model=None, code=0):
        return self.run_puna("run", model or self.model, "--temp", "0", "-n", "6", "--device", "cpu", "--output-tokens", *args, code=code)

    def asked(self, *args, model=None):
        return self.run_model("--image", self.picture, *args, "What is this?", model=model).stdout

    def refused(self, *args, code=1):
        return self.run_model("--image", self.picture, *args, "What is this?", code=code).stderr

    def test_the_encoder_beside_the_model_is_taken_and_one_that_is_named_wins(self):
        beside = self.mmproj("mmproj-f16.gguf")
        other = write_mmproj(self.path / "other.gguf", WIDTH, seed=2)
        found = self.asked()
        self.assertEqual(found, self.asked("--mmproj", beside))
        self.assertNotEqual(found, self.asked("--mmproj", other))
        self.assertIn("--no-mmproj", self.refused("--no-mmproj", code=2))

    def test_an_encoder_of_another_model_is_an_error_where_it_is_named_and_a_warning_beside(self):
        narrow = write_mmproj(self.path / "narrow.gguf", 24)
        named = self.refused("--mmproj", narrow)
        for part in ("narrow.gguf", "24", "model.gguf", "64"):
            self.assertIn(part, named)
        self.mmproj("mmproj-f16.gguf", width=24)
        beside = self.refused()
        self.assertIn("The encoder beside the model is not used", beside)
        self.assertIn("sees no pictures", beside)
        damaged = self.path / "m/mmproj-f16.gguf"
        damaged.write_bytes(damaged.read_bytes()[:-500])
        self.assertIn("cut off or damaged", self.refused())
        self.assertNotIn("encoder", self.run_model("Hello").stderr)  # texts need none

    def test_of_several_encoders_the_one_that_is_called_as_the_model_is_taken(self):
        self.mmproj("mmproj-one.gguf", seed=1)
        self.mmproj("mmproj-two.gguf", seed=2)
        said = self.refused()
        self.assertIn("mmproj-one.gguf, mmproj-two.gguf", said)
        self.assertIn("--mmproj", said)
        two = self.path / "m/two-Q4_0.gguf"
        two.write_bytes((self.path / "m/model.gguf").read_bytes())
        self.assertEqual(self.asked(model=str(two)), self.asked("--mmproj", str(self.path / "m/mmproj-two.gguf")))

    def test_bench_takes_the_encoder_beside_the_model(self):
        beside = self.mmproj("mmproj-f16.gguf")
        args = ["bench", "--model", self.model, "--device", "cpu", "--image", "20x12", "-p", "0", "-n", "0", "-r", "1", "--json"]
        found = json.loads(self.run_puna(*args).stdout)["image"]
        named = json.loads(self.run_puna(*args, "--mmproj", beside).stdout)["image"]
        self.assertEqual(sorted(found), sorted(named))
        Path(beside).unlink()
        self.assertIn("sees no pictures", self.run_puna(*args, code=1).stderr)

    def chat(self, *args):
        terminal = Terminal([PUNA, "run", self.model, "--temp", "0", "-n", "4", "--device", "cpu", "--stats", *args], {**self.env, "TERM": "xterm"})
        self.addCleanup(terminal.close)
        terminal.wait_for_prompt()
        return terminal

    def test_paths_in_a_chat_become_pictures(self):
        self.mmproj("mmproj-f16.gguf")
        chat = self.chat()
        text, stats = chat.say("What is this?")
        tokens = int(stats["prompt_tokens"])
        rows = 16  # of a picture
        for typed in (f"'{self.picture}' What is this?", self.picture.replace(" ", "\\ ") + " What is this?",
                      "file://" + self.picture.replace(" ", "%20") + " What is this?"):
            chat.type("/clear\r")
            chat.wait_for_prompt()
            chat.type(typed + "\r")
            chat.wait_for("goes with the message as a picture")
            stats = chat.wait_for(r"prompt_tokens=(\d+) .*?cached_tokens=(\d+)[^\n]*\n")
            chat.wait_for_prompt()
            self.assertGreaterEqual(int(stats[1]) + int(stats[2]), tokens + rows, typed)
        chat.type("/show info\r")
        chat.wait_for("can do +completion, vision")
        chat.wait_for_prompt()
        (self.path / "notes.png").write_text("no picture")
        before = len(chat.seen)
        chat.say(f"see {self.path}/notes.png and {self.path}/none.png")
        self.assertNotIn("goes with the message", chat.seen[before:])

    def test_pictures_of_the_command_line_go_with_the_first_message(self):
        self.mmproj("mmproj-f16.gguf")
        chat = self.chat("--image", self.picture)
        _, first = chat.say("Hello")
        chat.type("/clear\r")
        chat.wait_for_prompt()
        _, later = chat.say("Hello")
        total = lambda stats: int(stats["prompt_tokens"]) + int(stats["cached_tokens"])
        self.assertEqual(total(first), total(later) + 16)

    def test_a_model_without_the_sense_keeps_paths_as_text(self):
        chat = self.chat()
        chat.type(f"'{self.picture}' What?\r")
        chat.wait_for("stays text: the model sees no pictures")
        chat.wait_for_prompt()

    def test_a_model_of_two_files_is_created_shown_copied_and_run(self):
        self.mmproj("eye.gguf")
        (self.path / "Modelfile").write_text("FROM ./m/model.gguf\nFROM ./m/eye.gguf\n")
        self.run_puna("create", "seeing", "-f", str(self.path / "Modelfile"))
        shown = self.told("show", "seeing")
        self.assertIn("vision", shown["capabilities"])
        self.assertEqual(shown["projector"]["kinds"], ["mlp"])
        self.assertEqual(shown["projector"]["dimensions"], WIDTH)
        text = self.run_puna("show", "seeing").stdout
        self.assertRegex(text, r"Projector\n +architecture +clip\n +kind +mlp\n")
        answer = self.asked(model="seeing")
        self.assertEqual(answer, self.asked("--mmproj", str(self.path / "m/eye.gguf")))
        self.run_puna("cp", "seeing", "again")
        self.run_puna("rm", "seeing")
        self.assertEqual(self.asked(model="again"), answer)
        self.run_puna("verify")
        (self.path / shown["projector"]["path"]).unlink()
        said = self.run_model("--image", self.picture, "What?", model="again", code=1).stderr
        self.assertIn("The encoder beside the model is not used", said)
        self.run_model("Hello", model="again")
        self.assertNotIn("vision", self.told("show", "again")["capabilities"])
        self.run_puna("verify", code=1)

    def test_a_folder_with_an_encoder_is_read_in_place_and_converted_to_two_files(self):
        folder = write_folder(self.path / "llava")
        self.run_puna("convert", folder, str(self.path / "out.gguf"))
        self.assertTrue((self.path / "out.gguf").is_file())
        rows = {}
        for name, mmproj in (("folder", folder), ("converted", self.path / "mmproj-out.gguf"),
                             ("by hand", write_mmproj(self.path / "hand.gguf", 32))):
            out = self.path / (name + ".npy")
            self.run_puna("embed", "--mmproj", str(mmproj), "--image", self.picture, "--output", str(out), "--device", "cpu")
            rows[name] = out.read_bytes()
        self.assertEqual(rows["folder"], rows["converted"])
        self.assertEqual(rows["folder"], rows["by hand"])
        self.assertIn("vision", self.told("show", folder)["capabilities"])
        (self.path / "Modelfile").write_text("FROM ./llava\n")
        self.run_puna("create", "of-folder", "-f", str(self.path / "Modelfile"))
        self.assertEqual(self.told("show", "of-folder")["projector"]["dimensions"], 32)
        self.assertIn("exists", self.run_puna("convert", folder, str(self.path / "out.gguf"), code=2).stderr)
        self.run_puna("convert", "--no-mmproj", folder, str(self.path / "alone.gguf"))
        self.assertFalse((self.path / "mmproj-alone.gguf").exists())

    def test_a_folder_whose_encoder_lacks_tensors_opens_without_it(self):
        for lacking, said in (("layer_norm1", "layer_norm1.weight"), ("vision_tower", "is missing"), ("linear_2", "mm.2")):
            folder = write_folder(self.path / lacking, without=lacking)
            refused = self.run_puna("embed", "--mmproj", folder, "--image", self.picture, "--output", str(self.path / "x.npy"), code=1).stderr
            self.assertIn(said, refused, lacking)


if __name__ == "__main__":
    unittest.main()
