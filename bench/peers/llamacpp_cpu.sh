#!/usr/bin/env bash
# llama.cpp's CPU build and Puna by turns on the same file with the same threads.
# usage: llamacpp_cpu.sh "LLAMA_BENCH COMMAND" MODEL_FOR_LLAMA PUNA MODEL [THREADS] [ROUNDS]
set -eu
bench=$1; their_model=$2; puna=$3; model=$4; threads=${5:-2}; rounds=${6:-3}
for i in $(seq "$rounds"); do
  # shellcheck disable=SC2086
  $bench -m "$their_model" -t "$threads" -p 512 -n 128 -r 3 -o json 2> /dev/null | python3 -c "
import json, sys
for r in json.load(sys.stdin): print('llama.cpp', 'prefill' if r['n_prompt'] else 'decode', round(r['avg_ts'], 1))"
  "$puna" bench --model "$model" --device cpu --threads "$threads" -p 512 -n 128 -r 3 --json 2> /dev/null | python3 -c "
import json, sys
for r in json.load(sys.stdin)['results']: print('puna', r['phase'], round(r['tokens_per_s']['median'], 1))"
done | sort | python3 -c "
import sys, statistics, collections
rates = collections.defaultdict(list)
for line in sys.stdin:
    engine, phase, rate = line.split(); rates[phase, engine].append(float(rate))
for phase in ('prefill', 'decode'):
    ours, theirs = rates[phase, 'puna'], rates[phase, 'llama.cpp']
    print(f'{phase}: puna {min(ours):.1f}/{statistics.median(ours):.1f}/{max(ours):.1f}, llama.cpp {min(theirs):.1f}/{statistics.median(theirs):.1f}/{max(theirs):.1f}, ratio {statistics.median(ours) / statistics.median(theirs):.2f}')"
