#!/usr/bin/env bash
# A job of continuous integration that fails where a model or a runtime has become slower, or less accurate.
#
#   check.sh BASELINE [run options]      such as: check.sh baseline.zip --device cpu --depth 0.25
#
# BASELINE is what `edgebench export` wrote of a result with the same options on the same board:
#
#   edgebench run --device cpu --depth 0.25 --sessions 5 && edgebench export latest -o baseline.zip
#
# Five sessions a side are the fewest that the comparison decides by; they see a change of 5 % where sessions differ
# by 1 %. It ends with 3 where something is worse, with another code where something could not be measured, and leaves
# comparison.md for the pull request. Sessions that other work on the board disturbed decide nothing: it warns and ends
# with 0; `--strict` behind the last command makes it 4. Without --profile: a requirement that is missed ends `run` with 3, too, before anything is compared.
# The results folder has to be a fresh one: a result is never overwritten.
set -euo pipefail
baseline=$1
shift
results=${EDGEBENCH_OUTPUT_DIR:-results}
edgebench import "$baseline" --output-dir "$results" --name baseline
edgebench run --output-dir "$results" --name now --sessions 5 "$@"
edgebench compare "$results/baseline" "$results/now" -o comparison.md --fail-on regression
