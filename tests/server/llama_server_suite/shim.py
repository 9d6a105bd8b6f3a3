#!/usr/bin/env python3
"""Stands where llama-server's own tests expect llama-server: names of remote models become local files, all else goes to `puna serve`.

PUNA names the program, PUNA_SUITE_MODELS the folder that models.py has filled. Where SUITE_NAMES is set, the model answers also to the
names that the suite asks for without having given them (llama-server answers to any name, puna says 404).
"""
import os
import sys

# Flags whose value names a model elsewhere; in the suite each of them comes with a value.
REMOTE = {"--hf-repo", "-hf", "-hfr", "--hf-file", "-hff", "--model-url", "-mu"}

# The first part of a name that fits says which model stands in.
STAND_INS = (("bert-bge", "bert.gguf"), ("reranker", "rerank.gguf"), ("infill", "infill.gguf"), ("Coder", "infill.gguf"), ("", "llama.gguf"))

NAMES = "test,davinci-002,gpt-3.5-turbo,gpt-3.5-turbo-instruct,gpt-4.1,text-embedding-3-small,claude-3-5-sonnet-latest"


def main():
    kept, names = [], []
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument in REMOTE:
            names.append(next(arguments, ""))
        else:
            kept.append(argument)
    if names:
        name = " ".join(names)
        file = next(file for part, file in STAND_INS if part in name)
        kept = ["--model", os.path.join(os.environ["PUNA_SUITE_MODELS"], file), *kept]
    if "SUITE_NAMES" in os.environ:
        if "--alias" in kept:
            kept[kept.index("--alias") + 1] += "," + NAMES
        else:
            kept += ["--alias", NAMES]
    os.execv(os.environ["PUNA"], [os.environ["PUNA"], "serve", *kept])


main()
