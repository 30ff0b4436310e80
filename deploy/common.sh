# shellcheck shell=bash
# What deploy/demo and deploy/test share: messages, and the installation of missing packages.
# Sourced, never run; expects `set -euo pipefail`. Every message goes to standard output.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit "${2:-1}"
}

# missing_packages SET...: the packages of these sets that are not installed, one a line.
missing_packages() {
  local set package
  while read -r set package; do
    [[ " $* " == *" $set "* ]] || continue
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] \
      || printf '%s\n' "$package"
  done < <(grep -v '^#' "$root/deploy/packages.list")
}

# install_missing SET...: installs what is missing, as root or through sudo; says what it does.
install_missing() {
  command -v dpkg-query >/dev/null \
    || die "this host has no dpkg: install what deploy/packages.list names, then use --no-install"
  local -a packages as_root=()
  mapfile -t packages < <(missing_packages "$@")
  if ((${#packages[@]} == 0)); then
    say "Packages: nothing is missing"
    return
  fi
  if ((EUID != 0)); then
    command -v sudo >/dev/null \
      || die "needs root to install: ${packages[*]}
  Run it as root once, or install them yourself: apt-get install ${packages[*]}"
    as_root=(sudo)
  fi
  say "Packages: installing ${packages[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${packages[@]}"
}

# configure PRESET [CMAKE ARGUMENT...]: with ccache where it is installed.
configure() {
  local preset=$1
  shift
  local -a launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  (cd "$root" && cmake --preset "$preset" "${launcher[@]}" "$@" >"$root/build/configure.log" 2>&1) \
    || { cat "$root/build/configure.log"; die "cmake --preset $preset failed"; }
}
