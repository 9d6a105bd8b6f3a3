# Private Debian roots, for programs that this machine's Debian is too old for: made once below the user's cache, shared by all checkouts,
# and entered in a mount namespace of their own. Making one needs root or sudo; entering it, root or user namespaces. Sourced.

# private_root NAME: where the root of that name is.
private_root() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/puna/$1"; }

# make_private_root ROOT SUITE PACKAGES: with tools/setup.d/common.sh sourced; PACKAGES are separated by commas. False when it cannot be made;
# what mmdebstrap said is in private_root.log of the cache.
make_private_root() {
  [ -e "$1/.complete" ] && return
  apt_need mmdebstrap
  local sources=$cache/$2.sources run=()
  [ "$(id -u)" = 0 ] || run=(as_root)
  mkdir -p "$(dirname "$1")"
  debian_source deb "$2" > "$sources"
  "${run[@]}" rm -rf "$1" "$1.part"
  "${run[@]}" mmdebstrap --variant=apt --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --include="$3" "$2" "$1.part" "$sources" > "$cache/private_root.log" 2>&1 || return 1
  # Where the project cannot be mounted at its own path, its first folder must exist.
  "${run[@]}" mkdir -p "$1.part/$(echo "$root" | cut -d / -f 2)"
  "${run[@]}" touch "$1.part/.complete"
  "${run[@]}" mv "$1.part" "$1"
}

# enter_private_root ROOT PROJECT COMMAND...: runs COMMAND in ROOT with an empty environment, where PROJECT is at its own path, in the folder
# that this one is in if that is the project's. Nothing stays mounted. As another user than root in a user namespace too.
enter_private_root() {
  local private_root=$1 project=$2 here=$PWD spaces=(--mount)
  shift 2
  [ "$(id -u)" = 0 ] || spaces+=(--user --map-root-user)
  unshare "${spaces[@]}" true 2> /dev/null || {
    echo "error: entering $private_root needs mount namespaces: run as root (in a container with CAP_SYS_ADMIN), or allow user namespaces" >&2
    return 1
  }
  case $here/ in "$project"/*) ;; *) here=$project ;; esac
  export private_root project here
  exec unshare "${spaces[@]}" bash -c '
    set -e
    target=$private_root$project
    if ! mkdir -p "$target" 2> /dev/null; then
      top=$(echo "$project" | cut -d / -f 2)
      mount -t tmpfs none "$private_root/$top"
      mkdir -p "$target"
    fi
    mount --bind "$project" "$target"
    exec chroot "$private_root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 \
      sh -c "cd \"\$0\" && exec \"\$@\"" "$here" "$@"
  ' enter "$@"
}
