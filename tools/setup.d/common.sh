# Helpers of tools/setup: messages, apt, pinned downloads.

say() { echo "setup: $*" >&2; }
die() { echo "error: $*" >&2; exit 1; }

interactive() { [ -t 0 ] && [ -t 2 ] && [ "${CI:-}" != true ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else
    command -v sudo > /dev/null || die "installing packages needs root, and sudo is not there; run as root: $*"
    sudo "$@"
  fi
}

# apt_need PACKAGE...: installs those that are missing.
apt_need() {
  local missing=() package
  if ! command -v dpkg-query > /dev/null; then
    say "this is not a Debian system; make sure that the equivalents of these packages are installed: $*"
    return
  fi
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  if interactive; then
    read -r -p "Install with apt: ${missing[*]}? [Y/n] " answer
    case $answer in "" | y* | Y*) ;; *) die "these packages are needed: ${missing[*]}" ;; esac
  fi
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > "$cache/apt.log" 2>&1 ||
    { as_root apt-get update -qq > "$cache/apt.log" 2>&1 &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > "$cache/apt.log" 2>&1; } ||
    { tail -n 5 "$cache/apt.log" >&2; die "apt could not install: ${missing[*]} (whole log: third_party/cache/apt.log)"; }
}

# check_sha256 FILE SUM: stops when the file is not the pinned one.
check_sha256() {
  local found
  found=$(sha256sum "$1" | cut -d ' ' -f 1)
  [ "$found" = "$2" ] || die "$(basename "$1") has SHA-256 $found, but $2 is pinned; it was removed"$'\n'"$(rm -f "$1")"
}

# A python3 that has pip: the one on PATH, else the system's.
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version > /dev/null 2>&1; then echo "$python"; return; fi
  done
  die "no python3 with pip was found; install python3-pip"
}

# pip_wheel REQUIREMENT PLATFORM DIR [OPTION...]: downloads one wheel from the index that pip is configured for.
pip_wheel() {
  "$(python_with_pip)" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --platform "$2" -d "$3" "${@:4}" "$1" ||
    die "pip could not download $1; check the network or pip's index configuration"
}

# debian_source TYPE SUITE: an apt source (deb or deb-src) for a release of Debian on the mirror that this machine uses for its own Debian.
debian_source() {
  local codename uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  uri=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v release="$codename" '$1 == release { print $2; exit }')
  [ -n "$uri" ] || die "no Debian mirror for release \"$codename\" is configured for apt on this machine"
  [ -e "$keyring" ] || die "$keyring is missing; install debian-archive-keyring"
  printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$1" "$uri" "$2" "$keyring"
}

# private_apt TYPES SUITE DIR COMMAND...: runs COMMAND in DIR, where apt knows only that release, so that the machine's package lists stay as
# they are. False when it fails; what apt said is in apt.log of the cache.
private_apt() {
  local dir=$3
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
  debian_source "$1" "$2" > "$dir/$2.sources"
  cat > "$dir/apt.conf" << CONF
Dir::Etc::sourcelist "$dir/$2.sources";
Dir::Etc::sourceparts "/nonexistent";
Dir::State::lists "$dir/lists";
Dir::Cache "$dir/cache";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "";
CONF
  (cd "$dir" && export APT_CONFIG=$dir/apt.conf && apt-get -qq update && "${@:4}") > "$cache/apt.log" 2>&1
}
