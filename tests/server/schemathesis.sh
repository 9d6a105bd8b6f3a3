#!/usr/bin/env bash
# Asks a server with random and hostile requests that follow its own description (/openapi.json), by schemathesis: no status 5xx but
# 501, no answer against its schema, no wrong request taken, no crash.
# usage: tests/server/schemathesis.sh [MODEL [SECONDS [FLAG of puna serve...]]]
# Builds nothing: build/release/puna has to be there. Installs schemathesis (from PyPI) into build/schemathesis and nowhere else; not
# part of `make test`. What is random has a seed, so that a run can be repeated: PUNA_SEED.
set -euo pipefail
cd "$(dirname "$0")/../.."
model=${1:-tests/goldens/llama-q4_0.gguf}
seconds=${2:-120}
shift $(($# < 2 ? $# : 2))
home=$PWD/build/schemathesis
[ -x "$home/bin/schemathesis" ] || { python3 -m venv "$home" && "$home/bin/pip" install -q 'schemathesis==4.32.5'; }

key=for-this-run
log=$home/server.log
config=$home/config.toml
cat > "$config" <<TOML
hooks = "$PWD/tests/server/schemathesis_hooks.py"

[checks]
# 501 is what the description says of what this server, or its model, cannot do.
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501]
# No schema says which ids a vocabulary has, or how long a context is.
positive_data_acceptance.enabled = false
TOML

# Models are made and deleted, too: in a store of this run alone. What asks other servers is left out.
rm -rf "$home/store"
HOME=$home/store PUNA_HOME=$home/store build/release/puna serve --model "$model" --port 0 --device cpu -np 4 --api-key "$key" "$@" > "$log" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null || true' EXIT
for _ in $(seq 300); do
  address=$(grep -o 'http://127.0.0.1:[0-9]*' "$log" | head -n 1 || true)
  [ -n "$address" ] && curl -sf "$address/health" > /dev/null && break
  kill -0 $server 2> /dev/null || break
  sleep 0.1
done
[ -n "$address" ] || { cat "$log" >&2; echo "error: the server has not started; see $log" >&2; exit 1; }
PUNA_MODEL=$(curl -sf -H "Authorization: Bearer $key" "$address/api/tags" | python3 -c 'import json, sys; print(json.load(sys.stdin)["models"][0]["name"])')
export PUNA_MODEL

status=0
cd "$home"
bin/schemathesis --config-file "$config" run "$address/openapi.json" --header "Authorization: Bearer $key" --workers 1 --max-examples 50 \
  --exclude-path-regex '^/api/(pull|push)$' --max-time "$seconds" --request-timeout 30 --continue-on-failure --seed "${PUNA_SEED:-1}" || status=$?
kill -0 $server 2> /dev/null || { tail -n 20 "$log" >&2; echo "error: the server has ended; see $log" >&2; status=1; }
exit $status
