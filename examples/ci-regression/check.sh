#!/usr/bin/env bash
# A job of continuous integration that fails where a model or a runtime has become slower, or less accurate.
#
#   check.sh BASELINE [run options]      such as: check.sh baseline.zip --device cpu --depth 0.25
#
# BASELINE is what `edgebench export` wrote of a result on the same board; five sessions a side see a change of
# 5 % where sessions differ by 1 %. It ends with 3 where something is worse, and leaves comparison.md for the
# pull request.
set -euo pipefail
baseline=$1
shift
results=${EDGEBENCH_OUTPUT_DIR:-results}
edgebench import "$baseline" --output-dir "$results" --name baseline
edgebench run --output-dir "$results" --name now --sessions 5 "$@"
edgebench compare "$results/baseline" "$results/now" -o comparison.md
edgebench compare "$results/baseline" "$results/now" --fail-on regression
