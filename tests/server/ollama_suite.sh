#!/usr/bin/env bash
# Ollama's own integration tests (its Go module) against `puna serve`: those of the group "fast" that need one small model.
# usage: tests/server/ollama_suite.sh [PUNA [MODEL [PATTERN]]]
# MODEL is one of the store of PUNA (build/release/puna), which is copied for as long as this takes to the names of other models that
# cases want, where there is none of that name: those ask whether an answer comes, not what it says. PATTERN (of `go test -run`) chooses
# other cases. Needs Go 1.24 or newer, which gets the sources. Prints a line a case; the whole output is in build/ollama-suite/log. Not
# part of `make test`: what a small model says decides about some cases (docs/from-ollama.md).
set -euo pipefail
cd "$(dirname "$0")/../.."
puna=$(realpath "${1:-build/release/puna}")
model=${2:-smollm2}
pattern=${3:-'^Test(API(Generate|Chat|List|Show)|BlueSky|ExtendedUnicode|NumPredict|ConcurrentChat|LongInputContext|ContextExhaustion|GenerateWithHistory|ChatWithHistory)'}
version=v0.17.4
home=$PWD/build/ollama-suite
mkdir -p "$home"

if [ ! -x "$home/fast-$version" ]; then
  source=$(go mod download -json "github.com/ollama/ollama@$version" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
  rm -rf "$home/source"
  cp -r "$source" "$home/source"
  chmod -R u+w "$home/source"
  (cd "$home/source" && go test -c -tags integration,fast -o "$home/fast-$version" ./integration/)
fi

copies=()
server=
end() {
  [ -z "$server" ] || { kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true; }
  for copy in "${copies[@]}"; do "$puna" rm "$copy" > /dev/null; done
}
trap end EXIT
for name in gemma2:2b llama3.2 qwen3:0.6b; do
  "$puna" show "$name" > /dev/null 2>&1 && continue
  "$puna" cp "$model" "$name" > /dev/null
  copies+=("$name")
done

"$puna" serve --device cpu --port 0 > "$home/server.log" 2>&1 &
server=$!
address=
for _ in $(seq 300); do
  address=$(sed -n 's/.* is served on http:..//p' "$home/server.log")
  [ -z "$address" ] || break
  kill -0 $server 2> /dev/null || break
  sleep 0.1
done
[ -n "$address" ] || { cat "$home/server.log" >&2; echo "error: $puna serves nothing" >&2; exit 1; }

export OLLAMA_HOST=$address OLLAMA_TEST_EXISTING=1 OLLAMA_TEST_MODEL=$model OLLAMA_TEST_DEFAULT_MODEL=$model
(cd "$home/source/integration" && "$home/fast-$version" -test.v -test.timeout 1800s -test.run "$pattern") > "$home/log" 2>&1 || true
grep -E '^ *--- |_test\.go:|^panic' "$home/log" | cut -c1-300
