# shellcheck shell=bash
# Functions that the bash scripts share. Sourced, never run.

set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

# Everything the project makes lives in the tree, except the caches of compiled files (ccache) and of files
# that passed clang-tidy, which all clones of a user share.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
export PATH="$ROOT/.venv/bin:$PATH"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "${0##*/}: $*"
  exit 1
}

# Prints the comment block at the top of the calling script, which is its help text.
print_help() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; }

# Usage error: names what is wrong and where to read on.
usage_error() { die "$*; see ${0##*/} --help"; }

# need_value OPTION COUNT: an option that needs a value must not be the last word.
need_value() { [[ $2 -ge 2 ]] || usage_error "$1 needs a value"; }

# Prints the C++ files of the tree, tracked or new, one per line.
cpp_files() { git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' '*.cu' | existing_files; }

existing_files() {
  local file
  while IFS= read -r file; do [[ -f $file ]] && printf '%s\n' "$file"; done
  return 0
}

cores() { nproc; }
