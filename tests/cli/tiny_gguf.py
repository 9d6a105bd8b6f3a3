"""Reads the metadata of a GGUF file and writes the file again with some of it changed: small models for tests of the program.

The layout is that of the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md), version 3: header, key-value pairs, tensor
list, padding, tensor data. Tensor offsets count from the start of the data, so pairs may grow or vanish.
"""
import struct
from pathlib import Path

U16, U32, I32, F32, STRING, ARRAY, U64 = 2, 4, 5, 6, 8, 9, 10
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, U32: 4, 5: 4, F32: 4, 7: 1, U64: 8, 11: 8, 12: 8}
FORMATS = {U32: "<I", F32: "<f", U64: "<Q"}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


class Gguf:
    def __init__(self, path):
        self.data = Path(path).read_bytes()
        self.at = 8
        self.n_tensors, n_pairs = self.number("<Q"), self.number("<Q")
        self.pairs = {}  # key -> the bytes of type and value
        for _ in range(n_pairs):
            key = self.string()
            start = self.at
            self.skip_value(self.number("<I"))
            self.pairs[key] = self.data[start : self.at]
        start = self.at
        self.tensors = []  # (name, shape, type, offset)
        for _ in range(self.n_tensors):
            name = self.string()
            shape = [self.number("<Q") for _ in range(self.number("<I"))]
            self.tensors.append((name, shape, self.number("<I"), self.number("<Q")))
        self.tensor_list = self.data[start : self.at]
        self.tensor_data = self.data[-(-self.at // 32) * 32 :]

    def number(self, layout):
        (value,) = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return value

    def string(self):
        n = self.number("<Q")
        self.at += n
        return self.data[self.at - n : self.at].decode(errors="surrogateescape")

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            inner, n = self.number("<I"), self.number("<Q")
            if inner in SIZES:
                self.at += SIZES[inner] * n
            else:
                for _ in range(n):
                    self.skip_value(inner)
        else:
            self.at += SIZES[kind]

    def set(self, key, kind, value):
        self.pairs[key] = struct.pack("<I", kind) + (text(value) if kind == STRING else struct.pack(FORMATS[kind], value))

    def save(self, path):
        head = self.data[:8] + struct.pack("<QQ", self.n_tensors, len(self.pairs))
        for key, value in self.pairs.items():
            head += text(key) + value
        head += self.tensor_list
        Path(path).write_bytes(head + bytes(-len(head) % 32) + self.tensor_data)
        return str(path)


SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", U32: "<I", 5: "<i", F32: "<f", 7: "<B", U64: "<Q", 11: "<q", 12: "<d"}


def value(kind, data, *inner):
    """Type and value of a pair; a list's kind of items comes behind: value(ARRAY, [1, 2], U32)."""
    return struct.pack("<I", kind) + bare_value(kind, data, *inner)


def bare_value(kind, data, *inner):
    if kind == STRING:
        return text(data)
    if kind == ARRAY:
        return struct.pack("<IQ", inner[0], len(data)) + b"".join(bare_value(inner[0], item, *inner[1:]) for item in data)
    return struct.pack(SCALARS[kind], data)


def write_gguf(path, pairs, tensors, alignment=32):
    """pairs: key -> bytes of type and value; tensors: (name, shape, contiguous dimension first, type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    for key, data in pairs.items():
        head += text(key) + data
    body = b""
    for name, shape, kind, data in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += data + bytes(-len(data) % alignment)
    Path(path).write_bytes(head + bytes(-len(head) % alignment) + body)
    return str(path)
