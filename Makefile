# The front door; everything behind it is tools/ and the presets of CMakePresets.json.
#   make run      install what is missing, build, fetch SmolLM2 (98 MB, once) and answer a question
#   make test     build and run all tests, native and WebAssembly
#   make check    formatting, lint, rules between rooms, sanitizers, fuzzing for some seconds
#   make bench    build and run the micro-benchmarks
#   make dawn     build Dawn, the WebGPU library that reaches matrix units, from Debian's sources (an hour or more)
#   make help     this text
PROMPT ?= Why is the sky blue? Answer in two sentences.
# How long clang-tidy may take, and each fuzz target.
TIDY_SECONDS ?= 90
FUZZ_SECONDS ?= 5
JOBS ?= $(shell nproc)
# Whether files of a room are compiled together: OFF where you change a file at a time (cmake/together.cmake).
TOGETHER ?= ON

.PHONY: run test check bench dawn help setup build wasm clean

help:
	@sed -n '2,7s/^# *//p' Makefile

setup:
	@tools/setup

# Without the web page where its tools cannot be had.
build: setup
	@tools/setup --web || echo "The program is built without its web page; docs/web.md says what else there is." >&2
	cmake --preset release -DPUNA_TOGETHER=$(TOGETHER)
	cmake --build --preset release -j $(JOBS) --target puna

run: build
	build/release/puna run smollm2 "$(PROMPT)" --temp 0 -n 80

# WebAssembly first: the page in the program takes the engine of the tab from there. One ctest over both builds, so that its summary is
# the last thing printed.
test: setup
	@tools/setup --web --wasm --browser
	@tools/setup --matrix-units || echo "SKIPPED: kernels for matrix units are not tested here." >&2
	cmake --preset wasm -DPUNA_TOGETHER=$(TOGETHER)
	cmake --build --preset wasm -j $(JOBS)
	cmake --preset release -DPUNA_TOGETHER=$(TOGETHER)
	cmake --build --preset release -j $(JOBS)
	@printf 'subdirs("release" "wasm")\n' > build/CTestTestfile.cmake
	ctest --test-dir build -j $(JOBS) --output-on-failure

check:
	@tools/setup --check
	tools/check_layers_test.py
	tools/pack_page_test.py
	cmake/together_test.py
	tools/check_layers
	tools/operations_table
	tools/format --check
	tools/tidy --seconds $(TIDY_SECONDS)
	cmake --preset dev -DPUNA_TOGETHER=$(TOGETHER)
	cmake --build --preset dev -j $(JOBS) --target unit_tests
	ctest --preset dev -j $(JOBS) -L unit
	cmake --preset tsan -DPUNA_TOGETHER=$(TOGETHER)
	cmake --build --preset tsan -j $(JOBS) --target thread_tests
	ctest --preset tsan -L threads
	tools/fuzz $(FUZZ_SECONDS)

bench: setup
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)
	tools/bench

dawn:
	@tools/setup --dawn

clean:
	rm -rf build
