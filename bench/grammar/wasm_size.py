#!/usr/bin/env python3
"""How much of a page's engine is the matcher: the functions of a namespace in a WebAssembly file with names, and their bytes by gzip.

usage: bench/grammar/wasm_size.py FILE.wasm [NAMESPACE]          (puna::grammar)

FILE is linked as puna_page is, with --profiling-funcs besides, which keeps the names of functions. A function belongs to a namespace if its name, or a type that
its template is made with, is of it. Bytes by gzip are those of the whole code section less those of it without these functions.
"""
import gzip
import sys
from pathlib import Path


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def bytes(self):
        n = self.number()
        self.at += n
        return self.data[self.at - n : self.at]


def sections(data):
    reader = Reader(data, 8)
    while reader.at < len(data):
        kind = data[reader.at]
        reader.at += 1
        yield kind, reader.bytes()


def imported_functions(body):
    reader, n = Reader(body), 0
    for _ in range(reader.number()):
        reader.bytes(), reader.bytes()
        kind = body[reader.at]
        reader.at += 1
        if kind == 0:
            n += 1
            reader.number()
        elif kind == 1:  # a table: its type and limits
            reader.at += 1
            limits = reader.number()
            reader.number()
            if limits & 1:
                reader.number()
        elif kind == 2:  # a memory
            limits = reader.number()
            reader.number()
            if limits & 1:
                reader.number()
        elif kind == 3:  # a global
            reader.at += 2
        else:  # a tag
            reader.at += 1
            reader.number()
    return n


def names_of(body):
    reader = Reader(body)
    if reader.bytes() != b"name":
        return {}
    while reader.at < len(body):
        kind = body[reader.at]
        reader.at += 1
        part = Reader(reader.bytes())
        if kind == 1:
            return {part.number(): part.bytes().decode() for _ in range(part.number())}
    return {}


def main():
    data = Path(sys.argv[1]).read_bytes()
    namespace = sys.argv[2] if len(sys.argv) > 2 else "puna::grammar"
    mangled = "".join(f"{len(part)}{part}" for part in namespace.split("::"))
    n_imported, names, bodies = 0, {}, []
    for kind, body in sections(data):
        if kind == 2:
            n_imported = imported_functions(body)
        elif kind == 10:
            reader = Reader(body)
            bodies = [reader.bytes() for _ in range(reader.number())]
        elif kind == 0:
            names = names_of(body) or names
    if not names:
        sys.exit("error: the file has no names of functions; link it with --profiling-funcs.")
    ours = [mangled in (name := names.get(n_imported + i, "")) or namespace in name for i in range(len(bodies))]
    inside = [body for body, is_ours in zip(bodies, ours) if is_ours]
    all_zipped = len(gzip.compress(b"".join(bodies), 9))
    rest_zipped = len(gzip.compress(b"".join(body for body, is_ours in zip(bodies, ours) if not is_ours), 9))
    print(f"{namespace}: {len(inside)} of {len(bodies)} functions, {sum(map(len, inside)):,} of {sum(map(len, bodies)):,} bytes; "
          f"by gzip {all_zipped - rest_zipped:,} of {all_zipped:,}")


if __name__ == "__main__":
    main()
