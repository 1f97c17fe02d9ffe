# Shared by the scripts of this folder; to be sourced, not run.
# It leaves the shell in the root of the tree and knows the modules of it.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# As in the Makefile, for whoever runs a script by hand.
export CGO_ENABLED=${CGO_ENABLED:-0}
[[ ${GOFLAGS:-} == *-buildvcs=* ]] || export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

# The modules, shipped one first. A module joins by having a go.mod and something in it.
modules=(.)
for candidate in sandbox test; do
  [[ -f $candidate/go.mod && -n $(find "$candidate" -name '*.go' -print -quit) ]] && modules+=("$candidate")
done

# name_of MODULE: what a person calls it.
name_of() { [[ $1 == . ]] && echo "the shipped module" || echo "module $1"; }

say() { printf '==> %s\n' "$*"; }
warn() { printf 'WARNING: %s\n' "$*" >&2; }
fail() { printf 'ERROR: %s\n' "$*" >&2; exit 1; }

# slowly WHAT COMMAND...: runs COMMAND and, as long as it takes, says every 20 s that it
# is still at it, so that a first build of some minutes does not look like one that hangs.
# The status is that of COMMAND.
slowly() {
  local what=$1 began=$SECONDS status=0 ticker
  shift
  (
    nap=
    trap '[[ -z $nap ]] || kill "$nap" 2>/dev/null; exit 0' TERM
    while true; do
      sleep 20 >/dev/null 2>&1 & nap=$!
      wait "$nap"
      printf '    ... still %s, %d s so far\n' "$what" $((SECONDS - began))
    done
  ) &
  ticker=$!
  "$@" || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  return "$status"
}

# with_tests MODULE: the packages of MODULE that have tests. Handing only these to
# `go test` keeps it from compiling, for the race detector, whole programs without any.
with_tests() {
  (cd "$1" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
}

# files PATTERN...: the files of the tree that match, also those not committed yet.
files() {
  git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
    [[ -f $file ]] && printf '%s\n' "$file"
  done
  return 0
}

# A folder for what a script needs in between; gone when the script ends.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
