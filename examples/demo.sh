#!/usr/bin/env sh
# What `make demo` shows in three minutes on two cores: a rule as a loss, the verbs of the theory, two
# small studies, and a report of it all. It needs no data but small images that come with
# scikit-learn and sentences of our own.
set -eu
cd "$(dirname "$0")/.."

run() {
    printf '\n$ residuum'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./=-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    residuum "$@"
}

echo "A rule teaches a network what no label says (examples/next_digit.py):"
python examples/next_digit.py

echo
echo "A formula, read back and decided:"
run show "P & (P -> Q) -> Q"
run show "(P -> Q) -> (Q -> P)"

echo
echo "The same formula means something else under each relaxation:"
run truth "P & (P -> Q) -> Q" P=0.7 Q=0.4
run truth "P & (P -> Q) -> Q" P=0.7 Q=0.4 --relaxation "r-yager(2),s-hamacher(0),r-frank(1/2)"

echo
echo "How much of a tautology's truth each relaxation preserves, and the paper's table recomputed:"
run consistency "P & (P -> Q) -> Q"
run tautologies

echo
echo "What a relaxation knows of itself:"
run relaxations r-product

echo
echo "Knowledge in a file, checked before it is used:"
run check src/residuum/data/digits.rsd

echo
echo "Digits from labels, their sums and products from rules alone, under two relaxations:"
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
export RESIDUUM_STORE="$kept/runs.sqlite"
run study digits --quick -r r-product,s-godel

echo
echo "Chunks of sentences from labels, and from rules between the tags of neighbours:"
run study chunking --quick -r r-product,s-godel

echo
echo "All of it on one page, which needs no network to be read:"
mkdir -p build
run report -o build/report.html
echo "Open it in a browser: $PWD/build/report.html"

echo
echo "To try formulas, rules and small trainings on a local page:  .venv/bin/residuum explore"
